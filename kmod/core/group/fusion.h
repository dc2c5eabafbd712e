/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fusions: several tensors are one op, which works on the pages of the tensors in place.
 *
 * The vector of a fusion has the first chunk of each tensor, one behind the other, then the second
 * chunk of each, and so on. So a chunk of the fusion is the union of these chunks of its tensors,
 * and each tensor is cut as if it were alone. So each element takes the same way through the
 * schedule, and has the same bits, fused or not.
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
 * @count: elements of all tensors together
 * @bytes: bytes of all tensors together
 * @digest: digest of coll_req.agreed of all tensors, in order
 * @joined: the vectors of the first request now contain those of all tensors
 * @over: called while the op still runs, when nothing touches the vectors of @req any more: at most
 *	once for each request, also the first one, but not for the request that is over last. It
 *	takes @req out of @others. Process context, with a ref of the op; not under group->lock.
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
