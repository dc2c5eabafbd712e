// SPDX-License-Identifier: GPL-2.0
/*
 * A fusion of 24 tensors on real nodes. Each rank collects the results one by one, and overwrites
 * the memory of each tensor as soon as it has ended.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "named_early.h"

#define NAMES	24
#define RANKS	4

struct many {
	struct raw_comm c;
	int32_t in[RANKS][NAMES][LARGE], out[RANKS][NAMES][LARGE];
};

/* The first one is small. */
static uint32_t count_of(uint32_t k)
{
	return k ? LARGE - 7 * k : SLOT;
}

/* Rank 0 posts last: then all tensors become ready together, in its order. */
static int post_many(struct many *m)
{
	struct coll_tensor t[NAMES];
	struct coll_cmd cmds[NAMES];
	char name[NAMES][8];
	uint32_t r, k, i;
	int ret;

	for (r = m->c.size; r-- > 0; ) {
		for (k = 0; k < NAMES; k++) {
			for (i = 0; i < count_of(k); i++)
				m->in[r][k][i] = value(r, k, i);
			memset(m->out[r][k], 0, sizeof(m->out[r][k]));
			snprintf(name[k], sizeof(name[k]), "t%u", k);
			raw_allreduce(&cmds[k], m->in[r][k], m->out[r][k], count_of(k), COLL_I32,
				      COLL_OP_SUM);
			raw_tensor(&t[k], name[k], &cmds[k], k);
		}
		if (!r && m->c.size > 1 && !only_missing(NAMES * m->c.nodes))
			return -ETIMEDOUT;
		ret = raw_post(m->c.fd[r], t, NAMES, NULL);
		if (ret)
			return ret;
	}
	return 0;
}

/* Is the result of tensor @k on rank @r wrong? */
static bool is_wrong(const struct many *m, uint32_t r, uint32_t k)
{
	uint32_t i, q, want;

	for (i = 0; i < count_of(k); i++) {
		for (want = 0, q = 0; q < m->c.size; q++)
			want += (uint32_t)value(q, k, i);
		if ((uint32_t)m->out[r][k][i] != want)
			return true;
	}
	return false;
}

/* Has the kernel changed memory of tensor @k after rank @r got its result? */
static bool is_touched(const struct many *m, uint32_t r, uint32_t k)
{
	const uint8_t *in = (const uint8_t *)m->in[r][k], *out = (const uint8_t *)m->out[r][k];
	uint32_t i;

	for (i = 0; i < count_of(k) * 4; i++)
		if (in[i] != 0x5a || out[i] != 0x5a)
			return true;
	return false;
}

/**
 * struct taker - a rank that collects its results one by one, and overwrites their memory at once
 * @thread: collects
 * @m: all tensors of all ranks
 * @r: rank
 * @last: tag of the last result
 * @bad: how many results are errors or wrong, and how many buffers changed after their result
 */
struct taker {
	pthread_t thread;
	struct many *m;
	uint32_t r;
	uint64_t last;
	unsigned int bad;
};

static void *take_all(void *arg)
{
	struct coll_tensor_result res;
	struct taker *t = arg;
	struct many *m = t->m;
	uint32_t n, k, r = t->r;

	for (n = 0; n < NAMES; n++) {
		memset(&res, 0, sizeof(res));
		if (raw_collect(m->c.fd[r], &res, 1, 1, 60 * SECOND) != 1 || res.result) {
			t->bad++;
			break;
		}
		k = (uint32_t)res.tag;
		t->bad += is_wrong(m, r, k);
		memset(m->in[r][k], 0x5a, sizeof(m->in[r][k]));
		memset(m->out[r][k], 0x5a, sizeof(m->out[r][k]));
		t->last = res.tag;
	}
	return NULL;
}

/*
 * All tensors form one fusion. On each rank all of them but one end before the fusion does. The
 * last one is not the small one.
 */
static void many(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes)
{
	struct many *m = calloc(1, sizeof(*m));
	struct taker t[RANKS];
	uint32_t r, k;

	ASSERT_NE(NULL, m);
	ASSERT_EQ(0, raw_start_named(&m->c, size, nodes));
	ASSERT_EQ(0, raw_set_fusion(&m->c, 64 << 20, 0, 0));
	ASSERT_EQ(0, post_many(m));
	for (r = 0; r < size; r++) {
		t[r] = (struct taker){ .m = m, .r = r };
		ASSERT_EQ(0, pthread_create(&t[r].thread, NULL, take_all, &t[r]));
	}
	for (r = 0; r < size; r++)
		pthread_join(t[r].thread, NULL);
	for (r = 0; r < size; r++) {
		for (k = 0; k < NAMES; k++)
			t[r].bad += is_touched(m, r, k);
		EXPECT_EQ(0, t[r].bad);
		EXPECT_NE(0, t[r].last);
	}
	EXPECT_EQ(nodes, stalls_count(COLL_NL_GROUP_FUSIONS));
	EXPECT_EQ(size * (NAMES - 1), stalls_count(COLL_NL_GROUP_EARLY)) {
		TH_LOG("%u ranks, %u nodes", size, nodes);
	}
	raw_stop(&m->c);
	free(m);
}

TEST(one_node)
{
	ASSERT_LE(0, stalls_open());
	many(_metadata, 1, 1);
	many(_metadata, 3, 1);
}

TEST(several_nodes)
{
	static const char *const modes[] = { "copy", "splice", "ubuf", "auto" };
	size_t i;

	ASSERT_LE(0, stalls_open());
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		ASSERT_TRUE(test_put(MODE, modes[i]));
		many(_metadata, 2, 2);
		many(_metadata, 4, 2);
		many(_metadata, 3, 3);
	}
}

TEST_HARNESS_MAIN
