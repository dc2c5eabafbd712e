// SPDX-License-Identifier: GPL-2.0
/*
 * f32 in memory, f16 or bf16 between nodes: every bit is that of the schedule played here, with
 * what goes over a link rounded, and results too. All ranks get the same, also of tensors,
 * fused or not. Ranks that ask for other types are told, and what cannot be is refused.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "pure/algorithms/table.h"
#include "raw.h"
#include "util.h"

#define SECOND		1000000000ULL
#define RANKS		8
#define COUNT		3001
#define MAX_STEPS	160
#define NAMES		40
#define NR(a)		(sizeof(a) / sizeof((a)[0]))

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 3, 1 }, { 2, 2 }, { 3, 3 }, { 5, 2 }, { 8, 4 }, { 7, 5 },
};

static const uint16_t algorithms[] = {
	COLL_ALG_RING, COLL_ALG_TREE, COLL_ALG_DOUBLE_TREE, COLL_ALG_ROOT, COLL_ALG_CHAIN,
	COLL_ALG_RING_NAIVE, COLL_ALG_MESH, COLL_ALG_RABENSEIFNER,
};

static const uint16_t ops[] = { COLL_OP_SUM, COLL_OP_AVG, COLL_OP_MIN, COLL_OP_MAX };
static const uint32_t wires[] = { COLL_CMD_WIRE_F16, COLL_CMD_WIRE_BF16 };

static uint64_t rnd;

static uint32_t random32(void)
{
	return (uint32_t)(test_rand(&rnd) >> 32);
}

static float from_bits(uint32_t b)
{
	float f;

	memcpy(&f, &b, sizeof(f));
	return f;
}

static uint32_t to_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

/*
 * To the nearest number of so many bits of precision whose exponent is at least @least, ties to
 * even; beyond @largest to infinity. A NaN becomes the one there is. @wire 0: it stays.
 */
static float rounded(float x, uint32_t wire)
{
	bool half = wire == COLL_CMD_WIRE_F16;
	int precision = half ? 11 : 8, least = half ? -24 : -133, e;
	double largest = half ? 65504 : ldexp(255, 120), r;

	if (isnan(x))
		return from_bits(0x7fc00000);
	if (!wire || !x || isinf(x))
		return x;
	frexp(x, &e);
	e = e - precision > least ? e - precision : least;
	r = ldexp(nearbyint(ldexp(x, -e)), e);
	if (fabs(r) > largest)
		r = INFINITY;
	return copysignf((float)fabs(r), x);
}

static float fold(float a, float b, uint16_t op)
{
	if (op != COLL_OP_MIN && op != COLL_OP_MAX)
		return a + b;
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		return (op == COLL_OP_MIN) == !!signbit(a) ? a : b;
	return (op == COLL_OP_MIN) == (a < b) ? a : b;
}

/* --- the schedule, played ------------------------------------------------------------- */

/**
 * struct node - a participant
 * @steps: of its schedule
 * @nr: how many
 * @at: the one that is next
 * @w: its vector
 * @took: transfers taken, by sender
 * @gave: transfers sent, by receiver
 */
struct node {
	struct coll_step steps[MAX_STEPS];
	uint32_t nr, at;
	float w[COUNT];
	uint32_t took[RANKS], gave[RANKS];
};

static struct play {
	const struct raw_comm *c;
	uint16_t op;
	uint32_t wire, count, chunks;
	struct node node[RANKS];
	float *sent[RANKS][RANKS][MAX_STEPS];
} play;

static float in[RANKS][COUNT], out[RANKS][COUNT + 1];

/* The inputs of a node behind @so_far, which is there if @has. */
static float fold_inputs(const struct play *p, uint32_t node, uint32_t i, bool has, float so_far)
{
	uint32_t r;

	for (r = 0; r < p->c->size; r++) {
		if (p->c->node_of[r] != node)
			continue;
		so_far = has ? fold(so_far, in[r][i], p->op) : in[r][i];
		has = true;
	}
	return so_far;
}

static float one(const struct play *p, uint32_t node, const struct coll_step *s, uint32_t i,
		 float come)
{
	float there = p->node[node].w[i], x;
	bool last = s->flags & COLL_STEP_LAST;

	switch (s->action) {
	case COLL_ACT_COPY:
		return come;
	case COLL_ACT_INPUT:
		x = fold_inputs(p, node, i, false, 0);
		break;
	case COLL_ACT_REDUCE_IN:
		x = last ? fold(fold_inputs(p, node, i, false, 0), come, p->op) :
			   fold_inputs(p, node, i, true, come);
		break;
	case COLL_ACT_REDUCE:
		x = last ? fold(there, come, p->op) : fold(come, there, p->op);
		break;
	case COLL_ACT_FOLD_INPUT:
		x = last ? fold_inputs(p, node, i, true, there) :
			   fold(fold_inputs(p, node, i, false, 0), there, p->op);
		break;
	default:
		abort();
	}
	if (!(s->flags & COLL_STEP_FINAL))
		return x;
	return rounded(p->op == COLL_OP_AVG ? x / (float)p->c->size : x, p->wire);
}

/* The next step of a node, if it can be. */
static bool play_step(struct play *p, uint32_t node)
{
	struct node *n = &p->node[node];
	const struct coll_step *s = &n->steps[n->at];
	uint32_t from, to, i;
	float *msg = NULL;

	if (n->at == n->nr)
		return false;
	from = (uint32_t)coll_chunk_start(p->count, p->chunks, s->chunk);
	to = (uint32_t)coll_chunk_start(p->count, p->chunks, s->chunk + s->nr_chunks);
	if (s->kind == COLL_STEP_RECV) {
		msg = p->sent[s->peer][node][n->took[s->peer]];
		if (!msg)
			return false;
		n->took[s->peer]++;
	} else if (s->kind == COLL_STEP_SEND) {
		msg = malloc((to - from + 1) * sizeof(*msg));
		p->sent[node][s->peer][n->gave[s->peer]++] = msg;
	}
	for (i = from; i < to; i++) {
		if (s->kind == COLL_STEP_SEND)
			msg[i - from] = rounded(n->w[i], p->wire);
		else
			n->w[i] = one(p, node, s, i, msg ? msg[i - from] : 0);
	}
	n->at++;
	return true;
}

static void play_all(struct play *p, const struct coll_algorithm *a)
{
	uint32_t n, k, nodes = p->c->nodes;
	bool moved = true;

	p->chunks = a->chunks(nodes);
	for (n = 0; n < nodes; n++) {
		struct coll_emit e = { .steps = p->node[n].steps, .cap = MAX_STEPS };

		memset(&p->node[n], 0, sizeof(p->node[n]));
		if (a->emit(&e, nodes, n, 0) || e.nr > MAX_STEPS)
			abort();
		p->node[n].nr = e.nr;
	}
	while (moved) {
		moved = false;
		for (n = 0; n < nodes; n++)
			while (play_step(p, n))
				moved = true;
	}
	for (n = 0; n < nodes * nodes; n++) {
		for (k = 0; k < MAX_STEPS; k++) {
			free(p->sent[n / nodes][n % nodes][k]);
			p->sent[n / nodes][n % nodes][k] = NULL;
		}
	}
}

/* --- the real one ------------------------------------------------------------------------ */

/* Numbers of all sizes that sum up to something, or any bits at all. */
static float number(bool any)
{
	uint32_t b = random32();

	if (any)
		return from_bits(b);
	return ldexpf((float)(int32_t)b, (int)(random32() % 24) - 43);
}

static void fill(uint32_t size, uint32_t count)
{
	uint32_t r, i;

	for (r = 0; r < size; r++)
		for (i = 0; i < count; i++)
			in[r][i] = number(!(random32() % 16));
}

/* All ranks do it; each chooses whether in place, and whether elements straddle pages. */
static void run(struct __test_metadata *_metadata, struct raw_comm *c, const struct play *p,
		uint16_t algorithm, uint32_t flags)
{
	uint32_t skew[RANKS], r;
	struct coll_cmd cmds[RANKS];
	int results[RANKS];

	for (r = 0; r < c->size; r++) {
		void *to = (char *)out[r] + (skew[r] = random32() % 4);
		bool in_place = random32() & 1;

		if (in_place)
			memcpy(to, in[r], p->count * sizeof(float));
		raw_allreduce(&cmds[r], in_place ? NULL : in[r], to, p->count, COLL_F32, p->op);
		cmds[r].algorithm = algorithm;
		cmds[r].flags |= flags;
	}
	ASSERT_EQ(0, raw_all(c, cmds, results));
	for (r = 0; r < c->size; r++) {
		ASSERT_EQ(0, results[r]);
		memmove(out[r], (char *)out[r] + skew[r], p->count * sizeof(float));
	}
}

static void compare(struct __test_metadata *_metadata, const struct play *p, const char *name)
{
	uint32_t r, i, got, want;

	for (r = 0; r < p->c->size; r++) {
		for (i = 0; i < p->count; i++) {
			got = to_bits(out[r][i]);
			want = to_bits(p->node[p->c->node_of[r]].w[i]);
			if (got == want)
				continue;
			TH_LOG("%s, op %u, type flag %#x, %u ranks, %u nodes, rank %u: [%u] of %u is 0x%08x, not 0x%08x",
			       name, p->op, p->wire, p->c->size, p->c->nodes, r, i, p->count, got,
			       want);
			ASSERT_EQ(want, got);
		}
	}
}

TEST(every_bit)
{
	const struct coll_algorithm *a;
	struct play *p = &play;
	struct raw_comm c;
	size_t s, k, round;

	rnd = test_seed();
	EXPECT_TRUE(raw_features() & COLL_FEAT_WIRE_TYPES);
	for (s = 0; s < NR(shapes); s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (k = 0; k < NR(algorithms); k++) {
			a = coll_algorithm_find(COLL_ALLREDUCE, algorithms[k]);
			for (round = 0; round < NR(ops) * NR(wires); round++) {
				p->c = &c;
				p->op = ops[round % NR(ops)];
				p->wire = wires[round / NR(ops)];
				p->count = random32() % 3 ? 1 + random32() % COUNT :
					   1 + random32() % 8;
				fill(c.size, p->count);
				run(_metadata, &c, p, algorithms[k], p->wire);
				play_all(p, a);
				compare(_metadata, p, a->name);
			}
		}
		raw_stop(&c);
	}
}

/* Vectors of one length by each type in turn: what is laid out for one does not serve for another. */
TEST(another_type_each_time)
{
	static const uint32_t flags[] = { 0, COLL_CMD_WIRE_F16, COLL_CMD_WIRE_BF16 };
	struct play *p = &play;
	struct raw_comm c;
	uint32_t nodes, k;

	rnd = test_seed();
	for (nodes = 1; nodes <= 3; nodes++) {
		ASSERT_EQ(0, raw_start(&c, 3, nodes));
		for (k = 0; k < 15; k++) {
			p->c = &c;
			p->op = COLL_OP_SUM;
			p->wire = flags[k % 3];
			p->count = 700;
			fill(c.size, p->count);
			run(_metadata, &c, p, COLL_ALG_RING, p->wire);
			play_all(p, coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_RING));
			compare(_metadata, p, "ring");
		}
		raw_stop(&c);
	}
}

/*
 * Each of H roundings adds at most half a unit, 2^-p of the number that is rounded, and no
 * partial sum is larger than the sum of the magnitudes S: |error| <= ((1 + 2^-p)^H - 1) * S, and
 * H is at most the number of nodes: once for each link on the way, and once in the end. f32
 * itself adds 2^-24 per rank. Of a ring and of the default.
 */
TEST(error_is_bounded)
{
	double exact, sum, bound, unit;
	struct play *p = &play;
	struct raw_comm c;
	uint32_t r, i;
	size_t s, k;

	rnd = test_seed();
	for (s = 0; s < NR(shapes); s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (k = 0; k < 8; k++) {
			p->c = &c;
			p->op = COLL_OP_SUM;
			p->wire = wires[k & 1];
			p->count = 1 + random32() % COUNT;
			for (r = 0; r < c.size; r++)
				for (i = 0; i < p->count; i++)
					in[r][i] = (float)(int32_t)random32() / (1U << 31);
			run(_metadata, &c, p, k & 2 ? COLL_ALG_RING : COLL_ALG_AUTO, p->wire);
			unit = ldexp(1, p->wire == COLL_CMD_WIRE_F16 ? -11 : -8);
			for (i = 0; i < p->count; i++) {
				exact = 0;
				sum = ldexp(1, -14);
				for (r = 0; r < c.size; r++) {
					exact += in[r][i];
					sum += fabs(in[r][i]);
				}
				bound = (pow(1 + unit, c.nodes) - 1 + ldexp(c.size, -24)) * sum;
				for (r = 0; r < c.size; r++) {
					ASSERT_EQ(to_bits(out[0][i]), to_bits(out[r][i]));
					ASSERT_GE(bound, fabs(out[r][i] - exact));
				}
				/* And it is a number of that type. */
				ASSERT_EQ(to_bits(rounded(out[0][i], p->wire)), to_bits(out[0][i]));
			}
		}
		raw_stop(&c);
	}
}

/* --- tensors ------------------------------------------------------------------------------- */

static struct {
	char names[NAMES][16];
	struct coll_cmd cmd[RANKS][NAMES];
	struct coll_tensor t[RANKS][NAMES];
	float in[RANKS][NAMES][COUNT], out[2][RANKS][NAMES][COUNT];
} w;

static uint32_t count_of(uint32_t k)
{
	return k % 7 ? 1 + k * 11 : COUNT;
}

static double scale_of(uint32_t k)
{
	return k % 3 ? 1 : 0.5;
}

static void post_all(struct __test_metadata *_metadata, struct raw_comm *c, uint32_t pass,
		     uint32_t absent)
{
	double pre;
	uint32_t r, k;

	for (r = 0; r < c->size; r++) {
		for (k = 0; k < NAMES; k++) {
			snprintf(w.names[k], sizeof(w.names[k]), "t%u", k);
			raw_allreduce(&w.cmd[r][k], w.in[r][k], w.out[pass][r][k], count_of(k),
				      COLL_F32, k % 2 ? COLL_OP_SUM : COLL_OP_AVG);
			w.cmd[r][k].flags |= wires[k / 2 % 2];
			raw_tensor(&w.t[r][k], w.names[k], &w.cmd[r][k], k);
			pre = scale_of(k);
			memcpy(&w.t[r][k].prescale, &pre, sizeof(pre));
		}
		if (r != absent)
			ASSERT_EQ(0, raw_post(c->fd[r], w.t[r], NAMES, NULL));
	}
}

static void collect_all(struct __test_metadata *_metadata, struct raw_comm *c, uint32_t absent)
{
	struct coll_tensor_result res[NAMES];
	uint32_t r, k;

	for (r = 0; r < c->size; r++) {
		if (r == absent)
			continue;
		ASSERT_EQ(NAMES, raw_collect(c->fd[r], res, NAMES, NAMES, 60 * SECOND));
		for (k = 0; k < NAMES; k++)
			ASSERT_EQ(0, res[k].result);
	}
}

/* The same bits on all ranks, and fused or not; and they are the sums that they should be. */
TEST(tensors_fused_and_not)
{
	struct coll_tensor_fuse f;
	double exact, sum, unit;
	uint32_t pass, r, k, i;
	struct raw_comm c;
	size_t s;

	rnd = test_seed();
	for (s = 0; s < NR(shapes); s++) {
		ASSERT_EQ(0, raw_start_named(&c, shapes[s].size, shapes[s].nodes));
		for (r = 0; r < c.size; r++)
			for (k = 0; k < NAMES; k++)
				for (i = 0; i < count_of(k); i++)
					w.in[r][k][i] = (float)(int32_t)random32() / (1U << 31);
		for (pass = 0; pass < 2; pass++) {
			f = (struct coll_tensor_fuse){ .threshold = pass ? 1 << 20 : 0 };
			ASSERT_EQ(0, ioctl(c.fd[0], COLL_IOC_TENSOR_FUSE, &f));
			post_all(_metadata, &c, pass, RANKS);
			collect_all(_metadata, &c, RANKS);
		}
		for (k = 0; k < NAMES; k++) {
			unit = ldexp(1, k / 2 % 2 ? -8 : -11);
			for (i = 0; i < count_of(k); i++) {
				exact = 0;
				sum = ldexp(1, -14);
				for (r = 0; r < c.size; r++) {
					ASSERT_EQ(to_bits(w.out[0][0][k][i]),
						  to_bits(w.out[0][r][k][i]));
					ASSERT_EQ(to_bits(w.out[0][0][k][i]),
						  to_bits(w.out[1][r][k][i]));
					exact += w.in[r][k][i];
					sum += fabs(w.in[r][k][i]);
				}
				exact *= scale_of(k);
				if (!(k % 2))
					exact /= c.size;
				ASSERT_GE((pow(1 + unit, c.nodes) - 1 + ldexp(c.size, -24)) * sum,
					  fabs(w.out[0][0][k][i] - exact));
				ASSERT_EQ(to_bits(rounded(w.out[0][0][k][i], wires[k / 2 % 2])),
					  to_bits(w.out[0][0][k][i]));
			}
		}
		raw_stop(&c);
	}
}

TEST(with_a_joined_rank)
{
	static const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };
	struct raw_comm c;
	uint32_t absent, r, k, i;
	double exact, sum, unit;

	rnd = test_seed();
	ASSERT_EQ(0, raw_start_named(&c, 3, 3));
	for (absent = 0; absent < 3; absent++) {
		for (r = 0; r < c.size; r++)
			for (k = 0; k < NAMES; k++)
				for (i = 0; i < count_of(k); i++)
					w.in[r][k][i] = (float)(int32_t)random32() / (1U << 31);
		ASSERT_EQ(0, raw_post(c.fd[absent], &join, 1, NULL));
		post_all(_metadata, &c, 0, absent);
		collect_all(_metadata, &c, absent);
		for (k = 0; k < NAMES; k++) {
			unit = ldexp(1, k / 2 % 2 ? -8 : -11);
			for (i = 0; i < count_of(k); i++) {
				exact = 0;
				sum = ldexp(1, -14);
				for (r = 0; r < c.size; r++) {
					if (r == absent)
						continue;
					ASSERT_EQ(to_bits(w.out[0][!absent][k][i]),
						  to_bits(w.out[0][r][k][i]));
					exact += w.in[r][k][i];
					sum += fabs(w.in[r][k][i]);
				}
				exact *= scale_of(k);
				if (!(k % 2))
					exact /= c.size;
				ASSERT_GE((pow(1 + unit, c.nodes) - 1 + ldexp(c.size, -24)) * sum,
					  fabs(w.out[0][!absent][k][i] - exact));
			}
		}
		for (r = 0; r < c.size; r++)
			if (r != absent)
				ASSERT_EQ(0, raw_post(c.fd[r], &join, 1, NULL));
		for (r = 0; r < c.size; r++)
			ASSERT_EQ(1, raw_collect(c.fd[r], &(struct coll_tensor_result){ }, 1, 1,
						 20 * SECOND));
	}
	raw_stop(&c);
}

TEST(ranks_that_disagree)
{
	struct coll_tensor_result res;
	struct coll_cmd cmds[2];
	int results[2];
	struct raw_comm c;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&c, 2, nodes));
		for (k = 0; k < 3; k++) {
			for (r = 0; r < 2; r++) {
				raw_allreduce(&w.cmd[r][0], w.in[r][0], w.out[0][r][0], 10, COLL_F32,
					      COLL_OP_SUM);
				w.cmd[r][0].flags |= r || k == 2 ? wires[k % 2] : 0;
				if (!r && k == 1)
					w.cmd[r][0].flags |= COLL_CMD_WIRE_F16;
				raw_tensor(&w.t[r][0], "x", &w.cmd[r][0], 0);
				ASSERT_EQ(0, raw_post(c.fd[r], &w.t[r][0], 1, NULL));
			}
			for (r = 0; r < 2; r++) {
				ASSERT_EQ(1, raw_collect(c.fd[r], &res, 1, 1, 20 * SECOND));
				EXPECT_EQ(k == 2 ? 0 : -EBADE, res.result);
				if (k == 2)
					continue;
				EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
				EXPECT_EQ(COLL_FIELD_WIRE, res.field);
				EXPECT_EQ(1, res.rank[0] + res.rank[1]);
				EXPECT_EQ(k ? COLL_BF16 : COLL_F16, res.value[res.rank[1]]);
				EXPECT_EQ(k ? COLL_F16 : 0, res.value[!res.rank[1]]);
			}
		}
		raw_stop(&c);
		/* Numbered ones end the communicator. */
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, raw_start(&c, 2, nodes));
			for (r = 0; r < 2; r++) {
				raw_allreduce(&cmds[r], in[r], out[r], 10, COLL_F32, COLL_OP_SUM);
				cmds[r].flags |= r ? wires[k] : k ? COLL_CMD_WIRE_F16 : 0;
			}
			raw_all(&c, cmds, results);
			EXPECT_TRUE(results[0] == -EBADE || results[1] == -EBADE);
			EXPECT_NE(0, results[0]);
			EXPECT_NE(0, results[1]);
			raw_stop(&c);
		}
	}
}

TEST(refused)
{
	static const uint16_t no_ops[] = {
		COLL_OP_PROD, COLL_OP_SUM_EXACT, COLL_OP_REPLACE, COLL_OP_NO_OP,
	};
	static const uint16_t no_algorithms[] = {
		COLL_ALG_RECURSIVE_DOUBLING, COLL_ALG_KNOMIAL, COLL_ALG_MESH_FULL,
		COLL_ALG_KNOMIAL | COLL_ALG_RADIX(3),
	};
	static const uint16_t no_types[] = { COLL_F64, COLL_F16, COLL_BF16, COLL_I32, COLL_C32 };
	struct raw_comm c;
	struct coll_cmd cmd;
	size_t k;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	for (k = 0; k < NR(no_ops); k++) {
		raw_allreduce(&cmd, in[0], out[0], 4, COLL_F32, no_ops[k]);
		cmd.flags |= COLL_CMD_WIRE_F16;
		EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	}
	for (k = 0; k < NR(no_algorithms); k++) {
		raw_allreduce(&cmd, in[0], out[0], 4, COLL_F32, COLL_OP_SUM);
		cmd.algorithm = no_algorithms[k];
		EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
		cmd.flags |= COLL_CMD_WIRE_BF16;
		EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	}
	for (k = 0; k < NR(no_types); k++) {
		raw_allreduce(&cmd, in[0], out[0], 4, no_types[k], COLL_OP_SUM);
		cmd.flags |= COLL_CMD_WIRE_F16;
		EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	}
	raw_allreduce(&cmd, in[0], out[0], 4, COLL_F32, COLL_OP_SUM);
	cmd.flags |= COLL_CMD_WIRE;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	raw_broadcast(&cmd, out[0], 4, COLL_F32, 0);
	cmd.flags |= COLL_CMD_WIRE_F16;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	raw_barrier(&cmd);
	cmd.flags |= COLL_CMD_WIRE_F16;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	/* What is right still works. */
	in[0][0] = 1.0f + ldexpf(1, -20);
	raw_allreduce(&cmd, in[0], out[0], 1, COLL_F32, COLL_OP_MAX);
	cmd.flags |= COLL_CMD_WIRE_F16;
	EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
	EXPECT_EQ(1.0f, out[0][0]);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
