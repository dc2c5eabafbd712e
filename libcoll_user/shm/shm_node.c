// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/relax.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "shm_move.h"
#include "shm_node.h"
#include "shm_op.h"
#include "shm_wait.h"

/* Between two looks, if the kernel has no memory for a sleep. */
#define PAUSE_NS	1000000

/* Has the op been posted for this rank, by this rank or by the first one? */
static bool is_posted(const struct shm *s, const struct shm_op *o)
{
	return __atomic_load_n(&shm_rank(s, s->me)->posted, __ATOMIC_ACQUIRE) >= o->pos;
}

/*
 * If all slots have been written now, the first rank may sleep until then. shm_op_write() has ended
 * with a full barrier.
 */
static void wake_first(coll_comm_t *comm, struct shm_op *o)
{
	const struct shm *s = comm->shm;

	if (shm_op_look_at_slots(s, o) == SHM_COMPLETE &&
	    __atomic_load_n((const uint64_t *)&shm_area(s, 0)->sleeps, __ATOMIC_RELAXED) == o->pos)
		ioctl(comm->fd, COLL_IOC_SHM_WAKE);
	o->next = 0;
}

/* The first rank posts the op for all. Return: false: nothing has been posted. */
static bool lead(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o,
		 enum shm_outcome what, int *res)
{
	uint64_t now = m->cmd->timeout_ns ? relax_now_ns() : 0;
	uint64_t until = m->cmd->timeout_ns < ~0ULL - now ? now + m->cmd->timeout_ns : ~0ULL;
	struct coll_cmd cmd = *m->cmd;

	cmd.flags |= COLL_CMD_NODE;
	if (what == SHM_LATE)
		shm_wait_announce(comm->shm, o);
	while ((*res = ioctl(comm->fd, COLL_IOC_SUBMIT, &cmd) ? -errno : 0) == -EINTR &&
	       !is_posted(comm->shm, o)) {
		now = relax_now_ns();
		if (cmd.timeout_ns)
			cmd.timeout_ns = now < until ? until - now : 1;
	}
	if (what == SHM_LATE)
		shm_wait_end(comm->shm, o);
	return !*res || is_posted(comm->shm, o);
}

/* Sleep until the op has ended, or is for this rank to post. */
static enum shm_outcome wait_for_end(coll_comm_t *comm, struct shm_op *o, uint64_t timeout_ns)
{
	uint64_t now = timeout_ns ? relax_now_ns() : 0;
	uint64_t until = timeout_ns < ~0ULL - now ? now + timeout_ns : ~0ULL;
	enum shm_outcome what;

	while ((what = shm_op_look(comm->shm, o)) == SHM_LATE) {
		now = timeout_ns ? relax_now_ns() : 0;
		if (shm_wait_asleep(comm, o, !timeout_ns ? 0 : now < until ? until - now : 1,
				 COLL_SHM_WAIT_FINISHED))
			relax_sleep(PAUSE_NS);
	}
	return what;
}

/* Another rank has posted the op for this one, and it has ended. */
static int take_result(const struct shm *s, const struct shm_move *m, const struct shm_op *o)
{
	int err = (int)__atomic_load_n(&shm_rank(s, s->me)->result, __ATOMIC_RELAXED);

	if (!err && m->out_bytes)
		memcpy(m->out, shm_data(s, s->me, o->pos), m->out_bytes);
	return -err;
}

static bool follow(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o,
		   enum shm_outcome what, int *res)
{
	if (what == SHM_LATE)
		what = wait_for_end(comm, o, m->cmd->timeout_ns);
	if (what != SHM_COMPLETE)
		return false;
	*res = take_result(comm->shm, m, o);
	return true;
}

/*
 * The first rank may be posting the op at this moment: it has seen the slot of this rank before
 * that was withdrawn, and a slot of a third rank before that rank changed it. Then the command of
 * this rank must not become the next op. The call returns when such a post is over, and none
 * follows, because the slot is withdrawn.
 */
static bool was_posted_meanwhile(coll_comm_t *comm, const struct shm_op *o)
{
	ioctl(comm->fd, COLL_IOC_SHM_WAKE);
	return is_posted(comm->shm, o);
}

/*
 * Ops take as long as the network does, and nodes that share their CPUs, as in tests, take these
 * from each other: look for a shorter time if that was in vain.
 */
static void learn(struct shm *s, bool in_vain)
{
	if (in_vain && s->doubts < SHM_DOUBTS_MOST)
		s->doubts++;
	else if (!in_vain && s->doubts)
		s->doubts--;
}

bool shm_node_run(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o, int *res,
		  uint64_t *spent)
{
	uint64_t begin = m->cmd->timeout_ns ? relax_now_ns() : 0;
	struct shm *s = comm->shm;
	enum shm_outcome what;
	bool done = false;

	shm_op_write(s, m, o);
	if (o->follows)
		wake_first(comm, o);
	what = shm_wait_awake(s, o, m);
	learn(s, what == SHM_LATE);
	if (o->follows)
		done = follow(comm, m, o, what, res);
	else if (what == SHM_COMPLETE || what == SHM_LATE)
		done = lead(comm, m, o, what, res);
	if (done) {
		s->node_ops++;
		shm_op_no_pause(s);
		return true;
	}
	/* So that the other ranks know that it is not posted for this one. */
	shm_op_retract(s, o);
	if (o->follows && was_posted_meanwhile(comm, o) && follow(comm, m, o, SHM_LATE, res)) {
		s->node_ops++;
		return true;
	}
	shm_op_pause(s, o->pos);
	*spent = begin ? relax_now_ns() - begin : 0;
	return false;
}
