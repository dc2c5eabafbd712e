/* SPDX-License-Identifier: GPL-2.0 */
/* Small vectors: copied in with the command, and out with its result. */
#ifndef COLL_FRONT_SMALL_H
#define COLL_FRONT_SMALL_H

#include <linux/types.h>

struct coll_extent;
struct coll_req;

/**
 * coll_small_begin() - get a slot for a request whose vectors are small
 * @req: checked; ->slot is set if the vectors are to be copied
 * @in: bytes of the input
 * @out: bytes of the output
 */
void coll_small_begin(struct coll_req *req, u64 in, u64 out);

/**
 * coll_small_load() - copy the bytes that the op will read
 * @req: with a slot
 * @e: extents of its vectors
 *
 * Notes in the slot which bytes to copy back. Return: 0; -EFAULT if an input is not readable or
 * an output not writable.
 */
int coll_small_load(struct coll_req *req, const struct coll_extent *e);

/**
 * coll_small_store() - copy the result to the caller, and give the slot back
 * @req: complete
 * @result: of the request
 *
 * In the context of the caller. Return: @result; -EFAULT instead of 0 if the memory has
 * gone meanwhile.
 */
int coll_small_store(struct coll_req *req, int result);

#endif /* COLL_FRONT_SMALL_H */
