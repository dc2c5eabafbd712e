/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of ops side by side. */
#ifndef BESIDE_H
#define BESIDE_H

#include "burst.h"
#include "harness.h"

/* All ops end in the same way, and none of their buffers has been written to. */
static inline void burst_all_end(struct __test_metadata *_metadata, struct burst *b,
				 unsigned int from, int error, uint32_t kind, uint64_t seq)
{
	struct coll_status s;
	unsigned int i;
	uint64_t e;

	for (i = from; i < b->nr; i++) {
		int32_t v;

		EXPECT_EQ(-error, peer_op_wait(&b->op[i]));
		for (e = 0; e < b->op[i].cmd.count; e++) {
			memcpy(&v, b->op[i].out.mem + e * 4, 4);
			if (v != test_value(0, e))
				break;
		}
		EXPECT_EQ(b->op[i].cmd.count, e) TH_LOG("op %u has been written to", i + 1);
	}
	ASSERT_EQ(0, raw_status(b->p.c.fd[0], &s));
	EXPECT_EQ(error, s.cause.error);
	EXPECT_EQ(kind, s.cause.kind);
	EXPECT_EQ(seq, s.cause.seq);
	EXPECT_EQ(0, burst_stop(b));
}

#endif
