/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a message. */
#ifndef COLL_CORE_EXCHANGE_H
#define COLL_CORE_EXCHANGE_H

#include <linux/types.h>

struct coll_exchange;
struct coll_group;
struct coll_msg;
struct coll_note;
struct coll_req;
struct list_head;

/* Allocate the ends of a request, from its command. NULL: there is no memory. */
struct coll_exchange *coll_exchange_alloc(struct coll_req *req);

/* Drop a reference. */
void coll_exchange_put(struct coll_exchange *x);

/* Set the time by which a posted request has to be complete; 0: none. */
void coll_exchange_arm(struct coll_exchange *x, u64 timeout_ns);

/* Is the result of a lead fixed? Then no thread may begin to touch its bytes. */
bool coll_msg_ending(const struct coll_msg *msg);

/* A buffer has gone: as coll_exec_failed(). */
void coll_msg_failed(struct coll_msg *msg, int err);

/* Drop a ref of a lead. The last one ends the message: process context, no locks. */
void coll_msg_put(struct coll_msg *msg);

/**
 * coll_msg_end() - fix the result of a lead
 *
 * Return: true for the first call only: that caller owes a coll_msg_put() for
 * the lead's own ref.
 */
bool coll_msg_end(struct coll_msg *lead, int result);

/* Fix the result of a lead, and drop its own ref. Process context, no locks. */
void coll_msg_finish(struct coll_msg *lead, int result);

/**
 * coll_msg_give_up() - finish one end that waits for its partner
 * @msg: an end in state COLL_MSG_POSTED, or a send in state COLL_MSG_HELD
 * @result: negative errno
 * @ending: the end is added to this list, unless it is ending already
 *
 * It cannot be matched from here on. Under group->lock. The caller has to pass @ending to
 * coll_msgs_finish() when it has dropped the lock.
 */
void coll_msg_give_up(struct coll_msg *msg, int result, struct list_head *ending);

/* Complete the ends that coll_msg_give_up() has put on the list. Process context, no locks. */
void coll_msgs_finish(struct list_head *ending);

/* Store the facts of the offer for the caller of a receive or a probe. Under group->lock. */
void coll_msg_tell(struct coll_req *req, const struct coll_note *n);

#endif /* COLL_CORE_EXCHANGE_H */
