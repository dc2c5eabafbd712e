// SPDX-License-Identifier: GPL-2.0
/* The life of a tensor: its memory, the table it waits in, its end. */
#include <linux/kref.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "../deadline.h"
#include "../group/failure.h"
#include "../group/fusion.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "../trace.h"
#include "tensor_call.h"
#include "tensor_hands.h"
#include "tensor_life.h"

/*
 * A cache for tensors only: kmalloc() would take, and zero, 1024 bytes for each of them, and
 * thousands may be pending.
 */
static struct kmem_cache *coll_tensor_cache;

int __init coll_tensor_cache_init(void)
{
	/* copy_from_user() writes the command there. */
	coll_tensor_cache = KMEM_CACHE_USERCOPY(coll_tensor_req, SLAB_ACCOUNT, req.cmd);
	return coll_tensor_cache ? 0 : -ENOMEM;
}

void coll_tensor_cache_exit(void)
{
	kmem_cache_destroy(coll_tensor_cache);
}

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

struct coll_tensor_req *coll_tensor_alloc(struct coll_member *m, gfp_t gfp)
{
	struct coll_tensor_req *t = kmem_cache_zalloc(coll_tensor_cache, gfp);

	if (!t)
		return NULL;
	t->op = coll_op_alloc(gfp);
	if (!t->op) {
		kmem_cache_free(coll_tensor_cache, t);
		return NULL;
	}
	kref_init(&t->memory);
	t->req.member = m;
	t->req.named = true;
	RB_CLEAR_NODE(&t->by_time);
	RB_CLEAR_NODE(&t->by_group);
	return t;
}

static void coll_tensor_release(struct kref *ref)
{
	kmem_cache_free(coll_tensor_cache, container_of(ref, struct coll_tensor_req, memory));
}

void coll_tensor_free(struct coll_tensor_req *t)
{
	coll_op_discard(t->op);
	coll_slot_put(&t->req.member->slots, t->req.slot);
	kref_put(&t->memory, coll_tensor_release);
}

/* Under group->lock. */
static void coll_tensor_land_locked(struct coll_tensor_req *t, int result)
{
	struct coll_member *m = t->req.member;
	struct coll_tensors_waiter *w = m->tensors.waiter;

	lockdep_assert_held(&coll_member_group(m)->lock);
	t->result = result;
	list_add_tail(&t->list, &m->tensors.done);
	WRITE_ONCE(m->tensors.nr_done, m->tensors.nr_done + 1);
	WRITE_ONCE(m->tensors.open, m->tensors.open - 1);
	if (w && (m->tensors.nr_done >= w->min || !m->tensors.open))
		WRITE_ONCE(w->done, true);
}

/* An op has ended: release the other tensors of the fusion, and set their results to @result. */
static void coll_fusion_done(struct coll_fusion *f, int result)
{
	struct coll_req *req;

	list_for_each_entry(req, &f->others, list)
		container_of(req, struct coll_tensor_req, req)->result =
			coll_req_release(req, result);
}

/* The other tensors of the fusion, up to COLL_FUSE_MOST, have been released. Under group->lock. */
static void coll_fusion_land_locked(struct coll_group *g, struct coll_fusion *f)
{
	struct coll_tensor_req *t;
	struct coll_req *req;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(req, &f->others, list) {
		t = container_of(req, struct coll_tensor_req, req);
		coll_tensor_land_locked(t, t->result);
	}
}

void coll_tensor_done(struct coll_req *req, int result)
{
	struct coll_tensor_req *t = container_of(req, struct coll_tensor_req, req);
	struct coll_member *m = req->member;
	struct coll_group *g = coll_member_group(m);
	bool landed;

	if (req->fusion)
		coll_fusion_done(req->fusion, result);
	spin_lock(&g->lock);
	if (req->fusion)
		coll_fusion_land_locked(g, req->fusion);
	landed = t->landed;
	if (!landed)
		coll_tensor_land_locked(t, result);
	/* Under the lock: a waiter for the last one may free the member. */
	coll_tensors_wake(m);
	spin_unlock(&g->lock);
	if (landed)
		kref_put(&t->memory, coll_tensor_release);
}

void coll_tensor_over(struct coll_req *first, struct coll_req *req)
{
	struct coll_tensor_req *t = container_of(req, struct coll_tensor_req, req);
	struct coll_member *m = req->member;
	struct coll_group *g = coll_member_group(m);

	/* The op uses what the first request holds until the op ends. */
	if (req != first)
		coll_req_release(req, 0);
	trace_coll_tensor_over(g->id, first->seq, m->rank, t->entry->name, t->entry->name_len);
	spin_lock(&g->lock);
	if (req == first) {
		t->landed = true;
		kref_get(&t->memory);
	} else {
		list_del(&req->list);
	}
	g->tensors->counts.early++;
	coll_tensor_land_locked(t, 0);
	if (m->tensors.nr_done >= m->tensors.least)
		coll_tensors_wake(m);
	spin_unlock(&g->lock);
}

static bool coll_tensor_is_earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_tensor_req, by_time)->alarm <
	       rb_entry(b, struct coll_tensor_req, by_time)->alarm;
}

void coll_tensors_arm(struct coll_tensors *ts)
{
	struct rb_node *first = rb_first_cached(&ts->by_time);
	u64 when = ts->fuse_expires, alarm;

	lockdep_assert_held(&ts->group->lock);
	if (first) {
		alarm = rb_entry(first, struct coll_tensor_req, by_time)->alarm;
		when = when ? min(when, alarm) : alarm;
	}
	if (when)
		mod_delayed_work(coll_alarm_wq, &ts->deadline, coll_deadline_delay(when));
}

static void coll_tensor_disarm_locked(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	lockdep_assert_held(&ts->group->lock);
	if (RB_EMPTY_NODE(&t->by_time))
		return;
	rb_erase_cached(&t->by_time, &ts->by_time);
	RB_CLEAR_NODE(&t->by_time);
}

void coll_tensor_set_alarm(struct coll_tensors *ts, struct coll_tensor_req *t, u64 when)
{
	lockdep_assert_held(&ts->group->lock);
	coll_tensor_disarm_locked(ts, t);
	t->alarm = when;
	rb_add_cached(&t->by_time, &ts->by_time, coll_tensor_is_earlier);
	if (rb_first_cached(&ts->by_time) == &t->by_time)
		coll_tensors_arm(ts);
}

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

void coll_tensor_wait(struct coll_tensors *ts, struct coll_tensor_req *t)
{
	struct coll_member *m = t->req.member;
	struct coll_tensor_slot *slot = coll_tensor_slot(t->entry, m->local);

	lockdep_assert_held(&ts->group->lock);
	slot->waits = t;
	slot->posted = true;
	list_add_tail(&t->list, &ts->waiting);
	m->tensors.waiting++;
	if (t->group)
		rb_add(&t->by_group, &m->tensors.groups, coll_tensor_group_is_less);
	if (!t->req.cmd.timeout_ns)
		return;
	t->expires = coll_deadline(t->req.cmd.timeout_ns);
	coll_tensor_set_alarm(ts, t, t->expires);
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
	coll_tensor_disarm_locked(ts, t);
}

struct coll_tensor_req *coll_tensor_ungroup_first(struct coll_member *m, u64 digest)
{
	struct coll_tensor_req *t;
	struct rb_node *node;

	lockdep_assert_held(&coll_member_group(m)->lock);
	node = rb_find_first(&digest, &m->tensors.groups, coll_tensor_group_cmp);
	if (!node)
		return NULL;
	t = rb_entry(node, struct coll_tensor_req, by_group);
	coll_tensor_ungroup(t);
	return t;
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

void coll_tensor_end(struct coll_tensors *ts, struct coll_tensor_req *t,
			    const struct coll_coord_bad *bad)
{
	lockdep_assert_held(&ts->group->lock);
	t->bad = *bad;
	t->result = coll_bad_errno(bad->cause);
	coll_tensor_call_ended(t);
	list_add_tail(&t->list, &ts->ended);
}

int coll_tensor_post_op(struct coll_tensor_req *t)
{
	u64 now;

	lockdep_assert_held(&coll_member_group(t->req.member)->lock);
	if (t->expires) {
		now = ktime_get_ns();
		t->req.cmd.timeout_ns = t->expires > now ? t->expires - now : 1;
	}
	return coll_op_post_ordered(&t->req, &t->op);
}
