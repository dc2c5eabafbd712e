// SPDX-License-Identifier: GPL-2.0
/* Counts that are too large, and the count zero, which is good. */
#include "badinput.h"

/* No size in bytes: 64 bits, and no more than a buffer may have. */
TEST_F(bad, sizes)
{
	REFUSED(EINVAL, cmd.count = ~0ULL);
	REFUSED(EINVAL, cmd.count = 1ULL << 63);
	REFUSED(EINVAL, cmd.count = (1ULL << 63) - 1);
	REFUSED(EINVAL, cmd.count = (1ULL << 63) + 1);
	REFUSED(EINVAL, cmd.count = 1ULL << 62);
	REFUSED(EINVAL, cmd.count = (1ULL << 62) + 1);
	REFUSED(EINVAL, cmd.count = 1ULL << 61; cmd.dtype = COLL_F64);
	REFUSED(EINVAL, cmd.count = (1ULL << 61) + 1; cmd.dtype = COLL_F64);
	BROADCAST_REFUSED(EINVAL, cmd.count = 1ULL << 62);
	BROADCAST_REFUSED(EINVAL, cmd.count = ~0ULL; cmd.dtype = COLL_F64);
}

/* Sizes that fit into 64 bits, but reach beyond what is mapped there. */
TEST_F(bad, sizes_beyond_the_mapping)
{
	static const uint64_t counts[] = {
		(1ULL << 29) - 1, 1ULL << 29, (1ULL << 29) + 1,
		(1ULL << 30) - 1, 1ULL << 30, (1ULL << 30) + 1,
		(1ULL << 31) - 1, 1ULL << 31, (1ULL << 31) + 1,
		(1ULL << 32) - 1, 1ULL << 32, (1ULL << 32) + 1,
	};
	struct test_guarded g;
	unsigned int i;

	/* Input and output so far apart that they do not overlap. */
	ASSERT_TRUE(test_guard(&g, COUNT * 4, true));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		REFUSED(EFAULT, cmd.count = counts[i]; cmd.send_addr = 0;
			cmd.flags = COLL_CMD_INPLACE;
			cmd.recv_addr = (uintptr_t)g.mem);
		BROADCAST_REFUSED(EFAULT, cmd.count = counts[i];
				  cmd.recv_addr = (uintptr_t)g.mem);
	}
	EXPECT_EQ(0, test_guard_hurt(&g));
	test_unguard(&g);
}

/* A count of zero needs no buffer, and looks at none. */
TEST_F(bad, zero_count_is_good)
{
	struct coll_cmd cmds[2];
	int results[2], i;

	for (i = 0; i < 2; i++) {
		raw_allreduce(&cmds[i], (void *)16, (void *)0xfffffffffffff000ULL,
			      0, COLL_I32, COLL_OP_SUM);
		cmds[i].timeout_ns = 20 * SECOND;
	}
	ASSERT_EQ(0, raw_all(&self->c, cmds, results));
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(0, results[1]);
	self->posted++;
}

TEST_HARNESS_MAIN
