// SPDX-License-Identifier: GPL-2.0
/*
 * Tensors that are fused: the same bits as without fusion, for every threshold, order, algorithm
 * and kind of memory. An error of one tensor does not harm the others.
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

#define NAMES	60
#define RANKS	6
#define ROUNDS	6
#define MOST	3000		/* elements of a tensor */
#define PLACE	(MOST * 8 + 64)	/* bytes of memory that it has */
#define SECOND	1000000000ULL

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 3, 1 }, { 2, 2 }, { 5, 3 }, { 6, 6 },
};

static const unsigned int algorithms[] = {
	COLL_ALG_AUTO, COLL_ALG_RING, COLL_ALG_RECURSIVE_DOUBLING, COLL_ALG_RABENSEIFNER,
	COLL_ALG_MESH,
};

static const struct { unsigned int dtype, size; } types[] = {
	{ COLL_F32, 4 }, { COLL_F64, 8 }, { COLL_F16, 2 }, { COLL_I32, 4 },
};

#define NR(a)	(sizeof(a) / sizeof((a)[0]))

/* A tensor; @at: of each rank, where it lies in its place. */
struct one {
	char name[16];
	uint64_t count;
	unsigned int type;
	unsigned int op;
	unsigned int algorithm;
	uint32_t at[RANKS];
	bool in_place[RANKS];
};

/* @want: the results without fusion. */
struct job {
	struct raw_comm c;
	uint64_t seed, lots;
	struct one one[NAMES];
	uint8_t in[RANKS][NAMES][PLACE];
	uint8_t out[RANKS][NAMES][PLACE];
	uint8_t want[NAMES][PLACE];
};

static uint64_t bytes_of(const struct one *o)
{
	return o->count * types[o->type].size;
}

/* Numbers of many sizes, so that the order of a sum shows in its bits. */
static void put_number(struct job *j, uint8_t *to, unsigned int type)
{
	float f = (float)((int)test_below(&j->lots, 2000001) - 1000000) /
		  (float)(1 << test_below(&j->lots, 24));
	double d = f * 1.000000001;
	int32_t i = (int32_t)test_below(&j->lots, ~0U);
	/* of 16 bits: 2^-6 to 2^6, either sign, any fraction */
	uint16_t h = (uint16_t)(test_below(&j->lots, 2) << 15 |
				(9 + test_below(&j->lots, 12)) << 10 |
				test_below(&j->lots, 1024));

	switch (types[type].dtype) {
	case COLL_F32:
		memcpy(to, &f, 4);
		break;
	case COLL_F64:
		memcpy(to, &d, 8);
		break;
	case COLL_F16:
		memcpy(to, &h, 2);
		break;
	default:
		memcpy(to, &i, 4);
	}
}

static void make_tensors(struct job *j)
{
	uint32_t k, r;
	uint64_t i;

	for (k = 0; k < NAMES; k++) {
		struct one *o = &j->one[k];

		snprintf(o->name, sizeof(o->name), "t%u", k);
		o->count = test_below(&j->lots, 4) ? test_below(&j->lots, 60) :
						     test_below(&j->lots, MOST + 1);
		o->type = test_below(&j->lots, 3) ? 0 : test_below(&j->lots, NR(types));
		o->op = test_below(&j->lots, 4) ? COLL_OP_SUM : COLL_OP_AVG;
		o->algorithm = test_below(&j->lots, 2) ? COLL_ALG_AUTO :
			       algorithms[test_below(&j->lots, NR(algorithms))];
		for (r = 0; r < j->c.size; r++) {
			o->at[r] = test_below(&j->lots, 64 / 8) * 8;
			o->in_place[r] = !test_below(&j->lots, 4);
			for (i = 0; i < o->count; i++)
				put_number(j, j->in[r][k] + o->at[r] + i * types[o->type].size,
					   o->type);
		}
	}
}

static void make_cmd(struct job *j, uint32_t r, uint32_t k, struct coll_cmd *cmd)
{
	const struct one *o = &j->one[k];
	uint8_t *in = j->in[r][k] + o->at[r], *out = j->out[r][k] + o->at[r];

	memset(j->out[r][k], 0xee, PLACE);
	if (o->in_place[r])
		memcpy(out, in, bytes_of(o));
	raw_allreduce(cmd, o->in_place[r] ? NULL : in, out, o->count, types[o->type].dtype, o->op);
	cmd->algorithm = (uint16_t)o->algorithm;
}

/* All ranks post all tensors, each in an order of its own, in several calls. */
static int post_all(struct job *j)
{
	struct coll_tensor t[RANKS][NAMES];
	struct coll_cmd cmds[RANKS][NAMES];
	uint32_t order[NAMES], next[RANKS] = { }, left = j->c.size * NAMES, r, k, o, n;
	int ret;

	for (r = 0; r < j->c.size; r++) {
		for (k = 0; k < NAMES; k++) {
			o = test_below(&j->lots, k + 1);
			order[k] = order[o];
			order[o] = k;
		}
		for (k = 0; k < NAMES; k++) {
			make_cmd(j, r, order[k], &cmds[r][k]);
			raw_tensor(&t[r][k], j->one[order[k]].name, &cmds[r][k], order[k]);
		}
	}
	while (left) {
		r = test_below(&j->lots, j->c.size);
		n = 1 + test_below(&j->lots, NAMES);
		if (n > NAMES - next[r])
			n = NAMES - next[r];
		if (!n)
			continue;
		ret = raw_post(j->c.fd[r], &t[r][next[r]], n, NULL);
		if (ret)
			return ret;
		next[r] += n;
		left -= n;
	}
	return 0;
}

static int round_of(struct job *j)
{
	int ret = post_all(j);

	return ret ? ret : raw_collect_all(&j->c, NAMES);
}

static void keep_results(struct job *j)
{
	uint32_t k;

	for (k = 0; k < NAMES; k++)
		memcpy(j->want[k], j->out[0][k] + j->one[k].at[0], bytes_of(&j->one[k]));
}

/* Bytes that are not those without fusion; and what lies beside a vector has not changed. */
static unsigned long wrong_bytes(const struct job *j)
{
	unsigned long wrong = 0;
	uint32_t r, k;
	uint64_t i, n, at;

	for (r = 0; r < j->c.size; r++)
		for (k = 0; k < NAMES; k++) {
			n = bytes_of(&j->one[k]);
			at = j->one[k].at[r];
			wrong += memcmp(j->want[k], j->out[r][k] + at, n) != 0;
			for (i = 0; i < PLACE; i++)
				wrong += (i < at || i >= at + n) && j->out[r][k][i] != 0xee;
		}
	return wrong;
}

static struct job *job_start(uint32_t size, uint32_t nodes)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->seed = test_seed();
	j->lots = j->seed | 1;
	if (raw_start_named(&j->c, size, nodes))
		return NULL;
	make_tensors(j);
	return j;
}

static void job_stop(struct job *j)
{
	raw_stop(&j->c);
	free(j);
}

/* Run all tensors without fusion, then with random settings of fusion. */
static void same_bits(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes)
{
	int64_t fused;
	struct job *j;
	uint32_t i;

	j = job_start(size, nodes);
	ASSERT_NE(NULL, j);
	ASSERT_EQ(0, raw_set_fusion(&j->c, 0, 0, 0));
	ASSERT_EQ(0, round_of(j));
	EXPECT_EQ(0, stalls_count(COLL_NL_GROUP_FUSED));
	keep_results(j);
	EXPECT_EQ(0, wrong_bytes(j)) {
		TH_LOG("seed %llu: ranks differ", (unsigned long long)j->seed);
	}
	for (i = 0; i < ROUNDS; i++) {
		uint32_t threshold = i ? 1 + test_below(&j->lots, 1 << test_below(&j->lots, 20)) :
					 1 << 20;
		uint32_t most = i ? test_below(&j->lots, 12) : 0;
		uint32_t ahead = i ? test_below(&j->lots, 12) : 0;

		ASSERT_EQ(0, raw_set_fusion(&j->c, threshold, most, ahead));
		ASSERT_EQ(0, round_of(j));
		EXPECT_EQ(0, wrong_bytes(j)) {
			TH_LOG("seed %llu: %u ranks, %u nodes, threshold %u, most %u, ahead %u",
			       (unsigned long long)j->seed, size, nodes, threshold, most, ahead);
		}
	}
	fused = stalls_count(COLL_NL_GROUP_FUSED);
	EXPECT_LT(0, fused);
	/* On average, a fusion had more than one tensor. */
	EXPECT_LT(stalls_count(COLL_NL_GROUP_FUSIONS), fused);
	job_stop(j);
}

TEST(same_bits_fused_and_not)
{
	size_t s;

	ASSERT_LE(0, stalls_open());
	for (s = 0; s < NR(shapes); s++)
		same_bits(_metadata, shapes[s].size, shapes[s].nodes);
}

/* Pages that may not be pinned are looked up each time. */
TEST(same_bits_in_windows)
{
	ASSERT_LE(0, stalls_open());
	ASSERT_EQ(0, test_become_nobody(64 << 10));
	same_bits(_metadata, 3, 1);
	same_bits(_metadata, 4, 2);
}

/* One rank posts another command for one tensor. This tensor gets an error, the others do not. */
TEST(an_error_of_one)
{
	struct coll_tensor_result res[NAMES];
	uint32_t r, k, odd, bad;
	struct job *j;

	j = job_start(4, 2);
	ASSERT_NE(NULL, j);
	for (k = 0; k < NAMES; k++)
		j->one[k].type = 0;
	odd = test_below(&j->lots, NAMES);
	for (r = 0; r < j->c.size; r++) {
		struct coll_tensor t[NAMES];
		struct coll_cmd cmds[NAMES];

		for (k = 0; k < NAMES; k++) {
			make_cmd(j, r, k, &cmds[k]);
			if (k == odd && r == 3)
				cmds[k].op = COLL_OP_MAX;
			raw_tensor(&t[k], j->one[k].name, &cmds[k], k);
		}
		ASSERT_EQ(0, raw_post(j->c.fd[r], t, NAMES, NULL));
	}
	for (r = 0; r < j->c.size; r++) {
		ASSERT_EQ(NAMES, raw_collect(j->c.fd[r], res, NAMES, NAMES, 60 * SECOND));
		for (k = bad = 0; k < NAMES; k++) {
			EXPECT_EQ(res[k].tag == odd ? -EBADE : 0, res[k].result);
			bad += res[k].result != 0;
		}
		EXPECT_EQ(1, bad);
	}
	/* The error has left nothing behind: all ranks post the same, and all goes well. */
	EXPECT_EQ(0, round_of(j));
	job_stop(j);
}

TEST(settings)
{
	struct coll_tensor_fuse f = { .threshold = 1 };
	struct raw_comm c;
	int fd;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_FUSE);
	fd = raw_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, COLL_IOC_TENSOR_FUSE, &f));
	EXPECT_EQ(ENOTCONN, errno);
	close(fd);
	ASSERT_EQ(0, raw_start(&c, 1, 1));
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_TENSOR_FUSE, &f));
	EXPECT_EQ(EOPNOTSUPP, errno);
	raw_stop(&c);
	ASSERT_EQ(0, raw_start_named(&c, 1, 1));
	f.flags = 1;
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_TENSOR_FUSE, &f));
	EXPECT_EQ(EINVAL, errno);
	f.flags = 0;
	f.reserved = 1;
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_TENSOR_FUSE, &f));
	EXPECT_EQ(EINVAL, errno);
	f.reserved = 0;
	f.threshold = ~0ULL;
	EXPECT_EQ(0, ioctl(c.fd[0], COLL_IOC_TENSOR_FUSE, &f));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
