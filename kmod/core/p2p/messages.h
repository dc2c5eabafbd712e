/* SPDX-License-Identifier: GPL-2.0 */
/* The messages of a group. */
#ifndef COLL_CORE_MESSAGES_H
#define COLL_CORE_MESSAGES_H

#include <linux/types.h>

struct coll_group;
struct coll_msg;

/**
 * struct coll_msg_counts - counters of one group
 * @sent: messages of its ranks whose sending end is over without an error
 * @bytes: bytes of these messages
 */
struct coll_msg_counts {
	u64 sent;
	u64 bytes;
};

/* Under group->lock. */
const struct coll_msg_counts *coll_msgs_counts(const struct coll_group *g);

/* Is any message in flight? A check without the lock. */
bool coll_msg_any(const struct coll_group *g);

/* Allocate the message state of a new group. Return: 0, -ENOMEM. */
int coll_msgs_init(struct coll_group *g);

/* Free the message state of a group that has no request left. */
void coll_msgs_free(struct coll_group *g);

/* A message has been posted. Under group->lock. */
void coll_msgs_add(struct coll_group *g, struct coll_msg *msg);

#endif /* COLL_CORE_MESSAGES_H */
