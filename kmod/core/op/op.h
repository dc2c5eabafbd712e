/* SPDX-License-Identifier: GPL-2.0 */
/* Functions to post and end ops. group/op_state.h defines an op. */
#ifndef COLL_CORE_OP_H
#define COLL_CORE_OP_H

#include <linux/gfp.h>
#include <linux/types.h>

#include "../group/op_state.h"
#include "../group/req.h"

struct coll_group;
struct coll_member;
struct coll_worker;

extern const struct coll_group_part coll_op_part;

/**
 * coll_op_post() - post one rank's part of its next op, or a message
 * @req: filled in by front
 *
 * Return: 0: @req->done is called exactly once, later or before this returns. Negative: it is never
 * called, and the command does not count: -ENOMEM if there is no memory or if too many commands are
 * in flight; -EBADE if it differs from what other local ranks posted; or the sticky error of the
 * group. With COLL_CMD_NODE the proxies of the other local ranks, claimed and filled in before, are
 * posted, too: -ESTALE if a rank does not wait for this op any more.
 */
int coll_op_post(struct coll_req *req);

/* The deadline of @m for op @seq is over. Does nothing if @seq has ended, or is not its last op. */
void coll_op_expire(struct coll_member *m, u64 seq);

/* Memory for an op, for coll_op_post_ordered(); charged. NULL: there is none. */
struct coll_op *coll_op_alloc(gfp_t gfp);

/* Free the memory of an op that is not in use. @op may be NULL. */
void coll_op_discard(struct coll_op *op);

/**
 * coll_op_post_ordered() - post a named collective, which is counted already
 * @req: its turn has come
 * @spare: memory for an op, which is taken if it is needed
 *
 * Under group->lock. The caller then drops the lock, and calls coll_group_check_pending() and
 * coll_ops_advance(). Return: 0; -EBADE: differs from what other local ranks posted; the error
 * of a group that has failed.
 */
int coll_op_post_ordered(struct coll_req *req, struct coll_op **spare);

/*
 * As coll_op_put(), for work items of coll_alarm_wq. The last ref ends the op on a queue of the
 * user: this may start the next op, or unpin a large buffer.
 */
void coll_op_put_later(struct coll_op *op);

#endif /* COLL_CORE_OP_H */
