// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A rank writes its slot and waits for the slots of the others. There is one answer to anything
 * unexpected, and all ranks come to it: they give the op to the kernel. So ranks may come by
 * different ways, disagree, leave and die here as they may there.
 *
 * Two slots are enough: a rank that begins op p has seen op p - 1 end well, here or in the
 * kernel. All ranks have begun that op, so none still reads the slots of op p - 2. After an op
 * that has failed this does not hold: then nothing more is done here.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/relax.h"
#include "collective.h"
#include "comm/buffers.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "comm/shm_turn.h"
#include "nonblocking/async.h"
#include "shm_move.h"
#include "shm_run.h"

/* COLL_CMD_SPIN: so many microseconds awake. */
#define LONG_SPIN_US	1000
/* 2^this is the longest pause, in ops, after this way has been in vain. */
#define PAUSE_MOST	6

/* Two words of a slot that are read as numbers, whatever fields they are. */
typedef uint64_t __attribute__((may_alias)) word;

/**
 * struct op - an op under way
 * @pos: its position
 * @posted: own number of ops given to the kernel
 * @kind: what it is: the second word of the slot
 * @count: and the third
 * @own_count: each rank says a count of its own
 * @next: ranks before this one are there, and agree
 */
struct op {
	uint64_t pos;
	uint64_t posted;
	uint64_t kind;
	uint64_t count;
	bool own_count;
	uint32_t next;
};

enum outcome {
	LATE,		/* somebody is missing */
	COMPLETE,	/* all are there */
	ASTRAY,		/* it is for the kernel: somebody has gone that way, or has left */
	DIFFERENT,	/* likewise: ranks disagree */
	FAILED,		/* the communicator has */
};

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Read once: the other rank may change them at any time. Own counts are compared later. */
static bool says_the_same(const struct coll_shm_slot *slot, const struct op *o)
{
	const word *w = (const word *)slot;

	return __atomic_load_n(&w[1], __ATOMIC_RELAXED) == o->kind &&
	       (o->own_count || __atomic_load_n(&w[2], __ATOMIC_RELAXED) == o->count);
}

/* A rank that is not there: will it come? In this order, see <linux/coll.h>. */
static bool is_astray(const struct shm *s, const struct op *o, uint32_t rank)
{
	const struct coll_shm_rank *r = shm_rank(s, rank);
	bool gone = load((const uint64_t *)&r->posted) > o->posted ||
		    __atomic_load_n(&r->left, __ATOMIC_ACQUIRE);

	return gone && load((const uint64_t *)&shm_slot(s, rank, o->pos)->pos) != o->pos;
}

/* The rest of the ranks, none of which has to be there. */
static enum outcome look_further(const struct shm *s, const struct op *o)
{
	uint32_t r;

	for (r = o->next; r < s->n; r++)
		if (r != s->me && is_astray(s, o, r))
			return ASTRAY;
	return __atomic_load_n(&s->h->failed, __ATOMIC_ACQUIRE) ? FAILED : LATE;
}

static enum outcome look_once(const struct shm *s, struct op *o)
{
	const struct coll_shm_slot *slot;

	for (; o->next < s->n; o->next++) {
		if (o->next == s->me)
			continue;
		slot = shm_slot(s, o->next, o->pos);
		if (load((const uint64_t *)&slot->pos) != o->pos)
			return look_further(s, o);
		if (!says_the_same(slot, o))
			return DIFFERENT;
	}
	return COMPLETE;
}

static enum outcome look(const struct shm *s, struct op *o)
{
	enum outcome what = look_once(s, o);

	/*
	 * The last rank may have come between the look at its slot and the failure. Then the op is
	 * complete on the other ranks, and a later one has failed.
	 */
	return what == FAILED ? look_once(s, o) : what;
}

static enum outcome spin(const struct shm *s, struct op *o, uint64_t spins)
{
	enum outcome what = look(s, o);

	while (what == LATE && spins--) {
		relax();
		what = look(s, o);
	}
	return what;
}

/* One sleep, until @until. Return: 0 or -errno. */
static int sleep_once(coll_comm_t *comm, const struct op *o, uint64_t until)
{
	struct coll_shm_wait w = { .pos = o->pos, .posted = o->posted };
	uint64_t now = until ? relax_now_ns() : 0;

	if (until)
		w.timeout_ns = now < until ? until - now : 1;
	if (!ioctl(comm->fd, COLL_IOC_SHM_WAIT, &w) || errno == EINTR)
		return 0;
	return -errno;
}

/* Sleep, and look, until it is not too early any more. */
static enum outcome wait_asleep(coll_comm_t *comm, struct op *o, uint64_t timeout_ns, int *err)
{
	struct shm *s = comm->shm;
	struct coll_shm_area *own = shm_own_area(s);
	uint64_t now = timeout_ns ? relax_now_ns() : 0;
	uint64_t until = timeout_ns < ~0ULL - now ? now + timeout_ns : ~0ULL;
	enum outcome what;

	do {
		/* The rank that comes last sees it, or the kernel sees that rank. */
		__atomic_store_n((uint64_t *)&own->sleeps, o->pos, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		*err = sleep_once(comm, o, timeout_ns ? until : 0);
		__atomic_store_n((uint64_t *)&own->sleeps, 0, __ATOMIC_RELAXED);
		what = look(s, o);
	} while (what == LATE && !*err);
	return what;
}

/*
 * Look again and again, and call the application's function in between. The kernel cannot do
 * that: what ends its sleep early is the end of the communicator.
 */
static enum outcome wait_idle(coll_comm_t *comm, struct op *o, uint64_t timeout_ns)
{
	uint64_t start = relax_now_ns(), waited = 0, ns = RELAX_FIRST_NS;
	enum outcome what;

	while ((what = look(comm->shm, o)) == LATE && (!timeout_ns || waited < timeout_ns)) {
		relax_sleep(ns);
		waited = relax_now_ns() - start;
		ns = comm->idle(comm->idle_arg, waited);
	}
	return what;
}

/* All are there. Those that sleep do not know it. */
static void wake_others(coll_comm_t *comm, const struct op *o)
{
	const struct shm *s = comm->shm;
	uint32_t r;

	for (r = 0; r < s->n; r++) {
		if (r == s->me ||
		    load((const uint64_t *)&shm_area(s, r)->sleeps) != o->pos)
			continue;
		ioctl(comm->fd, COLL_IOC_SHM_WAKE);
		return;
	}
}

/* Write the own slot; with a full barrier behind it, see wait_asleep(). */
static void write_slot(const struct shm *s, const struct shm_move *m, struct op *o)
{
	struct coll_shm_slot *slot = shm_own_slot(s, o->pos), say = {
		.collective = (uint8_t)m->cmd->collective,
		.op = (uint8_t)m->cmd->op,
		.dtype = (uint8_t)m->cmd->dtype,
		.flags = m->cmd->flags & COLL_CMD_NARROW ? COLL_SHM_NARROW : 0,
		.root = m->cmd->root,
		.count = m->count,
	};
	word *w = (word *)slot, *from = (word *)&say;

	o->kind = from[1];
	o->count = from[2];
	o->own_count = m->own_count;
	shm_move_write(s, m, slot);
	__atomic_store_n(&w[1], o->kind, __ATOMIC_RELAXED);
	__atomic_store_n(&w[2], o->count, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)&slot->scalar, m->cmd->scalar, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)&slot->pos, o->pos, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * To wait awake was in vain, or another rank went another way: the next ops go to the kernel at
 * once. Pauses end at positions that are multiples of their length, so those of all ranks
 * end together.
 */
static void pause_here(struct shm *s, uint64_t pos)
{
	if (s->always)
		return;
	if (s->failures < PAUSE_MOST)
		s->failures++;
	s->next_try = (pos | ((1ULL << s->failures) - 1)) + 1;
}

static void count_op(struct shm *s, const struct shm_move *m)
{
	struct coll_shm_area *own = shm_own_area(s);
	size_t bytes = m->in_bytes > m->out_bytes ? m->in_bytes : m->out_bytes;

	s->ops++;
	__atomic_store_n((uint64_t *)&own->ops, s->ops, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)&own->bytes, own->bytes + bytes, __ATOMIC_RELAXED);
}

/* May the next op be done here? Then @o has its position. */
static bool begin(coll_comm_t *comm, struct op *o)
{
	struct shm *s = comm->shm;
	const struct coll_shm_rank *own = shm_rank(s, s->me);

	o->posted = load((const uint64_t *)&own->posted);
	o->pos = s->ops + o->posted + 1;
	o->next = 0;
	/*
	 * The kernel has refused what was given to it last, and the slot says that there is
	 * such an op.
	 */
	if (s->gave == o->posted)
		s->broken = true;
	s->gave = ~0ULL;
	return !s->broken && o->pos >= s->next_try &&
	       load((const uint64_t *)&own->completed) == o->posted && !async_is_queued(comm) &&
	       !__atomic_load_n(&s->h->failed, __ATOMIC_ACQUIRE);
}

/* Return: false: for the kernel. @spent: nanoseconds of the command's time. */
static bool run(coll_comm_t *comm, const struct shm_move *m, struct op *o, int *res,
		uint64_t *spent)
{
	struct shm *s = comm->shm;
	uint64_t since;
	bool slept;
	enum outcome what;

	*res = 0;
	write_slot(s, m, o);
	what = spin(s, o, m->cmd->flags & COLL_CMD_SPIN ? LONG_SPIN_US * s->looks_per_us :
			  s->spins);
	slept = what == LATE;
	since = slept && m->cmd->timeout_ns ? relax_now_ns() : 0;
	if (slept && comm->idle)
		what = wait_idle(comm, o, m->cmd->timeout_ns);
	/* What ends at the deadline is the kernel's to say. */
	if (what == LATE)
		what = wait_asleep(comm, o, comm->idle ? 1 : m->cmd->timeout_ns, res);
	if (what == COMPLETE) {
		wake_others(comm, o);
		if (!shm_move_agrees(s, m, o->pos))
			what = DIFFERENT;
	}
	if (what == COMPLETE) {
		shm_move_finish(s, m, o->pos);
		count_op(s, m);
		*res = 0;
	} else if (what == ASTRAY || what == DIFFERENT) {
		s->gave = o->posted;
		*spent = since ? relax_now_ns() - since : 0;
	} else {
		s->broken = true;
		if (!*res)
			*res = -(int)__atomic_load_n(&s->h->failed, __ATOMIC_ACQUIRE);
	}
	if (slept || what == ASTRAY)
		pause_here(s, o->pos);
	else if (s->failures)
		s->failures--;
	return what != ASTRAY && what != DIFFERENT;
}

/* What is wrong with a registered buffer is the kernel's to say. */
static bool is_registered(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return !(cmd->flags & (COLL_CMD_REG_SEND | COLL_CMD_REG_RECV)) || buffers_hold(comm, cmd);
}

bool shm_submit(coll_comm_t *comm, const struct coll_cmd *cmd, int *res, uint64_t *spent)
{
	struct shm *s = comm->shm;
	struct shm_move m;
	struct op o;
	int ret;

	*spent = 0;
	if (!*s->alive || !__atomic_load_n(&s->h->active, __ATOMIC_ACQUIRE) ||
	    coll_is_message(cmd->collective))
		return false;
	ret = shm_turn_begin(s, cmd->timeout_ns);
	if (ret == -ETIME) {
		/* That is the kernel's to say, at once. */
		*spent = cmd->timeout_ns;
		return false;
	}
	if (ret) {
		*res = ret;
		return true;
	}
	s->ranked = comm->version.features & COLL_FEAT_RANK_ORDER && !comm->select;
	if (begin(comm, &o) && shm_move_setup(s, cmd, &m) && is_registered(comm, cmd) &&
	    run(comm, &m, &o, res, spent)) {
		shm_turn_end(s);
		return true;
	}
	shm_turn_give(s);
	return false;
}

void shm_given(coll_comm_t *comm)
{
	if (*comm->shm->alive)
		shm_turn_given(comm->shm);
}
