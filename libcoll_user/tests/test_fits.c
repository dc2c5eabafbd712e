// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Which calls of MPI fit a communicator: compares the numbers with the needs of schedules. */
#include <stdio.h>
#include <string.h>

#include "algorithms/table.h"
#include "collective.h"
#include "comm/topology.h"
#include "mpi/fits.h"
#include "schedule.h"
#include "tap.h"

static const struct {
	u32 collective;
	enum function fn;
} kinds[] = {
	{ COLL_ALLGATHER, FN_Allgather }, { COLL_ALLGATHER, FN_Allgatherv },
	{ COLL_REDUCE_SCATTER, FN_Reduce_scatter },
	{ COLL_REDUCE_SCATTER, FN_Reduce_scatter_block },
	{ COLL_ALLTOALL, FN_Alltoall }, { COLL_ALLTOALL, FN_Alltoallv },
	{ COLL_GATHER, FN_Gather }, { COLL_SCATTER, FN_Scatter },
	{ COLL_SCAN, FN_Scan }, { COLL_EXSCAN, FN_Exscan },
};

#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* As the kernel counts them. */
static u64 steps_of(const struct coll_algorithm *a, u32 n, u32 me, bool wide)
{
	struct coll_emit e = { .wide = wide };

	if (a->emit(&e, n, me, 0))
		return 0;
	return coll_kind_of(a->collective)->flags & COLL_KIND_BLOCKS ? e.chunks + e.tokens : e.nr;
}

/* Does no rank have more steps than fits_steps() says? */
static bool is_bounded(const struct coll_algorithm *a, enum function fn, u32 n)
{
	u64 most = fits_steps(fn, n, a->name);
	u32 me;

	/* Equal blocks only: no v-form takes it. */
	if (fn == FN_Alltoallv && a->flags & COLL_ALG_EQUAL)
		return true;
	for (me = 0; me < n; me++)
		if (steps_of(a, n, me, false) > most || steps_of(a, n, me, true) > most ||
		    most > fits_steps(fn, n, NULL))
			return false;
	return true;
}

static void test_steps(void)
{
	static const u32 sizes[] = { 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 64, 100, 129, 256, 300 };
	const struct coll_algorithm *a;
	bool good = true;
	size_t k, s;
	u32 i;

	for (k = 0; k < NR_KINDS; k++)
		for (i = 0; (a = coll_algorithm_of(kinds[k].collective, i)); i++)
			for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
				if (is_bounded(a, kinds[k].fn, sizes[s]))
					continue;
				printf("# %s of %u, %u ranks\n", a->name, kinds[k].collective,
				       sizes[s]);
				good = false;
			}
	ok(good, "steps of each algorithm");
}

static void test_nodes(void)
{
	struct fits f = { .most_local = 1, .max_steps = 1 << 20, };
	bool good = true;
	int fn;

	for (fn = 0; fn < NR_FUNCTIONS; fn++) {
		f.size = f.nodes = TOPOLOGY_FULL;
		good &= fits_call(&f, fn, false, NULL) && fits_call(&f, fn, true, NULL);
		f.size = ++f.nodes;
		good &= !fits_call(&f, fn, true, NULL);
		good &= fits_call(&f, fn, false, NULL) ==
			(fn == FN_Barrier || fn == FN_Bcast || fn == FN_Reduce ||
			 fn == FN_Allreduce);
	}
	ok(good, "more nodes than are linked all with all");
}

static bool one_node(uint64_t ranks, enum function fn, bool users, const char *algorithm)
{
	struct fits f = {
		.size = ranks, .most_local = ranks, .nodes = 1, .max_steps = 1 << 20,
	};

	return fits_call(&f, fn, users, algorithm);
}

static void test_ranks(void)
{
	struct fits many = { .size = 1024, .most_local = 64, .nodes = 16, .max_steps = 1 << 20 };

	ok(one_node(1024, FN_Allreduce, false, NULL) && one_node(1024, FN_Gatherv, false, NULL) &&
	   one_node(1024, FN_Scan, false, NULL), "1024 ranks on a node: what has few steps");
	ok(one_node(500, FN_Allgather, false, NULL) && !one_node(600, FN_Allgather, false, NULL) &&
	   !one_node(1024, FN_Reduce_scatter, false, NULL), "a step for each other rank");
	ok(one_node(700, FN_Alltoall, false, "pairwise") &&
	   !one_node(300, FN_Alltoall, false, "bruck") &&
	   one_node(700, FN_Alltoallv, false, NULL) && !one_node(800, FN_Alltoallw, false, NULL),
	   "alltoall by its algorithms");
	ok(!one_node(600, FN_Allreduce, true, NULL), "an operator of the application");
	ok(fits_call(&many, FN_Alltoall, false, "pairwise") &&
	   fits_call(&many, FN_Allgather, false, NULL), "1024 ranks on 16 nodes");
}

int main(void)
{
	printf("TAP version 13\n");
	test_steps();
	test_nodes();
	test_ranks();
	return ok_done();
}
