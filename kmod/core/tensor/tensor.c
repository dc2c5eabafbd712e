// SPDX-License-Identifier: GPL-2.0
/* Named collectives: posts, deadlines, starts and ends. */
#include <linux/lockdep.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "../../pure/coord/coord.h"
#include "../../pure/coord/coord_order.h"
#include "../../pure/coord/coord_params.h"
#include "../../pure/coord/coord_table.h"
#include "../deadline.h"
#include "../group/account.h"
#include "../group/failure.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "../limits.h"
#include "../op/op_run.h"
#include "../trace.h"
#include "../worker.h"
#include "tensor.h"
#include "tensor_fuse.h"
#include "tensor_hands.h"
#include "tensor_join.h"
#include "tensor_left.h"
#include "tensor_life.h"
#include "tensor_refuse.h"
#include "tensor_talk.h"

static u64 coll_tensors_op_hash(const struct coll_coord *c, const void *name, u32 len)
{
	const struct coll_tensors *ts = c->user;

	return siphash(name, len, &ts->key);
}

/* Under group->lock. */
static void coll_tensor_start_locked(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	int ret;

	lockdep_assert_held(&ts->group->lock);
	coll_tensor_unwait(ts, t);
	ret = coll_tensor_post_op(t);
	if (!ret)
		return;
	/* The digests of the counts agree but the counts do not: a rank has forged a digest. */
	t->result = ret;
	list_add_tail(&t->list, &ts->ended);
	ts->broken = -ret;
}

/* The divisor of avg: the number of ranks, or of those that have posted the tensor. */
static u32 coll_tensor_divisor(const struct coll_tensors *ts, const struct coll_coord_entry *e,
			       u32 contributors)
{
	bool present = e->known.field[COLL_FIELD_FLAGS] & COLL_FIELD_AVG_PRESENT;

	return present ? clamp(contributors, 1U, ts->group->size) : ts->group->size;
}

static void coll_tensors_op_start(struct coll_coord *c, struct coll_coord_entry *e,
				  u32 contributors, bool last)
{
	struct coll_tensors *ts = c->user;
	u32 divisor = coll_tensor_divisor(ts, e, contributors), k;
	struct coll_tensor_req *t;

	trace_coll_tensor_start(ts->group->id, ts->started + 1, e->round, 0, e->name, e->name_len);
	if (ts->fusing || !last) {
		coll_tensors_fuse(ts, e, divisor, last);
		return;
	}
	for (k = 0; k < c->nr_local; k++) {
		t = coll_tensor_slot(e, k)->waits;
		if (!t)
			continue;
		t->req.divisor = divisor;
		t->req.weight = coll_coord_bytes(&e->known);
		coll_tensor_start_locked(ts, t);
	}
	if (c->nr_joined)
		coll_tensors_stand_in(ts, e, divisor);
	ts->started++;
	ts->to_advance = true;
}

static void coll_tensors_op_end(struct coll_coord *c, struct coll_coord_entry *e,
				const struct coll_coord_bad *bad)
{
	struct coll_tensors *ts = c->user;
	struct coll_tensor_req *t;
	u32 k;

	trace_coll_tensor_start(ts->group->id, 0, e->round, bad->cause, e->name, e->name_len);
	for (k = 0; k < c->nr_local; k++) {
		t = coll_tensor_slot(e, k)->waits;
		if (!t) {
			coll_tensor_refusal_over(ts, e, k);
			continue;
		}
		coll_tensor_unwait(ts, t);
		coll_tensor_end(ts, t, bad);
	}
}

static void coll_tensors_op_joined(struct coll_coord *c, u32 rank)
{
	coll_tensors_joined(c->user, rank);
}

/* No rank leaves by the coordinator: coll_tensors_hear() refuses that record. */
static void coll_tensors_op_left(struct coll_coord *c, u32 rank)
{
}

static const struct coll_coord_ops coll_tensors_ops = {
	.hash	= coll_tensors_op_hash,
	.start	= coll_tensors_op_start,
	.end	= coll_tensors_op_end,
	.joined	= coll_tensors_op_joined,
	.left	= coll_tensors_op_left,
	.pending = coll_stalls_pending,
	.fits	= coll_tensors_fit,
	.fits_bytes = coll_tensors_fit_bytes,
};

/* --- deadlines ------------------------------------------------------------------ */

/* The first tensor that is over its deadline. Under group->lock. */
static struct coll_tensor_req *coll_tensors_late_locked(struct coll_tensors *ts)
{
	struct rb_node *first = rb_first_cached(&ts->by_time);
	struct coll_tensor_req *t;

	lockdep_assert_held(&ts->group->lock);
	if (!first || ts->group->error)
		return NULL;
	t = rb_entry(first, struct coll_tensor_req, by_time);
	return coll_deadline_delay(t->alarm) ? NULL : t;
}

/* Ask the coordinator to end the tensor on all ranks. The answer has a deadline. */
static void coll_tensor_give_up_locked(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	lockdep_assert_held(&ts->group->lock);
	t->gave_up = true;
	coll_tensor_set_alarm(ts, t, coll_deadline(COLL_TENSOR_ANSWER_NS));
	coll_coord_give_up(&ts->coord, t->entry, t->req.member->local, COLL_BAD_TIMEOUT);
}

/*
 * Give up a batch of tensors that are late. Under group->lock. Return: true if the answer for an
 * earlier one has not come in time: the coordinator is out of reach.
 */
static bool coll_tensors_give_up_locked(struct coll_tensors *ts)
{
	struct coll_tensor_req *t;
	u32 n;

	lockdep_assert_held(&ts->group->lock);
	for (n = 0; n < COLL_TENSOR_BATCH; n++) {
		t = coll_tensors_late_locked(ts);
		if (!t)
			break;
		if (t->gave_up)
			return true;
		coll_tensor_give_up_locked(ts, t);
	}
	return false;
}

/* Has the root begun a fusion, and not named its last tensor for too long? */
static bool coll_tensors_fusion_is_late_locked(const struct coll_tensors *ts)
{
	lockdep_assert_held(&ts->group->lock);
	return ts->fuse_expires && !coll_deadline_delay(ts->fuse_expires);
}

/*
 * The group fails: a local rank has not joined, or the next node does not answer. Under
 * group->lock. Return: as coll_group_fail_locked().
 */
static bool coll_tensors_unanswered_locked(struct coll_tensors *ts)
{
	struct coll_group *g = ts->group;
	struct coll_cause cause;

	lockdep_assert_held(&g->lock);
	coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT, COLL_RANK_NONE, ts->started + 1);
	cause.node = ts->parent;
	return coll_group_fail_locked(g, &cause);
}

/* Does not call coll_tensors_settle(): work of coll_alarm_wq takes no lock that a user may hold. */
static void coll_tensors_deadline(struct work_struct *work)
{
	struct coll_tensors *ts = container_of(to_delayed_work(work), struct coll_tensors,
					       deadline);
	struct coll_group *g = ts->group;
	bool failed = false;

	spin_lock(&g->lock);
	if (coll_tensors_give_up_locked(ts) || coll_tensors_fusion_is_late_locked(ts))
		failed = coll_tensors_unanswered_locked(ts);
	/* An op that starts after a failure would never end. */
	if (!g->error) {
		coll_coord_run(&ts->coord);
		coll_tensors_arm(ts);
	}
	spin_unlock(&g->lock);
	if (failed)
		coll_group_failed_soon(g);
	queue_work(g->user->wq, &ts->work);
	coll_tensors_call(g);
}

/* --- posting -------------------------------------------------------------------- */

int coll_tensors_check(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);

	if (!coll_member_is_owner(m))
		return -EPERM;
	if (!g)
		return -ENOTCONN;
	return g->tensors ? 0 : -EOPNOTSUPP;
}

/* Under group->lock. */
static void coll_tensor_posted_locked(struct coll_tensors *ts, struct coll_tensor_req *t,
				      const struct coll_coord_params *p)
{
	const struct coll_coord_entry *e = t->entry;

	lockdep_assert_held(&ts->group->lock);
	trace_coll_tensor_post(ts->group->id, ts->group->node, t->req.member->rank, e->round,
			       coll_coord_bytes(p), e->name, e->name_len);
	coll_tensor_wait(ts, t);
}

/* Under group->lock. Return: as coll_tensor_post(); -ENOMEM: call again with @spare. */
static int coll_tensor_post_locked(struct coll_tensor_req *t, const void *name, u32 len,
				   const struct coll_coord_params *p,
				   struct coll_coord_entry **spare)
{
	struct coll_member *m = t->req.member;
	struct coll_group *g = coll_member_group(m);
	struct coll_tensors *ts = g->tensors;
	int ret;

	lockdep_assert_held(&g->lock);
	if (g->error)
		return -g->error;
	if (m->tensors.kept >= COLL_TENSORS_KEPT)
		return -EAGAIN;
	if (coll_req_count(&t->req))
		return -EDQUOT;
	ret = coll_coord_post(&ts->coord, m->local, name, len, p, spare, &t->entry);
	if (!ret)
		coll_tensor_posted_locked(ts, t, p);
	else if (ret == -ECANCELED)
		/* The round ended before this rank posted the name: it gets the result now. */
		coll_tensor_end(ts, t, &t->entry->end.bad);
	else
		return ret;
	WRITE_ONCE(m->tensors.open, m->tensors.open + 1);
	m->tensors.kept++;
	if (t->req.slot)
		ts->counts.copied += t->req.in_bytes + t->req.slot->back_len;
	return ret ? COLL_TENSOR_OVER : 0;
}

int coll_tensor_post(struct coll_tensor_req *t, const void *name, u32 len,
		     const struct coll_coord_params *p)
{
	struct coll_group *g = coll_member_group(t->req.member);
	struct coll_coord_entry *spare = NULL;
	bool failed;
	int ret;

	t->req.done = coll_tensor_done;
	for (;;) {
		spin_lock(&g->lock);
		failed = g->error;
		ret = coll_tensor_post_locked(t, name, len, p, &spare);
		spin_unlock(&g->lock);
		if (ret != -ENOMEM || failed || spare)
			break;
		spare = coll_tensor_entry(g);
		if (!spare)
			break;
	}
	coll_tensor_entry_free(g, spare);
	if (ret < 0)
		coll_req_uncount(&t->req);
	return ret == -EDQUOT ? -ENOMEM : ret;
}

bool coll_tensor_is_pending(struct coll_member *m, const void *name, u32 len)
{
	struct coll_group *g = coll_member_group(m);
	bool pending;

	spin_lock(&g->lock);
	pending = coll_coord_is_pending(&g->tensors->coord, m->local, name, len);
	spin_unlock(&g->lock);
	return pending;
}

/* An op has ended: another op may start, and the caller starts it. Under group->lock. */
static void coll_tensors_over_locked(struct coll_group *g, const struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	if (g->error)
		return;
	coll_coord_over(&g->tensors->coord, op->weight);
	/* The caller starts ops, see coll_ops_complete(). */
	g->tensors->to_advance = false;
}

/* Has coll_coord_run() left work over? No caller waits for it: coll_tensors_work() does it. */
static bool coll_tensors_unordered(struct coll_group *g)
{
	bool more;

	spin_lock(&g->lock);
	more = g->tensors->coord.more && !g->error;
	spin_unlock(&g->lock);
	return more;
}

/*
 * Let links send the new records to other nodes, and leave other work to a work item.
 * coll_tensors_over_locked() may have cleared to_advance after a START. Then no thread calls
 * coll_tensors_settle(), so this function looks for ranks that have left.
 */
static void coll_tensors_told(struct coll_group *g)
{
	coll_tensors_call(g);
	if (coll_tensors_due(g) || coll_tensors_unordered(g))
		queue_work(g->user->wq, &g->tensors->work);
	coll_tensors_left(g);
}

static void coll_tensors_again(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;

	spin_lock(&g->lock);
	ts->to_advance = true;
	spin_unlock(&g->lock);
	queue_work(g->user->wq, &ts->work);
}

static const struct coll_group_watch coll_tensors_watch = {
	.over	= coll_tensors_over_locked,
	.again	= coll_tensors_again,
	.after	= coll_tensors_told,
	.hands	= coll_tensors_hands,
};

/* Return: is there more to do? */
static bool coll_tensors_round(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	bool more = false;

	spin_lock(&g->lock);
	if (!g->error) {
		more = coll_coord_go_on(&ts->coord);
		coll_coord_run(&ts->coord);
		more |= ts->coord.more;
	}
	spin_unlock(&g->lock);
	coll_tensors_call(g);
	coll_tensors_settle(g);
	return more;
}

void coll_tensors_flush(struct coll_group *g)
{
	while (coll_tensors_round(g)) {
		/* A peer may cause more work all the time. A worker goes on with it. */
		if (fatal_signal_pending(current)) {
			queue_work(g->user->wq, &g->tensors->work);
			return;
		}
		cond_resched();
	}
}

/* --- ending --------------------------------------------------------------------- */

static struct coll_tensor_req *coll_tensors_next_ended(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	struct coll_tensor_req *t;

	spin_lock(&g->lock);
	t = list_first_entry_or_null(&ts->ended, struct coll_tensor_req, list);
	if (!t && g->error) {
		t = coll_tensors_unfuse(ts);
		if (t) {
			t->result = -g->error;
			spin_unlock(&g->lock);
			return t;
		}
		t = list_first_entry_or_null(&ts->waiting, struct coll_tensor_req, list);
		if (t) {
			coll_tensor_unwait(ts, t);
			t->result = -g->error;
			spin_unlock(&g->lock);
			return t;
		}
	}
	if (t)
		list_del(&t->list);
	spin_unlock(&g->lock);
	return t;
}

static void coll_tensors_end(struct coll_group *g)
{
	struct coll_tensor_req *t;
	u32 n = 0;

	for (;;) {
		t = coll_tensors_next_ended(g);
		if (!t)
			break;
		coll_req_done(&t->req, t->result);
		/* Not after each one: a process just woken would run before the rest is done. */
		if (!(++n % COLL_TENSOR_BATCH))
			cond_resched();
	}
}

void coll_tensors_settle(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	struct coll_cause cause;
	bool advance;
	int broken;

	spin_lock(&g->lock);
	advance = ts->to_advance;
	/* It stays set: no START may be applied between this and the failure of the group. */
	broken = g->error ? 0 : ts->broken;
	ts->to_advance = false;
	spin_unlock(&g->lock);
	if (broken) {
		coll_group_cause(g, &cause, broken == ENOMEM ? COLL_CAUSE_MEMORY :
				 COLL_CAUSE_MISMATCH, broken, COLL_RANK_NONE, ts->started);
		coll_group_fail(g, &cause);
	}
	coll_tensors_end(g);
	if (advance) {
		coll_group_check_pending(g);
		coll_ops_advance(g);
	}
	coll_tensors_left(g);
}

bool coll_tensors_due(struct coll_group *g)
{
	const struct coll_tensors *ts = g->tensors;
	bool due;

	spin_lock(&g->lock);
	due = ts->to_advance || (ts->broken && !g->error) || !list_empty(&ts->ended);
	spin_unlock(&g->lock);
	return due;
}

static void coll_tensors_work(struct work_struct *work)
{
	struct coll_group *g = container_of(work, struct coll_tensors, work)->group;
	struct coll_worker w;

	/* Without a reference no member and no op is left, and the reaper waits for this item. */
	if (!kref_get_unless_zero(&g->ref))
		return;
	coll_worker_begin(&w, g->user, &g->error);
	if (coll_tensors_round(g))
		queue_work(g->user->wq, work);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	coll_group_put(g);
}

/* The group has failed: end all tensors that wait. */
static void coll_tensors_fail(struct coll_group *g)
{
	if (!g->tensors)
		return;
	coll_tensors_end(g);
	coll_tensors_wake_refused(g);
}

/* --- the group ------------------------------------------------------------------ */

/* Set up a new group whose collectives have names. Return: 0 or -ENOMEM. */
static int coll_tensors_init(struct coll_group *g)
{
	struct coll_tensors *ts = kzalloc(sizeof(*ts), GFP_KERNEL_ACCOUNT);
	struct coll_coord *c;

	if (!ts)
		return -ENOMEM;
	g->tensors = ts;
	g->watch = &coll_tensors_watch;
	ts->group = g;
	INIT_LIST_HEAD(&ts->waiting);
	INIT_LIST_HEAD(&ts->ended);
	ts->by_time = RB_ROOT_CACHED;
	INIT_DELAYED_WORK(&ts->deadline, coll_tensors_deadline);
	INIT_WORK(&ts->work, coll_tensors_work);
	INIT_DELAYED_WORK(&ts->staff, coll_tensors_staff);
	coll_stalls_init(ts);
	c = &ts->coord;
	c->ops = &coll_tensors_ops;
	c->user = ts;
	c->nr_buckets = COLL_TENSOR_BUCKETS;
	c->max_names = COLL_TENSOR_NAMES;
	c->seed = get_random_u64();
	get_random_bytes(&ts->key, sizeof(ts->key));
	c->nr_local = g->nr_local;
	c->local = g->local_rank;
	c->nr_groups = COLL_TENSOR_GROUPS;
	c->groups = kvcalloc(c->nr_groups, sizeof(*c->groups), GFP_KERNEL_ACCOUNT);
	c->names = kvcalloc(c->nr_buckets, sizeof(*c->names), GFP_KERNEL_ACCOUNT);
	c->ids = kvcalloc(c->nr_buckets, sizeof(*c->ids), GFP_KERNEL_ACCOUNT);
	c->joined = kvcalloc(coll_coord_words(c->nr_local), sizeof(u64), GFP_KERNEL_ACCOUNT);
	ts->first = kvcalloc(c->nr_local, sizeof(*ts->first), GFP_KERNEL_ACCOUNT);
	c->threshold = COLL_FUSE_THRESHOLD;
	c->most = coll_tensors_bound(COLL_FUSE_MOST, c->nr_local);
	c->ahead = COLL_FUSE_AHEAD;
	/* On one node one op runs at a time, and the next op starts when it has ended. */
	c->window = g->nr_nodes > 1 ? COLL_FUSE_WINDOW : 1;
	c->looks = COLL_TENSOR_BATCH;
	c->orders = coll_tensors_bound(COLL_TENSOR_BATCH, c->nr_local);
	c->sorts = COLL_TENSOR_SORT;
	c->window_ops = g->nr_nodes > 1 ? COLL_FUSE_WINDOW_OPS : 2;
	c->urgent = g->nr_nodes > 1 ? 0 : COLL_URGENT_OP;
	c->urgent_ops = COLL_URGENT_OPS;
	coll_tensors_plant(ts);
	if (!c->names || !c->ids || !c->groups || !c->joined || !ts->first)
		return -ENOMEM;
	coll_coord_init(c);
	return 0;
}

/*
 * No member and no op is left. Links are about to be closed: stop the timers and the work that call
 * them. Sleeps.
 */
static void coll_tensors_quiesce(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;

	if (!ts)
		return;
	/* Its deadlines have gone with the tensors; the timer may still be armed for one. */
	cancel_delayed_work_sync(&ts->deadline);
	cancel_delayed_work_sync(&ts->staff);
	coll_stalls_quiesce(ts);
	cancel_work_sync(&ts->work);
}

/* No link, no op and no member is left. */
static void coll_tensors_free(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	struct coll_coord_entry *e;

	if (!ts)
		return;
	coll_tensors_quiesce(g);
	while (ts->coord.names) {
		e = coll_coord_take(&ts->coord);
		if (!e)
			break;
		coll_tensor_entry_free(g, e);
		cond_resched();
	}
	kvfree(ts->coord.names);
	kvfree(ts->coord.ids);
	kvfree(ts->coord.groups);
	kvfree(ts->coord.joined);
	kvfree(ts->first);
	kfree(ts);
	g->tensors = NULL;
}

static int coll_tensors_part_init(struct coll_group *g, u32 flags)
{
	return flags & COLL_JOIN_NAMED ? coll_tensors_init(g) : 0;
}

const struct coll_group_part coll_tensors_part = {
	.init = coll_tensors_part_init,
	.leaving_locked = coll_tensors_leaving_locked,
	.left = coll_tensors_part_left,
	.fail = coll_tensors_fail,
	.quiesce = coll_tensors_quiesce,
	.free = coll_tensors_free,
};
