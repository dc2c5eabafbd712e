/* SPDX-License-Identifier: GPL-2.0 */
/* How ops are posted, started, helped and ended; group/op_state.h has what an op is. */
#ifndef COLL_CORE_OP_H
#define COLL_CORE_OP_H

#include <linux/gfp.h>
#include <linux/types.h>

#include "../group/op_state.h"
#include "../group/req.h"

struct coll_group;
struct coll_worker;

extern const struct coll_group_part coll_op_part;

/**
 * coll_op_post() - post one rank's part of its next op, or a message
 * @req: filled in by front
 *
 * Return: 0: @req->done is called exactly once, later or before this returns.
 * Negative: never, and the command does not count: -EAGAIN too many in flight,
 * -ENOMEM; or the group's sticky error.
 */
int coll_op_post(struct coll_req *req);

/* Memory for an op, for coll_op_post_ordered(); charged. NULL: there is none. */
struct coll_op *coll_op_alloc(gfp_t gfp);

/* Free one that is not in use, as of a group that goes. NULL is fine. */
void coll_op_discard(struct coll_op *op);

/**
 * coll_op_post_ordered() - post a named collective, which counts already
 * @req: its turn has come
 * @spare: memory for an op, which is taken if it is needed
 *
 * Under group->lock; coll_group_check_doom() and coll_group_advance() are to follow without.
 * Return: 0; -EBADE: disagrees with what other local ranks posted.
 */
int coll_op_post_ordered(struct coll_req *req, struct coll_op **spare);

/**
 * coll_req_help() - work on the op of a request instead of sleeping
 * @req: posted, possibly done already
 * @w: worker that does it, until it is over; NULL: a caller
 *
 * Takes slices of an N-way sweep as long as there are any. The caller makes sure
 * that @req stays allocated.
 */
void coll_req_help(struct coll_req *req, struct coll_worker *w);

/* Is there anything coll_req_help() could do just now? */
bool coll_req_can_help(struct coll_req *req);

/**
 * coll_group_can_help() - is there anything coll_group_help() could do just now?
 * @g: group
 *
 * Who says that he is away, and asks after a full barrier, is told of all that has counted
 * on him.
 */
bool coll_group_can_help(struct coll_group *g);

/* Work on an op of a group that is open for that. @w: as of coll_req_help(). */
void coll_group_help(struct coll_group *g, struct coll_worker *w);

/* Start ops whose turn has come. Process context, no locks. */
void coll_group_advance(struct coll_group *g);

/**
 * coll_ops_running() - the running ops of a group, each with a use
 * @g: group
 * @ops: result, oldest first: room for COLL_RUNNING_MAX
 *
 * Not those that are ending: links that look again and again would keep them from their end
 * by turns. None of a group that has failed.
 * Return: how many.
 */
u32 coll_ops_running(struct coll_group *g, struct coll_op **ops);

/* An op is out of the queue, whether it has started or not. Under group->lock. */
void coll_op_stopped(struct coll_group *g, struct coll_op *op);

/*
 * The same for work items of coll_alarm_wq: where the end of the op may start the next one
 * it is queued on the user's queue.
 */
void coll_op_put_use_later(struct coll_op *op);

#endif /* COLL_CORE_OP_H */
