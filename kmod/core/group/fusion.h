/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fusions: several tensors are one op, over the pages where their ranks have them.
 *
 * Its vector has the tensors' first chunks, one behind the other, then their second ones, and
 * so on: a chunk of the fusion is the union of those of the tensors, cut as if each tensor
 * were alone. So each element takes the same way through the schedule, and has the same bits,
 * fused or not.
 *
 * The algorithm is chosen for the first tensor of the rank, whose request is in the op.
 */
#ifndef COLL_CORE_FUSION_H
#define COLL_CORE_FUSION_H

#include <linux/list.h>
#include <linux/types.h>

struct coll_req;

/**
 * struct coll_fusion - the tensors of one rank that are one op
 * @others: struct coll_req of all but the first one, in the order of START
 * @nr: tensors, with the first one
 * @count: elements of all
 * @bytes: of all
 * @digest: of what they have agreed on, in order
 * @joined: the vectors of the first request have been made those of all
 * @over: called at most once for each request but the one that is over last, the first one
 *	included, while the op still runs: nothing touches the vectors of this one any more. It
 *	takes a request out of @others. Process context, with a ref of the op; not under
 *	group->lock.
 */
struct coll_fusion {
	struct list_head others;
	u32 nr;
	u64 count;
	u64 bytes;
	u64 digest;
	bool joined;
	void (*over)(struct coll_req *first, struct coll_req *req);
};

#endif /* COLL_CORE_FUSION_H */
