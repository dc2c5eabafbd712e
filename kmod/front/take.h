/* SPDX-License-Identifier: GPL-2.0 */
/* Find the vectors of a command in the memory of the caller. */
#ifndef COLL_FRONT_TAKE_H
#define COLL_FRONT_TAKE_H

#include <linux/types.h>

struct coll_area;
struct coll_fixed;
struct coll_member;
struct coll_vec;

/**
 * struct coll_range - memory of the caller that a vector lies in
 * @fixed: buffer of io_uring that it must lie in; NULL: anywhere
 * @reg: it lies in buffer @id that is registered with the member, instead
 * @id: from the user
 * @addr: first byte
 * @len: bytes, not 0
 * @area: the bytes of a vector with gaps, whose offsets count from @addr; NULL: the vector is one
 *	piece
 * @read: the present content will be read
 * @write: the memory will be written
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
 * coll_take_vec() - get a vector in the caller's memory
 * @m: member
 * @r: range. It is in a buffer registered with the member or with io_uring; or it is pinned now;
 *	or, if that fails for lack of memory, it is used through windows.
 * @v: result; the buffer is referenced
 */
int coll_take_vec(struct coll_member *m, const struct coll_range *r, struct coll_vec *v);

#endif /* COLL_FRONT_TAKE_H */
