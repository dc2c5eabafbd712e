/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of the checker. */
#ifndef COLL_UNIT_CHECKING_H
#define COLL_UNIT_CHECKING_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pure/check/check.h"

/* coll_check() with memory of its own; returns what it returns. */
static inline int check(struct coll_check *c)
{
	size_t size = coll_check_memory(c);
	void *mem = malloc(size ? size : 1);
	int err;

	if (!mem)
		abort();
	memset(mem, 0xa5, size < 65536 ? size : 65536);
	err = coll_check(c, mem, size);
	free(mem);
	return err;
}

static inline bool is_rooted(const struct coll_algorithm *a)
{
	return a->collective == COLL_BROADCAST || a->collective == COLL_REDUCE ||
	       a->collective == COLL_GATHER || a->collective == COLL_SCATTER;
}

#endif /* COLL_UNIT_CHECKING_H */
