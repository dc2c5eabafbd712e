// SPDX-License-Identifier: GPL-2.0
/*
 * Allgathers that are fused: the same bytes as without, for every threshold, order and kind of
 * memory; allreduces beside them are not fused with them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "stalls.h"
#include "util.h"

#define NAMES	40
#define RANKS	5
#define ROUNDS	8
#define MOST	900		/* elements that a rank gives */
#define PLACE	(RANKS * MOST * 4 + 64)

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 3, 1 }, { 2, 2 }, { 5, 3 },
};

/* @at: where the result lies in its place, of each rank */
struct one {
	char name[16];
	bool gathers;
	uint32_t count;
	uint32_t at[RANKS];
	bool in_place[RANKS];
};

struct job {
	struct raw_comm c;
	uint64_t seed, lots;
	struct one one[NAMES];
	uint8_t in[RANKS][NAMES][MOST * 4];
	uint8_t out[RANKS][NAMES][PLACE];
};

/* Byte @i of what rank @r gives to tensor @k. As an i32, a sum over ranks wraps. */
static uint8_t value(uint32_t r, uint32_t k, uint32_t i)
{
	return (uint8_t)(r * 101 + k * 37 + i * 7 + (i >> 8));
}

static void make_tensors(struct job *j)
{
	uint32_t k, r, i;

	for (k = 0; k < NAMES; k++) {
		struct one *o = &j->one[k];

		snprintf(o->name, sizeof(o->name), "t%u", k);
		o->gathers = test_below(&j->lots, 5);
		o->count = test_below(&j->lots, test_below(&j->lots, 3) ? 40 : MOST + 1);
		for (r = 0; r < j->c.size; r++) {
			o->at[r] = test_below(&j->lots, 8) * 8;
			o->in_place[r] = !test_below(&j->lots, 3);
			for (i = 0; i < o->count * 4; i++)
				j->in[r][k][i] = value(r, k, i);
		}
	}
}

static void make_cmd(struct job *j, uint32_t r, uint32_t k, struct coll_cmd *cmd)
{
	const struct one *o = &j->one[k];
	uint8_t *out = j->out[r][k] + o->at[r];
	uint8_t *own = out + (o->gathers ? r * o->count * 4 : 0);

	memset(j->out[r][k], 0xee, PLACE);
	raw_allreduce(cmd, o->in_place[r] ? NULL : j->in[r][k], out, o->count, COLL_I32,
		      o->gathers ? 0 : COLL_OP_SUM);
	if (o->gathers)
		cmd->collective = COLL_ALLGATHER;
	if (o->in_place[r])
		memcpy(own, j->in[r][k], o->count * 4);
}

/* All ranks post all tensors. Each rank begins with another tensor. */
static int post_all(struct job *j)
{
	struct coll_tensor t[NAMES];
	struct coll_cmd cmds[NAMES];
	uint32_t r, n, k;
	int ret;

	for (r = 0; r < j->c.size; r++) {
		uint32_t first = test_below(&j->lots, NAMES);

		for (n = 0; n < NAMES; n++) {
			k = (first + n) % NAMES;
			make_cmd(j, r, k, &cmds[n]);
			raw_tensor(&t[n], j->one[k].name, &cmds[n], k);
		}
		ret = raw_post(j->c.fd[r], t, NAMES, NULL);
		if (ret)
			return ret;
	}
	return 0;
}

static void expect(const struct job *j, uint32_t k, uint8_t *want)
{
	const struct one *o = &j->one[k];
	uint32_t i, r, sum, x;

	if (o->gathers) {
		for (r = 0; r < j->c.size; r++)
			memcpy(want + r * o->count * 4, j->in[r][k], o->count * 4);
		return;
	}
	for (i = 0; i < o->count; i++) {
		for (sum = 0, r = 0; r < j->c.size; r++) {
			memcpy(&x, j->in[r][k] + i * 4, 4);
			sum += x;
		}
		memcpy(want + i * 4, &sum, 4);
	}
}

/* Bytes that are wrong, and bytes beside a result that have changed. */
static unsigned long wrong_bytes(const struct job *j)
{
	static uint8_t want[PLACE];
	unsigned long wrong = 0;
	uint32_t r, k, i, n;

	for (k = 0; k < NAMES; k++) {
		const struct one *o = &j->one[k];

		expect(j, k, want);
		n = o->count * 4 * (o->gathers ? j->c.size : 1);
		for (r = 0; r < j->c.size; r++)
			for (i = 0; i < PLACE; i++)
				wrong += j->out[r][k][i] != (i < o->at[r] || i >= o->at[r] + n ? 0xee :
							     want[i - o->at[r]]);
	}
	return wrong;
}

static void fuse(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes)
{
	struct job *j = calloc(1, sizeof(*j));
	uint32_t i, threshold, most;
	int64_t fused;

	ASSERT_NE(NULL, j);
	j->seed = test_seed();
	j->lots = j->seed | 1;
	ASSERT_EQ(0, raw_start_named(&j->c, size, nodes));
	for (i = 0; i < ROUNDS; i++) {
		threshold = i > 1 ? 1 + test_below(&j->lots, 1 << test_below(&j->lots, 18)) : i << 20;
		most = i > 1 ? test_below(&j->lots, 12) : 0;
		make_tensors(j);
		ASSERT_EQ(0, raw_set_fusion(&j->c, threshold, most, 0));
		ASSERT_EQ(0, post_all(j));
		ASSERT_EQ(0, raw_collect_all(&j->c, NAMES));
		EXPECT_EQ(0, wrong_bytes(j)) {
			TH_LOG("seed %llu, round %u: %u ranks, %u nodes, threshold %u, most %u",
			       (unsigned long long)j->seed, i, size, nodes, threshold, most);
		}
		fused = stalls_count(COLL_NL_GROUP_FUSED);
		if (!threshold)
			EXPECT_EQ(0, fused);
		/* Later thresholds may be too small for any. The allreduces are a fifth. */
		if (i == 1)
			EXPECT_LT(NAMES / 5, fused);
	}
	/* More than one in a fusion. */
	EXPECT_LT(stalls_count(COLL_NL_GROUP_FUSIONS), fused);
	raw_stop(&j->c);
	free(j);
}

TEST(same_bytes)
{
	size_t s;

	ASSERT_LE(0, stalls_open());
	for (s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
		fuse(_metadata, shapes[s].size, shapes[s].nodes);
}

/* Pages that may not be pinned are looked up each time. */
TEST(same_bytes_in_windows)
{
	ASSERT_LE(0, stalls_open());
	ASSERT_EQ(0, test_become_nobody(64 << 10));
	fuse(_metadata, 3, 1);
	fuse(_metadata, 4, 2);
}

TEST_HARNESS_MAIN
