// SPDX-License-Identifier: GPL-2.0
/* Vectors that RLIMIT_MEMLOCK does not let the kernel pin go through windows. */
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define PAGE	4096UL
#define SECOND	1000000000ULL

/* i32 sums over ranks that may not pin: @off bytes off the page, in or out of place. */
static int windowed(struct raw_comm *c, uint64_t count, size_t off, bool inplace,
		    uint64_t *wanted)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX];
	char *in[RAW_MAX], *out[RAW_MAX];
	struct coll_status s;
	uint32_t r;
	uint64_t i;
	int ret, wrong = 0;
	int32_t v;

	for (r = 0; r < c->size; r++) {
		in[r] = test_memory(count * 4 + 2 * PAGE) + off;
		out[r] = inplace ? in[r] : test_memory(count * 4 + 2 * PAGE) + 3 * off;
		for (i = 0; i < count; i++) {
			v = test_value(r, i);
			memcpy(in[r] + i * 4, &v, 4);
		}
		raw_allreduce(&cmds[r], inplace ? NULL : in[r], out[r], count,
			      COLL_I32, COLL_OP_SUM);
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	*wanted = ~0ULL;
	for (r = 0; r < c->size; r++) {
		if (!ret)
			ret = results[r];
		for (i = 0; i < count; i++) {
			v = test_value_sum(c->size, i);
			wrong += memcmp(out[r] + i * 4, &v, 4) != 0;
		}
		raw_status(c->fd[r], &s);
		if (s.memlock_wanted < *wanted)
			*wanted = s.memlock_wanted;
		munmap(in[r] - off, count * 4 + 2 * PAGE);
		if (!inplace)
			munmap(out[r] - 3 * off, count * 4 + 2 * PAGE);
	}
	return ret ? ret : wrong;
}

static void windows(struct __test_metadata *_metadata, uint32_t size,
		    uint32_t nodes, unsigned long limit)
{
	static const uint64_t counts[] = { 1, 1023, 1024, 1025, 20000, 200003 };
	struct raw_comm c;
	uint64_t wanted;
	size_t i, off;

	ASSERT_EQ(0, test_become_nobody(limit));
	ASSERT_EQ(0, raw_start(&c, size, nodes));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (off = 0; off < 4; off += 1 + 2 * (off == 1)) {
			EXPECT_EQ(0, windowed(&c, counts[i], off, false, &wanted)) {
				TH_LOG("%u ranks, %u nodes, count %llu, off %zu",
				       size, nodes, (unsigned long long)counts[i], off);
			}
			EXPECT_EQ(0, windowed(&c, counts[i], off, true, &wanted)) {
				TH_LOG("in place: %u ranks, %u nodes, count %llu, off %zu",
				       size, nodes, (unsigned long long)counts[i], off);
			}
		}
	}
	/* the last one did not fit for sure */
	EXPECT_GE(wanted, 200003 * 4ULL);
	raw_stop(&c);
}

TEST(windows_one_rank)		{ windows(_metadata, 1, 1, 0); }
TEST(windows_one_node)		{ windows(_metadata, 4, 1, 0); }
TEST(windows_two_nodes)		{ windows(_metadata, 2, 2, 0); }
TEST(windows_three_nodes)	{ windows(_metadata, 5, 3, 0); }
/* some vectors are pinned, others go through windows */
TEST(windows_mixed_one_node)	{ windows(_metadata, 4, 1, 200 * PAGE); }
TEST(windows_mixed_two_nodes)	{ windows(_metadata, 4, 2, 200 * PAGE); }

TEST(windows_broadcast)
{
	struct coll_cmd cmds[3];
	int results[3];
	struct raw_comm c;
	char *mem[3];
	uint64_t i, wrong = 0, bytes = 1000003;
	uint32_t r;

	ASSERT_EQ(0, test_become_nobody(0));
	ASSERT_EQ(0, raw_start(&c, 3, 2));
	for (r = 0; r < 3; r++) {
		mem[r] = test_memory(bytes + PAGE) + r;
		for (i = 0; r == 2 && i < bytes; i++)
			mem[r][i] = i * 31 >> 3;
		raw_broadcast(&cmds[r], mem[r], bytes, COLL_BYTE, 2);
		cmds[r].timeout_ns = 10 * SECOND;
	}
	ASSERT_EQ(0, raw_all(&c, cmds, results));
	for (r = 0; r < 3; r++) {
		EXPECT_EQ(0, results[r]);
		for (i = 0; i < bytes; i++)
			wrong += mem[r][i] != (char)(i * 31 >> 3);
	}
	EXPECT_EQ(0, wrong);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
