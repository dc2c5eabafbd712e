// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "../../pure/coord/coord.h"
#include "../../pure/coord/coord_order.h"
#include "../../pure/coord/coord_params.h"
#include "../../pure/coord/coord_table.h"
#include "../deadline.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "../op/op_run.h"
#include "tensor_fuse.h"
#include "tensor_priv.h"

/* Tensors that are worked on before others get the lock, or the CPU. */
#define COLL_TENSOR_BATCH	64

/* --- memory ------------------------------------------------------------------- */

struct coll_coord_entry *coll_tensor_entry(struct coll_group *g)
{
	size_t bytes = ALIGN(coll_coord_entry_bytes(g->nr_local), sizeof(void *));
	struct coll_coord_entry *e;
	struct mem_cgroup *memcg;

	if (!coll_user_add_name(g->user))
		return NULL;
	memcg = set_active_memcg(g->memcg);
	e = kvzalloc(bytes + struct_size_t(struct coll_tensor_name, slots, g->nr_local),
		     GFP_KERNEL_ACCOUNT);
	set_active_memcg(memcg);
	if (e)
		e->user = (void *)e + bytes;
	else
		coll_user_drop_name(g->user);
	return e;
}

void coll_tensor_entry_free(struct coll_group *g, struct coll_coord_entry *e)
{
	if (!e)
		return;
	kvfree(e);
	coll_user_drop_name(g->user);
}

struct coll_tensor_req *coll_tensor_alloc(struct coll_member *m)
{
	struct coll_tensor_req *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);

	if (!t)
		return NULL;
	t->op = coll_op_alloc(GFP_KERNEL);
	if (!t->op) {
		kfree(t);
		return NULL;
	}
	t->req.member = m;
	t->req.named = true;
	RB_CLEAR_NODE(&t->by_time);
	RB_CLEAR_NODE(&t->by_group);
	return t;
}

void coll_tensor_free(struct coll_tensor_req *t)
{
	coll_op_discard(t->op);
	coll_slot_put(&t->req.member->slots, t->req.slot);
	kfree(t);
}

/* --- the life of a tensor ------------------------------------------------------ */

/* Under group->lock. */
static void coll_tensor_land(struct coll_tensor_req *t, int result)
{
	struct coll_member *m = t->req.member;

	t->result = result;
	list_add_tail(&t->list, &m->tensors.done);
	WRITE_ONCE(m->tensors.nr_done, m->tensors.nr_done + 1);
	WRITE_ONCE(m->tensors.open, m->tensors.open - 1);
}

/* The others of a fusion hold nothing any more. Under group->lock: up to COLL_FUSE_MOST. */
static void coll_fusion_land(struct coll_fusion *f)
{
	struct coll_tensor_req *t;
	struct coll_req *req;

	list_for_each_entry(req, &f->others, list) {
		t = container_of(req, struct coll_tensor_req, req);
		coll_tensor_land(t, t->result);
	}
}

/* It is done: nothing touches its pages any more. */
void coll_tensor_done(struct coll_req *req, int result)
{
	struct coll_tensor_req *t = container_of(req, struct coll_tensor_req, req);
	struct coll_member *m = req->member;
	struct coll_group *g = coll_member_group(m);

	if (req->fusion)
		coll_fusion_done(req->fusion, result);
	spin_lock(&g->lock);
	if (req->fusion)
		coll_fusion_land(req->fusion);
	coll_tensor_land(t, result);
	/* Under the lock: who waits for the last one may free the member. */
	wake_up(&m->tensors.wq);
	spin_unlock(&g->lock);
}

static bool coll_tensor_is_earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_tensor_req, by_time)->expires <
	       rb_entry(b, struct coll_tensor_req, by_time)->expires;
}

/* Arm the timer for the first deadline. Under group->lock. */
static void coll_tensors_arm(struct coll_tensors *ts)
{
	struct rb_node *first = rb_first_cached(&ts->by_time);
	struct coll_tensor_req *t;

	lockdep_assert_held(&ts->group->lock);
	if (!first)
		return;
	t = rb_entry(first, struct coll_tensor_req, by_time);
	mod_delayed_work(coll_alarm_wq, &ts->deadline, coll_deadline_delay(t->expires));
}

static void coll_tensor_disarm(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	if (RB_EMPTY_NODE(&t->by_time))
		return;
	rb_erase_cached(&t->by_time, &ts->by_time);
	RB_CLEAR_NODE(&t->by_time);
}

/* --- groups: of a member, what waits by the digest of its group --- */

static bool coll_tensor_group_is_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_tensor_req, by_group)->group <
	       rb_entry(b, struct coll_tensor_req, by_group)->group;
}

static int coll_tensor_group_cmp(const void *digest, const struct rb_node *node)
{
	const struct coll_tensor_req *t = rb_entry(node, struct coll_tensor_req, by_group);
	u64 a = *(const u64 *)digest;

	return a < t->group ? -1 : a > t->group;
}

static void coll_tensor_ungroup(struct coll_tensor_req *t)
{
	if (RB_EMPTY_NODE(&t->by_group))
		return;
	rb_erase(&t->by_group, &t->req.member->tensors.groups);
	RB_CLEAR_NODE(&t->by_group);
}

/* It is in the table. Under group->lock. */
static void coll_tensor_wait(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	struct coll_member *m = t->req.member;
	struct coll_tensor_slot *slot = coll_tensor_slot(t->entry, m->local);

	slot->waits = t;
	slot->posted = true;
	list_add_tail(&t->list, &ts->waiting);
	m->tensors.waiting++;
	if (t->group)
		rb_add(&t->by_group, &m->tensors.groups, coll_tensor_group_is_less);
	if (!t->req.cmd.timeout_ns)
		return;
	t->expires = coll_deadline(t->req.cmd.timeout_ns);
	rb_add_cached(&t->by_time, &ts->by_time, coll_tensor_is_earlier);
	if (rb_first_cached(&ts->by_time) == &t->by_time)
		coll_tensors_arm(ts);
}

void coll_tensor_unwait(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	struct coll_member *m = t->req.member;

	lockdep_assert_held(&ts->group->lock);
	if (t == m->tensors.join)
		m->tensors.join = NULL;
	else
		coll_tensor_slot(t->entry, m->local)->waits = NULL;
	list_del(&t->list);
	m->tensors.waiting--;
	coll_tensor_ungroup(t);
	coll_tensor_disarm(ts, t);
}

static int coll_bad_errno(u32 cause)
{
	switch (cause) {
	case COLL_BAD_MISMATCH:
		return -EBADE;
	case COLL_BAD_TIMEOUT:
		return -ETIMEDOUT;
	case COLL_BAD_JOINED:
		return -EOPNOTSUPP;
	case COLL_BAD_GROUP:
		return -ECANCELED;
	default:
		return -EHOSTDOWN;
	}
}

/* Under group->lock. */
static void coll_tensor_end(struct coll_tensors *ts, struct coll_tensor_req *t,
			    const struct coll_coord_bad *bad)
{
	lockdep_assert_held(&ts->group->lock);
	t->bad = *bad;
	t->result = coll_bad_errno(bad->cause);
	list_add_tail(&t->list, &ts->ended);
}

int coll_tensor_post_op(struct coll_tensor_req *t)
{
	u64 now;

	if (t->expires) {
		now = ktime_get_ns();
		t->req.cmd.timeout_ns = t->expires > now ? t->expires - now : 1;
	}
	return coll_op_post_ordered(&t->req, &t->op);
}

/* Under group->lock. */
static void coll_tensor_start(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	int ret;

	coll_tensor_unwait(ts, t);
	ret = coll_tensor_post_op(t);
	if (!ret)
		return;
	/* The digests of the counts agree and the counts do not: somebody forged one. */
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
		coll_tensor_start(ts, t);
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

	for (k = 0; k < c->nr_local; k++) {
		t = coll_tensor_slot(e, k)->waits;
		if (!t)
			continue;
		coll_tensor_unwait(ts, t);
		coll_tensor_end(ts, t, bad);
	}
}

static void coll_tensors_op_joined(struct coll_coord *c, u32 rank)
{
	coll_tensors_joined(c->user, rank);
}

/* Nobody leaves by the coordinator: coll_tensors_hear() refuses to hear of it. */
static void coll_tensors_op_left(struct coll_coord *c, u32 rank)
{
}

static const struct coll_coord_ops coll_tensors_ops = {
	.start	= coll_tensors_op_start,
	.end	= coll_tensors_op_end,
	.joined	= coll_tensors_op_joined,
	.left	= coll_tensors_op_left,
	.pending = coll_stalls_pending,
	.fits	= coll_tensors_fit,
};

/* --- deadlines ------------------------------------------------------------------ */

/* The first tensor that is over its deadline. Under group->lock. */
static struct coll_tensor_req *coll_tensors_late(struct coll_tensors *ts)
{
	struct rb_node *first = rb_first_cached(&ts->by_time);
	struct coll_tensor_req *t;

	if (!first || ts->group->error)
		return NULL;
	t = rb_entry(first, struct coll_tensor_req, by_time);
	return coll_deadline_delay(t->expires) ? NULL : t;
}

/* It does not settle: a work item of coll_alarm_wq takes no lock that a user may hold. */
static void coll_tensors_deadline(struct work_struct *work)
{
	struct coll_tensors *ts = container_of(to_delayed_work(work), struct coll_tensors,
					       deadline);
	struct coll_group *g = ts->group;
	struct coll_tensor_req *t;
	u32 n = 0;

	spin_lock(&g->lock);
	while (n++ < COLL_TENSOR_BATCH) {
		t = coll_tensors_late(ts);
		if (!t)
			break;
		coll_tensor_disarm(ts, t);
		coll_coord_give_up(&ts->coord, t->entry, t->req.member->local, COLL_BAD_TIMEOUT);
	}
	coll_coord_run(&ts->coord);
	if (!g->error)
		coll_tensors_arm(ts);
	spin_unlock(&g->lock);
	queue_work(g->user->wq, &ts->work);
	coll_tensors_call(g);
}

/* --- posting -------------------------------------------------------------------- */

/* Under group->lock. Return: as coll_tensor_post(); -ENOMEM: come back with @spare. */
static int coll_tensor_post_locked(struct coll_tensor_req *t, const void *name, u32 len,
				   const struct coll_coord_params *p,
				   struct coll_coord_entry **spare)
{
	struct coll_member *m = t->req.member;
	struct coll_group *g = coll_member_group(m);
	struct coll_tensors *ts = g->tensors;
	int ret;

	if (g->error)
		return -g->error;
	if (m->tensors.kept >= COLL_TENSORS_KEPT)
		return -EAGAIN;
	if (coll_req_count(&t->req))
		return -EDQUOT;
	ret = coll_coord_post(&ts->coord, m->local, name, len, p, spare, &t->entry);
	if (!ret)
		coll_tensor_wait(ts, t);
	else if (ret == -ECANCELED)
		/* A round that has ended without this rank: it is told now. */
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

/* Give so many of them up, at most. Under group->lock. Return: whether there may be more. */
static bool coll_tensors_withdraw_some(struct coll_member *m, u64 digest)
{
	struct coll_tensors *ts = coll_member_group(m)->tensors;
	struct coll_tensor_req *t;
	struct rb_node *node;
	u32 n;

	lockdep_assert_held(&ts->group->lock);
	for (n = 0; n < COLL_TENSOR_BATCH; n++) {
		node = rb_find_first(&digest, &m->tensors.groups, coll_tensor_group_cmp);
		if (!node)
			return false;
		t = rb_entry(node, struct coll_tensor_req, by_group);
		coll_tensor_ungroup(t);
		coll_coord_give_up(&ts->coord, t->entry, m->local, COLL_BAD_GROUP);
	}
	return true;
}

void coll_tensors_withdraw(struct coll_member *m, u64 digest)
{
	struct coll_group *g = coll_member_group(m);
	bool more;

	do {
		spin_lock(&g->lock);
		more = coll_tensors_withdraw_some(m, digest);
		spin_unlock(&g->lock);
		cond_resched();
	} while (more);
}

/* An op has ended: something else may start, which the caller sees to. Under group->lock. */
static void coll_tensors_over(struct coll_group *g, const struct coll_op *op)
{
	lockdep_assert_held(&g->lock);
	if (g->error)
		return;
	coll_coord_over(&g->tensors->coord, op->weight);
	/* The caller does. */
	g->tensors->to_advance = false;
}

/* Tell other nodes what has started by that, and have the rest done. */
static void coll_tensors_told(struct coll_group *g)
{
	coll_tensors_call(g);
	if (coll_tensors_due(g))
		queue_work(g->user->wq, &g->tensors->work);
}

static const struct coll_group_watch coll_tensors_watch = {
	.over	= coll_tensors_over,
	.after	= coll_tensors_told,
};

void coll_tensors_flush(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	bool more;

	do {
		spin_lock(&g->lock);
		more = !g->error && coll_coord_go_on(&ts->coord);
		if (!g->error)
			coll_coord_run(&ts->coord);
		spin_unlock(&g->lock);
		coll_tensors_call(g);
		coll_tensors_settle(g);
		cond_resched();
	} while (more);
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

/* A rank that will not post anything more, and whose last op has started. Under group->lock. */
static u32 coll_tensors_missing(const struct coll_group *g)
{
	u64 started = g->tensors->started;
	u32 i;

	lockdep_assert_held(&g->lock);
	if (g->remote_left.seq <= started)
		return g->remote_left.rank;
	for (i = 0; i < g->nr_left; i++)
		if (g->local_left[i].seq <= started)
			return g->local_left[i].rank;
	return COLL_RANK_NONE;
}

/* A rank has left: fail the group after its last op, if anything waits. */
static void coll_tensors_left(struct coll_group *g)
{
	u32 rank = COLL_RANK_NONE;
	struct coll_cause cause;
	u64 seq;

	if (!g->tensors)
		return;
	spin_lock(&g->lock);
	seq = g->tensors->started + 1;
	if (!g->error && !list_empty(&g->tensors->waiting))
		rank = coll_tensors_missing(g);
	spin_unlock(&g->lock);
	if (rank == COLL_RANK_NONE)
		return;
	coll_group_cause(g, &cause, COLL_CAUSE_CLOSE, EHOSTDOWN, rank, seq);
	coll_group_fail_later(g, &cause);
}

void coll_tensors_settle(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	struct coll_cause cause;
	bool advance;
	int broken;

	spin_lock(&g->lock);
	advance = ts->to_advance;
	broken = ts->broken;
	ts->to_advance = false;
	ts->broken = 0;
	spin_unlock(&g->lock);
	if (broken) {
		coll_group_cause(g, &cause, broken == ENOMEM ? COLL_CAUSE_MEMORY :
				 COLL_CAUSE_MISMATCH, broken, COLL_RANK_NONE, ts->started);
		coll_group_fail(g, &cause);
	}
	coll_tensors_end(g);
	if (advance) {
		coll_group_check_pending(g);
		coll_group_advance(g);
	}
	coll_tensors_left(g);
}

bool coll_tensors_due(struct coll_group *g)
{
	const struct coll_tensors *ts = g->tensors;
	bool due;

	spin_lock(&g->lock);
	due = ts->to_advance || ts->broken || !list_empty(&ts->ended);
	spin_unlock(&g->lock);
	return due;
}

static void coll_tensors_work(struct work_struct *work)
{
	coll_tensors_flush(container_of(work, struct coll_tensors, work)->group);
}

/* The group has failed: whatever waits ends. */
static void coll_tensors_fail(struct coll_group *g)
{
	if (g->tensors)
		coll_tensors_end(g);
}

/* --- results -------------------------------------------------------------------- */

u32 coll_tensors_collect(struct coll_member *m, struct list_head *to, u32 most)
{
	struct coll_group *g = coll_member_group(m);
	u32 n = 0;

	most = min_t(u32, most, COLL_TENSOR_BATCH);
	spin_lock(&g->lock);
	for (; n < most && !list_empty(&m->tensors.done); n++)
		list_move_tail(m->tensors.done.next, to);
	WRITE_ONCE(m->tensors.nr_done, m->tensors.nr_done - n);
	m->tensors.kept -= n;
	spin_unlock(&g->lock);
	return n;
}

void coll_tensors_uncollect(struct coll_member *m, struct list_head *from)
{
	struct coll_group *g = coll_member_group(m);
	struct list_head *l;
	u32 n = 0;

	spin_lock(&g->lock);
	list_for_each(l, from)
		n++;
	list_splice_init(from, &m->tensors.done);
	WRITE_ONCE(m->tensors.nr_done, m->tensors.nr_done + n);
	m->tensors.kept += n;
	wake_up(&m->tensors.wq);
	spin_unlock(&g->lock);
}

bool coll_tensors_collectable(struct coll_member *m, u32 min)
{
	struct coll_group *g = coll_member_group(m);
	bool can;

	spin_lock(&g->lock);
	can = m->tensors.nr_done >= min || !m->tensors.open;
	spin_unlock(&g->lock);
	return can;
}

bool coll_tensors_seem_collectable(const struct coll_member *m, u32 min)
{
	return READ_ONCE(m->tensors.nr_done) >= min || !READ_ONCE(m->tensors.open);
}

bool coll_tensors_open(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	bool open;

	if (!g)
		return false;
	spin_lock(&g->lock);
	open = m->tensors.open;
	spin_unlock(&g->lock);
	return open;
}

void coll_tensors_release(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_tensor_req *t, *next;
	LIST_HEAD(done);

	if (!g || !g->tensors)
		return;
	/* The group has failed, so this takes a slice of work, or until links let go. */
	wait_event_idle(m->tensors.wq, !coll_tensors_open(m));
	while (coll_tensors_collect(m, &done, COLL_TENSOR_BATCH)) {
		list_for_each_entry_safe(t, next, &done, list)
			coll_tensor_free(t);
		INIT_LIST_HEAD(&done);
		cond_resched();
	}
}

/* --- the group ------------------------------------------------------------------ */

/* Of a new group whose collectives have names. Return: 0 or -ENOMEM. */
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
	coll_stalls_init(ts);
	c = &ts->coord;
	c->ops = &coll_tensors_ops;
	c->user = ts;
	c->nr_buckets = COLL_TENSOR_BUCKETS;
	c->max_names = COLL_TENSOR_NAMES;
	c->seed = get_random_u64();
	c->nr_local = g->nr_local;
	c->local = g->local_rank;
	c->names = kvcalloc(c->nr_buckets, sizeof(*c->names), GFP_KERNEL_ACCOUNT);
	c->ids = kvcalloc(c->nr_buckets, sizeof(*c->ids), GFP_KERNEL_ACCOUNT);
	c->joined = kvcalloc(coll_coord_words(c->nr_local), sizeof(u64), GFP_KERNEL_ACCOUNT);
	ts->first = kvcalloc(c->nr_local, sizeof(*ts->first), GFP_KERNEL_ACCOUNT);
	c->threshold = COLL_FUSE_THRESHOLD;
	c->most = COLL_FUSE_MOST;
	c->ahead = COLL_FUSE_AHEAD;
	/* On one node one runs at a time, and the next one begins when it ends. */
	c->window = g->nr_nodes > 1 ? COLL_FUSE_WINDOW : 1;
	c->looks = COLL_TENSOR_BATCH;
	c->window_ops = g->nr_nodes > 1 ? COLL_FUSE_WINDOW_OPS : 2;
	coll_tensors_plant(ts);
	coll_coord_init(c);
	return c->names && c->ids && c->joined && ts->first ? 0 : -ENOMEM;
}

/* No member and no op is left, and links are about to be closed: nobody calls them. Sleeps. */
static void coll_tensors_quiesce(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;

	if (!ts)
		return;
	/* Its deadlines have gone with the tensors; the timer may still be armed for one. */
	cancel_delayed_work_sync(&ts->deadline);
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
	kvfree(ts->coord.joined);
	kvfree(ts->first);
	kfree(ts);
	g->tensors = NULL;
}

static int coll_tensors_part_init(struct coll_group *g, u32 flags)
{
	return flags & COLL_JOIN_NAMED ? coll_tensors_init(g) : 0;
}

static void coll_tensors_part_left(struct coll_group *g, u32 rank)
{
	coll_tensors_left(g);
}

const struct coll_group_part coll_tensors_part = {
	.init = coll_tensors_part_init,
	.left = coll_tensors_part_left,
	.fail = coll_tensors_fail,
	.quiesce = coll_tensors_quiesce,
	.free = coll_tensors_free,
};
