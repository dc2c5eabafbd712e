// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that join while others post named collectives: each operator's result is that of the
 * others, all hear of the same last rank, and what cannot be joined says so.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define MS	1000000ULL
#define COUNT	700
#define JOINS	77	/* tag of a join */

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 2, 1 }, { 5, 1 }, { 2, 2 }, { 4, 2 }, { 3, 3 }, { 6, 4 },
};

#define NR_SHAPES	(sizeof(shapes) / sizeof(shapes[0]))
#define RANKS		6

struct world {
	struct raw_comm c;
	struct coll_cmd cmd[RANKS];
	struct coll_tensor t[RANKS];
	int32_t in[RANKS][COUNT], out[RANKS][COUNT];
	float fin[RANKS][COUNT], fout[RANKS][COUNT];
};

static struct world world;

static const struct coll_tensor a_join = { .flags = COLL_TENSOR_JOIN, .tag = JOINS };

/* Rank @r gets one result. */
static void hears(struct __test_metadata *_metadata, struct world *w, uint32_t r,
		  struct coll_tensor_result *res)
{
	ASSERT_EQ(1, raw_collect(w->c.fd[r], res, 1, 1, 20 * SECOND)) {
		TH_LOG("rank %u of %u on %u nodes", r, w->c.size, w->c.nodes);
	}
}

static bool goes_on(struct world *w)
{
	struct coll_status s;
	uint32_t r;

	for (r = 0; r < w->c.size; r++)
		if (raw_status(w->c.fd[r], &s) || s.state == COLL_STATE_FAILED)
			return false;
	return true;
}

/* --- integers: every operator ---------------------------------------------------- */

static int32_t fold(unsigned int op, int32_t a, int32_t b)
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

static const unsigned int ops[] = {
	COLL_OP_SUM, COLL_OP_PROD, COLL_OP_MIN, COLL_OP_MAX, COLL_OP_LAND, COLL_OP_LOR,
	COLL_OP_LXOR, COLL_OP_BAND, COLL_OP_BOR, COLL_OP_BXOR, COLL_OP_AVG,
};

#define NR_OPS	(sizeof(ops) / sizeof(ops[0]))

/* Bit r of @present: rank r posts it. */
static int32_t wanted(struct world *w, uint32_t present, unsigned int op, uint32_t i, bool few)
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
		return -1;	/* 0 or not 0: not looked at */
	return op == COLL_OP_AVG ? all / (int32_t)(few ? n : w->c.size) : all;
}

static void make(struct world *w, uint32_t r, const char *name, unsigned int op, bool few)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++) {
		w->in[r][i] = test_value(r, i + 31 * op) % (op == COLL_OP_PROD ? 9 : 1000);
		w->out[r][i] = 0x55;
	}
	raw_allreduce(&w->cmd[r], w->in[r], w->out[r], COUNT, COLL_I32, op);
	/* Some in place. */
	if ((r + op) % 3 == 0) {
		memcpy(w->out[r], w->in[r], sizeof(w->in[r]));
		w->cmd[r].send_addr = 0;
		w->cmd[r].flags = COLL_CMD_INPLACE;
	}
	raw_tensor(&w->t[r], name, &w->cmd[r], op);
	w->t[r].flags = few ? COLL_TENSOR_AVG_PRESENT : 0;
}

/* Those of @present post, and get what they alone would. */
static void step(struct __test_metadata *_metadata, struct world *w, uint32_t present,
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
		hears(_metadata, w, r, &res);
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

static void all_ops(struct __test_metadata *_metadata, struct world *w, uint32_t present)
{
	uint32_t k;

	for (k = 0; k < NR_OPS; k++)
		step(_metadata, w, present, ops[k], false);
	step(_metadata, w, present, COLL_OP_AVG, true);
}

/* All of them hear of the join, and of the same last rank. */
static void all_joined(struct __test_metadata *_metadata, struct world *w, uint32_t last)
{
	struct coll_tensor_result res;
	uint32_t r;

	for (r = 0; r < w->c.size; r++) {
		hears(_metadata, w, r, &res);
		EXPECT_EQ(JOINS, res.tag);
		EXPECT_EQ(0, res.result);
		EXPECT_EQ(COLL_BAD_NONE, res.cause);
		EXPECT_EQ(last, res.rank[0]);
	}
}

/* One rank after the other joins, from @first on; in between, those left go on. */
static void one_by_one(struct __test_metadata *_metadata, struct world *w, uint32_t first)
{
	uint32_t present = (1U << w->c.size) - 1, n, r = 0;

	for (n = 0; n < w->c.size; n++) {
		r = (first + n) % w->c.size;
		all_ops(_metadata, w, present);
		ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
		present &= ~(1U << r);
	}
	all_joined(_metadata, w, r);
	EXPECT_TRUE(goes_on(w));
}

TEST(each_rank_first)
{
	struct world *w = &world;
	uint32_t first;
	size_t s;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_JOIN);
	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start_named(&w->c, shapes[s].size, shapes[s].nodes));
		/* New names the first time, known ones later. */
		for (first = 0; first < w->c.size; first++)
			one_by_one(_metadata, w, first);
		raw_stop(&w->c);
	}
}

/* --- many that a join makes ready -------------------------------------------------- */

#define MANY	300

/* Rank @joins joins behind MANY tensors that the other one has posted. */
static void join_behind(struct __test_metadata *_metadata, struct world *w, uint32_t joins)
{
	static struct coll_tensor t[MANY];
	static struct coll_cmd cmds[MANY];
	static char names[MANY][16];
	static int32_t in[MANY], out[MANY];
	struct coll_tensor_result res[MANY];
	uint32_t k;

	for (k = 0; k < MANY; k++) {
		in[k] = 1000 * joins + k;
		out[k] = -1;
		snprintf(names[k], sizeof(names[k]), "many %u", k);
		raw_allreduce(&cmds[k], &in[k], &out[k], 1, COLL_I32, COLL_OP_SUM);
		raw_tensor(&t[k], names[k], &cmds[k], k);
	}
	ASSERT_EQ(0, raw_post(w->c.fd[!joins], t, MANY, NULL));
	ASSERT_EQ(0, raw_post(w->c.fd[joins], &a_join, 1, NULL));
	ASSERT_EQ(MANY, raw_collect(w->c.fd[!joins], res, MANY, MANY, 20 * SECOND));
	for (k = 0; k < MANY; k++) {
		EXPECT_EQ(0, res[k].result);
		EXPECT_EQ(in[k], out[k]);
	}
	ASSERT_EQ(0, raw_post(w->c.fd[!joins], &a_join, 1, NULL));
	all_joined(_metadata, w, !joins);
}

TEST(many_behind_a_join)
{
	struct world *w = &world;
	uint32_t nodes, joins;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		for (joins = 0; joins < 2; joins++)
			join_behind(_metadata, w, joins);
		raw_stop(&w->c);
	}
}

/* --- sums of floats: the sign of zero, infinities --------------------------------- */

static void floats(struct __test_metadata *_metadata, struct world *w, unsigned int op,
		   float value)
{
	struct coll_tensor_result res;
	uint32_t last = w->c.size - 1;

	w->fin[last][0] = value;
	w->fin[last][1] = -value;
	raw_allreduce(&w->cmd[last], w->fin[last], w->fout[last], 2, COLL_F32, op);
	raw_tensor(&w->t[last], op == COLL_OP_MIN ? "fmin" : op == COLL_OP_MAX ? "fmax" :
		   op == COLL_OP_SUM ? "fsum" : "fexact", &w->cmd[last], op);
	ASSERT_EQ(0, raw_post(w->c.fd[last], &w->t[last], 1, NULL));
	hears(_metadata, w, last, &res);
	EXPECT_EQ(0, res.result);
	EXPECT_EQ(value, w->fout[last][0]);
	EXPECT_EQ(-value, w->fout[last][1]);
	EXPECT_EQ(signbit(value), signbit(w->fout[last][0]));
	EXPECT_EQ(signbit(-value), signbit(w->fout[last][1]));
}

TEST(floats_alone)
{
	static const float values[] = { 0, 1, 3e38f, 1e-40f, INFINITY };
	struct world *w = &world;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 3; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 3, nodes));
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			floats(_metadata, w, COLL_OP_SUM, values[k]);
			floats(_metadata, w, COLL_OP_MIN, values[k]);
			floats(_metadata, w, COLL_OP_MAX, values[k]);
		}
		ASSERT_EQ(0, raw_post(w->c.fd[2], &a_join, 1, NULL));
		all_joined(_metadata, w, 2);
		raw_stop(&w->c);
	}
}

/* --- what is refused ---------------------------------------------------------------- */

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
		hears(_metadata, w, r, &res);
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
			EXPECT_TRUE(goes_on(w));
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
	/* Twice, and a post after it. */
	EXPECT_EQ(-EBUSY, raw_post(w->c.fd[0], &a_join, 1, NULL));
	make(w, 0, "sum", COLL_OP_SUM, false);
	EXPECT_EQ(-EBUSY, raw_post(w->c.fd[0], &w->t[0], 1, NULL));
	EXPECT_EQ(-ETIMEDOUT, raw_collect(w->c.fd[0], &res, 1, 1, 20 * MS));
	ASSERT_EQ(0, raw_post(w->c.fd[1], &a_join, 1, NULL));
	all_joined(_metadata, w, 1);
	step(_metadata, w, 3, COLL_OP_SUM, false);
	raw_stop(&w->c);
}

/* Tensors that were posted before the join go on. */
TEST(posted_before)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t nodes, first;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		for (first = 0; first < 2; first++) {
			make(w, 0, "before", COLL_OP_MAX, false);
			make(w, 1, "before", COLL_OP_MAX, false);
			ASSERT_EQ(0, raw_post(w->c.fd[first], &w->t[first], 1, NULL));
			ASSERT_EQ(0, raw_post(w->c.fd[first], &a_join, 1, NULL));
			ASSERT_EQ(0, raw_post(w->c.fd[!first], &w->t[!first], 1, NULL));
			hears(_metadata, w, !first, &res);
			EXPECT_EQ(0, res.result);
			EXPECT_EQ(wanted(w, 3, COLL_OP_MAX, 5, false), w->out[!first][5]);
			hears(_metadata, w, first, &res);
			EXPECT_EQ(COLL_OP_MAX, res.tag);
			EXPECT_EQ(wanted(w, 3, COLL_OP_MAX, 5, false), w->out[first][5]);
			ASSERT_EQ(0, raw_post(w->c.fd[!first], &a_join, 1, NULL));
			all_joined(_metadata, w, !first);
		}
		raw_stop(&w->c);
	}
}

/* A rank that has joined leaves, or one that others wait for. */
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
			hears(_metadata, w, !joined, &res);
			EXPECT_EQ(0, res.result);
			close(w->c.fd[joined]);
			w->c.fd[joined] = -1;
			ASSERT_EQ(0, raw_status_failed(w->c.fd[!joined],
						       &(struct coll_status){ }));
		} else {
			close(w->c.fd[!joined]);
			w->c.fd[!joined] = -1;
			hears(_metadata, w, joined, &res);
			EXPECT_EQ(-EHOSTDOWN, res.result);
			EXPECT_EQ(JOINS, res.tag);
		}
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
