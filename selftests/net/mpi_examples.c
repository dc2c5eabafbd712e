// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... mpi_examples: the examples of global reductions in MPI-1.1, sections 4.9.2
 * to 4.11.1, as programs of coll, each with the answer that it must give.
 *
 *	4.15	dot product of distributed vectors, answer at node zero
 *	4.16	product of a vector and a distributed array, answer at node zero
 *	4.17	the largest of 30 values of each process, and where it is
 *	4.18	the same with pairs of doubles, as in Fortran
 *	4.19	the least of arrays of all processes, its owner, and its index there
 *	4.20	product of complex numbers by an operator of the user's own
 *	4.21	4.16 with the answer at all nodes
 *	4.22	segmented scan by an operator of the user's own
 *
 * Values are integers, small enough to be exact in any order.
 */
#include <complex.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "rank.h"

#define ROOT	0

static coll_comm_t *comm;
static uint32_t size;
static int bad, shown;

static void answer(bool right, const char *example, const char *what)
{
	if (!right) {
		bad++;
		fprintf(stderr, "rank %u of %u: example %s, %s: wrong\n", me, size, example, what);
	}
	shown++;
}

/* Element @i of the distributed vectors, of any length. */
static double a_at(uint64_t i)
{
	return (double)(i * 7 % 23) - 11;
}

static double b_at(uint64_t i, uint64_t column)
{
	return (double)((i * 5 + column * 3) % 17) - 8;
}

/* Rank r has M + r elements, behind those of the ranks below. */
#define M	100

static uint64_t first_of(uint32_t rank)
{
	return (uint64_t)rank * M + (uint64_t)rank * (rank - 1) / 2;
}

static double product(uint64_t from, uint64_t to, uint64_t column)
{
	double sum = 0;
	uint64_t i;

	for (i = from; i < to; i++)
		sum += a_at(i) * b_at(i, column);
	return sum;
}

/* PAR_BLAS1: the dot product, answer at node zero. */
static void dot_product(void)
{
	double sum = product(first_of(me), first_of(me + 1), 0), c = -1;

	must(coll_reduce(comm, &sum, &c, 1, COLL_F64, COLL_OP_SUM, ROOT), "4.15");
	answer(c == (me == ROOT ? product(0, first_of(size), 0) : -1), "4.15", "dot product");
}

#define N	37

/* PAR_BLAS2: vector times array, whose rows are distributed; @all: answer everywhere. */
static void matrix_product(bool all)
{
	const char *name = all ? "4.21" : "4.16";
	double sum[N], c[N];
	int j, right = 0;

	for (j = 0; j < N; j++) {
		sum[j] = product(first_of(me), first_of(me + 1), j);
		c[j] = -1;
	}
	if (all)
		must(coll_allreduce(comm, sum, c, N, COLL_F64, COLL_OP_SUM), name);
	else
		must(coll_reduce(comm, sum, c, N, COLL_F64, COLL_OP_SUM, ROOT), name);
	for (j = 0; j < N; j++)
		right += c[j] == (all || me == ROOT ? product(0, first_of(size), j) : -1);
	answer(right == N, name, "vector times array");
}

#define AINS	30

/* The value of @rank at location @i; the largest one is there more than once. */
static double ain_at(uint32_t rank, int i)
{
	return (double)((rank * 5 + (uint32_t)i * 3) % 7) - 0.5 * i;
}

static uint32_t owner_of(int i)
{
	uint32_t r, best = 0;

	for (r = 1; r < size; r++)
		if (ain_at(r, i) > ain_at(best, i))
			best = r;
	return best;
}

struct double_int {
	double val;
	int32_t rank;
};

static void maxloc(void)
{
	struct double_int in[AINS], out[AINS];
	int i, right = 0;

	for (i = 0; i < AINS; i++) {
		in[i].val = ain_at(me, i);
		in[i].rank = (int32_t)me;
	}
	must(coll_reduce(comm, in, out, AINS, COLL_F64_I32, COLL_OP_MAXLOC, ROOT), "4.17");
	for (i = 0; me == ROOT && i < AINS; i++)
		right += out[i].rank == (int32_t)owner_of(i) &&
			 out[i].val == ain_at(owner_of(i), i);
	answer(me != ROOT || right == AINS, "4.17", "maxloc");
}

static void maxloc_fortran(void)
{
	double in[AINS][2], out[AINS][2];
	int i, right = 0;

	for (i = 0; i < AINS; i++) {
		in[i][0] = ain_at(me, i);
		in[i][1] = me;
	}
	must(coll_reduce(comm, in, out, AINS, COLL_F64_F64, COLL_OP_MAXLOC, ROOT), "4.18");
	for (i = 0; me == ROOT && i < AINS; i++)
		right += out[i][1] == owner_of(i) && out[i][0] == ain_at(owner_of(i), i);
	answer(me != ROOT || right == AINS, "4.18", "maxloc of doubles");
}

#define LEN	1000

static float val_at(uint32_t rank, uint32_t i)
{
	return (float)((rank * 7919 + i * 104729 + 31) % 65537);
}

struct float_int {
	float value;
	int32_t index;
};

/* Index over all: the first one of equal values, as MINLOC finds it. */
static uint32_t least(void)
{
	uint32_t k, best = 0;

	for (k = 1; k < size * LEN; k++)
		if (val_at(k / LEN, k % LEN) < val_at(best / LEN, best % LEN))
			best = k;
	return best;
}

static void minloc(void)
{
	struct float_int in = { val_at(me, 0), 0 }, out = { 0 };
	uint32_t i, want = least(), minrank, minindex;

	for (i = 1; i < LEN; i++) {
		if (in.value > val_at(me, i)) {
			in.value = val_at(me, i);
			in.index = (int32_t)i;
		}
	}
	in.index += (int32_t)(me * LEN);
	must(coll_reduce(comm, &in, &out, 1, COLL_F32_I32, COLL_OP_MINLOC, ROOT), "4.19");
	minrank = (uint32_t)out.index / LEN;
	minindex = (uint32_t)out.index % LEN;
	answer(me != ROOT || (minrank == want / LEN && minindex == want % LEN &&
			      out.value == val_at(minrank, minindex)), "4.19", "minloc");
}

static void my_prod(const void *invec, void *inoutvec, uint64_t len,
		    const struct coll_user_type *type, void *arg)
{
	const double complex *in = invec;
	double complex *inout = inoutvec;

	for (; len--; in++, inout++)
		*inout = CMPLX(creal(*inout) * creal(*in) - cimag(*inout) * cimag(*in),
			       creal(*inout) * cimag(*in) + cimag(*inout) * creal(*in));
}

/* Powers of i, and of 2 now and then: any product of them is exact. */
static double complex factor(uint32_t rank, int i)
{
	static const double complex units[] = { 1, I, -1, -I };

	return units[(rank * 3 + (uint32_t)i) % 4] * ((rank + (uint32_t)i) % 5 ? 1 : 2);
}

/* 100 numbers of each process, as elements of 16 bytes, and as a type of coll. */
static void complex_product(void)
{
	double complex a[100], want[100], result[100], all[100];
	coll_op_t op;
	uint32_t r;
	int i, right = 0;

	for (i = 0; i < 100; i++) {
		a[i] = factor(me, i);
		for (want[i] = 1, r = 0; r < size; r++)
			want[i] *= factor(r, i);
	}
	must(coll_op_create(my_prod, true, NULL, &op), "4.20");
	must(coll_user_reduce(comm, a, result, 100, coll_type_opaque(sizeof(a[0])), op, ROOT),
	     "4.20");
	must(coll_user_allreduce(comm, a, all, 100, coll_type_of(COLL_C64), op), "4.20");
	must(coll_op_free(op), "4.20");
	for (i = 0; i < 100; i++)
		right += all[i] == want[i] && (me != ROOT || result[i] == want[i]);
	answer(right == 100, "4.20", "complex product");
}

struct seg_scan {
	double val;
	int32_t log;
};

/*
 * The operator of the text. It is not associative: of segments 0, 1, 0, the outer ones are added up
 * if the last two are combined first. The result is right because coll folds from the left.
 */
static void seg_scan(const void *invec, void *inoutvec, uint64_t len,
		     const struct coll_user_type *type, void *arg)
{
	const struct seg_scan *in = invec;
	struct seg_scan *inout = inoutvec;

	for (; len--; in++, inout++)
		if (in->log == inout->log)
			inout->val += in->val;
}

/* The text's picture: segments of 2, 3, 2 and 1 processes, repeated for more. */
static void segmented_scan(void)
{
	static const int32_t logs[] = { 0, 0, 1, 1, 1, 0, 0, 1 };
	static const uint32_t begins[] = { 0, 0, 2, 2, 2, 5, 5, 7 };
	struct seg_scan a, result;
	uint32_t r, from = me / 8 * 8 + begins[me % 8];
	double want = 0;
	coll_op_t op;

	memset(&a, 0, sizeof(a));
	a.val = 10 * me + 1;
	a.log = logs[me % 8];
	for (r = from; r <= me; r++)
		want += 10 * r + 1;
	must(coll_op_create(seg_scan, false, NULL, &op), "4.22");
	must(coll_user_scan(comm, &a, &result, 1, coll_type_opaque(sizeof(a)), op), "4.22");
	must(coll_op_free(op), "4.22");
	answer(result.val == want && result.log == a.log, "4.22", "segmented scan");
}

int main(void)
{
	must(coll_init(NULL, &comm), "init");
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	coll_comm_set_timeout(comm, 60000000000ULL);
	dot_product();
	matrix_product(false);
	maxloc();
	maxloc_fortran();
	minloc();
	complex_product();
	matrix_product(true);
	segmented_scan();
	if (!me)
		printf("# %u ranks, %u nodes: %d answers, %d of rank 0 wrong\n", size,
		       coll_comm_nodes(comm), shown, bad);
	must(coll_finalize(comm), "finalize");
	return bad != 0;
}
