// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Blocking collectives in shared memory. */
#include <errno.h>

#include "base/relax.h"
#include "collective.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "comm/shm_turn.h"
#include "nonblocking/async.h"
#include "shm_move.h"
#include "shm_node.h"
#include "shm_op.h"
#include "shm_plan.h"
#include "shm_run.h"
#include "shm_wait.h"

/* May the kernel let the thread sleep some time later? */
static bool is_refused_for_now(int err)
{
	return err == -ENOMEM || err == -EBUSY;
}

/* Sleep and look until the op is not SHM_LATE any more, or the sleep fails. */
static enum shm_outcome wait_asleep(coll_comm_t *comm, struct shm_op *o, uint64_t timeout_ns,
				    int *err)
{
	uint64_t now = timeout_ns ? relax_now_ns() : 0;
	uint64_t until = timeout_ns < ~0ULL - now ? now + timeout_ns : ~0ULL;
	enum shm_outcome what;

	for (;;) {
		now = timeout_ns ? relax_now_ns() : 0;
		*err = shm_wait_asleep(comm, o, !timeout_ns ? 0 : now < until ? until - now : 1, 0);
		/* The communicator has failed for this op, even if the last rank has come since. */
		if (*err == -ETIMEDOUT)
			return SHM_FAILED;
		what = shm_op_look(comm->shm, o);
		if (what != SHM_LATE)
			*err = 0;
		if (what != SHM_LATE || (*err && !is_refused_for_now(*err)))
			return what;
		/*
		 * The kernel has not failed the communicator: it has refused the sleep, or a rank
		 * changes its slot all the time. The own slot says that this rank takes part: it
		 * cannot go back.
		 */
		if (timeout_ns && now >= until) {
			coll_abort(comm, ETIMEDOUT);
			*err = -ETIMEDOUT;
			return SHM_FAILED;
		}
		if (*err)
			relax_sleep(RELAX_FIRST_NS);
	}
}

/* Sleep for @ns, or until the op can go on. If the kernel refuses that, look now and then. */
static void pause_idle(coll_comm_t *comm, struct shm_op *o, uint64_t ns)
{
	if (shm_wait_asleep(comm, o, ns ? ns : 1, COLL_SHM_WAIT_LOOK))
		relax_sleep(ns < RELAX_FIRST_NS ? ns : RELAX_FIRST_NS);
}

/* Sleep and look, and call the application's function whenever its pause is over. */
static enum shm_outcome wait_idle(coll_comm_t *comm, struct shm_op *o, uint64_t timeout_ns)
{
	uint64_t start = relax_now_ns(), waited = 0, next = RELAX_FIRST_NS, ns;
	uint64_t most = timeout_ns ? timeout_ns : ~0ULL;
	enum shm_outcome what;

	while ((what = shm_op_look(comm->shm, o)) == SHM_LATE && waited < most) {
		if (waited >= next) {
			ns = comm->idle(comm->idle_arg, waited);
			waited = relax_now_ns() - start;
			next = ns < ~0ULL - waited ? waited + ns : ~0ULL;
		} else {
			pause_idle(comm, o, (next < most ? next : most) - waited);
			waited = relax_now_ns() - start;
		}
	}
	return what;
}

/* Return: false: for the kernel. @spent: nanoseconds of the command's time. */
static bool run(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o, int *res,
		uint64_t *spent)
{
	struct shm *s = comm->shm;
	uint64_t since;
	bool slept;
	enum shm_outcome what;

	*res = 0;
	shm_op_write(s, m, o);
	what = shm_wait_awake(s, o, m);
	slept = what == SHM_LATE;
	since = slept && m->cmd->timeout_ns ? relax_now_ns() : 0;
	if (slept && comm->idle)
		what = wait_idle(comm, o, m->cmd->timeout_ns);
	/* The kernel fails the communicator at the deadline. */
	if (what == SHM_LATE)
		what = wait_asleep(comm, o, comm->idle ? 1 : m->cmd->timeout_ns, res);
	if (what == SHM_COMPLETE)
		what = shm_op_finish(comm, m, o);
	if (what == SHM_COMPLETE) {
		*res = 0;
	} else if (what == SHM_ASTRAY || what == SHM_DIFFERENT) {
		s->gave = o->posted;
		*spent = since ? relax_now_ns() - since : 0;
	} else {
		s->broken = true;
		if (!*res)
			*res = shm_op_error(s);
	}
	if (slept || what == SHM_ASTRAY)
		shm_op_pause(s, o->pos);
	else
		shm_op_no_pause(s);
	return what != SHM_ASTRAY && what != SHM_DIFFERENT;
}

bool shm_submit(coll_comm_t *comm, const struct coll_cmd *cmd, int *res, uint64_t *spent)
{
	struct shm *s = comm->shm;
	const struct shm_move *m;
	struct shm_op o;
	int ret;

	*spent = 0;
	/* With several nodes the first rank waits in the kernel, which cannot call comm->idle. */
	if (!shm_most(s) || (s->nodes && comm->idle) || !*s->alive ||
	    !__atomic_load_n(&s->h->active, __ATOMIC_ACQUIRE) || coll_is_message(cmd->collective))
		return false;
	ret = shm_turn_begin(s, cmd->timeout_ns);
	if (ret == -ETIME) {
		/* The kernel has to report that the time is over, at once. */
		*spent = cmd->timeout_ns;
		return false;
	}
	if (ret) {
		*res = ret;
		return true;
	}
	s->ranked = comm->version.features & COLL_FEAT_RANK_ORDER && !comm->select;
	if (!async_is_queued(comm) && shm_op_begin(comm, &o, 0) && (m = shm_plan(s, cmd)) &&
	    shm_op_buffers(comm, cmd) && (s->nodes ? shm_node_run : run)(comm, m, &o, res, spent)) {
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
