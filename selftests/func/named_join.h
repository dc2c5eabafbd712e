/* SPDX-License-Identifier: GPL-2.0 */
/* Ranks that post named allreduces of integers while others have joined. */
#ifndef NAMED_JOIN_H
#define NAMED_JOIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define COUNT	700
#define JOINS	77	/* tag of a join */
#define RANKS	6

/**
 * struct world - the ranks of a test
 * @c: the communicator
 * @cmd: command of each rank
 * @t: tensor of each rank
 * @in: integers of each rank
 * @out: their result
 * @fin: floats of each rank
 * @fout: their result
 */
struct world {
	struct raw_comm c;
	struct coll_cmd cmd[RANKS];
	struct coll_tensor t[RANKS];
	int32_t in[RANKS][COUNT], out[RANKS][COUNT];
	float fin[RANKS][COUNT], fout[RANKS][COUNT];
};

static struct world world;

static const struct coll_tensor a_join = { .flags = COLL_TENSOR_JOIN, .tag = JOINS };

/* Wait for one result of rank @r. */
static inline void one_result(struct __test_metadata *_metadata, struct world *w, uint32_t r,
			      struct coll_tensor_result *res)
{
	ASSERT_EQ(1, raw_collect(w->c.fd[r], res, 1, 1, 20 * SECOND)) {
		TH_LOG("rank %u of %u on %u nodes", r, w->c.size, w->c.nodes);
	}
}

/* No rank's communicator has failed. */
static inline bool not_failed(struct world *w)
{
	struct coll_status s;
	uint32_t r;

	for (r = 0; r < w->c.size; r++)
		if (raw_status(w->c.fd[r], &s) || s.state == COLL_STATE_FAILED)
			return false;
	return true;
}

static inline int32_t fold(unsigned int op, int32_t a, int32_t b)
{
	uint32_t x = a, y = b;

	switch (op) {
	case COLL_OP_SUM:
	case COLL_OP_AVG:
		return x + y;
	case COLL_OP_PROD:
		return x * y;
	case COLL_OP_MIN:
		return a < b ? a : b;
	case COLL_OP_MAX:
		return a > b ? a : b;
	case COLL_OP_LAND:
		return a && b;
	case COLL_OP_LOR:
		return a || b;
	case COLL_OP_LXOR:
		return !a != !b;
	case COLL_OP_BAND:
		return a & b;
	case COLL_OP_BOR:
		return a | b;
	default:
		return a ^ b;
	}
}

/*
 * The result of the ranks that post, those whose bit is set in @present. With @few, an average
 * divides by their number. -1: any value.
 */
static inline int32_t wanted(struct world *w, uint32_t present, unsigned int op, uint32_t i,
			     bool few)
{
	bool logical = op == COLL_OP_LAND || op == COLL_OP_LOR || op == COLL_OP_LXOR;
	int32_t all = 0;
	uint32_t r, n = 0;

	for (r = 0; r < w->c.size; r++) {
		if (!(present >> r & 1))
			continue;
		all = n++ ? fold(op, all, w->in[r][i]) : w->in[r][i];
	}
	if (logical && n == 1 && w->c.size > 1)
		return -1;	/* 0 or not 0: not checked */
	return op == COLL_OP_AVG ? all / (int32_t)(few ? n : w->c.size) : all;
}

static inline void make(struct world *w, uint32_t r, const char *name, unsigned int op, bool few)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++) {
		w->in[r][i] = test_value(r, i + 31 * op) % (op == COLL_OP_PROD ? 9 : 1000);
		w->out[r][i] = 0x55;
	}
	raw_allreduce(&w->cmd[r], w->in[r], w->out[r], COUNT, COLL_I32, op);
	/* Some ops are in place. */
	if ((r + op) % 3 == 0) {
		memcpy(w->out[r], w->in[r], sizeof(w->in[r]));
		w->cmd[r].send_addr = 0;
		w->cmd[r].flags = COLL_CMD_INPLACE;
	}
	raw_tensor(&w->t[r], name, &w->cmd[r], op);
	w->t[r].flags = few ? COLL_TENSOR_AVG_PRESENT : 0;
}

/* The ranks of @present post. Their result is the one of these ranks alone. */
static inline void step(struct __test_metadata *_metadata, struct world *w, uint32_t present,
			unsigned int op, bool few)
{
	struct coll_tensor_result res;
	int32_t want;
	char name[32];
	uint32_t r, i;

	snprintf(name, sizeof(name), "op %u %u", op, few);
	for (r = 0; r < w->c.size; r++) {
		if (!(present >> r & 1))
			continue;
		make(w, r, name, op, few);
		ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r], 1, NULL));
	}
	for (r = 0; r < w->c.size; r++) {
		if (!(present >> r & 1))
			continue;
		one_result(_metadata, w, r, &res);
		ASSERT_EQ(0, res.result) {
			TH_LOG("op %u, rank %u of %u on %u nodes, present %#x", op, r, w->c.size,
			       w->c.nodes, present);
		}
		ASSERT_EQ(op, res.tag);
		for (i = 0; i < COUNT; i++) {
			want = wanted(w, present, op, i, few);
			ASSERT_TRUE(want == w->out[r][i] || want == -1) {
				TH_LOG("op %u, rank %u of %u on %u nodes, present %#x: [%u] %d, not %d",
				       op, r, w->c.size, w->c.nodes, present, i, w->out[r][i],
				       want);
			}
		}
	}
}

/* The join of each rank ends, and names @last as the last rank that has joined. */
static inline void all_joined(struct __test_metadata *_metadata, struct world *w, uint32_t last)
{
	struct coll_tensor_result res;
	uint32_t r;

	for (r = 0; r < w->c.size; r++) {
		one_result(_metadata, w, r, &res);
		EXPECT_EQ(JOINS, res.tag);
		EXPECT_EQ(0, res.result);
		EXPECT_EQ(COLL_BAD_NONE, res.cause);
		EXPECT_EQ(last, res.rank[0]);
	}
}

#endif /* NAMED_JOIN_H */
