/* SPDX-License-Identifier: GPL-2.0 */
/* The beginning and the end of the tests in which rank 0 waits in its call. */
#ifndef WAITING_H
#define WAITING_H

#include "harness.h"
#include "procs.h"
#include "util.h"
#include "waiters.h"

#define WAITING_MS	20000
#define WAITING_COUNT	(4 << 20)	/* elements of a large op */

/* Returns when rank 0 waits in its call. */
static inline void waiting_begin(struct __test_metadata *_metadata, struct procs *p,
				 uint32_t nodes, uint64_t count)
{
	waiters_make(count);
	p->ops = waiters_ops;
	ASSERT_EQ(0, procs_start(p, 2, nodes));
	ASSERT_TRUE(procs_wait(p, PROCS_JOINED, WAITING_MS));
	p->sh->go = 1;
	while (!p->sh->rank[0].asked)
		test_sleep_us(200);
	ASSERT_TRUE(test_asleep(p->pid[0]));
}

/* Let rank 1 post. Each rank has one result, whatever has happened meanwhile. */
static inline void waiting_end(struct __test_metadata *_metadata, struct procs *p)
{
	uint32_t r;

	waiters->post = 1;
	EXPECT_TRUE(procs_wait(p, PROCS_ENDED, WAITING_MS)) TH_LOG("HANG");
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, p->sh->rank[r].result) TH_LOG("rank %u", r);
		EXPECT_EQ(0, p->sh->rank[r].wrong) TH_LOG("rank %u", r);
		EXPECT_EQ(1, waiters->posted[r]) TH_LOG("rank %u", r);
	}
	procs_stop(p);
}

#endif /* WAITING_H */
