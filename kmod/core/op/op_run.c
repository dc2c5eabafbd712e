// SPDX-License-Identifier: GPL-2.0
/*
 * Which ops of a group run, and which threads help them.
 *
 * Ops start in order. On one node one op runs at a time: it ends at once, or keeps all CPUs busy.
 * But a small named op does not wait for a large one. Over links an op ends when bytes have gone to
 * the peer and back. The next ops start beside it, because the CPUs are idle in that time. Each
 * link takes ops in order (kmod/xport/channel.h). So an op never waits for a later one.
 */
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>

#include "../../pure/optable.h"
#include "../exec/exec.h"
#include "../exec/exec_local.h"
#include "../exec/team.h"
#include "../group/failure.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "../limits.h"
#include "../p2p/copy.h"
#include "../plan/plan.h"
#include "../plan/plan_fuse.h"
#include "../trace.h"
#include "absent.h"
#include "op.h"
#include "op_run.h"

/*
 * Are there ops that have not released all they hold? The thread that completes them starts other
 * ops afterwards. Under group->lock.
 */
static bool coll_op_has_company_locked(const struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	return g->nr_running || g->completing;
}

/* The states that may follow each state, as bits. */
static const u8 coll_op_next_states[] = {
	[COLL_OP_POSTED]	= BIT(COLL_OP_RUNNING) | BIT(COLL_OP_DROPPED),
	[COLL_OP_DEFERRED]	= BIT(COLL_OP_RUNNING) | BIT(COLL_OP_DROPPED),
	[COLL_OP_RUNNING]	= BIT(COLL_OP_DEFERRED) | BIT(COLL_OP_ENDED),
	[COLL_OP_ENDED]		= BIT(COLL_OP_GONE),
	[COLL_OP_DROPPED]	= BIT(COLL_OP_GONE),
};

void coll_op_set_state(struct coll_op *op, enum coll_op_state state)
{
	lockdep_assert_held(&op->group->lock);
	WARN_ON_ONCE(op->state >= ARRAY_SIZE(coll_op_next_states) ||
		     !(coll_op_next_states[op->state] & BIT(state)));
	op->state = state;
}

/* May @op start beside the ops that run? Under group->lock. */
static bool coll_op_fits_locked(const struct coll_group *g, const struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	if (!g->nr_running)
		return true;
	if (coll_ops_overtake(g))
		return g->nr_running < COLL_URGENT_OPS && coll_op_is_small(op);
	return g->nr_nodes > 1 && g->nr_running < COLL_RUNNING_MAX &&
	       op->bytes <= COLL_RUNNING_BYTES &&
	       g->running_bytes <= COLL_RUNNING_BYTES - op->bytes;
}

/* The op whose turn it is; NULL: none may start. Under group->lock. */
static struct coll_op *coll_op_turn_locked(struct coll_group *g)
{
	struct coll_op *op;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(op, &g->ops, list) {
		if (coll_op_has_started(op))
			continue;
		/* An op that cannot complete does not start. */
		if (op->nr_posted < g->nr_local || coll_group_fails_at(g, op->seq) ||
		    (op->state == COLL_OP_DEFERRED && coll_op_has_company_locked(g)) ||
		    !coll_op_fits_locked(g, op))
			break;
		return op;
	}
	return NULL;
}

/* As coll_op_turn_locked(), but with a ref. Under group->lock. */
static struct coll_op *coll_op_next_locked(struct coll_group *g)
{
	struct coll_op *op = coll_op_turn_locked(g);

	lockdep_assert_held(&g->lock);
	return op && coll_op_tryget(op) ? op : NULL;
}

/* Under group->lock. */
static void coll_op_started_locked(struct coll_group *g, struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	coll_op_set_state(op, COLL_OP_RUNNING);
	g->started++;
	g->running_bytes += op->bytes;
	WRITE_ONCE(g->nr_running, g->nr_running + 1);
}

/* A started op does not count any more. Under group->lock. */
static void coll_op_stopped_locked(struct coll_group *g, struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	g->running_bytes -= op->bytes;
	WRITE_ONCE(g->nr_running, g->nr_running - 1);
	if (!op->exec)
		return;
	g->running_memory -= op->exec->memory;
	if (op->exec->team)
		WRITE_ONCE(g->nr_open, g->nr_open - 1);
}

void coll_op_leave(struct coll_group *g, struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	list_del(&op->list);
	if (coll_op_has_started(op))
		coll_op_stopped_locked(g, op);
	coll_op_set_state(op, COLL_OP_GONE);
}

/* Bytes of memory that an op which has just started may take. Under group->lock. */
static u64 coll_op_room_locked(const struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	if (g->nr_running <= 1)
		return COLL_ROOM_ALONE;
	return COLL_RUNNING_MEMORY - min_t(u64, g->running_memory, COLL_RUNNING_MEMORY);
}

static void coll_op_defer(struct coll_op *op)
{
	struct coll_group *g = op->group;

	spin_lock(&g->lock);
	coll_op_stopped_locked(g, op);
	coll_op_set_state(op, COLL_OP_DEFERRED);
	g->started--;
	spin_unlock(&g->lock);
}

/*
 * Start an op, which may take @room bytes of memory. If it cannot start beside other ops, it is
 * deferred: they may hold the memory that it lacks, and have to end before it may fail the group.
 * Return: 0: it has started or failed; -EAGAIN: it is deferred; -EINPROGRESS: it is deferred,
 * because there is more to prepare.
 */
static int coll_op_start(struct coll_op *op, bool beside, u64 room)
{
	struct coll_group *g = op->group;
	struct mem_cgroup *memcg;
	struct coll_cause cause;
	int ret;

	memcg = set_active_memcg(g->memcg);
	ret = op->nr_absent ? coll_absent_fill(op) : coll_fuse_vectors(op);
	if (!ret)
		ret = coll_plan_prepare(op, room);
	set_active_memcg(memcg);
	if (ret == -EINPROGRESS || (ret && beside)) {
		coll_op_defer(op);
		return ret == -EINPROGRESS ? ret : -EAGAIN;
	}
	trace_coll_start(g->id, op->seq, op->cmd.collective, op->bytes);
	if (!ret) {
		coll_exec_start(op);
		return 0;
	}
	if (ret != -ENOTCONN && ret != -EBADE) {
		coll_group_no_memory(g, ret, op->seq);
		return 0;
	}
	coll_group_cause(g, &cause, ret == -ENOTCONN ? COLL_CAUSE_LINK : COLL_CAUSE_MISMATCH, -ret,
			 COLL_RANK_NONE, op->seq);
	coll_group_fail(g, &cause);
	return 0;
}

void coll_ops_go_on_later(struct coll_group *g)
{
	coll_group_get(g);
	if (!queue_work(g->user->wq, &g->go_on))
		coll_group_put(g);
}

/*
 * Starting an op may end it at once, and ending an op calls this function again. The inner call
 * returns and the outer one goes on in its loop, so that the stack does not grow.
 */
void coll_ops_advance(struct coll_group *g)
{
	unsigned long end = coll_ops_end();
	bool beside, over = false;
	struct coll_op *op;
	int ret = 0;
	u64 room;

	spin_lock(&g->lock);
	if (g->advancing) {
		spin_unlock(&g->lock);
		return;
	}
	g->advancing = true;
	/* The last of the ops that a deferred op waits for calls this function when it ends. */
	while (!over && !g->error && (!ret || !coll_op_has_company_locked(g))) {
		op = coll_op_next_locked(g);
		if (!op)
			break;
		beside = coll_op_has_company_locked(g);
		coll_op_started_locked(g, op);
		room = coll_op_room_locked(g);
		spin_unlock(&g->lock);
		ret = coll_op_start(op, beside, room);
		coll_op_put(op);
		over = coll_ops_are_over(end);
		spin_lock(&g->lock);
		if (ret == -EINPROGRESS)
			break;
	}
	over = over && coll_op_turn_locked(g);
	g->advancing = false;
	spin_unlock(&g->lock);
	if (ret == -EINPROGRESS)
		g->watch->again(g);
	else if (over)
		coll_ops_go_on_later(g);
}

u32 coll_ops_running(struct coll_group *g, struct coll_op **ops)
{
	struct coll_op *op;
	u32 n = 0;

	spin_lock(&g->lock);
	list_for_each_entry(op, &g->ops, list) {
		if (!coll_op_has_started(op) || g->error)
			break;
		if (op->exec && !coll_op_ending(op) && coll_op_tryget(op))
			ops[n++] = op;
	}
	spin_unlock(&g->lock);
	return n;
}

static bool coll_op_wants_help(const struct coll_op *op)
{
	return coll_op_has_started(op) && op->exec && coll_exec_wants_help(op->exec);
}

/* The oldest op, unless a small one overtakes it. Under group->lock. */
static struct coll_op *coll_op_to_help_locked(struct coll_group *g)
{
	struct coll_op *op, *oldest = NULL;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(op, &g->ops, list) {
		if (!coll_op_has_started(op))
			break;	/* no op behind it has started either */
		if (!coll_op_wants_help(op))
			continue;
		if (!coll_ops_overtake(g) || coll_op_is_small(op))
			return op;
		oldest = oldest ?: op;
	}
	return oldest;
}

/* Work on @op, which may be NULL. Under group->lock, which this function releases. */
static void coll_op_help_unlock(struct coll_group *g, struct coll_op *op,
				struct coll_worker *w, const bool *done)
	__releases(&g->lock)
{
	bool used = op && coll_op_tryget(op);

	lockdep_assert_held(&g->lock);
	spin_unlock(&g->lock);
	if (!used)
		return;
	coll_exec_help(op->exec, w, done);
	coll_op_put(op);
}

bool coll_group_can_help(struct coll_group *g)
{
	bool can;

	spin_lock(&g->lock);
	can = g->nr_open && coll_op_to_help_locked(g);
	spin_unlock(&g->lock);
	return can;
}

void coll_group_help(struct coll_group *g, struct coll_worker *w, const bool *done)
{
	struct coll_op *op;

	spin_lock(&g->lock);
	op = coll_op_to_help_locked(g);
	coll_op_help_unlock(g, op, w, done);
}

/* Take a ref of an op that has no workers and wants some. Under group->lock. */
static struct coll_op *coll_op_to_staff_locked(struct coll_group *g)
{
	struct coll_op *op;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(op, &g->ops, list) {
		if (!coll_op_has_started(op))
			break;
		if (coll_op_wants_help(op) && READ_ONCE(op->exec->staff) && coll_op_tryget(op))
			return op;
	}
	return NULL;
}

void coll_group_staff(struct coll_group *g)
{
	struct coll_op *op;

	do {
		spin_lock(&g->lock);
		op = g->nr_open ? coll_op_to_staff_locked(g) : NULL;
		spin_unlock(&g->lock);
		if (op) {
			coll_team_staff(op->exec);
			coll_op_put(op);
		}
	} while (op);
}

bool coll_req_can_help(struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);
	bool can;

	if (coll_is_message(req->cmd.collective))
		return coll_msg_can_help(req);
	/* Avoid the lock: a polling thread would contend with the ranks that it waits for. */
	if (!READ_ONCE(g->nr_open))
		return false;
	spin_lock(&g->lock);
	can = req->op && coll_op_wants_help(req->op);
	spin_unlock(&g->lock);
	return can;
}

void coll_req_help(struct coll_req *req, struct coll_worker *w)
{
	struct coll_group *g = coll_member_group(req->member);
	struct coll_op *op;

	if (coll_is_message(req->cmd.collective)) {
		coll_msg_help(req, w);
		return;
	}
	spin_lock(&g->lock);
	op = req->op;
	if (op && !coll_op_wants_help(op))
		op = NULL;
	coll_op_help_unlock(g, op, w, NULL);
}
