// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_rank results|strange SEED N | mpi_rank mixed SEED: one rank of MPI, for mpi.sh.
 *
 * results: random collectives, blocking, nonblocking and persistent, each of them also by its
 * PMPI_ name, which is always the MPI underneath: both must have written the same bytes.
 *
 * strange: the same with buffers that the kernel does not pin, on every other rank.
 *
 * mixed: a message and a collective of two ranks in all orders that MPI allows, with 8 bytes to
 * 4 MiB. None may hang, though coll does the collective and the message is MPI's own.
 */
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define INIT(name)	MPIX_##name##_init
#else
#define INIT(name)	MPI_##name##_init
#endif

#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
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

/*
 * Collectives, by the functions that make them: one_reduction(), one_move(), one_vector(),
 * one_own_reduction().
 */
#define REDUCTIONS	6
#define MOVES		5
#define VECTORS		5
#define OWN		6
#define COLLECTIVES	(REDUCTIONS + MOVES + VECTORS + OWN)

/* The case: a collective and its form. */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
static uint32_t which;
static enum form form;

/* No call goes to the MPI underneath that coll can do. */
static int all_go_through(void)
{
	const char *least = getenv("COLL_MPI_MIN");

	return least && !strcmp(least, "0");
}

/*
 * MPICH 4.0.2 itself goes wrong when some of its persistent collectives are started for the second
 * time: so none of them may go to the MPI underneath. Open MPI can do it.
 */
static int is_safe(int goes_through)
{
	return form != PERSISTENT || MPI_VERSION < 4 || (goes_through && all_go_through());
}

/* Every collective in all forms, in random order, before one of them comes again. */
static void next_case(void)
{
	static uint32_t deck[FORMS * COLLECTIVES], left;
	uint32_t k, last;

	if (!left)
		for (; left < FORMS * COLLECTIVES; left++)
			deck[left] = left;
	k = lot(left);
	last = deck[--left];
	which = deck[k] / FORMS;
	form = (enum form)(deck[k] % FORMS);
	deck[k] = last;
	if (!is_safe(which < REDUCTIONS + MOVES + VECTORS))
		form = NONBLOCKING;
}

/* coll never does a call without elements. A persistent call must go to coll: see is_safe(). */
static int some(uint32_t most)
{
	return (int)lot(most) + (form == PERSISTENT ? size : 0);
}

#define PAGES	__attribute__((aligned(4096)))

static unsigned char in[MOST] PAGES, by_coll[MOST] PAGES, by_mpi[MOST] PAGES, inside[MOST];

/* A persistent collective is started so often, with other input each time. */
#define STARTS	3
static size_t start;
/* This function fills in the input. Before a call, both outputs have the same bytes. */
static void (*fill)(void);
static int is_in_place;

/* Small numbers, so that sums of any order are exact; a value of the type in each element. */
static void fill_doubles(void)
{
	double *d = (double *)in;
	size_t i;

	for (i = 0; i < MOST / sizeof(*d); i++)
		d[i] = (double)((i * 7 + (size_t)me * 13 + start) % 64);
}

static void fill_bytes(void)
{
	size_t i;

	for (i = 0; i < MOST; i++)
		in[i] = (unsigned char)(i * 31 + (size_t)me * 17 + start);
}

static void set_input(void (*how)(void), int in_place)
{
	start = 0;
	fill = how;
	is_in_place = in_place;
	fill();
	if (in_place)
		memcpy(inside, in, MOST);
	else
		memset(inside, 0xee, MOST);
}

static void change_input(void)
{
	start++;
	fill();
	if (is_in_place)
		memcpy(inside, in, MOST);
}

static void set_results(void)
{
	memcpy(by_coll, inside, MOST);
	memcpy(by_mpi, inside, MOST);
}

/* Bytes of a result that count; behind them an MPI may leave what it likes. */
static size_t counts_to = MOST;

static void compare(const char *what, uint64_t n)
{
	if (memcmp(by_coll, by_mpi, counts_to))
		fail(what, n);
}

/* Wait in one of the ways there are. */
static void finish(MPI_Request *req)
{
	MPI_Request two[2] = { MPI_REQUEST_NULL, *req };
	int flag = 0, index, indices[2], nr;
	MPI_Status statuses[2];

	if (*req == MPI_REQUEST_NULL)
		return;
	switch (lot(7)) {
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
	case 5:
		while (!flag)
			MPI_Request_get_status(*req, &flag, MPI_STATUS_IGNORE);
		MPI_Wait(req, MPI_STATUS_IGNORE);
		return;
	default:
		while (!flag)
			MPI_Testall(2, two, &flag, statuses);
	}
}

/* A collective by coll, in the form of this case, and by the MPI underneath. */
#define TWICE(name, iname, n, recv, ...) do {					\
	MPI_Request req_ = MPI_REQUEST_NULL;					\
	unsigned char *recv = by_coll;						\
										\
	if (form == PERSISTENT)							\
		INIT(name)(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &req_);	\
	do {									\
		set_results();							\
		recv = by_coll;							\
		if (form == BLOCKING)						\
			MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);		\
		else if (form == NONBLOCKING)					\
			MPI_##iname(__VA_ARGS__, MPI_COMM_WORLD, &req_);	\
		else								\
			MPI_Start(&req_);					\
		finish(&req_);							\
		recv = by_mpi;							\
		PMPI_##name(__VA_ARGS__, MPI_COMM_WORLD);			\
		compare(#name, n);						\
		change_input();							\
	} while (form == PERSISTENT && start < STARTS);				\
	if (form == PERSISTENT)							\
		MPI_Request_free(&req_);					\
	counts_to = MOST;							\
} while (0)

/* An element is the function a x + b; the operator puts two together, and does not commute. */
static void after(void *in_, void *inout_, int *n, MPI_Datatype *type)
{
	const unsigned int *f = in_;
	unsigned int *g = inout_;
	int i;

	(void)type;
	for (i = 0; i < *n; i++, f += 2, g += 2) {
		g[1] += g[0] * f[1];
		g[0] *= f[0];
	}
}

static MPI_Op after_op;
static MPI_Datatype after_type;

static void make_after(void)
{
	if (after_op)
		return;
	MPI_Op_create(after, 0, &after_op);
	MPI_Type_contiguous(2, MPI_UNSIGNED, &after_type);
	MPI_Type_commit(&after_type);
}

/* Rank 0 of exscan has no result. coll takes NULL there, and MPICH does not. */
static void *no_result(unsigned char *to, int may_be_null)
{
	return may_be_null && !me && to == by_coll && all_go_through() ? NULL : to;
}

static void one_own_reduction(uint64_t n)
{
	int count = some(lot(2) ? 900 : 8000), root = (int)lot((uint32_t)size), counts[64], r;
	const void *from = lot(2) ? MPI_IN_PLACE : in;
	int none = (int)lot(2);

	make_after();
	set_input(fill_bytes, 1);
	switch (which - REDUCTIONS - MOVES - VECTORS) {
	case 0:
		TWICE(Allreduce, Iallreduce, n, to, from, to, count, after_type, after_op);
		break;
	case 1:
		TWICE(Reduce, Ireduce, n, to, me == root && !root ? from : in, to, count,
		      after_type, after_op, root);
		break;
	case 2:
		TWICE(Scan, Iscan, n, to, from, to, count, after_type, after_op);
		break;
	case 3:
		TWICE(Exscan, Iexscan, n, to, in, no_result(to, form == BLOCKING && none), count,
		      after_type, after_op);
		break;
	case 4:
		for (r = 0; r < size; r++)
			counts[r] = (int)lot(200);
		if (from != in)
			counts_to = (size_t)counts[me] * 8;
		TWICE(Reduce_scatter, Ireduce_scatter, n, to, from, to, counts, after_type,
		      after_op);
		break;
	default:
		if (from != in)
			counts_to = (size_t)(count / size) * 8;
		TWICE(Reduce_scatter_block, Ireduce_scatter_block, n, to, from, to,
		      count / size, after_type, after_op);
	}
}

static void one_reduction(uint64_t n)
{
	static const MPI_Op ops[] = { MPI_SUM, MPI_MAX, MPI_MIN };
	MPI_Op op = ops[lot(3)];
	int count = some(900), root = (int)lot((uint32_t)size), counts[64], r;
	const void *from = lot(2) ? MPI_IN_PLACE : in;
	int none = (int)lot(2);

	set_input(fill_doubles, 1);
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
		TWICE(Exscan, Iexscan, n, to, in, no_result(to, none), count, MPI_DOUBLE, op);
		break;
	case 4:
		for (r = 0; r < size; r++)
			counts[r] = (int)lot(200);
		if (from != in)
			counts_to = (size_t)counts[me] * 8;
		TWICE(Reduce_scatter, Ireduce_scatter, n, to, from, to, counts, MPI_DOUBLE, op);
		break;
	default:
		if (from != in)
			counts_to = (size_t)(count / size) * 8;
		TWICE(Reduce_scatter_block, Ireduce_scatter_block, n, to, from, to,
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
	int count = some(300), root = (int)lot((uint32_t)size);
	const void *from = lot(2) ? MPI_IN_PLACE : in;

	set_input(fill_bytes, which - REDUCTIONS == MOVES - 1 && from != in);
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
		TWICE(Alltoall, Ialltoall, n, to, from, count, a, to, count, b);
	}
}

/* What rank @r gives rank @to. */
static int amount(uint64_t n, int r, int to)
{
	return (int)((n * 31 + (uint64_t)r * 7 + (uint64_t)to * 3) % 50);
}

/* In place, two ranks give each other blocks of the same size. */
static void one_vector_in_place(uint64_t n, MPI_Datatype type)
{
	int counts[64], displs[64], r;

	set_input(fill_bytes, 1);
	for (r = 0; r < size; r++) {
		counts[r] = amount(n, r < me ? r : me, r < me ? me : r);
		displs[r] = 60 * (size - r);
	}
	TWICE(Alltoallv, Ialltoallv, n, to, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, to,
	      counts, displs, type);
}

/* Blocks of several types. @from and @into are in elements, which have up to three int. */
static void one_of_types(uint64_t n, const int *gives, const int *from, const int *gets,
			 const int *into)
{
	MPI_Datatype stypes[64], rtypes[64];
	int sdispls[64], rdispls[64], r;

	for (r = 0; r < size; r++) {
		stypes[r] = pair_type();
		rtypes[r] = pair_type();
		sdispls[r] = 12 * from[r];
		rdispls[r] = 12 * into[r];
	}
	TWICE(Alltoallw, Ialltoallw, n, to, in, gives, sdispls, stypes, to, gets, rdispls,
	      rtypes);
}

static void one_vector(uint64_t n)
{
	MPI_Datatype a = pair_type(), b = pair_type();
	int gives[64], gets[64], from[64], into[64], mine[64], r;
	int root = (int)lot((uint32_t)size);

	set_input(fill_bytes, 0);
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
	case 3:
		one_of_types(n, gives, from, gets, into);
		break;
	default:
		if (lot(2))
			one_vector_in_place(n, b);
		else
			TWICE(Alltoallv, Ialltoallv, n, to, in, gives, from, a, to, gets, into,
			      b);
	}
}

/* Memory that the kernel does not pin. All of its pages are there. */
static void watch_faults(void *mem)
{
	struct uffdio_register r = {
		.range = { .start = (uintptr_t)mem, .len = MOST },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	static struct uffdio_api api = { .api = UFFD_API };
	static int fd = -1;

	if (fd < 0) {
		fd = (int)syscall(SYS_userfaultfd, 0);
		if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
			fail("userfaultfd", 0);
	}
	memset(mem, 1, MOST);
	if (ioctl(fd, UFFDIO_REGISTER, &r))
		fail("userfaultfd", 1);
}

static void results(uint64_t n, int strange)
{
	uint64_t i;

	MPI_Barrier(MPI_COMM_WORLD);
	/* on every other rank */
	if (strange && me % 2 == 0) {
		watch_faults(in);
		watch_faults(by_coll);
	}
	for (i = 0; i < n; i++) {
		next_case();
		/* each of them is several commands */
		if (strange && which >= REDUCTIONS + MOVES + VECTORS)
			continue;
		if (which < REDUCTIONS)
			one_reduction(i);
		else if (which < REDUCTIONS + MOVES)
			one_move(i);
		else if (which < REDUCTIONS + MOVES + VECTORS)
			one_vector(i);
		else
			one_own_reduction(i);
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

/* So large that coll takes it in several pieces, each of which is waited for */
static void own_collective(void)
{
	static unsigned int from[3 << 18], into[3 << 18];
	int n = (3 << 18) / 2;

	make_after();
	from[0] = from[2 * n - 2] = 3;
	from[1] = from[2 * n - 1] = 1;
	MPI_Allreduce(from, into, n, after_type, after_op, MPI_COMM_WORLD);
	PMPI_Allreduce(MPI_IN_PLACE, from, 1, after_type, after_op, MPI_COMM_WORLD);
	if (memcmp(from, into, 8) || memcmp(from, into + 2 * n - 2, 8))
		fail("operator", (uint64_t)into[0]);
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
	case 2:
		own_collective();
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
	enum { NR = 5 * 5 * 4 * 5 * 2 };
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
		sending = (x / 500) == me % 2;
		one_mixture((uint64_t)x, sending ? s : r, sending, sizes[x / 100 % 5],
			    (uint32_t)(x / 25 % 4));
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
		results(argc > 3 ? strtoull(argv[3], NULL, 0) : 100, !strcmp(argv[1], "strange"));
	MPI_Barrier(MPI_COMM_WORLD);
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
