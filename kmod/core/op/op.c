// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../pure/optable.h"
#include "../../pure/wire.h"
#include "../deadline.h"
#include "../exec/exec.h"
#include "../group/account.h"
#include "../group/failure.h"
#include "../group/fusion.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../group/proxy.h"
#include "../group/ref.h"
#include "../group/shm.h"
#include "../group/last_cpu.h"
#include "../p2p/post.h"
#include "../plan/extent.h"
#include "../plan/plan.h"
#include "../plan/plan_keep.h"
#include "../plan/select.h"
#include "../plan/stripe.h"
#include "../plan/support.h"
#include "../trace.h"
#include "../worker.h"
#include "op.h"
#include "op_run.h"

static void coll_op_ended(struct coll_op *op);

static void coll_op_free(struct kref *ref)
{
	kfree(container_of(ref, struct coll_op, memory));
}

/* Lowest local rank that has not posted @op. Under group->lock. */
static u32 coll_op_late_rank_locked(const struct coll_op *op)
{
	const struct coll_group *g = op->group;
	const struct coll_req *req;
	u32 i = 0;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(req, &op->reqs, list) {
		if (req->member->local != i)
			break;
		i++;
	}
	return i < g->nr_local ? g->local_rank[i] : COLL_RANK_NONE;
}

/* Arm the deadline again: its work item is running. Under group->lock. */
static void coll_op_rearm_locked(struct coll_op *op, unsigned long delay)
{
	lockdep_assert_held(&op->group->lock);
	kref_get(&op->memory);
	if (!queue_delayed_work(coll_alarm_wq, &op->deadline, delay))
		kref_put(&op->memory, coll_op_free);	/* brought forward meanwhile */
}

/*
 * The result of @op was known at its deadline, so @op is in time. But another node may still use
 * its pages. Under group->lock. Return: true: the pages have been in use for too long.
 */
static bool coll_op_lingers_locked(struct coll_op *op)
{
	lockdep_assert_held(&op->group->lock);
	if (!atomic_read(&op->zc_links))
		return false;
	if (op->grace)
		return true;
	op->grace = true;
	op->expires = coll_deadline(jiffies_to_nsecs(COLL_OP_GRACE));
	coll_op_rearm_locked(op, coll_deadline_delay(op->expires));
	return false;
}

/* Fail the group at the deadline of an op with a ref, unless the op is about to end. */
static void coll_op_fail_late(struct coll_op *op, const struct coll_cause *cause)
{
	struct coll_group *g = op->group;
	bool claimed = false, first = false;

	spin_lock(&g->lock);
	if (!g->error) {
		/* Fix the result under the lock: else the op may succeed before the group fails. */
		claimed = coll_op_end(op, -cause->error);
		if (claimed || coll_op_lingers_locked(op))
			first = coll_group_fail_locked(g, cause);
	}
	spin_unlock(&g->lock);
	if (first)
		coll_group_failed_soon(g);
	if (claimed)
		coll_op_put_later(op);
}

/* The deadline of an op with a ref. If the timer was early, it is armed again. */
static void coll_op_timed_out(struct coll_op *op)
{
	struct coll_group *g = op->group;
	struct coll_op *first = NULL;
	struct coll_cause cause, pending;
	unsigned long delay;
	bool failing;
	u32 late;

	spin_lock(&g->lock);
	/* An op with a pending failure reports its own cause, not a timeout. */
	pending = g->pending_failure;
	failing = coll_group_fails_at(g, op->seq);
	delay = coll_deadline_delay(op->expires);
	if (delay)
		coll_op_rearm_locked(op, delay);
	late = coll_op_late_rank_locked(op);
	/* The op may wait for the end of the oldest op. */
	if (!delay && late == COLL_RANK_NONE)
		first = coll_op_oldest(g);
	if (first && (!first->exec || !coll_op_tryget(first)))
		first = NULL;
	spin_unlock(&g->lock);
	if (delay)
		return;
	coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT, late, op->seq);
	if (first)
		cause.node = coll_exec_awaited(first->exec);
	if (failing)
		cause = pending;
	coll_op_fail_late(op, &cause);
	if (first)
		coll_op_put_later(first);
}

static void coll_op_deadline(struct work_struct *work)
{
	struct coll_op *op = container_of(to_delayed_work(work), struct coll_op,
					  deadline);

	/* The group certainly exists only while the op has not ended. */
	if (coll_op_tryget(op)) {
		coll_op_timed_out(op);
		coll_op_put_later(op);
	}
	kref_put(&op->memory, coll_op_free);
}

/* Arm the deadline, or bring it forward, to the time @expires. Under group->lock. */
static void coll_op_arm_at_locked(struct coll_op *op, u64 expires)
{
	lockdep_assert_held(&op->group->lock);
	if (op->grace || (op->expires && expires >= op->expires))
		return;
	op->expires = expires;
	kref_get(&op->memory);
	if (mod_delayed_work(coll_alarm_wq, &op->deadline, coll_deadline_delay(expires)))
		kref_put(&op->memory, coll_op_free);	/* was armed before */
}

/* As coll_op_arm_at_locked(), @timeout_ns from now; 0: no deadline. Under group->lock. */
static void coll_op_arm_locked(struct coll_op *op, u64 timeout_ns)
{
	lockdep_assert_held(&op->group->lock);
	if (timeout_ns)
		coll_op_arm_at_locked(op, coll_deadline(timeout_ns));
}

/*
 * @op has ended, and completes after the ops before it, unless ops overtake others. So its deadline
 * holds for these ops, too. All of them have started, so they are few. Under group->lock.
 */
static void coll_op_hurry_others_locked(struct coll_op *op)
{
	struct coll_op *before = op;

	lockdep_assert_held(&op->group->lock);
	if (!op->expires || op->group->error || coll_ops_overtake(op->group))
		return;
	list_for_each_entry_continue_reverse(before, &op->group->ops, list)
		if (before->state == COLL_OP_RUNNING)
			coll_op_arm_at_locked(before, op->expires);
}

void coll_op_expire(struct coll_member *m, u64 seq)
{
	struct coll_group *g = coll_member_group(m);

	spin_lock(&g->lock);
	if (m->last && m->last->seq == seq)
		coll_op_arm_locked(m->last, 1);
	spin_unlock(&g->lock);
}

static void coll_op_end_work(struct work_struct *work)
{
	struct coll_op *op = container_of(work, struct coll_op, end_work);
	struct coll_group *g = op->group;
	struct coll_worker w;

	/* coll_op_ended() may free @op. */
	coll_group_get(g);
	coll_worker_begin(&w, g->user, &g->error);
	coll_op_ended(op);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	coll_group_put(g);
}

struct coll_op *coll_op_alloc(gfp_t gfp)
{
	struct coll_op *op = kmalloc(sizeof(*op), gfp | __GFP_ACCOUNT);

	if (op)
		kref_init(&op->memory);
	return op;
}

/* Take memory for an op: the group's, else the caller's. NULL: there is none. Under group->lock. */
static struct coll_op *coll_op_take_locked(struct coll_group *g, struct coll_op **spare)
{
	struct coll_op **from = g->spare ? &g->spare : spare, *op = *from;

	lockdep_assert_held(&g->lock);
	*from = NULL;
	return op;
}

/*
 * Keep the memory of an op that has left the queue for the next op: to allocate and to free it
 * takes longer than a small op. Do not keep it if a deadline that is just expiring has a reference.
 * Under group->lock.
 */
static void coll_op_keep_locked(struct coll_group *g, struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	if (!g->spare && kref_read(&op->memory) == 1)
		g->spare = op;
	else
		kref_put(&op->memory, coll_op_free);
}

void coll_op_discard(struct coll_op *op)
{
	if (op)
		kref_put(&op->memory, coll_op_free);
}

static void coll_op_discard_spare(struct coll_group *g)
{
	coll_op_discard(g->spare);
}

/*
 * The op that a member posts next, if another local rank has posted it already. It is behind the
 * last op of the member, or first in the queue if all ops of the member have ended. There may be
 * thousands of ops.
 */
static struct coll_op *coll_op_find_locked(struct coll_group *g, const struct coll_member *m)
{
	struct coll_op *op;

	lockdep_assert_held(&g->lock);
	if (!m->last)
		op = list_first_entry_or_null(&g->ops, struct coll_op, list);
	else if (list_is_last(&m->last->list, &g->ops))
		op = NULL;
	else
		op = list_next_entry(m->last, list);
	return op && op->seq == m->posted + 1 ? op : NULL;
}

static u64 coll_op_signature(const struct coll_op *op)
{
	const struct coll_cmd *c = &op->cmd;
	u64 sig = coll_signature(c->collective, c->op, c->dtype, c->algorithm,
				 c->root, op->agreed, op->seq);

	if (op->fused)
		sig = coll_digest(sig, COLL_WIRE_FUSED) ?: 1;
	/* With these flags transfers have another length, and other types of elements. */
	if (coll_is_wide(c))
		sig = coll_digest(sig, COLL_WIRE_WIDE) ?: 1;
	if (c->flags & COLL_CMD_NARROW)
		sig = coll_digest(sig, COLL_WIRE_NARROW) ?: 1;
	if (c->flags & COLL_CMD_WIRE)
		sig = coll_digest(sig, COLL_WIRE_SMALL + coll_wire_type(c)) ?: 1;
	/* Nodes choose the same algorithm only if their tables are the same. */
	if (op->table)
		sig = coll_digest(sig, op->table) ?: 1;
	return coll_stripes_sign(op->group, sig);
}

/* The first local rank posts an op: put the op into the queue. Under group->lock. */
static void coll_op_enqueue_locked(struct coll_group *g, struct coll_op *op,
				   const struct coll_req *req, u64 seq)
{
	lockdep_assert_held(&g->lock);
	coll_group_get(g);
	*op = (struct coll_op){
		.refs = ATOMIC_INIT(1),
		.group = g,
		.seq = seq,
		.cmd = req->cmd,
		.agreed = req->agreed,
		.divisor = req->divisor ?: g->size,
		.scaling = req->scaling,
		.on_complete = coll_op_ended,
		.weight = req->weight,
	};
	kref_init(&op->memory);
	INIT_LIST_HEAD(&op->reqs);
	INIT_DELAYED_WORK(&op->deadline, coll_op_deadline);
	INIT_WORK(&op->end_work, coll_op_end_work);
	/* Choose for the first tensor of a fusion: the choice for its other tensors is the same. */
	coll_select_op(op, req);
	coll_stripe_op(op, req);
	if (req->fusion) {
		op->fused = true;
		op->cmd.count = req->fusion->count;
		op->agreed = req->fusion->digest;
	}
	op->sig = coll_op_signature(op);
	op->elem = coll_dtype_size(req->cmd.dtype);
	list_add_tail(&op->list, &g->ops);
}

/* Keep op->reqs in the order of local ranks: sums are folded in this order. */
static void coll_op_add_req_locked(struct coll_op *op, struct coll_req *req)
{
	struct coll_req *r;

	lockdep_assert_held(&op->group->lock);
	/* Search from the end: requests of named collectives come in the order of ranks. */
	list_for_each_entry_reverse(r, &op->reqs, list)
		if (r->member->local < req->member->local)
			break;
	list_add(&req->list, &r->list);
	WRITE_ONCE(req->op, op);
	op->bytes = max(op->bytes, req->bytes);
	op->nr_posted++;
	op->nr_absent += req->absent;
	req->seq = ++req->member->posted;
	req->member->last = op;
	coll_last_cpu_posted(req);
	coll_shm_note(req->member);
}

/* A rank that has left before op @seq, so that the op cannot complete. Under group->lock. */
static u32 coll_op_missing_rank_locked(const struct coll_group *g, u64 seq)
{
	u32 i;

	lockdep_assert_held(&g->lock);
	if (seq > g->remote_left.seq)
		return g->remote_left.rank;
	for (i = 0; i < g->nr_left; i++)
		if (seq > g->local_left[i].seq)
			return g->local_left[i].rank;
	return COLL_RANK_NONE;
}

/*
 * Do two ranks have as many tensors, and as many elements, in a fusion? Their digests may be equal
 * by chance, or because somebody wanted that.
 */
static bool coll_fusion_same(const struct coll_fusion *a, const struct coll_fusion *b)
{
	return a->nr == b->nr && a->count == b->count;
}

/*
 * Does @req ask for the same as the request that was posted first? Compare every field, not the
 * signatures: a malicious rank could make them collide, and the lengths of buffers follow from
 * these fields. If ranks have counts of their own, the plan compares those of each transfer.
 */
static bool coll_req_same(const struct coll_op *op, const struct coll_req *req)
{
	const struct coll_cmd *a = &op->cmd, *b = &req->cmd;
	const struct coll_req *first;

	if (a->collective != b->collective || a->op != b->op ||
	    a->dtype != b->dtype || a->root != b->root ||
	    a->algorithm != b->algorithm || op->fused != !!req->fusion ||
	    op->agreed != (req->fusion ? req->fusion->digest : req->agreed) ||
	    (a->flags ^ b->flags) & (COLL_CMD_NARROW | COLL_CMD_WIRE))
		return false;
	first = list_first_entry(&op->reqs, struct coll_req, list);
	if (req->fusion && !coll_fusion_same(first->fusion, req->fusion))
		return false;
	return !coll_counts_agreed(b) ||
	       !memcmp(first->counts, req->counts,
		       op->group->size * sizeof(*req->counts));
}

/*
 * @op needs a rank that has left before it. So the op is posted, but does not start. It ends when
 * the communicator fails, after the ops before it. A rank that gets an error can ask for the cause.
 * Under group->lock.
 */
static void coll_op_fail_later_locked(struct coll_op *op, u32 missing)
{
	struct coll_group *g = op->group;
	struct coll_cause cause;

	lockdep_assert_held(&g->lock);
	coll_group_cause(g, &cause, COLL_CAUSE_CLOSE, EHOSTDOWN, missing, op->seq);
	coll_group_fail_later_locked(g, &cause);
}

/*
 * Under group->lock, with a spare op that is taken if it is needed. Return: 0: posted; if *@failing
 * is set, the caller has to call coll_group_check_pending(). -EBADE: differs from what another rank
 * posted. -ENOMEM: call again with a spare op.
 */
static int coll_op_queue_locked(struct coll_req *req, struct coll_op **spare, bool *failing)
{
	struct coll_member *m = req->member;
	struct coll_group *g = coll_member_group(m);
	u64 seq = m->posted + 1;
	struct coll_op *op;
	u32 missing;

	lockdep_assert_held(&g->lock);
	op = coll_op_find_locked(g, m);
	if (!op) {
		op = coll_op_take_locked(g, spare);
		if (!op)
			return -ENOMEM;
		coll_op_enqueue_locked(g, op, req, seq);
	} else if (!coll_req_same(op, req)) {
		return -EBADE;
	}
	coll_op_add_req_locked(op, req);
	coll_op_arm_locked(op, req->cmd.timeout_ns);
	missing = coll_op_missing_rank_locked(g, seq);
	*failing = missing != COLL_RANK_NONE;
	if (*failing)
		coll_op_fail_later_locked(op, missing);
	return 0;
}

/* Count the requests of all local ranks. Under group->lock. Return: 0, -EDQUOT. */
static int coll_node_count_locked(struct coll_group *g, struct coll_req *lead)
{
	int ret = coll_req_count(lead);
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 1; i < g->nr_local && !ret; i++)
		ret = coll_req_count(&g->members[i]->proxy->req);
	return ret ? -EDQUOT : 0;
}

/*
 * COLL_CMD_NODE: post a request of each local rank, all for the same op. No other rank has posted
 * this op. Under group->lock. Return: as coll_op_post_locked(); -ESTALE: a rank does not wait for
 * this op any more.
 */
static int coll_node_post_locked(struct coll_req *lead, struct coll_op **spare, bool *failing)
{
	struct coll_group *g = coll_member_group(lead->member);
	bool late;
	int ret;
	u32 i;

	lockdep_assert_held(&g->lock);
	if (!coll_proxies_hold_locked(lead->member, lead->member->posted + 1))
		return -ESTALE;
	ret = coll_node_count_locked(g, lead);
	ret = ret ?: coll_op_queue_locked(lead, spare, failing);
	for (i = 1; i < g->nr_local && !ret; i++) {
		/* The op is there, and is the same: this cannot fail. */
		ret = coll_op_queue_locked(&g->members[i]->proxy->req, spare, &late);
		WARN_ON_ONCE(ret);
		*failing |= late;
	}
	for (i = 0; i < g->nr_local && !ret; i++)
		g->members[i]->node_ops++;
	return ret;
}

/*
 * Under group->lock. Return: as coll_op_queue_locked(); -EDQUOT: too many commands are in flight;
 * or the sticky error.
 */
static int coll_op_post_locked(struct coll_req *req, struct coll_op **spare, bool *failing)
{
	struct coll_group *g = coll_member_group(req->member);

	lockdep_assert_held(&g->lock);
	if (g->error)
		return -g->error;
	if (req->cmd.flags & COLL_CMD_NODE)
		return coll_node_post_locked(req, spare, failing);
	if (coll_req_count(req))
		return -EDQUOT;
	return coll_op_queue_locked(req, spare, failing);
}

int coll_op_post_ordered(struct coll_req *req, struct coll_op **spare)
{
	struct coll_group *g = coll_member_group(req->member);
	bool failing;

	lockdep_assert_held(&g->lock);
	/* An op that is queued after a failure would never end. */
	return g->error ? -g->error : coll_op_queue_locked(req, spare, &failing);
}

/* Fail the group: a rank has posted a different op @seq than the others. */
static void coll_post_mismatch(const struct coll_req *req, u64 seq)
{
	struct coll_group *g = coll_member_group(req->member);
	struct coll_cause cause;

	coll_group_cause(g, &cause, COLL_CAUSE_MISMATCH, EBADE, req->member->rank, seq);
	coll_group_fail(g, &cause);
}

int coll_op_post(struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);
	struct coll_op *spare = NULL;
	bool failed, failing = false;
	int ret;
	u64 seq;

	if (coll_is_message(req->cmd.collective))
		return coll_msg_post(req);
	for (;;) {
		spin_lock(&g->lock);
		failed = g->error;
		seq = req->member->posted + 1;
		ret = coll_op_post_locked(req, &spare, &failing);
		spin_unlock(&g->lock);
		if (ret != -ENOMEM || failed)
			break;
		spare = coll_op_alloc(GFP_KERNEL);
		if (!spare)
			break;
	}
	coll_op_discard(spare);
	if (ret) {
		coll_req_uncount(req);
		if (!failed && ret == -EBADE)
			coll_post_mismatch(req, seq);
		return ret == -EDQUOT ? -ENOMEM : ret;
	}
	/* From here on @req may be gone. */
	if (failing)
		coll_group_check_pending(g);
	coll_ops_advance(g);
	return 0;
}

/* Take an ended op out of the queue. Under group->lock. */
static void coll_op_dequeue_locked(struct coll_group *g, struct coll_op *op,
				   struct list_head *reqs)
{
	struct coll_op *before = list_is_first(&op->list, &g->ops) ? NULL : list_prev_entry(op, list);
	struct coll_req *req;

	lockdep_assert_held(&g->lock);
	coll_op_leave(g, op);
	WRITE_ONCE(g->ended, g->ended + 1);
	if (!op->result) {
		g->ended_well++;
		g->bytes += op->bytes;
	}
	list_splice_init(&op->reqs, reqs);
	list_for_each_entry(req, reqs, list) {
		WRITE_ONCE(req->op, NULL);
		req->member->completed++;
		/* If there is an op before it, all ranks of this node have posted that one. */
		if (req->member->last == op)
			req->member->last = before;
		if (!op->result)
			req->member->bytes += op->bytes;
		coll_shm_note(req->member);
	}
	/* Only now: @op is not the last op of any rank any more. */
	if (g->watch)
		g->watch->over(g, op);
}

/*
 * Release all that an op outside the queue holds, also its reference to the group. The caller still
 * owns the memory of the op.
 */
static void coll_op_finish(struct coll_group *g, struct coll_op *op,
			   struct list_head *reqs)
{
	struct coll_req *req, *next;

	trace_coll_complete(g->id, op->seq, op->result);
	/* Only now: sleeping threads use op->exec through their request. */
	coll_exec_put(op->exec);
	list_for_each_entry_safe(req, next, reqs, list)
		coll_req_done(req, op->result);
	if (op->expires && cancel_delayed_work(&op->deadline))
		kref_put(&op->memory, coll_op_free);
	coll_group_put(g);
}

/* The first op, or one that has overtaken it, if nothing touches it any more. Under group->lock. */
static struct coll_op *coll_op_first_ended_locked(struct coll_group *g)
{
	struct coll_op *op;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(op, &g->ops, list) {
		if (op->state == COLL_OP_ENDED || op->state == COLL_OP_DROPPED)
			return op;
		if (op->state != COLL_OP_RUNNING || !coll_ops_overtake(g))
			break;
	}
	return NULL;
}

/*
 * Complete ended ops at the head of the queue, until the time of this thread is over. Under
 * group->lock, which is dropped for each op. Return: true if there is another ended op.
 */
static bool coll_ops_complete_locked(struct coll_group *g)
	__must_hold(&g->lock)
{
	unsigned long end = coll_ops_end();
	struct coll_op *op;
	bool over = false;
	LIST_HEAD(reqs);

	lockdep_assert_held(&g->lock);
	while (!over && (op = coll_op_first_ended_locked(g))) {
		coll_op_dequeue_locked(g, op, &reqs);
		spin_unlock(&g->lock);
		coll_op_finish(g, op, &reqs);
		INIT_LIST_HEAD(&reqs);
		over = coll_ops_are_over(end);
		spin_lock(&g->lock);
		coll_op_keep_locked(g, op);
	}
	return over && coll_op_first_ended_locked(g);
}

/*
 * Ops complete in order, unless small ops may overtake others. So an op that has ended may have to
 * wait for the ops before it, and one thread at a time completes ops of a group. @ended: an op that
 * nothing touches any more; NULL: none, the caller has a reference to the group.
 */
static void coll_ops_complete(struct coll_group *g, struct coll_op *ended)
{
	bool failing, running, more, left;

	spin_lock(&g->lock);
	if (ended) {
		coll_op_set_state(ended, coll_op_has_started(ended) ? COLL_OP_ENDED :
				  COLL_OP_DROPPED);
		coll_op_hurry_others_locked(ended);
	}
	if (g->completing) {
		spin_unlock(&g->lock);
		return;
	}
	g->completing = true;
	coll_group_get(g);
	left = coll_ops_complete_locked(g);
	g->completing = false;
	failing = g->pending_failure.kind;
	running = g->nr_running;
	/* The thread that starts ops looks again after we unlock. */
	more = !list_empty(&g->ops) && !g->advancing;
	spin_unlock(&g->lock);
	if (failing)
		coll_group_check_pending(g);
	if (running)
		coll_group_time_next_oldest(g);
	if (g->watch)
		g->watch->after(g);
	if (left)
		coll_ops_go_on_later(g);
	else if (more)
		coll_ops_advance(g);
	coll_group_put(g);
}

/* Nothing touches the op any more: its pages are free. */
static void coll_op_ended(struct coll_op *op)
{
	coll_ops_complete(op->group, op);
}

static void coll_ops_go_on(struct work_struct *work)
{
	struct coll_group *g = container_of(work, struct coll_group, go_on);
	struct coll_worker w;

	coll_worker_begin(&w, g->user, &g->error);
	coll_ops_complete(g, NULL);
	coll_ops_advance(g);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	coll_group_put(g);
}

static int coll_op_init(struct coll_group *g, u32 flags)
{
	INIT_WORK(&g->go_on, coll_ops_go_on);
	return 0;
}

const struct coll_group_part coll_op_part = {
	.init = coll_op_init,
	.free = coll_op_discard_spare,
};

void coll_op_put_later(struct coll_op *op)
{
	struct coll_user *u = op->group->user;

	if (!atomic_dec_and_test(&op->refs))
		return;
	/* After a failure no op starts, and ending this one only gives its pages back. */
	queue_work(READ_ONCE(op->group->error) ? u->end_wq : u->wq, &op->end_work);
}
