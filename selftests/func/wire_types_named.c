// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives of f32 that are sent as f16 or bf16: with fusion and without, and with a rank
 * that has joined. All ranks get the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "wire_types.h"

#define NAMES		40

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

/* All ranks get the same bits, and the same with fusion and without. The error is bounded. */
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

TEST_HARNESS_MAIN
