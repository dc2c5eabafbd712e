// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives that have no result if a rank has joined, joins and posts with wrong arguments, and a
 * rank that closes its file after another one has joined.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "named_join.h"

#define MS	1000000ULL

static void not_joinable(struct __test_metadata *_metadata, struct world *w, uint32_t joined,
			 unsigned int what)
{
	static const uint16_t collectives[] = {
		COLL_ALLGATHER, COLL_BROADCAST, COLL_ALLTOALL, COLL_REDUCE_SCATTER_BLOCK,
		COLL_ALLREDUCE, COLL_ALLREDUCE,
	};
	struct coll_tensor_result res;
	char name[32];
	uint32_t r;

	snprintf(name, sizeof(name), "refused %u", what);
	for (r = 0; r < w->c.size; r++) {
		if (r == joined)
			continue;
		raw_allreduce(&w->cmd[r], w->in[r], w->out[r], 2, COLL_I32, COLL_OP_NONE);
		w->cmd[r].collective = collectives[what];
		if (what == 1)
			w->cmd[r].send_addr = 0;
		if (what >= 3)
			w->cmd[r].op = what == 3 ? COLL_OP_SUM : what == 4 ? COLL_OP_REPLACE :
				       COLL_OP_NO_OP;
		raw_tensor(&w->t[r], name, &w->cmd[r], what);
		ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r], 1, NULL)) {
			TH_LOG("%u", what);
		}
	}
	for (r = 0; r < w->c.size; r++) {
		if (r == joined)
			continue;
		one_result(_metadata, w, r, &res);
		EXPECT_EQ(-EOPNOTSUPP, res.result);
		EXPECT_EQ(COLL_BAD_JOINED, res.cause);
	}
}

TEST(what_cannot_be_joined)
{
	struct world *w = &world;
	uint32_t nodes, joined, r, k;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 4, nodes));
		for (joined = 0; joined < 4; joined += 3) {
			ASSERT_EQ(0, raw_post(w->c.fd[joined], &a_join, 1, NULL));
			for (k = 0; k < 6; k++)
				not_joinable(_metadata, w, joined, k);
			EXPECT_TRUE(not_failed(w));
			step(_metadata, w, 0xf & ~(1U << joined), COLL_OP_SUM, false);
			for (r = 0; r < 4; r++)
				if (r != joined)
					ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
			all_joined(_metadata, w, joined == 3 ? 2 : 3);
		}
		raw_stop(&w->c);
	}
}

TEST(refused)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	struct coll_tensor t;

	ASSERT_EQ(0, raw_start_named(&w->c, 2, 1));
	t = a_join;
	t.name_len = 1;
	EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &t, 1, NULL));
	t = a_join;
	t.priority = 1;
	EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &t, 1, NULL));
	t = a_join;
	t.dims[7] = 1;
	EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &t, 1, NULL));
	t = a_join;
	t.flags |= COLL_TENSOR_AVG_PRESENT;
	EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &t, 1, NULL));
	t = a_join;
	t.flags |= 1U << 31;
	EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &t, 1, NULL));
	make(w, 0, "sum", COLL_OP_SUM, true);
	EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &w->t[0], 1, NULL));
	ASSERT_EQ(0, raw_post(w->c.fd[0], &a_join, 1, NULL));
	/* A second join, and a post after the join. */
	EXPECT_EQ(-EBUSY, raw_post(w->c.fd[0], &a_join, 1, NULL));
	make(w, 0, "sum", COLL_OP_SUM, false);
	EXPECT_EQ(-EBUSY, raw_post(w->c.fd[0], &w->t[0], 1, NULL));
	EXPECT_EQ(-ETIMEDOUT, raw_collect(w->c.fd[0], &res, 1, 1, 20 * MS));
	ASSERT_EQ(0, raw_post(w->c.fd[1], &a_join, 1, NULL));
	all_joined(_metadata, w, 1);
	step(_metadata, w, 3, COLL_OP_SUM, false);
	raw_stop(&w->c);
}

/* A rank closes its file: one that has joined, or one that has not. */
TEST(leaving)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t n, nodes, joined;

	for (n = 0; n < 8; n++) {
		nodes = 1 + n % 2;
		joined = n / 2 % 2;
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		ASSERT_EQ(0, raw_post(w->c.fd[joined], &a_join, 1, NULL));
		if (n / 4) {
			make(w, !joined, "alone", COLL_OP_SUM, false);
			ASSERT_EQ(0, raw_post(w->c.fd[!joined], &w->t[!joined], 1, NULL));
			one_result(_metadata, w, !joined, &res);
			EXPECT_EQ(0, res.result);
			close(w->c.fd[joined]);
			w->c.fd[joined] = -1;
			ASSERT_EQ(0, raw_status_failed(w->c.fd[!joined],
						       &(struct coll_status){ }));
		} else {
			close(w->c.fd[!joined]);
			w->c.fd[!joined] = -1;
			one_result(_metadata, w, joined, &res);
			EXPECT_EQ(-EHOSTDOWN, res.result);
			EXPECT_EQ(JOINS, res.tag);
		}
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
