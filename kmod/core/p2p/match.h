/* SPDX-License-Identifier: GPL-2.0 */
/* A send and a receive find each other. */
#ifndef COLL_CORE_MATCH_H
#define COLL_CORE_MATCH_H

#include <linux/types.h>

struct coll_group;
struct coll_msg;
struct coll_note;
struct list_head;

/* A receive takes an offer. Under group->lock. Return: the lead, with a ref, or NULL. */
struct coll_msg *coll_msg_match(struct coll_group *g, struct coll_msg *r,
				struct coll_note *n);

/* Find a message for a receive or a probe, or let it wait. As coll_msg_offer(). */
struct coll_msg *coll_msg_want(struct coll_group *g, struct coll_msg *r,
			       struct list_head *ending);

/**
 * coll_msg_offer() - find a receive for a message, or keep the message
 * @g: group
 * @n: offer to a rank of this node
 * @ending: a matched probe that has found it is added
 * @kept: zeroed; result: what plain probes are to be told about it, if any wait for it
 *
 * Under group->lock. When the caller has dropped the lock it passes @ending to
 * coll_msgs_finish(), and @kept to coll_probes_tell(). Return: the receiving end, matched,
 * with a ref for coll_msg_begin(); NULL: it is kept.
 */
struct coll_msg *coll_msg_offer(struct coll_group *g, struct coll_note *n,
				struct list_head *ending, struct coll_note *kept);

#endif /* COLL_CORE_MATCH_H */
