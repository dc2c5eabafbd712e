// SPDX-License-Identifier: GPL-2.0
/*
 * Padding of elements is zero in results, also where the result is a single input and takes its
 * place.
 */
#include <string.h>

#include "harness.h"
#include "raw.h"

#define RANKS	4
#define MOST	3000

/**
 * struct padded - a type with padding, and an operator
 * @bytes: of an element
 * @begin: of its padding
 * @end: of its padding
 */
struct padded {
	const char *name;
	unsigned int dtype, op, bytes, begin, end;
};

static const struct padded types[] = {
	{ "i16_i32", COLL_I16_I32, COLL_OP_MAXLOC, 8, 2, 4 },
	{ "f64_i32", COLL_F64_I32, COLL_OP_MINLOC, 16, 12, 16 },
	{ "ldouble", COLL_LDOUBLE, COLL_OP_SUM, 16, 10, 16 },
};

static const uint16_t kinds[] = { COLL_ALLREDUCE, COLL_REDUCE, COLL_SCAN };
static uint8_t in[RANKS][MOST * 16], out[RANKS][MOST * 16], want[MOST * 16];

/* Element @i, the same on all ranks, with padding that is not zero. */
static void put(const struct padded *t, uint8_t *at, uint32_t i)
{
	long double ld = i + 1;
	int16_t small = (int16_t)i;
	double d = i;

	memset(at, 0x5a, t->bytes);
	if (t->dtype == COLL_LDOUBLE) {
		memcpy(at, &ld, t->begin);
		return;
	}
	if (t->dtype == COLL_I16_I32)
		memcpy(at, &small, sizeof(small));
	else
		memcpy(at, &d, sizeof(d));
	memcpy(at + t->bytes / 2, &i, sizeof(i));
}

/* Bytes of padding that are not zero, and bytes that differ from @want if that is given. */
static uint64_t wrong(const struct padded *t, const uint8_t *v, uint64_t n, const uint8_t *wanted)
{
	uint64_t i, bad = 0;
	uint32_t k;

	for (i = 0; i < n * t->bytes; i++) {
		k = i % t->bytes;
		if (k >= t->begin && k < t->end)
			bad += v[i] != 0;
		else if (wanted)
			bad += v[i] != wanted[i];
	}
	return bad;
}

static void one(struct __test_metadata *_metadata, struct raw_comm *c, const struct padded *t,
		uint16_t kind, uint64_t n, bool in_place)
{
	struct coll_cmd cmds[RANKS];
	int results[RANKS];
	uint64_t i;
	uint32_t r;

	for (i = 0; i < n; i++)
		put(t, want + i * t->bytes, (uint32_t)i);
	for (r = 0; r < c->size; r++) {
		bool gets = kind != COLL_REDUCE || !r;

		memcpy(in[r], want, n * t->bytes);
		memcpy(out[r], want, n * t->bytes);
		raw_allreduce(&cmds[r], in_place && gets ? NULL : in[r], gets ? out[r] : NULL, n,
			      t->dtype, t->op);
		cmds[r].collective = kind;
	}
	ASSERT_EQ(0, raw_all(c, cmds, results));
	for (r = 0; r < c->size; r++) {
		bool single = c->size == 1 || (kind == COLL_SCAN && !r);

		ASSERT_EQ(0, results[r]);
		if (kind == COLL_REDUCE && r)
			continue;
		EXPECT_EQ(0, wrong(t, out[r], n, single ? want : NULL))
			TH_LOG("%s, kind %u, rank %u of %u, %llu elements%s", t->name, kind, r,
			       c->size, (unsigned long long)n, in_place ? ", in place" : "");
	}
}

static void all(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes)
{
	struct raw_comm c;
	unsigned int t, k, i;

	ASSERT_EQ(0, raw_start(&c, size, nodes));
	for (t = 0; t < ARRAY_SIZE(types); t++)
		for (k = 0; k < ARRAY_SIZE(kinds); k++)
			for (i = 0; i < 4; i++)
				one(_metadata, &c, &types[t], kinds[k], i & 2 ? MOST : 3, i & 1);
	raw_stop(&c);
}

TEST(one_rank)		{ all(_metadata, 1, 1); }
TEST(one_node)		{ all(_metadata, RANKS, 1); }
TEST(two_nodes)		{ all(_metadata, RANKS, 2); }
TEST(a_node_each)	{ all(_metadata, RANKS, RANKS); }

TEST_HARNESS_MAIN
