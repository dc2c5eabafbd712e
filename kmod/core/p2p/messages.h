/* SPDX-License-Identifier: GPL-2.0 */
/* The messages of a group. */
#ifndef COLL_CORE_MESSAGES_H
#define COLL_CORE_MESSAGES_H

#include <linux/types.h>

struct coll_group;
struct coll_msg;

/**
 * struct coll_msg_counts - of one group
 * @sent: messages that its ranks have sent, and that have arrived as far as is known
 * @bytes: in these
 */
struct coll_msg_counts {
	u64 sent;
	u64 bytes;
};

/* Under group->lock. */
const struct coll_msg_counts *coll_msgs_counts(const struct coll_group *g);

/* Is any message in flight? A look without the lock. */
bool coll_msg_any(const struct coll_group *g);

/* A new group has room for messages. Return: 0, -ENOMEM. */
int coll_msgs_init(struct coll_group *g);

/* No request is left. */
void coll_msgs_free(struct coll_group *g);

/* A message has been posted. Under group->lock. */
void coll_msgs_add(struct coll_group *g, struct coll_msg *msg);

#endif /* COLL_CORE_MESSAGES_H */
