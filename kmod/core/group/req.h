/* SPDX-License-Identifier: GPL-2.0 */
/* Requests: one rank's part in a collective, or a message of it. */
#ifndef COLL_CORE_REQ_H
#define COLL_CORE_REQ_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/coll.h>

#include "../../pure/collective.h"
#include "../mem/buf.h"
#include "../mem/reduce.h"

struct coll_exchange;
struct coll_fusion;
struct coll_member;
struct coll_op;
struct coll_sleeper;
struct coll_slot;

/**
 * struct coll_req - one rank's part in an op
 * @member: the rank that has posted it
 * @cmd: the command, decoded and checked
 * @in: input vector
 * @out: output vector
 * @in_bytes: length of the input
 * @bytes: length of the longer vector
 * @counts: v-forms: elements of each rank's block; alltoallv: those of the input,
 *	then those of the output; NULL: not given
 * @starts: first element of each block, in the same form; NULL if @counts is
 * @has_displs: the caller gave displacements: blocks may overlap, and there may be gaps
 * @agreed: value that is used as the count in the signature
 * @seq: its number among the ops of the rank, from posting on; 0: a message
 * @slot: copy of small vectors while the op runs; NULL: vectors are not copied
 * @op: the op, from posting to its end; written under group->lock, compared by anyone
 * @exchange: of messages: the exchange, from posting to its end
 * @got: of messages: description of the received message
 * @has_got: @got is valid
 * @counted: it counts in user->commands, see coll_req_count()
 * @in_flight: bytes of its vectors that count in member->in_flight
 * @for_node: may have COLL_CMD_NODE; set by front before it is decoded
 * @named: the coordinator decides when it is posted, see tensor.h; set by front before
 *	it is decoded
 * @absent: the rank has joined, so the request has no vectors of its own
 * @divisor: avg: divisor of the sum; 0: the number of ranks of the communicator
 * @scaling: factors besides those of premulsum
 * @weight: of a tensor: bytes that the coordinator counts for it, or for its fusion
 * @fusion: the tensors of its fusion, see fusion.h; NULL: it is not fused. @bytes and
 *	@in_bytes are those of the whole fusion, @cmd and @agreed those of the first tensor
 * @list: in the op, by local index; group->lock
 * @sleeper: a thread of the rank that can be woken to help; NULL: none
 * @done: called exactly once for a posted request, in process context, when the
 *	op has ended and its buffers are released. May free the request. For blocking calls it
 *	is coll_waiting_done() of front/submit.c.
 *
 * Owner: front, which allocates it and gets it back through @done, or keeps it
 * when posting fails.
 */
struct coll_req {
	struct coll_member *member;
	struct coll_cmd cmd;
	struct coll_vec in;
	struct coll_vec out;
	u64 in_bytes;
	u64 bytes;
	u64 *counts;
	u64 *starts;
	bool has_displs;
	u64 agreed;
	u64 seq;
	struct coll_slot *slot;
	struct coll_op *op;
	struct coll_exchange *exchange;
	struct coll_message got;
	bool has_got;
	bool counted;
	u64 in_flight;
	bool for_node;
	bool named;
	bool absent;
	u32 divisor;
	struct coll_scaling scaling;
	u64 weight;
	struct coll_fusion *fusion;
	struct list_head list;
	struct coll_sleeper *sleeper;
	void (*done)(struct coll_req *req, int result);
};

/**
 * coll_req_count() - a command is about to be in flight
 * @req: command; may have been counted
 *
 * The first COLL_INFLIGHT_FREE commands of a rank are not counted, the others count for the user.
 * The bytes of the vectors of all collectives count in member->in_flight.
 * Under group->lock. Return: 0; -ENOMEM: the user has as many in flight as are allowed.
 */
int coll_req_count(struct coll_req *req);

/* Undo coll_req_count(): the command is over, or has not been posted. */
void coll_req_uncount(struct coll_req *req);

/* Release the buffers of a complete request. Return: the result for its rank. */
int coll_req_release(struct coll_req *req, int result);

/* Complete a request: release its buffers, then call ->done, which may free it. */
void coll_req_done(struct coll_req *req, int result);

#endif /* COLL_CORE_REQ_H */
