/* SPDX-License-Identifier: GPL-2.0 */
/* Vectors of a command are found in the memory of the caller. */
#ifndef COLL_FRONT_TAKE_H
#define COLL_FRONT_TAKE_H

#include <linux/types.h>

struct coll_area;
struct coll_fixed;
struct coll_member;
struct coll_vec;

/**
 * struct coll_range - memory of the caller that a vector lies in
 * @fixed: buffer of io_uring's that it must lie in; NULL: anywhere
 * @reg: it lies in our registered buffer @id instead
 * @id: from the user
 * @addr: first byte
 * @len: bytes, not 0
 * @area: the vector is these bytes only, and @addr is where its offsets count from;
 *	NULL: it is one piece
 * @read: what is there now will be read
 * @write: will be written
 */
struct coll_range {
	const struct coll_fixed *fixed;
	bool reg;
	u32 id;
	u64 addr;
	u64 len;
	const struct coll_area *area;
	bool read;
	bool write;
};

/**
 * coll_take_vec() - a vector of the caller's memory
 * @m: member
 * @r: where: in a registered buffer, of ours or io_uring's, or else pinned now, or seen
 *	through windows
 * @v: result; the buffer is referenced
 */
int coll_take_vec(struct coll_member *m, const struct coll_range *r, struct coll_vec *v);

#endif /* COLL_FRONT_TAKE_H */
