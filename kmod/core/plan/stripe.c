// SPDX-License-Identifier: GPL-2.0
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "../../pure/collective.h"
#include "../../pure/wire.h"
#include "../group/group.h"
#include "../group/op_state.h"
#include "../group/req.h"
#include "../limits.h"
#include "select.h"
#include "stripe.h"

/* The signatures of posted ops contain the present values. */
static int coll_stripes_set(struct coll_group *g, struct coll_stripes s)
{
	if (g->error)
		return -ESHUTDOWN;
	if (g->stripes.links == s.links && g->stripes.least == s.least)
		return 0;
	if (!list_empty(&g->ops))
		return -EBUSY;
	g->stripes = s;
	return 0;
}

int coll_group_stripe(struct coll_group *g, u32 links, u64 least)
{
	struct coll_stripes s = { links, links > 1 ? least ?: COLL_STRIPE_LEAST : 0 };
	int ret;

	if (!links || links > COLL_MAX_LINKS)
		return -EINVAL;
	spin_lock(&g->lock);
	ret = coll_stripes_set(g, s);
	spin_unlock(&g->lock);
	return ret;
}

u32 coll_stripe_links(const struct coll_group *g, u64 bytes)
{
	lockdep_assert_held(&g->lock);
	if (g->stripes.links == 1 || g->nr_nodes == 1)
		return 1;
	return clamp_t(u64, div64_u64(bytes, g->stripes.least), 1, g->stripes.links);
}

void coll_stripe_op(struct coll_op *op, const struct coll_req *req)
{
	const struct coll_group *g = op->group;
	u64 bytes;

	lockdep_assert_held(&g->lock);
	bytes = coll_agreed_bytes(op, req);
	if (coll_kind_of(op->cmd.collective)->flags & COLL_KIND_BLOCKS &&
	    check_mul_overflow(bytes, (u64)g->size, &bytes))
		bytes = U64_MAX;
	op->links = coll_stripe_links(g, bytes);
}

u64 coll_stripes_sign(const struct coll_group *g, u64 sig)
{
	lockdep_assert_held(&g->lock);
	if (g->stripes.links == 1)
		return sig;
	sig = coll_digest(sig, g->stripes.links);
	return coll_digest(sig, g->stripes.least) ?: 1;
}
