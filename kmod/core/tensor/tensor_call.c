// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../group/group.h"
#include "../group/member.h"
#include "tensor_call.h"

/* The key of a struct coll_tensor_group. */
struct coll_tensor_group_key {
	u64 digest;
	u64 call;
};

static int coll_tensor_group_cmp(const void *key, const struct rb_node *node)
{
	const struct coll_tensor_group *g = rb_entry(node, struct coll_tensor_group, node);
	const struct coll_tensor_group_key *k = key;

	if (k->digest != g->digest)
		return k->digest < g->digest ? -1 : 1;
	return k->call < g->call ? -1 : k->call > g->call;
}

static bool coll_tensor_group_is_less(struct rb_node *a, const struct rb_node *b)
{
	const struct coll_tensor_group *g = rb_entry(a, struct coll_tensor_group, node);
	const struct coll_tensor_group_key k = { .digest = g->digest, .call = g->call };

	return coll_tensor_group_cmp(&k, b) < 0;
}

static struct coll_tensor_group *coll_tensor_group_find_locked(struct coll_member *m, u64 digest,
							       u64 call)
{
	const struct coll_tensor_group_key k = { .digest = digest, .call = call };
	struct rb_node *node;

	lockdep_assert_held(&coll_member_group(m)->lock);
	node = rb_find(&k, &m->tensors.calls, coll_tensor_group_cmp);
	return node ? rb_entry(node, struct coll_tensor_group, node) : NULL;
}

void coll_tensor_call_begin(struct coll_tensor_call *call, struct coll_member *m, bool no_groups)
{
	struct coll_group *g = coll_member_group(m);

	call->member = m;
	call->no_groups = no_groups;
	call->looked = false;
	INIT_LIST_HEAD(&call->groups);
	spin_lock(&g->lock);
	call->nr = ++m->tensors.nr_calls;
	spin_unlock(&g->lock);
}

void coll_tensor_call_end(struct coll_tensor_call *call)
{
	struct coll_member *m = call->member;
	struct coll_group *g = coll_member_group(m);
	struct coll_tensor_group *tg, *next;

	list_for_each_entry_safe(tg, next, &call->groups, list) {
		spin_lock(&g->lock);
		rb_erase(&tg->node, &m->tensors.calls);
		spin_unlock(&g->lock);
		kfree(tg);
		cond_resched();
	}
}

struct coll_tensor_group *coll_tensor_call_group(struct coll_tensor_call *call, u64 digest)
{
	struct coll_member *m = call->member;
	struct coll_group *g = coll_member_group(m);
	struct coll_tensor_group *tg;

	spin_lock(&g->lock);
	tg = coll_tensor_group_find_locked(m, digest, call->nr);
	spin_unlock(&g->lock);
	if (tg)
		return tg;
	tg = kzalloc(sizeof(*tg), GFP_KERNEL_ACCOUNT);
	if (!tg)
		return NULL;
	tg->digest = digest;
	tg->call = call->nr;
	list_add_tail(&tg->list, &call->groups);
	spin_lock(&g->lock);
	rb_add(&tg->node, &m->tensors.calls, coll_tensor_group_is_less);
	spin_unlock(&g->lock);
	return tg;
}

int coll_tensor_call_pending(struct coll_tensor_call *call, u64 digest)
{
	struct coll_tensor_group *tg = coll_tensor_call_group(call, digest);

	if (!tg)
		return -ENOMEM;
	tg->pending = true;
	return 0;
}

bool coll_tensor_call_breaks_off(struct coll_tensor_call *call, struct coll_tensor_group *group)
{
	struct coll_group *g = coll_member_group(call->member);
	bool breaks_off;

	spin_lock(&g->lock);
	breaks_off = group->posted && group->posted < group->members && !group->over;
	if (breaks_off)
		group->over = true;
	spin_unlock(&g->lock);
	return breaks_off;
}

void coll_tensor_call_refuse(struct coll_tensor_call *call, struct coll_tensor_group *group)
{
	struct coll_group *g = coll_member_group(call->member);

	spin_lock(&g->lock);
	group->over = true;
	spin_unlock(&g->lock);
}

bool coll_tensor_call_is_over(struct coll_tensor_call *call, u64 digest)
{
	struct coll_group *g = coll_member_group(call->member);
	struct coll_tensor_group *tg;
	bool over;

	spin_lock(&g->lock);
	tg = coll_tensor_group_find_locked(call->member, digest, call->nr);
	over = tg && tg->over;
	spin_unlock(&g->lock);
	return over;
}

void coll_tensor_call_ended(struct coll_tensor_req *t)
{
	struct coll_tensor_group *tg;

	lockdep_assert_held(&coll_member_group(t->req.member)->lock);
	if (!t->group)
		return;
	tg = coll_tensor_group_find_locked(t->req.member, t->group, t->call);
	if (tg)
		tg->over = true;
}
