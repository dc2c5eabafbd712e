/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The agent puts what is ready in order; every node applies the orders and keeps a log. */
#ifndef COLL_PURE_COORD_ORDER_H
#define COLL_PURE_COORD_ORDER_H

#include "coord_types.h"

/**
 * coll_coord_run() - order what is ready
 * @c: coordinator
 *
 * At the root, after one or more of the other calls: what became ready by them may be
 * fused. Does nothing elsewhere. Entries that the window has no room for wait for
 * coll_coord_over(). If it sets @c->more it is to be called again.
 */
void coll_coord_run(struct coll_coord *c);

/**
 * coll_coord_over() - an op has ended on this node
 * @c: coordinator
 * @bytes: sum of coll_coord_bytes() of the tensors of this op: one tensor, or all tensors of one
 *	fusion
 *
 * Nothing touches their memory any more. At the root something else may be started now; does
 * nothing elsewhere.
 */
void coll_coord_over(struct coll_coord *c, u64 bytes);

/* The next record for a child. Return: false if there is none. It counts as sent. */
bool coll_coord_to_child(struct coll_coord *c, u32 child, struct coll_coord_rec *r);

/* Has this node applied an order, and all orders before it? @serial: low bits of its number */
bool coll_coord_has_applied(const struct coll_coord *c, u32 serial);

/* At the root: an entry is ready in the whole tree. */
void coll_coord_complete(struct coll_coord *c, struct coll_coord_entry *e);

/* At the root: all ranks have joined. */
void coll_coord_complete_join(struct coll_coord *c);

/**
 * coll_coord_start() - apply START, and log it
 * @c: coordinator
 * @e: entry; @e->known is what starts
 * @contributors: ranks that have submitted it
 * @last: the next one does not belong to the same fusion
 * @full: children are sent name and parameters
 */
void coll_coord_start(struct coll_coord *c, struct coll_coord_entry *e, u32 contributors,
		      bool last, bool full);

/**
 * coll_coord_end() - apply BAD, and log it
 * @c: coordinator
 * @e: entry
 * @round: the round that ends
 * @bad: why
 * @full: children are sent the name
 *
 * Return: members of its groups that it causes to fail.
 */
u32 coll_coord_end(struct coll_coord *c, struct coll_coord_entry *e, u32 round,
		    const struct coll_coord_bad *bad, bool full);

/* Apply JOINED, and log it: @rank is the last one to join. */
void coll_coord_all_joined(struct coll_coord *c, u32 rank);

/* Apply LEFT, and log it: @rank has left. */
void coll_coord_all_left(struct coll_coord *c, u32 rank);

#endif /* COLL_PURE_COORD_ORDER_H */
