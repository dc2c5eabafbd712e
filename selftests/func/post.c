// SPDX-License-Identifier: GPL-2.0
/* COLL_IOC_POST and COLL_IOC_COLLECT: each command completes once, and none is lost. */
#include "post.h"

#define MANY	500
#define FEW	8

/* Many in one call, received in reverse order: each tag comes back once. */
TEST_F(post, many)
{
	static int32_t in[MANY], out[MANY];
	static struct coll_message told[MANY];
	static struct coll_cmd cmd[MANY];
	static struct coll_completion got[MANY];
	static bool seen[2][MANY];
	uint32_t i, r, n;
	int ret;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < MANY; i++) {
		in[i] = i + 1;
		out[i] = 0;
		raw_send(&cmd[i], &in[i], 4, COLL_BYTE, 1, i);
	}
	ASSERT_EQ(MANY, post_cmds(c.fd[0], cmd, MANY, 0));
	for (i = 0; i < MANY; i++)
		raw_recv(&cmd[i], &out[MANY - 1 - i], 4, COLL_BYTE, 0, MANY - 1 - i,
			 &told[MANY - 1 - i]);
	ASSERT_EQ(MANY, post_cmds(c.fd[1], cmd, MANY, 0));
	for (r = 0; r < 2; r++) {
		for (n = 0; n < MANY; n += ret) {
			ret = raw_collect_cmds(c.fd[r], got, MANY, 1, 10000 * MS);
			ASSERT_LT(0, ret) TH_LOG("after %u", n);
			for (i = 0; i < (uint32_t)ret; i++) {
				ASSERT_EQ(0, got[i].result);
				ASSERT_GT(MANY, got[i].tag);
				ASSERT_FALSE(seen[r][got[i].tag]);
				seen[r][got[i].tag] = true;
			}
		}
		/* there is nothing more to collect, and nothing to wait for */
		EXPECT_EQ(0, raw_collect_cmds(c.fd[r], got, MANY, 1, COLL_COLLECT_FOREVER));
	}
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ((int)i + 1, out[i]);
		ASSERT_EQ(4, told[i].bytes);
		ASSERT_EQ(i, told[i].tag);
	}
	EXPECT_EQ(0, test_good(&c));
}

/* Collectives, small and large; completions come in the order of the commands. */
TEST_F(post, collectives)
{
	static int32_t in[2][FEW][20000], out[2][FEW][20000];
	struct coll_cmd cmd[FEW];
	uint32_t r, i, n, k;

	for (r = 0; r < 2; r++) {
		for (i = 0; i < FEW; i++) {
			n = i & 1 ? 20000 : 3;
			for (k = 0; k < n; k++)
				in[r][i][k] = test_value(r, k + i);
			raw_allreduce(&cmd[i], in[r][i], out[r][i], n, COLL_I32, COLL_OP_SUM);
		}
		ASSERT_EQ(FEW, post_cmds(c.fd[r], cmd, FEW, 0));
	}
	for (r = 0; r < 2; r++) {
		for (i = 0; i < FEW; i++) {
			ASSERT_EQ(0, post_result(c.fd[r], i));
			for (k = 0; k < (i & 1 ? 20000 : 3); k++)
				ASSERT_EQ(test_value_sum(2, k + i), out[r][i][k]);
		}
	}
}

/* A completion that cannot be stored is there for the next call. */
TEST_F(post, not_lost)
{
	struct coll_completion got[2];
	int32_t v = 3, o = 0;

	ASSERT_EQ(1, post_recv(1, 0, 4, &o, 4, NULL));
	ASSERT_EQ(1, post_send(0, 1, 4, &v, 4));
	EXPECT_EQ(-EFAULT, raw_collect_cmds(c.fd[1], (void *)8, 2, 2, 10000 * MS));
	EXPECT_EQ(0, post_result(c.fd[1], 4));
	EXPECT_EQ(3, o);
	EXPECT_EQ(0, post_result(c.fd[0], 4));
	EXPECT_EQ(0, raw_collect_cmds(c.fd[1], got, 2, 0, 0));
}

TEST_HARNESS_MAIN
