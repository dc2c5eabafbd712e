/* SPDX-License-Identifier: GPL-2.0 */
/* Posting of messages. */
#ifndef COLL_CORE_POST_H
#define COLL_CORE_POST_H

#include <linux/types.h>

struct coll_req;

/**
 * coll_msg_post() - post a send, a receive or both
 * @req: filled in by front
 *
 * As coll_op_post(); also -ENOTCONN if there is no link; -EHOSTDOWN if the partner has left;
 * -ENOMSG if a probe that does not wait has found nothing; -ENOENT if an mrecv names a message that
 * is not held.
 */
int coll_msg_post(struct coll_req *req);

#endif /* COLL_CORE_POST_H */
