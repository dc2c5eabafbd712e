/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ranks as processes. Rank 0 waits in COLL_IOC_SUBMIT. Rank 1 posts the same op when the
 * test tells it to.
 */
#ifndef COLL_SELFTESTS_WAITERS_H
#define COLL_SELFTESTS_WAITERS_H

#include <stdint.h>

#include "procs.h"

/**
 * struct waiters - memory that the ranks share with the test
 * @post: the test lets rank 1 post
 * @handled: SIGUSR1 that ranks have handled
 * @posted: commands of each rank, as the kernel counts them
 * @count: elements of the op, an allreduce in place; 0: a barrier
 */
struct waiters {
	volatile uint32_t post;
	volatile uint32_t handled;
	volatile uint64_t posted[2];
	uint64_t count;
};

extern struct waiters *waiters;

/* Map the shared memory. */
void waiters_make(uint64_t count);
/* For struct procs: one op of a rank, whose result is verified. */
void waiters_ops(struct procs *p, uint32_t rank);

#endif /* COLL_SELFTESTS_WAITERS_H */
