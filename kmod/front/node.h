/* SPDX-License-Identifier: GPL-2.0 */
/* COLL_CMD_NODE: the first local rank posts a small collective for all ranks of its node. */
#ifndef COLL_FRONT_NODE_H
#define COLL_FRONT_NODE_H

struct coll_req;

/* Is a decoded command with COLL_CMD_NODE valid? Return: 0, -EINVAL. */
int coll_node_check(const struct coll_req *req);

/**
 * coll_node_gather() - wait for the other local ranks, and prepare their requests
 * @req: decoded, with COLL_CMD_NODE
 *
 * Shortens the deadline of @req by the time that it waits. Return: 0: coll_op_post() or
 * coll_node_drop() follows. -ESTALE: a rank posts the op by itself, asks for something else, or has
 * left; -ENOTCONN: there is no shared memory; -EINTR: a signal is pending; -ENOMEM, -EBUSY; the
 * sticky error. Nothing has been posted.
 */
int coll_node_gather(struct coll_req *req);

/* A command that has been gathered is not going to be posted. */
void coll_node_drop(struct coll_req *req);

#endif /* COLL_FRONT_NODE_H */
