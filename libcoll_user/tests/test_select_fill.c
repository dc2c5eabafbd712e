// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Tables from measured times: here the times are made up, so the best is known. The tables must
 * name it at every size that was timed, for every collective.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/table.h"
#include "collective.h"
#include "comm/comm.h"
#include "select/select_fill.h"
#include "tap.h"

/* Another row has to save 2 % of the time, another segment 4 %. */
#define TOLERANCE	(1 / 0.98 / 0.96 + 1e-9)

/**
 * The machine that the test makes up.
 * @seed: of how much better or worse each algorithm is than its model
 * @segment: with this segment the cost is @gain times that with the kernel's segment
 * @measured: calls that timed something
 * @longest: the most seconds that a call was given
 */
static struct {
	uint64_t seed;
	uint32_t segment;
	double gain;
	uint32_t measured;
	double longest;
} world;

/* From 1 - @width to 1 + @width, always the same for the same @x. */
static double luck(uint64_t x, double width)
{
	x = (x ^ world.seed) * 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
	return 1 + width * ((double)(x >> 40) / (1 << 23) - 1);
}

/* Algorithms with the same schedule have the same luck. */
static uint32_t schedule_id(const struct coll_algorithm *a, uint32_t n)
{
	const struct coll_algorithm *b;
	uint32_t i;

	for (i = 0; n <= 4 && (b = coll_algorithm_at(i)); i++)
		if (select_same_schedule(b, a, n))
			return b->id;
	return a->id;
}

static double truth(const struct select_bench *b, const struct coll_algorithm *a,
		    uint32_t segment, uint32_t k)
{
	uint32_t n = coll_kind_of(a->collective)->flags & COLL_KIND_RANKS ? b->comm->size :
									    b->comm->nr_nodes;
	uint64_t x = (uint64_t)a->collective << 32 | schedule_id(a, n) << 16;
	double t = select_cost(&b->model, a, n, SELECT_BYTES(k), 0);

	t *= luck(x, 0.2) * luck(x + k + 1, 0.03);
	return segment == world.segment ? t * world.gain : segment ? t * 1.5 : t;
}

/* In the place of select_measure.c. */
int select_measure(struct select_bench *b, struct select_time *t, const uint32_t *who,
		   uint32_t nr, uint32_t k, double left)
{
	uint32_t i;

	if (left <= 0)
		return 1;
	for (i = 0; i < nr; i++)
		t[who[i]].measured[k] = truth(b, t[who[i]].alg, t[who[i]].segment, k);
	world.measured++;
	world.longest = left > world.longest ? left : world.longest;
	return 0;
}

static const struct coll_select_row *row_of(const struct select_table *t, uint64_t bytes)
{
	uint32_t i = 0;

	while (bytes > t->rows[i].bytes)
		i++;
	return &t->rows[i];
}

static bool in_shape(const struct select_tables *all, uint32_t c)
{
	const struct select_table *t = &all->of[c];
	const struct coll_algorithm *a;
	uint32_t i;

	for (i = 0; i < t->nr; i++) {
		a = coll_algorithm_find(c, t->rows[i].algorithm);
		if (!a || !t->rows[i].algorithm || !select_fits(c, a) || t->rows[i].segment % 64 ||
		    t->rows[i].segment > 1 << 20 || (i && t->rows[i].bytes <= t->rows[i - 1].bytes))
			return false;
	}
	return !t->nr || t->rows[t->nr - 1].bytes == UINT64_MAX;
}

/* Is the row for each size that was timed as good as the best there is? */
static bool best(const struct select_bench *b, const struct select_tables *all, uint32_t c)
{
	uint32_t n = coll_kind_of(c)->flags & COLL_KIND_RANKS ? b->comm->size : b->comm->nr_nodes;
	bool blocks = coll_kind_of(c)->flags & COLL_KIND_BLOCKS, good = true;
	const struct select_table *t = &all->of[c];
	const struct coll_algorithm *a;
	double least, mine;
	uint32_t k, i;

	for (k = 0; k < (c == COLL_BARRIER ? 1 : SELECT_SIZES); k++) {
		if (blocks && SELECT_BYTES(k) * n > SELECT_MAX_BYTES)
			break;
		least = mine = 0;
		for (i = 0; (a = coll_algorithm_at(i)); i++) {
			const struct coll_select_row *row = row_of(t, SELECT_BYTES(k));
			double s;

			if (a->collective != coll_plain_collective(c) || !select_fits(c, a))
				continue;
			s = truth(b, a, 0, k);
			least = !least || s < least ? s : least;
			if (a->id == row->algorithm)
				mine = truth(b, a, row->segment, k);
		}
		good &= mine > 0 && mine <= least * TOLERANCE;
	}
	return good;
}

static void test_fill(uint32_t nodes, uint32_t size, int32_t ms, const char *name)
{
	struct coll_comm comm = { .nr_nodes = nodes, .size = size };
	struct select_bench b = {
		.comm = &comm, .model = { 5e-5, 2e-6, 1e-9, 1e-10, 0, 0 }, .barrier = 1e-4,
		.deadline = deadline_in(1U << 30),
	};
	struct select_plan plan = { .budget_ms = ms, .all = ms > 0 };
	struct select_tables *t = calloc(1, sizeof(*t));
	bool shape = true, right = true, sources = true;
	char text[128];
	uint32_t c;

	world.measured = 0;
	if (!t || select_fill(&b, &plan, t))
		abort();
	for (c = 1; c < COLL_NR_COLLECTIVES; c++) {
		bool ranks = coll_kind_of(c)->flags & COLL_KIND_RANKS;

		shape &= in_shape(t, c);
		/* One participant has nothing to choose. */
		if (c >= COLL_SEND || (!ranks && nodes == 1)) {
			shape &= !t->of[c].nr;
			continue;
		}
		/* With two participants all algorithms may be one schedule: nothing to time. */
		sources &= t->of[c].source == (ms ? COLL_SELECT_MEASURED : COLL_SELECT_MODEL) ||
			   size == 2;
		if (coll_kind_of(c)->flags & COLL_KIND_PRIVATE) {
			shape &= t->of[c].nr == 1 || (size == 2 && !t->of[c].nr);
		} else {
			shape &= t->of[c].nr > 0;
			right &= best(&b, t, c);
		}
	}
	snprintf(text, sizeof(text), "%s, %u ranks on %u nodes", name, size, nodes);
	ok(shape && sources && !memcmp(&t->model, &b.model, sizeof(b.model)), text);
	/* Without times, luck is not known. */
	if (ms)
		ok(right && world.measured, "and the best of what was timed");
	free(t);
}

static bool has_segment(uint32_t nodes, uint32_t segment)
{
	struct coll_comm comm = { .nr_nodes = nodes, .size = nodes };
	struct select_bench b = {
		.comm = &comm, .model = { 5e-5, 2e-6, 1e-9, 1e-10, 0, 0 }, .barrier = 1e-4,
		.deadline = deadline_in(1U << 30),
	};
	const struct select_plan plan = { .budget_ms = 1000000, .all = true };
	struct select_tables *t = calloc(1, sizeof(*t));
	bool found, small;

	if (!t || select_fill(&b, &plan, t))
		abort();
	found = row_of(&t->of[COLL_BROADCAST], 4 << 20)->segment == segment;
	small = row_of(&t->of[COLL_BROADCAST], 1024)->segment == 0;
	free(t);
	return found && small;
}

static void test_segments(void)
{
	world.segment = 16384;
	world.gain = 0.8;
	ok(has_segment(8, 16384), "a segment that pays is taken, of long vectors");
	world.gain = 0.99;
	ok(has_segment(8, 0), "one that hardly pays is not");
	world.segment = 0;
	world.gain = 1;
}

/* Seconds that the longest measurement gets if the deadline is in @ms. */
static double longest(uint32_t ms)
{
	struct coll_comm comm = { .nr_nodes = 3, .size = 3 };
	struct select_bench b = {
		.comm = &comm, .model = { 5e-5, 2e-6, 1e-9, 1e-10, 0, 0 }, .barrier = 1e-4,
		.deadline = deadline_in(ms),
	};
	const struct select_plan plan = { .budget_ms = 1000000, .all = true };
	struct select_tables *t = calloc(1, sizeof(*t));

	world.longest = 0;
	if (!t || select_fill(&b, &plan, t))
		abort();
	free(t);
	return world.longest;
}

static void test_deadline(void)
{
	double free = longest(1U << 30), soon = longest(1000);

	ok(free > 10, "without a deadline the budget counts");
	ok(soon > 0 && soon <= 0.5, "half of the time until the deadline is spare");
	ok(longest(0) == 0, "after the deadline nothing is timed");
}

static void test_same(void)
{
	const struct coll_algorithm *chain = coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_CHAIN);
	const struct coll_algorithm *root = coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_ROOT);
	const struct coll_algorithm *ring = coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_RING);
	const struct coll_algorithm *a, *b;
	bool symmetric = true;
	uint32_t i, j, n;

	ok(select_same_schedule(chain, chain, 5) && !select_same_schedule(chain, root, 5) &&
	   !select_same_schedule(chain, ring, 2), "different schedules are");
	for (n = 2; n <= 5; n++)
		for (i = 0; (a = coll_algorithm_at(i)); i++)
			for (j = 0; (b = coll_algorithm_at(j)); j++)
				symmetric &= select_same_schedule(a, b, n) ==
					     select_same_schedule(b, a, n);
	ok(symmetric, "and which way round is no matter");
}

int main(void)
{
	static const uint32_t nodes[] = { 1, 2, 3, 4, 8, 8, 40 };
	static const uint32_t sizes[] = { 4, 2, 3, 8, 8, 24, 40 };
	uint32_t i;

	world.gain = 1;
	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		world.seed = i * 0x123456789ULL;
		test_fill(nodes[i], sizes[i], 0, "by the model");
		test_fill(nodes[i], sizes[i], 1000000, "by times");
	}
	test_segments();
	test_deadline();
	test_same();
	return ok_done();
}
