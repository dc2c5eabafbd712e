// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A nonblocking collective writes its slot when it is posted. It reads the slots of the other ranks
 * when the application tests or waits. Nothing has to run in between: the other ranks find the
 * input of this rank in its slot. COLL_SHM_DEPTH collectives may be under way. They end in the
 * order of posts, here or in the kernel.
 *
 * The kernel numbers commands as they come. So a command that cannot be done here is not given to
 * the kernel while there are flights: any flight may have to go to the kernel first. The command
 * waits in async->queue for a later call. That costs overlap. So after it has happened the next ops
 * go to the kernel at once (shm_op_pause()), where they progress without calls.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/relax.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "comm/shm_turn.h"
#include "nonblocking/async.h"
#include "shm_flight.h"
#include "shm_fold.h"
#include "shm_move.h"
#include "shm_op.h"
#include "shm_wait.h"

/**
 * struct flight - an op that has been posted here and has not ended
 * @o: the op
 * @m: its data
 * @fold: its operator
 * @req: request
 * @astray: it is for the kernel, which has not taken it yet
 * @held: a later command has had to wait for it
 * @until: time of its deadline, if it has one; 0: the op has not had to wait yet
 */
struct flight {
	struct shm_op o;
	struct shm_move m;
	struct shm_fold fold;
	coll_request_t *req;
	bool astray, held;
	uint64_t until;
};

/**
 * struct shm_flights - ops in the order of posts; async->flying is their number
 * @f: each at its position modulo COLL_SHM_DEPTH
 * @first: position of the oldest
 */
struct shm_flights {
	struct flight f[COLL_SHM_DEPTH];
	uint64_t first;
};

static struct flight *at(const struct shm *s, uint64_t pos)
{
	return &s->flights->f[pos % COLL_SHM_DEPTH];
}

static struct flight *first(const struct shm *s)
{
	return at(s, s->flights->first);
}

/* The oldest op ends here. */
static void end_first(struct async *a, int res)
{
	struct shm *s = a->comm->shm;
	coll_request_t *req = first(s)->req;

	s->flights->first++;
	async_flown(a, req, res);
}

/* Give the command to the kernel with the time that is left. Its next start has all of it. */
static int give_in_time(struct async *a, struct flight *f)
{
	coll_request_t *req = f->req;
	uint64_t timeout_ns = req->cmd.timeout_ns, now = f->until ? relax_now_ns() : 0;
	int ret;

	if (f->until)
		req->cmd.timeout_ns = now < f->until ? f->until - now : 1;
	ret = async_give(a, req);
	req->cmd.timeout_ns = timeout_ns;
	return ret;
}

/*
 * The kernel has refused the command that it was just given, so the next command of this rank takes
 * its number. No rank has found a later op complete: all wait in the kernel for that number. So
 * retract the slots that this rank has written for later ops, and give these ops to the kernel.
 */
static void retract_all(struct async *a)
{
	struct shm *s = a->comm->shm;
	uint32_t i;

	s->broken = true;
	for (i = 0; i < a->flying; i++) {
		shm_op_retract(s, &at(s, s->flights->first + i)->o);
		at(s, s->flights->first + i)->astray = true;
	}
}

/* Give the oldest op to the kernel. Return: false: not now. */
static bool give_first(struct async *a)
{
	struct shm *s = a->comm->shm;
	struct flight *f = first(s);
	const struct coll_shm_rank *own = shm_rank(s, s->me);
	uint64_t posted = __atomic_load_n(&own->posted, __ATOMIC_ACQUIRE);
	uint32_t i;

	f->astray = true;
	if (give_in_time(a, f))
		return false;
	s->flights->first++;
	if (__atomic_load_n(&own->posted, __ATOMIC_ACQUIRE) == posted) {
		retract_all(a);
		return true;
	}
	for (i = 0; i < a->flying; i++)
		at(s, s->flights->first + i)->o.posted++;
	return true;
}

/* End the oldest op here, or give it to the kernel. Return: false: neither is possible now. */
static bool settle_first(struct async *a)
{
	struct shm *s = a->comm->shm;
	struct flight *f = first(s);
	enum shm_outcome what = f->astray ? SHM_ASTRAY : shm_op_look(s, &f->o);

	if (what == SHM_COMPLETE)
		what = shm_op_finish(a->comm, &f->m, &f->o);
	switch (what) {
	case SHM_LATE:
		return false;
	case SHM_COMPLETE:
		if (!f->held)
			shm_op_no_pause(s);
		end_first(a, 0);
		return true;
	case SHM_FAILED:
		s->broken = true;
		end_first(a, shm_op_error(s));
		return true;
	default:
		if (!f->astray && what == SHM_ASTRAY)
			shm_op_pause(s, f->o.pos);
		return give_first(a);
	}
}

static void drop(struct async *a, int err)
{
	a->comm->shm->broken = true;
	while (a->flying)
		end_first(a, err);
}

static void look(struct async *a)
{
	if (a->flying && !*a->comm->shm->alive)
		drop(a, -EPERM);
	while (a->flying && settle_first(a))
		;
}

/* Is there a place for one more op? Waits at most for the time that a sleep would take. */
static bool has_place(struct async *a)
{
	struct shm *s = a->comm->shm;
	struct flight *f;

	if (!s->flights)
		s->flights = calloc(1, sizeof(*s->flights));
	if (!s->flights)
		return false;
	look(a);
	if (a->flying == COLL_SHM_DEPTH) {
		f = first(s);
		if (!f->astray)
			shm_wait_awake(s, &f->o, &f->m);
		look(a);
	}
	return a->flying < COLL_SHM_DEPTH;
}

/* A command for the kernel has to wait for the flights: give them a little time. Return: false. */
static bool wait_before(struct async *a)
{
	struct shm *s = a->comm->shm;
	struct flight *f;
	uint64_t pos;

	while (a->flying) {
		f = first(s);
		if (!f->astray)
			shm_wait_awake(s, &f->o, &f->m);
		if (!settle_first(a))
			break;
	}
	if (a->flying) {
		pos = s->flights->first + a->flying;
		at(s, pos - 1)->held = true;
		shm_op_pause(s, pos);
	}
	return false;
}

static bool post(struct async *a, coll_request_t *req)
{
	coll_comm_t *comm = a->comm;
	struct shm *s = comm->shm;
	struct flight *f;
	struct shm_op o;

	if (a->broken || !has_place(a))
		return wait_before(a);
	s->ranked = comm->version.features & COLL_FEAT_RANK_ORDER && !comm->select;
	if (!shm_op_begin(comm, &o, a->flying))
		return wait_before(a);
	f = at(s, o.pos);
	if (!shm_move_setup(s, &req->cmd, &f->fold, &f->m) || !shm_op_buffers(comm, &req->cmd))
		return wait_before(a);
	if (!a->flying)
		s->flights->first = o.pos;
	f->o = o;
	f->req = req;
	f->astray = f->held = false;
	f->until = 0;
	async_fly(a);
	shm_op_write(s, &f->m, &f->o);
	/* If this completes the op, other ranks may sleep, and have to be woken. */
	look(a);
	return true;
}

/* The clock of a deadline starts when the op has to wait. Other ops do not read the clock. */
static uint64_t time_left(struct flight *f)
{
	uint64_t now;

	if (!f->req->cmd.timeout_ns)
		return ASYNC_FOREVER;
	now = relax_now_ns();
	if (!f->until)
		f->until = f->req->cmd.timeout_ns < ASYNC_FOREVER - now ?
			   now + f->req->cmd.timeout_ns : ASYNC_FOREVER;
	return now < f->until ? f->until - now : 0;
}

/* The least time that any op has left: each one waits for those before it. */
static uint64_t least_left(struct async *a)
{
	uint64_t least = ASYNC_FOREVER, left;
	struct shm *s = a->comm->shm;
	uint32_t i;

	for (i = 0; i < a->flying; i++) {
		left = time_left(at(s, s->flights->first + i));
		if (left < least)
			least = left;
	}
	return least;
}

/*
 * The time is over of @f, the op at @pos, or of an op behind it. @failed: so the kernel has failed
 * the communicator, even if the last rank has come since. It has not if it refused the sleep, or if a
 * rank changes its slot all the time.
 */
static void end_late(struct async *a, struct flight *f, uint64_t pos, bool failed)
{
	struct shm *s = a->comm->shm;

	/* Another thread may have ended it meanwhile. */
	if (!a->flying || s->flights->first != pos || f->astray ||
	    (!failed && shm_op_look(s, &f->o) != SHM_LATE))
		return;
	s->broken = true;
	end_first(a, failed ? -ETIMEDOUT : async_expire(a));
}

static void await(struct async *a, uint64_t ns)
{
	struct shm *s = a->comm->shm;
	struct flight *f = first(s);
	struct shm_op o;
	uint64_t left;
	int ret;

	/* The kernel has not taken it: it cannot know the deadline. The next look ends the op. */
	if (f->astray && !least_left(a)) {
		async_expire(a);
		return;
	}
	if (f->astray && ns) {
		pthread_mutex_unlock(&a->lock);
		relax_sleep(ns < ASYNC_REFUSED_US * 1000 ? ns : ASYNC_REFUSED_US * 1000);
		pthread_mutex_lock(&a->lock);
		return;
	}
	if (f->astray || (ns && shm_wait_awake(s, &f->o, &f->m) != SHM_LATE))
		return;
	left = least_left(a);
	if (left && !ns)
		return;
	o = f->o;
	pthread_mutex_unlock(&a->lock);
	/* The kernel fails the communicator at the deadline. */
	if (!left)
		ret = shm_wait_asleep(a->comm, &o, 1, 0);
	else if (ns == ASYNC_FOREVER && left == ASYNC_FOREVER)
		ret = shm_wait_asleep(a->comm, &o, 0, 0);
	else
		ret = shm_wait_asleep(a->comm, &o, ns < left ? ns : left, COLL_SHM_WAIT_LOOK);
	/* The kernel refused the sleep: look now and then. */
	if (ret && ret != -ETIMEDOUT && ns)
		relax_sleep(RELAX_FIRST_NS);
	pthread_mutex_lock(&a->lock);
	f->o.next = 0;
	if (!left)
		end_late(a, f, o.pos, ret == -ETIMEDOUT);
}

static const struct async_shortcut shortcut = {
	.post = post,
	.look = look,
	.await = await,
	.drop = drop,
};

void shm_flight_allow(coll_comm_t *comm)
{
	if (!comm->shm)
		return;
	shm_turn_look_around(async_look_around);
	comm->shm->shortcut = &shortcut;
}
