/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Operators that the application has defined. */
#ifndef LIBCOLL_USEROP_H
#define LIBCOLL_USEROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

/**
 * struct userop - a copy of an operator: calls that have begun go on after it has been freed
 * @piece: bytes of a piece at most; 0: userop_piece
 */
struct userop {
	coll_user_fn *fn;
	void *arg;
	bool commute;
	uint64_t piece;
};

/** userop_get() - 0, or -EINVAL if there is no such operator (any more) */
int userop_get(coll_op_t op, struct userop *u);

/** userop_type() - fill in the size of an element; -EINVAL: no such type */
int userop_type(struct coll_user_type *type);

/** userop_range() - are there @count elements at @p? @bytes: their length */
int userop_range(const void *p, uint64_t count, size_t size, uint64_t *bytes);

/** userop_overlap() - do the two vectors have a byte in common? */
bool userop_overlap(const void *a, uint64_t a_len, const void *b, uint64_t b_len);

#endif
