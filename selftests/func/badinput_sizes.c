// SPDX-License-Identifier: GPL-2.0
/* Counts that are too large, and the count zero, which is good. */
#include "badinput.h"

/* The size in bytes does not fit in 64 bits, and is more than a buffer may have. */
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

/* Lengths that wrap when they are rounded to pages, from any place in a page. */
TEST_F(bad, sizes_near_the_largest)
{
	static const uint64_t less[] = { 0, 1, 2047, 2048, 2049, 4094, 4095, 4096, 4097, 8192 };
	static const unsigned int at[] = { 0, 1, 2048, 4095 };
	struct test_guarded g;
	unsigned int i, k;

	ASSERT_TRUE(test_guard(&g, 2 * self->page, true));
	for (i = 0; i < sizeof(less) / sizeof(less[0]); i++) {
		for (k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
			char *mem = (char *)g.mem + at[k];
			uint64_t count = ~0ULL - less[i];

			REFUSED(EINVAL, cmd.count = count; cmd.dtype = COLL_U8; cmd.send_addr = 0;
				cmd.flags = COLL_CMD_INPLACE; cmd.recv_addr = (uintptr_t)mem);
			REFUSED(EINVAL, cmd.collective = COLL_ALLTOALL; cmd.op = 0;
				cmd.count = count / self->c.size; cmd.dtype = COLL_U8;
				cmd.send_addr = 0; cmd.flags = COLL_CMD_INPLACE;
				cmd.recv_addr = (uintptr_t)mem);
			BROADCAST_REFUSED(EINVAL, cmd.count = count; cmd.dtype = COLL_BYTE;
					  cmd.recv_addr = (uintptr_t)mem);
			REFUSED(EINVAL, raw_recv(&cmd, mem, count, COLL_BYTE, 1, 0, NULL);
				cmd.timeout_ns = SECOND / 2);
			REFUSED(EINVAL, raw_send(&cmd, mem, count, COLL_BYTE, 1, 0);
				cmd.timeout_ns = SECOND / 2);
			REFUSED(EINVAL, raw_send(&cmd, mem, 8, COLL_BYTE, 1, 0);
				raw_and_recv(&cmd, mem + 8, count, 1, 0, NULL);
				cmd.timeout_ns = SECOND / 2);
		}
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
