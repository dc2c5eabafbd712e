// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that post different commands under one name, and a rank that posts a name again while it
 * is pending. The error ends this tensor or this call only. It says which field differs, and the
 * values of both ranks.
 */
#include <errno.h>

#include "named_pair.h"

static void op_max(struct pair *p)	{ p->cmd[1].op = COLL_OP_MAX; }
static void of_u32(struct pair *p)	{ p->cmd[1].dtype = COLL_U32; }
static void of_two(struct pair *p)	{ p->cmd[1].count = 2; }
static void urgent(struct pair *p)	{ p->t[1].priority = 9; }
static void by_ring(struct pair *p)	{ p->cmd[1].algorithm = COLL_ALG_RING; }
static void scan(struct pair *p)	{ p->cmd[1].collective = COLL_SCAN; }
static void narrow(struct pair *p)	{ p->cmd[1].flags |= COLL_CMD_NARROW; }
static void flat(struct pair *p)
{
	p->t[1].ndim = 2;
	p->t[1].dims[0] = 1;
	p->t[1].dims[1] = 3;
}
static void shaped(struct pair *p)
{
	flat(p);
	p->t[0].ndim = 2;
	p->t[0].dims[0] = 3;
	p->t[0].dims[1] = 1;
}
static void roots(struct pair *p)
{
	uint32_t r;

	for (r = 0; r < 2; r++)
		raw_broadcast(&p->cmd[r], p->out[r], 3, COLL_I32, r);
}

static const struct {
	const char *name;
	void (*change)(struct pair *p);
	uint32_t field;
	uint64_t value[2];
} changes[] = {
	{ "op", op_max, COLL_FIELD_OP, { COLL_OP_SUM, COLL_OP_MAX } },
	{ "dtype", of_u32, COLL_FIELD_DTYPE, { COLL_I32, COLL_U32 } },
	{ "count", of_two, COLL_FIELD_DIM0, { 3, 2 } },
	{ "priority", urgent, COLL_FIELD_PRIORITY, { 0, 9 } },
	{ "algorithm", by_ring, COLL_FIELD_ALGORITHM, { COLL_ALG_AUTO, COLL_ALG_RING } },
	{ "collective", scan, COLL_FIELD_COLLECTIVE, { COLL_ALLREDUCE, COLL_SCAN } },
	{ "flags", narrow, COLL_FIELD_FLAGS, { 0, COLL_CMD_NARROW } },
	{ "ndim", flat, COLL_FIELD_NDIM, { 1, 2 } },
	{ "dims", shaped, COLL_FIELD_DIM0, { 3, 1 } },
	{ "root", roots, COLL_FIELD_ROOT, { 0, 1 } },
};

static void disagree(struct __test_metadata *_metadata, struct pair *p, size_t n, uint32_t first)
{
	struct coll_tensor_result res;
	uint32_t r, a, k;

	pair_make(p, changes[n].name, 3);
	changes[n].change(p);
	ASSERT_EQ(0, raw_post(p->c.fd[first], &p->t[first], 1, NULL));
	ASSERT_EQ(0, raw_post(p->c.fd[!first], &p->t[!first], 1, NULL));
	for (r = 0; r < 2; r++) {
		expect_result(_metadata, p, r, EBADE, &res);
		EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
		EXPECT_EQ(changes[n].field, res.field) {
			TH_LOG("%s", changes[n].name);
		}
		ASSERT_LT(res.rank[0], 2U);
		ASSERT_EQ(!res.rank[0], res.rank[1]);
		for (k = 0; k < 2; k++) {
			a = res.rank[k];
			EXPECT_EQ(changes[n].value[a], res.value[k]) {
				TH_LOG("%s of rank %u", changes[n].name, a);
			}
		}
		EXPECT_EQ(0, p->out[r][0]);
	}
	expect_sum(_metadata, p, changes[n].name);
}

TEST(mismatch_ends_this_tensor_only)
{
	struct pair p;
	uint32_t nodes;
	size_t n;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		for (n = 0; n < sizeof(changes) / sizeof(changes[0]); n++) {
			disagree(_metadata, &p, n, 0);
			disagree(_metadata, &p, n, 1);
		}
		raw_stop(&p.c);
	}
}

TEST(pending_twice)
{
	struct coll_tensor both[3];
	struct coll_tensor_result res;
	uint32_t nodes, posted;
	struct pair p;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		pair_make(&p, "one", 3);
		both[0] = p.t[0];
		both[1] = p.t[0];
		both[2] = p.t[0];
		EXPECT_EQ(-EEXIST, raw_post(p.c.fd[0], both, 3, &posted));
		EXPECT_EQ(1, posted);
		EXPECT_EQ(-EEXIST, raw_post(p.c.fd[0], both, 1, &posted));
		EXPECT_EQ(0, posted);
		ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
		expect_result(_metadata, &p, 0, 0, &res);
		expect_result(_metadata, &p, 1, 0, &res);
		expect_sum(_metadata, &p, "one");
		raw_stop(&p.c);
	}
}

TEST_HARNESS_MAIN
