// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_pairs: MINLOC and MAXLOC of pairs with gaps. The bytes in the gaps belong to the application,
 * and stay as they are.
 */
#include <mpi.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT	37
#define MARK	0x5a

static int wrongs, me, ranks;

/* Value and place are there, whatever is in the gap. */
#define PAIR(name, value) struct name { value v; int i; }
PAIR(short_int, short);
PAIR(long_int, long);
PAIR(double_int, double);
PAIR(long_double_int, long double);

/* The largest value of element @k is that of rank @k modulo the ranks. */
static int value_of(int rank, int k)
{
	return rank == k % ranks ? 100 + k : k - rank;
}

static void wrong(const char *type, const char *what, int k)
{
	fprintf(stderr, "rank %d: %s, %s: element %d\n", me, type, what, k);
	wrongs++;
}

/* Do the bytes of @p between @from and @to have the mark? */
static int is_marked(const void *p, size_t from, size_t to)
{
	const unsigned char *byte = p;

	while (from < to && byte[from] == MARK)
		from++;
	return from == to;
}

/* All collectives with one type. They are macros because members have different types. */
#define FILL(p, n)								\
	do {									\
		memset(p, MARK, sizeof(*(p)) * (n));				\
		for (int k_ = 0; k_ < (n); k_++) {				\
			(p)[k_].v = value_of(me, k_);				\
			(p)[k_].i = me;						\
		}								\
	} while (0)

/* @first: number of the first element in the vector; @last: ranks that took part */
#define CHECK(what, p, n, first, last)						\
	do {									\
		for (int k_ = 0; k_ < (n); k_++) {				\
			int of_ = (first) + k_, best_ = 0;			\
			for (int r_ = 1; r_ < (last); r_++)			\
				if (value_of(r_, of_) > value_of(best_, of_))	\
					best_ = r_;				\
			if ((p)[k_].v != value_of(best_, of_) || (p)[k_].i != best_ || \
			    !is_marked(&(p)[k_], sizeof((p)->v), offsetof(__typeof__(*(p)), i)) || \
			    !is_marked(&(p)[k_], offsetof(__typeof__(*(p)), i) + sizeof(int), \
				       sizeof(*(p))))				\
				wrong(name, what, k_);				\
		}								\
	} while (0)

#define TEST(pair, mpi_type)							\
static void test_##pair(const char *name)					\
{										\
	struct pair in[COUNT], out[COUNT];					\
	int counts[64] = { 0 };							\
	MPI_Request request;							\
										\
	FILL(in, COUNT);							\
	memset(out, MARK, sizeof(out));						\
	MPI_Allreduce(in, out, COUNT, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD);	\
	CHECK("allreduce", out, COUNT, 0, ranks);				\
	FILL(out, COUNT);							\
	MPI_Allreduce(MPI_IN_PLACE, out, COUNT, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD); \
	CHECK("allreduce in place", out, COUNT, 0, ranks);			\
	memset(out, MARK, sizeof(out));						\
	MPI_Reduce(in, me == 1 ? out : NULL, COUNT, mpi_type, MPI_MAXLOC, 1, MPI_COMM_WORLD); \
	if (me == 1)								\
		CHECK("reduce", out, COUNT, 0, ranks);				\
	memset(out, MARK, sizeof(out));						\
	MPI_Scan(in, out, COUNT, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD);		\
	CHECK("scan", out, COUNT, 0, me + 1);					\
	memset(out, MARK, sizeof(out));						\
	MPI_Iallreduce(in, out, COUNT, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD, &request); \
	MPI_Wait(&request, MPI_STATUS_IGNORE);					\
	CHECK("nonblocking", out, COUNT, 0, ranks);				\
	counts[0] = 3;								\
	counts[1] = 4;								\
	memset(out, MARK, sizeof(out));						\
	MPI_Reduce_scatter(in, out, counts, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD); \
	CHECK("reduce_scatter", out, counts[me], me ? 3 : 0, ranks);		\
	FILL(out, COUNT);							\
	MPI_Reduce_scatter(MPI_IN_PLACE, out, counts, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD); \
	CHECK("reduce_scatter in place", out, counts[me], me ? 3 : 0, ranks);	\
}

TEST(short_int, MPI_SHORT_INT)
TEST(long_int, MPI_LONG_INT)
TEST(double_int, MPI_DOUBLE_INT)
TEST(long_double_int, MPI_LONG_DOUBLE_INT)

int main(int argc, char **argv)
{
	int all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	test_short_int("MPI_SHORT_INT");
	test_long_int("MPI_LONG_INT");
	test_double_int("MPI_DOUBLE_INT");
	test_long_double_int("MPI_LONG_DOUBLE_INT");
	MPI_Allreduce(&wrongs, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!me && !all)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
