// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <linux/coll.h>

#include "../limits.h"
#include "../mem/slot.h"
#include "group.h"
#include "member.h"
#include "proxy.h"
#include "shm_memory.h"

struct coll_proxy *coll_proxy_new(struct coll_member *m)
{
	struct coll_proxy *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->req.member = m;
	p->slot = coll_slot_get(&m->slots, COLL_SMALL);
	if (p->slot)
		return p;
	kfree(p);
	return NULL;
}

void coll_proxy_free(struct coll_member *m, struct coll_proxy *p)
{
	if (!p)
		return;
	coll_slot_put(&m->slots, p->slot);
	kfree(p);
}

bool coll_proxy_is_busy(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	bool busy;

	if (!g)
		return false;
	spin_lock(&g->lock);
	busy = m->proxy && m->proxy->busy;
	spin_unlock(&g->lock);
	return busy;
}

void coll_proxy_close(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);

	if (!g)
		return;
	spin_lock(&g->lock);
	if (m->proxy)
		m->proxy->closed = true;
	spin_unlock(&g->lock);
}

void coll_proxy_release(struct coll_member *m)
{
	struct coll_group *g = m->group;
	struct coll_proxy *p = m->proxy;

	if (!p)
		return;
	wait_event_idle(g->shared->wq, !coll_proxy_is_busy(m));
	/* The first rank may look at it until the member has left the group. */
	spin_lock(&g->lock);
	m->proxy = NULL;
	spin_unlock(&g->lock);
	coll_proxy_free(m, p);
}

/* Is nothing of this rank in flight, and has it written the op at @pos to its slot? */
static bool coll_proxy_is_ready_locked(const struct coll_group *g, const struct coll_member *m,
				       u64 pos, bool busy)
{
	lockdep_assert_held(&g->lock);
	return m && m->proxy && m->proxy->busy == busy && !m->proxy->closed &&
	       (!busy || m->proxy->pos == pos) &&
	       m->posted + 1 == pos && m->completed == m->posted && !m->left &&
	       coll_shared_pos(g->shared, m->local, pos) == pos;
}

static bool coll_proxies_are_ready_locked(const struct coll_member *lead, u64 pos, bool busy)
{
	const struct coll_group *g = lead->group;
	u32 i;

	lockdep_assert_held(&g->lock);
	/* The first rank has not posted the op by itself, and other ranks count on its slot. */
	if (lead->posted + 1 != pos || lead->left ||
	    coll_shared_pos(g->shared, lead->local, pos) != pos)
		return false;
	for (i = 1; i < g->nr_local; i++)
		if (!coll_proxy_is_ready_locked(g, g->members[i], pos, busy))
			return false;
	return true;
}

bool coll_proxies_hold_locked(const struct coll_member *lead, u64 pos)
{
	lockdep_assert_held(&lead->group->lock);
	return coll_proxies_are_ready_locked(lead, pos, true);
}

int coll_proxies_claim(struct coll_member *lead, u64 pos)
{
	struct coll_group *g = lead->group;
	int ret = 0;
	u32 i;

	spin_lock(&g->lock);
	if (!g->shared || g->shared->nr_areas != g->nr_local)
		ret = -ENOTCONN;
	else if (!coll_proxies_are_ready_locked(lead, pos, false))
		ret = -ESTALE;
	for (i = 1; i < g->nr_local && !ret; i++) {
		g->members[i]->proxy->busy = true;
		g->members[i]->proxy->pos = pos;
	}
	spin_unlock(&g->lock);
	/* Read slots only now: a rank writes ->pos last. Pairs with shm_op_write() of the library. */
	smp_rmb();
	return ret;
}

void coll_proxies_drop(struct coll_member *lead)
{
	struct coll_group *g = lead->group;
	u32 i;

	/* The members stay while their proxies are busy. */
	for (i = 1; i < g->nr_local; i++)
		coll_req_release(&g->members[i]->proxy->req, 0);
	spin_lock(&g->lock);
	for (i = 1; i < g->nr_local; i++)
		g->members[i]->proxy->busy = false;
	spin_unlock(&g->lock);
	/* The caller is in a call of the first rank, whose file keeps the group. */
	coll_shared_wake(g->shared);
}

/* Tell @m that the op at @pos, which another rank has posted for it, has ended. */
static void coll_proxy_tell_locked(struct coll_member *m, u64 pos, int result)
{
	struct coll_shm_rank *r = coll_shared_rank(m->group->shared, m->local);

	lockdep_assert_held(&m->group->lock);
	WRITE_ONCE(r->result, -result);
	/* A rank that sees this number also sees its result, and the data in its slot. */
	smp_store_release(&r->finished, pos);
}

void coll_proxy_finish(struct coll_proxy *p, int result)
{
	struct coll_member *m = p->req.member;
	struct coll_group *g = m->group;
	struct coll_slot *slot = p->slot;
	u64 pos = p->pos;

	if (!result && slot->back_len)
		coll_shared_write(g->shared, m->local, pos, coll_slot_at(slot, slot->back_at),
				  slot->back_len);
	spin_lock(&g->lock);
	p->busy = false;
	coll_proxy_tell_locked(m, pos, result);
	spin_unlock(&g->lock);
	/* From here on @m may be gone. The op keeps the group. */
	coll_shared_wake(g->shared);
}
