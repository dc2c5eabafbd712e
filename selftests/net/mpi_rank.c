// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_rank results SEED N | mpi_rank mixed SEED: one rank of MPI, for mpi.sh.
 *
 * results: random collectives, each of them also by its PMPI_ name, which is always the MPI
 * underneath: both must have written the same bytes.
 *
 * mixed: a message and a collective of two ranks in all orders that MPI allows, with 8 bytes to
 * 4 MiB. None may hang, though coll does the collective and the message is MPI's own.
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, size;
static uint64_t state;

static void fail(const char *what, uint64_t n)
{
	fprintf(stderr, "rank %d: %s, case %llu\n", me, what, (unsigned long long)n);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The same random numbers on all ranks. */
static uint32_t lot(uint32_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % n;
}

/* --- results ------------------------------------------------------------------ */

#define MOST	(1 << 16)

/* Collectives, by the functions that make them: one_reduction(), one_move(), one_vector(). */
#define REDUCTIONS	6
#define MOVES		5
#define VECTORS		4
#define COLLECTIVES	(REDUCTIONS + MOVES + VECTORS)

/* The case: a collective, and whether it blocks. */
static uint32_t which;
static int blocks;

/* Every collective in both forms, in random order, before one of them comes again. */
static void next_case(void)
{
	static uint32_t deck[2 * COLLECTIVES], left;
	uint32_t k, last;

	if (!left)
		for (; left < 2 * COLLECTIVES; left++)
			deck[left] = left;
	k = lot(left);
	last = deck[--left];
	which = deck[k] / 2;
	blocks = deck[k] % 2;
	deck[k] = last;
}

static unsigned char in[MOST], by_coll[MOST], by_mpi[MOST], inside[MOST];

/* Small numbers, so that sums of any order are exact; a value of the type in each element. */
static void fill_doubles(void)
{
	double *d = (double *)in;
	size_t i;

	for (i = 0; i < MOST / sizeof(*d); i++)
		d[i] = (double)((i * 7 + (size_t)me * 13) % 64);
}

static void fill_bytes(void)
{
	size_t i;

	for (i = 0; i < MOST; i++)
		in[i] = (unsigned char)(i * 31 + (size_t)me * 17);
}

static void compare(const char *what, uint64_t n)
{
	if (memcmp(by_coll, by_mpi, MOST))
		fail(what, n);
}

/* Wait in one of the ways there are. */
static void finish(MPI_Request *req)
{
	MPI_Request two[2] = { MPI_REQUEST_NULL, *req };
	int flag = 0, index, indices[2], nr;
	MPI_Status statuses[2];

	switch (lot(6)) {
	case 0:
		MPI_Wait(req, MPI_STATUS_IGNORE);
		return;
	case 1:
		MPI_Waitall(2, two, statuses);
		return;
	case 2:
		MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE);
		if (index != 1)
			fail("MPI_Waitany", 0);
		return;
	case 3:
		MPI_Waitsome(2, two, &nr, indices, statuses);
		if (nr != 1 || indices[0] != 1)
			fail("MPI_Waitsome", 0);
		return;
	case 4:
		while (!flag)
			MPI_Test(req, &flag, MPI_STATUS_IGNORE);
		return;
	default:
		while (!flag)
			MPI_Testall(2, two, &flag, statuses);
	}
}

/* A collective by coll, blocking or not, and by the MPI underneath. */
#define TWICE(name, iname, n, recv, ...) do {					\
	MPI_Request req_;							\
	unsigned char *recv;							\
										\
	memcpy(by_coll, inside, MOST);						\
	memcpy(by_mpi, inside, MOST);						\
	recv = by_coll;								\
	if (blocks) {								\
		MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);			\
	} else {								\
		MPI_##iname(__VA_ARGS__, MPI_COMM_WORLD, &req_);		\
		finish(&req_);							\
	}									\
	recv = by_mpi;								\
	PMPI_##name(__VA_ARGS__, MPI_COMM_WORLD);				\
	compare(#name, n);							\
} while (0)

static void one_reduction(uint64_t n)
{
	static const MPI_Op ops[] = { MPI_SUM, MPI_MAX, MPI_MIN };
	MPI_Op op = ops[lot(3)];
	int count = (int)lot(900), root = (int)lot((uint32_t)size), counts[64], r;
	const void *from = lot(2) ? MPI_IN_PLACE : in;

	fill_doubles();
	memcpy(inside, in, MOST);
	switch (which) {
	case 0:
		TWICE(Allreduce, Iallreduce, n, to, from, to, count, MPI_DOUBLE, op);
		break;
	case 1:
		/* MPICH 4.0.2 breaks off in place at another root, from 2 KiB on */
		TWICE(Reduce, Ireduce, n, to, me == root && !root ? from : in, to, count,
		      MPI_DOUBLE, op, root);
		break;
	case 2:
		TWICE(Scan, Iscan, n, to, from, to, count, MPI_DOUBLE, op);
		break;
	case 3:
		TWICE(Exscan, Iexscan, n, to, in, to, count, MPI_DOUBLE, op);
		break;
	case 4:
		for (r = 0; r < size; r++)
			counts[r] = (int)lot(200);
		TWICE(Reduce_scatter, Ireduce_scatter, n, to, in, to, counts, MPI_DOUBLE, op);
		break;
	default:
		TWICE(Reduce_scatter_block, Ireduce_scatter_block, n, to, in, to,
		      count / size, MPI_DOUBLE, op);
	}
}

/* Types with one signature, two int an element: even ranks have another one than odd ones. */
static MPI_Datatype pair_type(void)
{
	static MPI_Datatype types[3];
	int lengths[2] = { 1, 1 }, backwards[2] = { 2, 0 };

	if (!types[0]) {
		MPI_Type_contiguous(2, MPI_INT, &types[0]);
		MPI_Type_vector(2, 1, 2, MPI_INT, &types[1]);
		MPI_Type_indexed(2, lengths, backwards, MPI_INT, &types[2]);
		MPI_Type_commit(&types[0]);
		MPI_Type_commit(&types[1]);
		MPI_Type_commit(&types[2]);
	}
	return types[(lot(3) + (uint32_t)me) % 3];
}

static void one_move(uint64_t n)
{
	MPI_Datatype a = pair_type(), b = pair_type();
	int count = (int)lot(300), root = (int)lot((uint32_t)size);

	fill_bytes();
	memset(inside, 0xee, MOST);
	switch (which - REDUCTIONS) {
	case 0:
		TWICE(Bcast, Ibcast, n, to, me == root ? in : to, count, a, root);
		break;
	case 1:
		TWICE(Gather, Igather, n, to, in, count, a, to, count, b, root);
		break;
	case 2:
		TWICE(Scatter, Iscatter, n, to, in, count, a, to, count, b, root);
		break;
	case 3:
		TWICE(Allgather, Iallgather, n, to, in, count, a, to, count, b);
		break;
	default:
		TWICE(Alltoall, Ialltoall, n, to, in, count, a, to, count, b);
	}
}

/* What rank @r gives rank @to. */
static int amount(uint64_t n, int r, int to)
{
	return (int)((n * 31 + (uint64_t)r * 7 + (uint64_t)to * 3) % 50);
}

static void one_vector(uint64_t n)
{
	MPI_Datatype a = pair_type(), b = pair_type();
	int gives[64], gets[64], from[64], into[64], mine[64], r;
	int root = (int)lot((uint32_t)size);

	fill_bytes();
	memset(inside, 0xee, MOST);
	for (r = 0; r < size; r++) {
		gives[r] = amount(n, me, r);
		gets[r] = amount(n, r, me);
		mine[r] = amount(n, r, r);
		from[r] = 60 * r;
		into[r] = 60 * (size - r);
	}
	switch (which - REDUCTIONS - MOVES) {
	case 0:
		TWICE(Gatherv, Igatherv, n, to, in, mine[me], a, to, mine, into, b, root);
		break;
	case 1:
		TWICE(Scatterv, Iscatterv, n, to, in, mine, from, a, to, mine[me], b, root);
		break;
	case 2:
		TWICE(Allgatherv, Iallgatherv, n, to, in, mine[me], a, to, mine, into, b);
		break;
	default:
		TWICE(Alltoallv, Ialltoallv, n, to, in, gives, from, a, to, gets, into, b);
	}
}

static void results(uint64_t n)
{
	uint64_t i;

	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < n; i++) {
		next_case();
		if (which < REDUCTIONS)
			one_reduction(i);
		else if (which < REDUCTIONS + MOVES)
			one_move(i);
		else
			one_vector(i);
	}
}

/* --- messages beside collectives ---------------------------------------------- */

#define LARGE	(4 << 20)

static unsigned char *message;

/* When the message is begun and when it is waited for: before or after the collective. */
struct order {
	int begin_after;
	int end_after;
	int blocking;
};

static const struct order sends[] = {
	{ 0, 0, 0 }, { 0, 1, 0 }, { 1, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 },
}, receives[] = {
	{ 0, 0, 0 }, { 0, 1, 0 }, { 1, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 },
};

static const int sizes[] = { 8, 1000, 70000, 1 << 20, LARGE };

static int is_legal(const struct order *s, const struct order *r)
{
	return !(!s->end_after && r->begin_after) && !(s->begin_after && !r->end_after);
}

static void begin(int sending, const struct order *o, int bytes, MPI_Request *req)
{
	int peer = me ^ 1;

	*req = MPI_REQUEST_NULL;
	if (sending && o->blocking)
		MPI_Ssend(message, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD);
	else if (sending)
		MPI_Isend(message, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD, req);
	else if (o->blocking)
		MPI_Recv(message, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Irecv(message, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD, req);
}

static void collective(uint32_t kind)
{
	MPI_Request req;
	int one = 1, sum = 0;

	switch (kind) {
	case 0:
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	case 1:
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (sum != size)
			fail("sum", (uint64_t)sum);
		return;
	default:
		MPI_Ibarrier(MPI_COMM_WORLD, &req);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
}

static void one_mixture(uint64_t n, const struct order *o, int sending, int bytes, uint32_t kind)
{
	unsigned char mark = (unsigned char)(n * 3 + 1);
	MPI_Request req = MPI_REQUEST_NULL;
	uint32_t late = lot(2), us = lot(2000);

	memset(message, sending ? mark : 0, (size_t)bytes);
	/* the other side may be in its wait already */
	if (late == (uint32_t)me % 2)
		usleep(us);
	if (!o->begin_after)
		begin(sending, o, bytes, &req);
	if (!o->end_after)
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	collective(kind);
	if (o->begin_after)
		begin(sending, o, bytes, &req);
	if (o->end_after)
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	if (!sending && (message[0] != mark || message[bytes - 1] != mark))
		fail("message", n);
}

static void mixed(void)
{
	enum { NR = 5 * 5 * 3 * 5 * 2 };
	int cases[NR], i;

	message = malloc(LARGE);
	if (!message)
		fail("memory", 0);
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < NR; i++)
		cases[i] = i;
	for (i = NR - 1; i > 0; i--) {
		int k = (int)lot((uint32_t)i + 1), other = cases[k];

		cases[k] = cases[i];
		cases[i] = other;
	}
	for (i = 0; i < NR; i++) {
		int x = cases[i], sending;
		const struct order *s = &sends[x % 5], *r = &receives[x / 5 % 5];

		if (!is_legal(s, r))
			continue;
		sending = (x / 375) == me % 2;
		one_mixture((uint64_t)x, sending ? s : r, sending, sizes[x / 75 % 5],
			    (uint32_t)(x / 25 % 3));
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 3 || size > 64)
		fail("usage", 0);
	state = strtoull(argv[2], NULL, 0);
	if (!strcmp(argv[1], "mixed"))
		mixed();
	else
		results(argc > 3 ? strtoull(argv[3], NULL, 0) : 100);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
