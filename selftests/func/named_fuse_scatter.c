// SPDX-License-Identifier: GPL-2.0
/*
 * Reduce_scatters that are fused: the same bits as without, for every threshold, order, algorithm and
 * kind of memory. Sums of floats show in which order they were made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "stalls.h"
#include "util.h"

#define NAMES	40
#define RANKS	6
#define ROUNDS	6
#define MOST	700		/* elements that a rank gets */
#define PLACE	(RANKS * MOST * 8 + 64)

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 4, 1 }, { 2, 2 }, { 5, 3 }, { 6, 6 },
};

static const unsigned int algorithms[] = {
	COLL_ALG_RING, COLL_ALG_PAIRWISE, COLL_ALG_LINEAR, COLL_ALG_RECURSIVE_HALVING,
};

static const struct { unsigned int dtype, size; } types[] = {
	{ COLL_F32, 4 }, { COLL_F64, 8 }, { COLL_I32, 4 },
};

#define NR(a)	(sizeof(a) / sizeof((a)[0]))

/* @at: of each rank, where its memory begins in its place. */
struct one {
	char name[16];
	uint32_t count;
	unsigned int type;
	unsigned int op;
	unsigned int algorithm;
	uint32_t at[RANKS];
	bool in_place[RANKS];
};

/* @want: the results without fusion; @apart: no tensor is in place. */
struct job {
	struct raw_comm c;
	uint64_t seed, lots;
	bool apart;
	struct one one[NAMES];
	uint8_t in[RANKS][NAMES][PLACE];
	uint8_t out[RANKS][NAMES][PLACE];
	uint8_t want[RANKS][NAMES][MOST * 8];
};

static uint32_t size_of(const struct one *o)
{
	return types[o->type].size;
}

static void put_number(struct job *j, uint8_t *to, unsigned int type)
{
	float f = (float)((int)test_below(&j->lots, 2000001) - 1000000) /
		  (float)(1 << test_below(&j->lots, 24));
	double d = f * 1.000000001;
	int32_t i = (int32_t)test_below(&j->lots, ~0U);

	if (types[type].dtype == COLL_F32)
		memcpy(to, &f, 4);
	else if (types[type].dtype == COLL_F64)
		memcpy(to, &d, 8);
	else
		memcpy(to, &i, 4);
}

static void make_tensors(struct job *j)
{
	uint32_t k, r, i;

	for (k = 0; k < NAMES; k++) {
		struct one *o = &j->one[k];

		snprintf(o->name, sizeof(o->name), "t%u", k);
		o->count = test_below(&j->lots, test_below(&j->lots, 3) ? 40 : MOST + 1);
		o->type = test_below(&j->lots, 2) ? 0 : test_below(&j->lots, NR(types));
		o->op = test_below(&j->lots, 4) || types[o->type].dtype == COLL_I32 ?
			COLL_OP_SUM : COLL_OP_AVG;
		o->algorithm = test_below(&j->lots, 2) ? COLL_ALG_AUTO :
			       algorithms[test_below(&j->lots, NR(algorithms))];
		for (r = 0; r < j->c.size; r++) {
			o->at[r] = test_below(&j->lots, 8) * 8;
			o->in_place[r] = !j->apart && !test_below(&j->lots, 4);
			for (i = 0; i < j->c.size * o->count; i++)
				put_number(j, j->in[r][k] + i * size_of(o), o->type);
		}
	}
}

static void make_cmd(struct job *j, uint32_t r, uint32_t k, struct coll_cmd *cmd)
{
	const struct one *o = &j->one[k];
	uint8_t *out = j->out[r][k] + o->at[r];

	memset(j->out[r][k], 0xee, PLACE);
	if (o->in_place[r])
		memcpy(out, j->in[r][k], j->c.size * o->count * size_of(o));
	raw_allreduce(cmd, o->in_place[r] ? NULL : j->in[r][k], out, o->count,
		      types[o->type].dtype, o->op);
	cmd->collective = COLL_REDUCE_SCATTER_BLOCK;
	cmd->algorithm = (uint16_t)o->algorithm;
}

/* All ranks post all tensors. Each rank begins with another tensor. */
static int round_of(struct job *j)
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
	return raw_collect_all(&j->c, NAMES);
}

static void keep_results(struct job *j)
{
	uint32_t r, k;

	for (r = 0; r < j->c.size; r++)
		for (k = 0; k < NAMES; k++)
			memcpy(j->want[r][k], j->out[r][k] + j->one[k].at[r],
			       j->one[k].count * size_of(&j->one[k]));
}

/* Integers that are not the sum of block @r. */
static unsigned long wrong_sums(const struct job *j, uint32_t r, uint32_t k)
{
	const struct one *o = &j->one[k];
	unsigned long wrong = 0;
	uint32_t i, q, x, sum;

	for (i = 0; types[o->type].dtype == COLL_I32 && i < o->count; i++) {
		for (sum = 0, q = 0; q < j->c.size; q++) {
			memcpy(&x, j->in[q][k] + (r * o->count + i) * 4, 4);
			sum += x;
		}
		memcpy(&x, j->want[r][k] + i * 4, 4);
		wrong += x != sum;
	}
	return wrong;
}

/* Results that are not those without fusion, and bytes beside a vector that have changed. */
static unsigned long wrong_bytes(const struct job *j)
{
	unsigned long wrong = 0;
	uint32_t r, k, i, at, len, room;

	for (r = 0; r < j->c.size; r++)
		for (k = 0; k < NAMES; k++) {
			const struct one *o = &j->one[k];

			at = o->at[r];
			len = o->count * size_of(o);
			room = o->in_place[r] ? len * j->c.size : len;
			wrong += memcmp(j->want[r][k], j->out[r][k] + at, len) != 0;
			wrong += wrong_sums(j, r, k);
			for (i = 0; i < PLACE; i++)
				wrong += (i < at || i >= at + room) && j->out[r][k][i] != 0xee;
		}
	return wrong;
}

static void fuse(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes, bool apart)
{
	struct job *j = calloc(1, sizeof(*j));
	uint32_t i, threshold, most;
	int64_t fused;

	ASSERT_NE(NULL, j);
	j->apart = apart;
	j->seed = test_seed();
	j->lots = j->seed | 1;
	ASSERT_EQ(0, raw_start_named(&j->c, size, nodes));
	make_tensors(j);
	ASSERT_EQ(0, raw_set_fusion(&j->c, 0, 0, 0));
	ASSERT_EQ(0, round_of(j));
	EXPECT_EQ(0, stalls_count(COLL_NL_GROUP_FUSED));
	keep_results(j);
	for (i = 0; i < ROUNDS; i++) {
		threshold = i ? 1 + test_below(&j->lots, 1 << test_below(&j->lots, 18)) : 1 << 20;
		most = i ? test_below(&j->lots, 12) : 0;
		ASSERT_EQ(0, raw_set_fusion(&j->c, threshold, most, 0));
		ASSERT_EQ(0, round_of(j));
		EXPECT_EQ(0, wrong_bytes(j)) {
			TH_LOG("seed %llu, round %u: %u ranks, %u nodes, threshold %u, most %u",
			       (unsigned long long)j->seed, i, size, nodes, threshold, most);
		}
	}
	fused = stalls_count(COLL_NL_GROUP_FUSED);
	EXPECT_LT(0, fused);
	/* On average, a fusion had more than one tensor. */
	EXPECT_LT(stalls_count(COLL_NL_GROUP_FUSIONS), fused);
	raw_stop(&j->c);
	free(j);
}

TEST(same_bits)
{
	size_t s;

	ASSERT_LE(0, stalls_open());
	for (s = 0; s < NR(shapes); s++)
		fuse(_metadata, shapes[s].size, shapes[s].nodes, false);
}

/*
 * Pages that may not be pinned are looked up each time. An input in place would be saved, and that
 * memory counts as pinned.
 */
TEST(same_bits_in_windows)
{
	ASSERT_LE(0, stalls_open());
	ASSERT_EQ(0, test_become_nobody(64 << 10));
	fuse(_metadata, 3, 1, true);
	fuse(_metadata, 4, 2, true);
}

TEST_HARNESS_MAIN
