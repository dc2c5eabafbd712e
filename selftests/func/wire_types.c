// SPDX-License-Identifier: GPL-2.0
/*
 * Allreduces of f32 that are sent as f16 or bf16. The test plays the schedule of each algorithm,
 * and every bit of the results must be the same. All ranks get the same bits.
 */
#define TEST_SECONDS	900

#include "wire_types_play.h"

static const uint16_t algorithms[] = {
	COLL_ALG_RING, COLL_ALG_TREE, COLL_ALG_DOUBLE_TREE, COLL_ALG_ROOT, COLL_ALG_CHAIN,
	COLL_ALG_RING_NAIVE, COLL_ALG_MESH, COLL_ALG_RABENSEIFNER,
};

static const uint16_t ops[] = { COLL_OP_SUM, COLL_OP_AVG, COLL_OP_MIN, COLL_OP_MAX };

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
				run(_metadata, &c, p->op, p->count, algorithms[k], p->wire);
				play_all(p, a);
				compare(_metadata, p, a->name);
			}
		}
		raw_stop(&c);
	}
}

/*
 * Vectors of one length, with another type each time: a plan that was made for one type must not
 * be used for another.
 */
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
			run(_metadata, &c, p->op, p->count, COLL_ALG_RING, p->wire);
			play_all(p, coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_RING));
			compare(_metadata, p, "ring");
		}
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
