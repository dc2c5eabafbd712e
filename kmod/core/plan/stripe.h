/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stripes: a large collective is cut into parts, and each part uses another link.
 * The same schedule runs for all parts at once: the links share only the op.
 */
#ifndef COLL_CORE_STRIPE_H
#define COLL_CORE_STRIPE_H

#include <linux/types.h>

struct coll_group;
struct coll_op;
struct coll_req;

/**
 * coll_group_stripe() - COLL_IOC_STRIPE
 * @g: group
 * @links: from the user
 * @least: from the user; 0: COLL_STRIPE_LEAST
 *
 * Return: 0, also if the values are set already; -EINVAL; -EBUSY while an op is posted; -ESHUTDOWN.
 */
int coll_group_stripe(struct coll_group *g, u32 links, u64 least);

/* Number of links that a vector of @bytes goes over. Under group->lock. */
u32 coll_stripe_links(const struct coll_group *g, u64 bytes);

/**
 * coll_stripe_op() - set the number of links that a new op uses
 * @op: its command and group are set; result: @op->links
 * @req: the first request of @op
 *
 * Uses only values that all ranks know. Under group->lock.
 */
void coll_stripe_op(struct coll_op *op, const struct coll_req *req);

/* Mix the settings of stripes into @sig: they must be equal on all nodes. Under group->lock. */
u64 coll_stripes_sign(const struct coll_group *g, u64 sig);

#endif /* COLL_CORE_STRIPE_H */
