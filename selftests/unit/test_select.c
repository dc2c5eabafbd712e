// SPDX-License-Identifier: GPL-2.0
/*
 * The cost model of libcoll_user/select/select_model.c: closed forms where the schedule has
 * one, the order of algorithms that the books know, and no nonsense anywhere.
 */
#include <math.h>

#include "pure/algorithms/table.h"
#include "tap.h"

#include "../../libcoll_user/select/select_model.h"

/* 100 us, 1 us, 1 GB/s, nothing shared: sums of these are easily told apart. */
static const struct select_model plain = {
	.alpha = 1e-4, .overhead = 1e-6, .beta = 1e-9, .gamma = 1e-10,
};

static double cost(const struct select_model *m, u32 what, u32 alg, u32 n, u64 bytes)
{
	return select_cost(m, coll_algorithm_find(what, alg), n, bytes, 0);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-3 * fabs(b);
}

/* A hop: overhead at both ends, and the way. */
static double hop(const struct select_model *m)
{
	return m->alpha + 2 * m->overhead;
}

static void test_messages(void)
{
	struct select_model m = plain;
	bool chain = true, linear = true, ring = true, rd = true;
	u32 n;

	m.beta = 0;
	m.gamma = 0;
	for (n = 2; n <= 32; n++) {
		chain &= near(cost(&m, COLL_BROADCAST, COLL_ALG_CHAIN, n, 4), 2 * (n - 1) * hop(&m));
		linear &= near(cost(&m, COLL_BROADCAST, COLL_ALG_LINEAR, n, 4),
			       2 * (hop(&m) + (n - 2) * m.overhead));
		ring &= near(cost(&m, COLL_ALLREDUCE, COLL_ALG_RING, n, 4 * n),
			     2 * (n - 1) * hop(&m));
		if (!(n & (n - 1)))
			rd &= near(cost(&m, COLL_ALLREDUCE, COLL_ALG_RECURSIVE_DOUBLING, n, 4),
				   log2(n) * hop(&m));
	}
	tap_ok(chain, "chain: n - 1 hops back for tokens, n - 1 there");
	tap_ok(linear, "linear: two hops, and two messages for each other one");
	tap_ok(ring, "ring: 2 (n - 1) hops");
	tap_ok(rd, "recursive doubling: log2(n) hops");
}

static void test_bytes(void)
{
	const u64 bytes = 1ULL << 30;
	struct select_model m = { .beta = 1e-9 };
	double one = bytes * m.beta;
	bool ring = true, linear = true, chain = true;
	u32 n;

	for (n = 2; n <= 32; n++) {
		ring &= near(cost(&m, COLL_ALLREDUCE, COLL_ALG_RING, n, bytes),
			     2 * one * (n - 1) / n);
		linear &= near(cost(&m, COLL_BROADCAST, COLL_ALG_LINEAR, n, bytes), (n - 1) * one);
		chain &= cost(&m, COLL_BROADCAST, COLL_ALG_CHAIN, n, bytes) < 1.01 * one;
	}
	tap_ok(ring, "long vectors, ring: 2 (n - 1) / n of the bytes");
	tap_ok(linear, "linear: n - 1 times the bytes");
	tap_ok(chain, "chain: once, for segments follow one another");
	tap_ok(near(select_cost(&m, coll_algorithm_find(COLL_BROADCAST, COLL_ALG_CHAIN), 9,
				1 << 20, 16384), m.beta * (1 << 20) + 7 * m.beta * 16384),
	       "a segment later with each further hop");
}

static void test_shared(void)
{
	struct select_model m = plain;
	double n = 8, before = cost(&m, COLL_ALLREDUCE, COLL_ALG_MESH_FULL, 8, 4);

	m.busy_message = 1e-3;
	tap_ok(near(cost(&m, COLL_ALLREDUCE, COLL_ALG_MESH_FULL, 8, 4), n * (n - 1) * 1e-3) &&
	       before < 1e-3, "messages of all through what they share");
	m.busy_message = 0;
	m.busy_byte = 1e-6;
	tap_ok(near(cost(&m, COLL_ALLREDUCE, COLL_ALG_MESH_FULL, 8, 1 << 20),
		    n * (n - 1) * (1 << 20) * 1e-6), "bytes likewise");
}

static void test_order(void)
{
	double ring = cost(&plain, COLL_ALLREDUCE, COLL_ALG_RING, 16, 64);
	double rd = cost(&plain, COLL_ALLREDUCE, COLL_ALG_RECURSIVE_DOUBLING, 16, 64);

	tap_ok(rd < ring / 4, "short: recursive doubling before ring");
	ring = cost(&plain, COLL_ALLREDUCE, COLL_ALG_RING, 16, 64 << 20);
	rd = cost(&plain, COLL_ALLREDUCE, COLL_ALG_RECURSIVE_DOUBLING, 16, 64 << 20);
	tap_ok(ring < rd / 1.5, "long: ring before recursive doubling");
}

/* Every algorithm, few participants and many, from nothing to a lot. */
static void test_all(void)
{
	static const u32 ns[] = { 1, 2, 3, 5, 8, 32, 33, 100, 1024 };
	const struct coll_algorithm *a;
	bool grows = true, finite = true;
	double last, now;
	u32 i, k, nr = 0;
	u64 bytes;

	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		for (k = 0; k < sizeof(ns) / sizeof(ns[0]); k++) {
			for (bytes = 0, last = 0; bytes <= 1ULL << 32; bytes = bytes * 64 + 64) {
				now = select_cost(&plain, a, ns[k], bytes, 0);
				finite &= isfinite(now) && (ns[k] == 1 ? now == 0 : now > 0);
				grows &= now >= last * (1 - 1e-9);
				last = now;
				nr++;
			}
		}
	}
	tap_ok(finite, "all algorithms: %u costs, all above 0", nr);
	tap_ok(grows, "more bytes never cost less");
}

int main(void)
{
	test_messages();
	test_bytes();
	test_shared();
	test_order();
	test_all();
	return tap_done();
}
