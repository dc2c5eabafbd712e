// SPDX-License-Identifier: GPL-2.0
/* Commands in flight by their handle. */
#include <linux/lockdep.h>

#include "../group/group.h"
#include "../group/member.h"
#include "handles.h"
#include "state.h"

static bool coll_handle_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_exchange, by_handle)->req->cmd.handle <
	       rb_entry(b, struct coll_exchange, by_handle)->req->cmd.handle;
}

static int coll_handle_cmp(const void *handle, const struct rb_node *b)
{
	u64 there = rb_entry(b, struct coll_exchange, by_handle)->req->cmd.handle;

	return *(const u64 *)handle < there ? -1 : *(const u64 *)handle > there;
}

void coll_exchange_name(struct coll_exchange *x)
{
	lockdep_assert_held(&x->g->lock);
	RB_CLEAR_NODE(&x->by_handle);
	if (x->req->cmd.handle)
		rb_add(&x->by_handle, &x->req->member->handles, coll_handle_before);
}

struct coll_exchange *coll_exchange_by_handle(struct coll_member *m, u64 handle)
{
	struct rb_node *node;

	lockdep_assert_held(&coll_member_group(m)->lock);
	node = rb_find_first(&handle, &m->handles, coll_handle_cmp);
	return node ? rb_entry(node, struct coll_exchange, by_handle) : NULL;
}

void coll_exchange_unname(struct coll_exchange *x)
{
	lockdep_assert_held(&x->g->lock);
	if (!RB_EMPTY_NODE(&x->by_handle))
		rb_erase(&x->by_handle, &x->req->member->handles);
}
