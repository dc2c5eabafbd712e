// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_persistent order SEED ROUNDS | many SEED | odd | errors: persistent collectives, for mpi.sh.
 *
 * order: requests on two communicators. Each rank starts them in a random order of its own, with
 * other collectives among them, and waits in all ways there are. Some are freed and made again.
 *
 * many: more requests than coll does for one communicator; the others are the MPI's own.
 *
 * odd: what programs seldom do, such as to free a request that is under way; and what MPI says of
 * a request that another rank has not started.
 *
 * errors: ranks that disagree. The request ends with an error, the others go on.
 */
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define INIT(name)	MPIX_##name##_init
#else
#define INIT(name)	MPI_##name##_init
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define WORLD	MPI_COMM_WORLD

static int me, size;
static uint64_t shared, own;
static int inits, starts;
static MPI_Status sts[70];

static void fail(const char *what, int n)
{
	fprintf(stderr, "rank %d: %s, %d\n", me, what, n);
	MPI_Abort(WORLD, 1);
}

static int next(uint64_t *state, int n)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int)((uint32_t)(*state >> 33) % (uint32_t)n);
}

/* The same random numbers on all ranks. */
static int lot(int n)
{
	return next(&shared, n);
}

/* Other ones on each rank. */
static int own_lot(int n)
{
	return next(&own, n);
}

/* 0 to @n - 1 in an order of this rank. */
static void shuffle(int *order, int n)
{
	int i, k;

	for (i = 0; i < n; i++) {
		k = own_lot(i + 1);
		order[i] = order[k];
		order[k] = i;
	}
}

/* --- requests ----------------------------------------------------------------- */

enum kind { ALLREDUCE, BCAST, BARRIER, REDUCE, ALLGATHER, ALLTOALL, GATHER, SCAN, SCATTER, KINDS };

#define MOST		600
#define RANKS		8

/**
 * struct one - a request
 * @id: what its values depend on
 * @count: elements of one rank
 * @in_step: from one element of the input to the next; 2: their type has gaps
 * @out_step: the same of the result
 */
struct one {
	MPI_Request req;
	enum kind kind;
	int id, root, count, in_step, out_step;
	int in[2 * MOST * RANKS], out[2 * MOST * RANKS];
};

static int value(const struct one *o, int round, int rank, int i)
{
	return (o->id * 7 + round * 131 + rank * 1009 + i * 3) % 4096;
}

/* Elements of the input and of the result on this rank. */
static int in_count(const struct one *o)
{
	if (o->kind == BARRIER || o->kind == BCAST || (o->kind == SCATTER && me != o->root))
		return 0;
	return o->kind == ALLTOALL || o->kind == SCATTER ? o->count * size : o->count;
}

static int out_count(const struct one *o)
{
	int at_root = o->kind == REDUCE || o->kind == GATHER;

	if (o->kind == BARRIER || (at_root && me != o->root))
		return 0;
	if (o->kind == ALLGATHER || o->kind == ALLTOALL || o->kind == GATHER)
		return o->count * size;
	return o->count;
}

static void fill(struct one *o, int round)
{
	int i;

	memset(o->out, 0xff, sizeof(o->out));
	for (i = 0; i < in_count(o); i++)
		o->in[i * o->in_step] = value(o, round, me, i);
	for (i = 0; o->kind == BCAST && me == o->root && i < o->count; i++)
		o->out[i * o->out_step] = value(o, round, me, i);
}

/* Element @i of the result. */
static int expected(const struct one *o, int round, int i)
{
	int r, v, x = 0, last = o->kind == SCAN ? me : size - 1;

	if (o->kind == BCAST)
		return value(o, round, o->root, i);
	if (o->kind == SCATTER)
		return value(o, round, o->root, me * o->count + i);
	if (o->kind == ALLGATHER || o->kind == GATHER)
		return value(o, round, i / o->count, i % o->count);
	if (o->kind == ALLTOALL)
		return value(o, round, i / o->count, me * o->count + i % o->count);
	for (r = 0; r <= last; r++) {
		v = value(o, round, r, i);
		if (o->kind != REDUCE)
			x += v;
		else if (v > x)
			x = v;
	}
	return x;
}

static int is_right(const struct one *o, int round)
{
	int i;

	for (i = 0; i < out_count(o); i++)
		if (o->out[i * o->out_step] != expected(o, round, i))
			return 0;
	return 1;
}

static void check(const struct one *o, int round)
{
	if (!is_right(o, round))
		fail("a result", o->kind * 1000 + round);
}

/* So many numbers, with gaps or not. */
static MPI_Datatype type_of(int count, int step)
{
	MPI_Datatype type;

	MPI_Type_vector(count, 1, step, MPI_INT, &type);
	MPI_Type_commit(&type);
	return type;
}

static void init_moves(struct one *o, MPI_Comm comm)
{
	MPI_Datatype type = type_of(o->count, 2);

	/* The types are freed before the first start. */
	if (o->kind == BCAST && o->out_step == 2)
		INIT(Bcast)(o->out, 1, type, o->root, comm, MPI_INFO_NULL, &o->req);
	else if (o->kind == BCAST)
		INIT(Bcast)(o->out, o->count, MPI_INT, o->root, comm, MPI_INFO_NULL, &o->req);
	else if (o->kind == ALLGATHER && o->in_step == 2)
		INIT(Allgather)(o->in, 1, type, o->out, o->count, MPI_INT, comm, MPI_INFO_NULL,
				&o->req);
	else if (o->kind == ALLGATHER)
		INIT(Allgather)(o->in, o->count, MPI_INT, o->out, o->count, MPI_INT, comm,
				MPI_INFO_NULL, &o->req);
	else if (o->kind == ALLTOALL)
		INIT(Alltoall)(o->in, o->count, MPI_INT, o->out, o->count, MPI_INT, comm,
			       MPI_INFO_NULL, &o->req);
	else if (o->kind == GATHER)
		INIT(Gather)(o->in, o->count, MPI_INT, o->out, o->count, MPI_INT, o->root, comm,
			     MPI_INFO_NULL, &o->req);
	else
		INIT(Scatter)(o->in, o->count, MPI_INT, o->out, o->count, MPI_INT, o->root, comm,
			      MPI_INFO_NULL, &o->req);
	MPI_Type_free(&type);
}

/* All ranks alike, but for steps. */
static void init(struct one *o, enum kind kind, int id, MPI_Comm comm)
{
	o->kind = kind;
	o->id = id;
	o->root = lot(size);
	o->count = 1 + lot(lot(2) ? MOST : 4);
	o->in_step = kind == ALLGATHER && me % 2 ? 2 : 1;
	o->out_step = kind == BCAST && me % 2 ? 2 : 1;
	if (kind == ALLREDUCE)
		INIT(Allreduce)(o->in, o->out, o->count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
				&o->req);
	else if (kind == BARRIER)
		INIT(Barrier)(comm, MPI_INFO_NULL, &o->req);
	else if (kind == REDUCE)
		INIT(Reduce)(o->in, o->out, o->count, MPI_INT, MPI_MAX, o->root, comm,
			     MPI_INFO_NULL, &o->req);
	else if (kind == SCAN)
		INIT(Scan)(o->in, o->out, o->count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &o->req);
	else
		init_moves(o, comm);
	inits++;
}

/* --- waits -------------------------------------------------------------------- */

#define WAYS	9
#define K	24

static void wait_any(int n, MPI_Request *reqs, int some)
{
	int index = 0, nr = 0, indices[K];

	while (!some && index != MPI_UNDEFINED)
		MPI_Waitany(n, reqs, &index, MPI_STATUS_IGNORE);
	while (some && nr != MPI_UNDEFINED)
		MPI_Waitsome(n, reqs, &nr, indices, sts);
}

static void test_any(int n, MPI_Request *reqs, int some)
{
	int index = 0, nr = 0, flag, indices[K];

	while (!some && index != MPI_UNDEFINED) {
		MPI_Testany(n, reqs, &index, &flag, MPI_STATUS_IGNORE);
		if (!flag)
			index = 0;
	}
	while (some && nr != MPI_UNDEFINED)
		MPI_Testsome(n, reqs, &nr, indices, sts);
}

static void test_until(MPI_Request *req, int by_status)
{
	int flag = 0;

	while (!flag && by_status)
		MPI_Request_get_status(*req, &flag, MPI_STATUS_IGNORE);
	for (flag = 0; !flag; )
		MPI_Test(req, &flag, MPI_STATUS_IGNORE);
}

/* Until none of them is active. */
static void wait_all(int way, int n, MPI_Request *reqs)
{
	int i, flag = 0;

	switch (way) {
	case 0:
		MPI_Waitall(n, reqs, sts);
		return;
	case 1:
	case 2:
		wait_any(n, reqs, way == 2);
		return;
	case 3:
	case 4:
		test_any(n, reqs, way == 4);
		return;
	case 5:
		while (!flag)
			MPI_Testall(n, reqs, &flag, sts);
		return;
	default:
		for (i = 0; i < n; i++)
			if (way == 6)
				MPI_Wait(&reqs[i], MPI_STATUS_IGNORE);
			else
				test_until(&reqs[i], way == 7);
	}
}

/* --- any order ---------------------------------------------------------------- */

static struct one ones[K];

/* Other collectives among the starts. They are in one order on all ranks. */
static void between(void)
{
	static int from[MOST], into[MOST], late[MOST];
	MPI_Request req;
	int i;

	for (i = 0; i < MOST; i++)
		from[i] = me + i;
	MPI_Iallreduce(from, late, MOST, MPI_INT, MPI_SUM, WORLD, &req);
	MPI_Allreduce(from, into, MOST, MPI_INT, MPI_MAX, WORLD);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	for (i = 0; i < MOST; i++)
		if (into[i] != size - 1 + i || late[i] != size * (size - 1) / 2 + size * i)
			fail("a collective among persistent ones", i);
}

/* One by one, or many at once; some are looked at meanwhile. */
static void start_in_order(const int *order, MPI_Request *reqs)
{
	int i, flag, at_once = own_lot(3) ? 0 : own_lot(K), other = own_lot(K);

	for (i = 0; i < K; i++)
		reqs[i] = ones[order[i]].req;
	MPI_Startall(at_once, reqs);
	for (i = at_once; i < K; i++) {
		if (i == other)
			between();
		MPI_Start(&reqs[i]);
		if (!own_lot(4))
			MPI_Test(&reqs[own_lot(i + 1)], &flag, MPI_STATUS_IGNORE);
	}
	if (other < at_once)
		between();
	starts += K;
}

static void one_round(int round)
{
	MPI_Request reqs[K];
	int order[K], i;

	for (i = 0; i < K; i++)
		fill(&ones[i], round);
	shuffle(order, K);
	start_in_order(order, reqs);
	wait_all(round % WAYS, K, reqs);
	for (i = 0; i < K; i++) {
		ones[order[i]].req = reqs[i];
		check(&ones[order[i]], round);
	}
}

/* Some ranks free the old request before they make the new one, the others afterwards. */
static void replace(struct one *o, enum kind kind, int id, MPI_Comm comm)
{
	MPI_Request old = o->req;
	int before = own_lot(2);

	if (before)
		MPI_Request_free(&old);
	init(o, kind, id, comm);
	if (!before)
		MPI_Request_free(&old);
}

static void order(int rounds)
{
	MPI_Comm comms[2] = { WORLD };
	int round, i;

	MPI_Comm_dup(WORLD, &comms[1]);
	for (i = 0; i < K; i++)
		init(&ones[i], (enum kind)(i % KINDS), i, comms[i % 3 == 2]);
	for (round = 0; round < rounds; round++) {
		one_round(round);
		for (i = lot(4); i > 0; i--)
			replace(&ones[lot(K)], (enum kind)lot(KINDS), K + 4 * round + i,
				comms[lot(2)]);
	}
	/* The other requests still exist at the end. */
	for (i = 0; i < K / 2; i++)
		MPI_Request_free(&ones[i].req);
	MPI_Comm_free(&comms[1]);
}

/* --- many --------------------------------------------------------------------- */

#define MANY	(int)(sizeof(sts) / sizeof(sts[0]))

#define STARTS	3

static struct one lots[MANY];

/* Half of the files that a process may have are left to it, but for a few. */
static void look_for_files(void)
{
	static int fds[1 << 10];
	struct rlimit most;
	int n = 0;

	if (getrlimit(RLIMIT_NOFILE, &most))
		fail("getrlimit", 0);
	while (n < 1 << 10 && (fds[n] = dup(0)) >= 0)
		n++;
	if (n < 1 << 10 && (rlim_t)n + 4 < most.rlim_cur / 2)
		fail("so few files are left", n);
	while (n)
		close(fds[--n]);
}

static void many(void)
{
	static MPI_Request reqs[MANY];
	int order[MANY], round, i;

	for (round = 0; round < 2 * STARTS; round++) {
		for (i = 0; i < MANY; i++) {
			if (round % STARTS == 0)
				init(&lots[i], ALLREDUCE, i, WORLD);
			fill(&lots[i], round);
		}
		shuffle(order, MANY);
		for (i = 0; i < MANY; i++)
			MPI_Start(&lots[order[i]].req);
		starts += MANY;
		for (i = 0; i < MANY; i++)
			reqs[i] = lots[i].req;
		MPI_Waitall(MANY, reqs, sts);
		for (i = 0; i < MANY; i++)
			check(&lots[i], round);
		look_for_files();
		for (i = 0; i < MANY && round % STARTS == STARTS - 1; i++)
			MPI_Request_free(&lots[(i + me) % MANY].req);
	}
}

/* --- odd ---------------------------------------------------------------------- */

/* Rank 0 has done something, and tells the others, who wait for it. */
static void go(void)
{
	int r;

	for (r = 1; r < size && !me; r++)
		MPI_Send(NULL, 0, MPI_BYTE, r, 3, WORLD);
	if (me)
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, WORLD, MPI_STATUS_IGNORE);
}

/* No function may say that the request is over. */
static void expect_active(MPI_Request *req)
{
	int flag = 1, index, nr = 1;

	MPI_Test(req, &flag, MPI_STATUS_IGNORE);
	if (flag)
		fail("Test", 0);
	MPI_Testall(1, req, &flag, sts);
	if (flag)
		fail("Testall", 0);
	MPI_Testany(1, req, &index, &flag, MPI_STATUS_IGNORE);
	if (flag)
		fail("Testany", 0);
	MPI_Testsome(1, req, &nr, &index, sts);
	if (nr)
		fail("Testsome", nr);
	MPI_Request_get_status(*req, &flag, MPI_STATUS_IGNORE);
	if (flag)
		fail("Request_get_status", 0);
}

/* All functions say that the request is over, and none waits. */
static void expect_inactive(MPI_Request *req)
{
	int flag = 0, index = 0, nr = 0;

	MPI_Wait(req, MPI_STATUS_IGNORE);
	MPI_Waitall(1, req, sts);
	MPI_Test(req, &flag, MPI_STATUS_IGNORE);
	if (!flag)
		fail("Test of an inactive one", 0);
	MPI_Request_get_status(*req, &flag, MPI_STATUS_IGNORE);
	if (!flag)
		fail("Request_get_status of an inactive one", 0);
	MPI_Waitany(1, req, &index, MPI_STATUS_IGNORE);
	if (index != MPI_UNDEFINED)
		fail("Waitany of an inactive one", index);
	MPI_Waitsome(1, req, &nr, &index, sts);
	if (nr != MPI_UNDEFINED)
		fail("Waitsome of an inactive one", nr);
}

static void states(struct one *o, int round)
{
	fill(o, round);
	expect_inactive(&o->req);
	if (!me) {
		MPI_Start(&o->req);
		expect_active(&o->req);
		/* MPI does not allow it: it does no harm. */
		MPI_Cancel(&o->req);
		expect_active(&o->req);
	}
	go();
	if (me)
		MPI_Start(&o->req);
	MPI_Wait(&o->req, MPI_STATUS_IGNORE);
	starts++;
	check(o, round);
	expect_inactive(&o->req);
}

/* Freed on rank 0 before any other rank has started it. */
static void free_active(struct one *o, int round)
{
	double end = MPI_Wtime() + 60;
	int flag;

	fill(o, round);
	if (!me) {
		MPI_Start(&o->req);
		MPI_Request_free(&o->req);
	}
	go();
	if (me) {
		MPI_Start(&o->req);
		MPI_Request_free(&o->req);
	}
	if (o->req != MPI_REQUEST_NULL)
		fail("MPI_Request_free", 0);
	starts++;
	/* Nothing else tells when it is over. */
	while (!is_right(o, round) && MPI_Wtime() < end)
		MPI_Testall(0, NULL, &flag, sts);
	check(o, round);
}

/* A message that rank 0 has to move while it waits in an init call, and in the wait for a start. */
static void progress(struct one *o)
{
	static char message[1 << 20];
	MPI_Request req = MPI_REQUEST_NULL;
	int k;

	for (k = 0; k < 2; k++) {
		if (!me && size > 1)
			MPI_Isend(message, sizeof(message), MPI_BYTE, 1, 4, WORLD, &req);
		if (me == 1)
			MPI_Recv(message, sizeof(message), MPI_BYTE, 0, 4, WORLD, MPI_STATUS_IGNORE);
		if (!k)
			init(o, ALLREDUCE, 5, WORLD);
		else
			MPI_Start(&o->req);
		if (k)
			MPI_Wait(&o->req, MPI_STATUS_IGNORE);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
	starts++;
	MPI_Request_free(&o->req);
}

static void odd(void)
{
	static struct one o, other;
	MPI_Comm comm;

	progress(&o);
	init(&o, ALLREDUCE, 1, WORLD);
	states(&o, 1);
	states(&o, 2);
	free_active(&o, 3);
	/* results with gaps on odd ranks */
	init(&o, BCAST, 2, WORLD);
	free_active(&o, 4);
	/* the communicator has no handle any more */
	MPI_Comm_dup(WORLD, &comm);
	MPI_Barrier(comm);
	init(&o, ALLREDUCE, 3, comm);
	MPI_Comm_free(&comm);
	states(&o, 5);
	/* Under way until MPI_Finalize() */
	init(&other, ALLREDUCE, 4, WORLD);
	fill(&other, 6);
	MPI_Start(&other.req);
	MPI_Request_free(&other.req);
	starts++;
}

/* --- errors ------------------------------------------------------------------- */

static int called;
static MPI_Comm called_for;

static void handler(MPI_Comm *comm, int *code, ...)
{
	(void)code;
	called++;
	called_for = *comm;
}

static void expect_error(int code, MPI_Comm comm, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	MPI_Error_string(code, text, &len);
	if (called != 1 || called_for != comm || !strstr(text, "Allreduce through coll"))
		fail(what, called);
	called = 0;
}

/* @reqs: one that goes well, then one about which the ranks disagree. */
static void wait_for_error(int way, MPI_Request *reqs, MPI_Comm comm)
{
	MPI_Status st[2];
	int code = 0, flag = 0, nr, index, indices[2];

	st[1].MPI_ERROR = 0;
	switch (way) {
	case 0:
		if (MPI_Waitall(2, reqs, st) != MPI_ERR_IN_STATUS || st[0].MPI_ERROR)
			fail("Waitall", st[0].MPI_ERROR);
		code = st[1].MPI_ERROR;
		break;
	case 1:
		MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
		code = MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
		break;
	case 2:
		while (!flag)
			code = MPI_Test(&reqs[1], &flag, MPI_STATUS_IGNORE);
		break;
	case 3:
		code = MPI_Waitany(1, &reqs[1], &index, MPI_STATUS_IGNORE);
		break;
	case 4:
		if (MPI_Waitsome(1, &reqs[1], &nr, indices, st) != MPI_ERR_IN_STATUS || nr != 1)
			fail("Waitsome", nr);
		code = st[0].MPI_ERROR;
		break;
	default:
		while (!flag)
			code = MPI_Testall(2, reqs, &flag, st);
		if (code != MPI_ERR_IN_STATUS)
			fail("Testall", code);
		code = st[1].MPI_ERROR;
	}
	expect_error(code, comm, "an error");
}

static void errors(void)
{
	static struct one good, fresh;
	static int in[16], out[16];
	MPI_Request reqs[2];
	MPI_Errhandler eh;
	MPI_Comm comm;
	int way;

	MPI_Comm_dup(WORLD, &comm);
	MPI_Comm_create_errhandler(handler, &eh);
	MPI_Comm_set_errhandler(comm, eh);
	init(&good, ALLREDUCE, 1, comm);
	INIT(Allreduce)(in, out, 4 + me % 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &reqs[1]);
	for (way = 0; way < 6; way++) {
		fill(&good, way);
		reqs[0] = good.req;
		MPI_Startall(2, reqs);
		starts += 3;
		wait_for_error(way, reqs, comm);
		MPI_Waitall(2, reqs, sts);
		good.req = reqs[0];
		check(&good, way);
		/* one that is under way is not started */
		if (!me) {
			fill(&good, way + 10);
			MPI_Start(&good.req);
			if (MPI_Start(&good.req) != MPI_ERR_REQUEST || called != 1)
				fail("two starts", called);
			called = 0;
		}
		go();
		if (me) {
			fill(&good, way + 10);
			MPI_Start(&good.req);
		}
		MPI_Wait(&good.req, MPI_STATUS_IGNORE);
		check(&good, way + 10);
	}
	MPI_Request_free(&reqs[1]);
	/* A new request does not get anything of the one that has failed. */
	init(&fresh, ALLREDUCE, 2, comm);
	fill(&fresh, 0);
	MPI_Start(&fresh.req);
	starts++;
	MPI_Wait(&fresh.req, MPI_STATUS_IGNORE);
	check(&fresh, 0);
	if (called)
		fail("a handler", called);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &me);
	MPI_Comm_size(WORLD, &size);
	if (argc < 2 || size > RANKS)
		fail("usage", 0);
	shared = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	own = shared + 7919 * (uint64_t)me;
	if (!strcmp(argv[1], "order"))
		order(argc > 3 ? atoi(argv[3]) : WAYS);
	else if (!strcmp(argv[1], "many"))
		many();
	else if (!strcmp(argv[1], "odd"))
		odd();
	else
		errors();
	MPI_Barrier(WORLD);
	if (!me)
		printf("right: %d made, %d started\n", inits, starts);
	MPI_Finalize();
	return 0;
}
