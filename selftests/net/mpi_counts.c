// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_counts: collectives of MPI 4.0 by two kinds of functions: those with _c, whose counts have 64
 * bits, on one half of the ranks, and those without on the others. Each collective is compared with
 * that of the MPI underneath.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD	MPI_COMM_WORLD
#define RANKS	8
#define MOST	4096
#define STARTS	2

#if MPI_VERSION >= 4

static int me, size, turn;

static void fail(const char *what)
{
	fprintf(stderr, "rank %d, turn %d: %s\n", me, turn, what);
	MPI_Abort(WORLD, 1);
}

static int in[MOST], by_coll[MOST], by_mpi[MOST];

static void set(int what)
{
	int i;

	for (i = 0; i < MOST; i++) {
		in[i] = 1000 * me + i + what;
		by_coll[i] = by_mpi[i] = -i;
	}
}

static void compare(const char *what)
{
	if (memcmp(by_coll, by_mpi, sizeof(by_coll)))
		fail(what);
}

static int is_wide(void)
{
	return (me + turn) % 2;
}

/* @small are arguments with int, @large the same with 64 bits; both write to "to". */
#define CALL(name, iname, small, large) do {					\
	MPI_Request req_;							\
	int *to = by_coll, i_;							\
										\
	set(1);									\
	if (is_wide())								\
		MPI_##name##_c(ARGS large, WORLD);				\
	else									\
		MPI_##name(ARGS small, WORLD);					\
	to = by_mpi;								\
	PMPI_##name(ARGS small, WORLD);						\
	compare(#name);								\
	to = by_coll;								\
	set(2);									\
	if (is_wide())								\
		MPI_##name##_init_c(ARGS large, WORLD, MPI_INFO_NULL, &req_);	\
	else									\
		MPI_##name##_init(ARGS small, WORLD, MPI_INFO_NULL, &req_);	\
	for (i_ = 0; i_ < STARTS; i_++) {					\
		set(3 + i_);							\
		MPI_Start(&req_);						\
		MPI_Wait(&req_, MPI_STATUS_IGNORE);				\
		to = by_mpi;							\
		PMPI_##name(ARGS small, WORLD);					\
		compare(#name "_init");						\
	}									\
	MPI_Request_free(&req_);						\
	ICALL(name, iname, small, large);					\
} while (0)

/* Nonblocking; for Alltoallw that is the MPI's own. */
#define ICALL(name, iname, small, large) do {					\
	MPI_Request req_;							\
	int *to = by_coll;							\
										\
	set(5);									\
	if (is_wide())								\
		MPI_##iname##_c(ARGS large, WORLD, &req_);			\
	else									\
		MPI_##iname(ARGS small, WORLD, &req_);				\
	MPI_Wait(&req_, MPI_STATUS_IGNORE);					\
	to = by_mpi;								\
	PMPI_##name(ARGS small, WORLD);						\
	compare(#iname);							\
} while (0)

#define ARGS(...)	__VA_ARGS__
/* Both kinds of functions have the same arguments. */
#define SAME(name, iname, ...)	CALL(name, iname, (__VA_ARGS__), (__VA_ARGS__))

static void moves(int root)
{
	SAME(Bcast, Ibcast, me == root ? in : to, 30, MPI_INT, root);
	SAME(Gather, Igather, in, 5, MPI_INT, to, 5, MPI_INT, root);
	SAME(Scatter, Iscatter, in, 5, MPI_INT, to, 5, MPI_INT, root);
	SAME(Allgather, Iallgather, in, 7, MPI_INT, to, 7, MPI_INT);
	SAME(Alltoall, Ialltoall, in, 3, MPI_INT, to, 3, MPI_INT);
}

static void reductions(int root)
{
	SAME(Allreduce, Iallreduce, in, to, 9, MPI_INT, MPI_SUM);
	SAME(Reduce, Ireduce, in, to, 9, MPI_INT, MPI_MAX, root);
	SAME(Scan, Iscan, in, to, 9, MPI_INT, MPI_SUM);
	SAME(Exscan, Iexscan, in, to, 9, MPI_INT, MPI_SUM);
	SAME(Reduce_scatter_block, Ireduce_scatter_block, in, to, 4, MPI_INT, MPI_SUM);
}

/* The same numbers with 32 and with 64 bits */
struct numbers {
	int n[RANKS];
	MPI_Count counts[RANKS];
	MPI_Aint displs[RANKS];
};

static void put(struct numbers *a, int i, int n)
{
	a->n[i] = n;
	a->counts[i] = n;
	a->displs[i] = n;
}

static struct numbers of_rank, places, gives, gets, from, into, from_bytes, into_bytes;

static void set_numbers(void)
{
	int r;

	for (r = 0; r < size; r++) {
		put(&of_rank, r, r + 2);
		/* blocks are not in the order of ranks */
		put(&places, r, 20 * (size - r));
		put(&gives, r, me + 2 * r + 1);
		put(&gets, r, r + 2 * me + 1);
		put(&from, r, 30 * r);
		put(&into, r, 30 * (size - r));
		put(&from_bytes, r, 120 * r);
		put(&into_bytes, r, 120 * (size - r));
	}
}

static void vectors(int root)
{
	MPI_Datatype types[RANKS];
	int r, own = of_rank.n[me];

	for (r = 0; r < size; r++)
		types[r] = MPI_INT;
	CALL(Gatherv, Igatherv, (in, own, MPI_INT, to, of_rank.n, places.n, MPI_INT, root),
	     (in, own, MPI_INT, to, of_rank.counts, places.displs, MPI_INT, root));
	CALL(Scatterv, Iscatterv, (in, of_rank.n, places.n, MPI_INT, to, own, MPI_INT, root),
	     (in, of_rank.counts, places.displs, MPI_INT, to, own, MPI_INT, root));
	CALL(Allgatherv, Iallgatherv, (in, own, MPI_INT, to, of_rank.n, places.n, MPI_INT),
	     (in, own, MPI_INT, to, of_rank.counts, places.displs, MPI_INT));
	CALL(Reduce_scatter, Ireduce_scatter, (in, to, of_rank.n, MPI_INT, MPI_SUM),
	     (in, to, of_rank.counts, MPI_INT, MPI_SUM));
	CALL(Alltoallv, Ialltoallv,
	     (in, gives.n, from.n, MPI_INT, to, gets.n, into.n, MPI_INT),
	     (in, gives.counts, from.displs, MPI_INT, to, gets.counts, into.displs, MPI_INT));
	CALL(Alltoallw, Ialltoallw,
	     (in, gives.n, from_bytes.n, types, to, gets.n, into_bytes.n, types),
	     (in, gives.counts, from_bytes.displs, types, to, gets.counts, into_bytes.displs,
	      types));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &me);
	MPI_Comm_size(WORLD, &size);
	if (size > RANKS)
		fail("usage");
	set_numbers();
	for (turn = 0; turn < 2; turn++) {
		moves(turn % size);
		reductions(turn % size);
		vectors(turn % size);
	}
	MPI_Barrier(WORLD);
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}

#else

int main(void)
{
	return 1;
}

#endif
