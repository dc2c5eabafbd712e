// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... shm_rank MODE SEED [N]: one rank of a test of collectives in shared memory.
 *
 *	bits	every collective, operator and type, there and by the kernel: the same bits
 *	mixed	every op by a way that each rank draws; results verified
 *	differ	ranks that disagree about an op, by ways that each draws: all hear EBADE
 *	calls	are there ops without a system call, blocking and nonblocking?
 *	node	with several nodes: the first rank of each node submits the ops for all
 *	posted	several ops under way, in two communicators; results verified
 *	kill	rank N is killed while the others go on: what do they hear?
 *	leave	rank N ends in order while the others go on
 *	stop	rank N is stopped; then the deadline of the others is over
 *	slow	rank N is stopped and goes on; all is well
 *	abort	rank N aborts while the others wait
 *	scribble rank N writes random bytes over its part of the memory
 *	liar	rank 0 takes its part in an op back, and the last rank does not come: the others end
 *	fork	a child may not use the communicator, and does no harm
 *	time	prints what an op takes, in a row and without a barrier between; no test
 *	off	nothing is done in shared memory
 *	limit	COLL_SHM_LIMIT is 1024: what is larger is not done there, nor on a duplicate
 *	dup	a duplicate has the limit of its parent; COLL_DEBUG shows both
 *	early	rank N is killed while all make communicators
 *
 * Exit status 0: all was as it should be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

#include "ioctl_calls.h"
#include "rand.h"
#include "shm_kinds.h"
#include "shm_posted.h"

#define ROOM	(128 * 1024)
#define SECOND	1000000000ULL

static coll_comm_t *comm;
static uint32_t me, size;
static uint64_t lot, own_lot;
static int bad;

__attribute__((format(printf, 1, 2)))
static void complain(const char *fmt, ...)
{
	va_list ap;

	if (bad++ > 10)
		return;
	va_start(ap, fmt);
	printf("rank %u: ", me);
	vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void status(struct coll_status *s)
{
	memset(s, 0, sizeof(*s));
	if (ioctl(coll_comm_fd(comm), COLL_IOC_STATUS, s))
		complain("no status: %s\n", strerror(errno));
}

static uint64_t shm_ops(void)
{
	struct coll_status s;

	status(&s);
	return s.shm_ops;
}

/* ---- a random op ---- */

/* Mostly few elements. Up to as many as the buffers have room for, of the largest type. */
static uint64_t draw_count(void)
{
	switch (test_below(&lot, 16)) {
	case 0:
		return test_below(&lot, ROOM / 2 / 32 / size + 1);
	case 1:
	case 2:
		return test_below(&lot, 300);
	default:
		return test_below(&lot, 70);
	}
}

/* The part of the command that is the same on all ranks. */
static void draw_cmd(struct coll_cmd *c, uint16_t what, uint16_t dtype, uint16_t op)
{
	memset(c, 0, sizeof(*c));
	c->collective = what;
	if (what == COLL_BARRIER)
		return;
	c->dtype = dtype;
	c->count = draw_count();
	if (shm_is_rooted(what))
		c->root = test_below(&lot, size);
	if (!shm_reduces(what))
		return;
	c->op = op;
	if (!test_below(&lot, 4) && op != COLL_OP_SUM_EXACT)
		c->flags |= COLL_CMD_NARROW;
}

/* Buffers in the memory at @base, which is filled. Each rank may choose @inplace by itself. */
static void place(struct coll_cmd *c, uint8_t *base, bool inplace)
{
	bool root = c->root == me;
	uint8_t *in = base, *out = base + ROOM / 2;

	if (c->collective == COLL_BARRIER)
		return;
	if (c->collective == COLL_BROADCAST || c->collective == COLL_SCATTER ||
	    (shm_is_rooted(c->collective) && !root))
		inplace = false;
	if (c->collective == COLL_BROADCAST) {
		c->recv_addr = (uintptr_t)out;
		return;
	}
	c->recv_addr = (uintptr_t)out;
	if (shm_is_rooted(c->collective) && c->collective != COLL_SCATTER && !root)
		c->recv_addr = 0;
	if (inplace)
		c->flags |= COLL_CMD_INPLACE;
	else if (c->collective != COLL_SCATTER || root)
		c->send_addr = (uintptr_t)in;
}

static void fill(uint8_t *v, uint64_t seed)
{
	uint64_t i, word;

	for (i = 0; i < ROOM; i += sizeof(word)) {
		word = test_rand(&seed);
		memcpy(v + i, &word, sizeof(word));
	}
}

/* ---- bits ---- */

static uint8_t *a, *b;

/* The return value of both ways: a reduce has no order of ranks, a scan no single divisor. */
static int answer(uint16_t what, uint16_t op)
{
	switch (op) {
	case COLL_OP_REPLACE: case COLL_OP_NO_OP:
		return what == COLL_REDUCE ? -EOPNOTSUPP : 0;
	case COLL_OP_AVG:
		return what == COLL_SCAN || what == COLL_EXSCAN ? -EOPNOTSUPP : 0;
	default:
		return 0;
	}
}

static void same_bits(uint16_t what, uint16_t dtype, uint16_t op)
{
	uint64_t seed = test_rand(&own_lot) | 1, scalar = test_rand(&own_lot);
	struct coll_cmd here, there;
	size_t bytes = coll_dtype_bytes(dtype), i;
	bool inplace = test_below(&own_lot, 2);
	int by_library, by_kernel;

	draw_cmd(&here, what, dtype, op);
	if (op == COLL_OP_PREMULSUM && shm_reduces(what))
		here.scalar = bytes < 8 ? scalar & ((1ULL << 8 * bytes) - 1) : scalar;
	there = here;
	fill(a, seed);
	fill(b, seed);
	place(&here, a, inplace);
	place(&there, b, inplace);
	there.flags |= COLL_CMD_SLEEP;
	by_library = coll_submit(comm, &here);
	by_kernel = coll_submit(comm, &there);
	if (by_library != answer(what, op) || by_kernel != answer(what, op))
		complain("collective %u, type %u, op %u: %d, by the kernel %d\n", what, dtype, op,
			 by_library, by_kernel);
	for (i = 0; i < ROOM && a[i] == b[i]; i++)
		;
	if (i < ROOM)
		complain("collective %u, type %u, op %u, %u elements, flags %x: byte %zu is %02x, by the kernel %02x\n",
			 what, dtype, op, (unsigned int)here.count, here.flags, i, a[i], b[i]);
}

static void bits(void)
{
	uint64_t before = shm_ops(), done = 0;
	uint16_t op, dtype, k, times = size > 2 ? 1 : 3;

	for (k = 0; k < SHM_NR_KINDS; k++)
		for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++)
			for (op = 1; op < COLL_NR_OPS; op++) {
				if (dtype == COLL_OPAQUE || (!shm_reduces(shm_kinds[k]) && op > 1))
					continue;
				if (shm_reduces(shm_kinds[k]) && !coll_op_supported(op, dtype))
					continue;
				for (uint16_t i = 0; i < times; i++, done++)
					same_bits(shm_kinds[k], dtype, op);
			}
	before = shm_ops() - before;
	/* The kernel has to do some of them: their bits depend on the algorithm. */
	if (before < done / 4)
		complain("only %llu of %llu ops in shared memory\n",
			 (unsigned long long)before, (unsigned long long)done);
}

/* ---- ways ---- */

/* By the library, by the kernel, or nonblocking by either of them. */
static int run(struct coll_cmd *c, uint32_t way)
{
	coll_request_t *req;
	int ret;

	if (way % 2)
		c->flags |= COLL_CMD_SLEEP;
	if (way < 2)
		return coll_submit(comm, c);
	ret = coll_isubmit(comm, c, &req);
	return ret ? ret : coll_wait(req);
}

static int32_t value(uint32_t rank, uint64_t round)
{
	return (int32_t)(rank * 1000003 + round * 17);
}

static int sum_round(uint64_t round, uint32_t way, uint64_t count)
{
	static int32_t in[4096], out[4096];
	struct coll_cmd c;
	int32_t want = 0;
	uint64_t i;
	uint32_t r;
	int ret;

	for (r = 0; r < size; r++)
		want += value(r, round);
	for (i = 0; i < count; i++)
		in[i] = value(me, round);
	memset(out, 0, sizeof(out));
	coll_cmd_allreduce(comm, &c, in, out, count, COLL_I32, COLL_OP_SUM);
	ret = run(&c, way);
	for (i = 0; !ret && i < count; i++)
		if (out[i] != want) {
			complain("round %llu: element %llu is %d, not %d\n",
				 (unsigned long long)round, (unsigned long long)i, out[i], want);
			break;
		}
	return ret;
}

static void mixed(void)
{
	uint64_t i, before = shm_ops();
	struct coll_shm s = { 0 };
	int ret;

	for (i = 0; i < 3000; i++) {
		/* Long stretches of one way, and of all mixed. */
		uint32_t ways = test_below(&lot, 2) ? 1 : 4, n = 1 + test_below(&lot, 20), j;

		for (j = 0; j < n; j++, i++) {
			ret = sum_round(i, test_below(&own_lot, ways), 1 + test_below(&lot, 4000));
			if (ret) {
				complain("round %llu: %s\n", (unsigned long long)i,
					 coll_strerror(ret));
				return;
			}
		}
	}
	/* With several nodes a rank may be alone on its node. */
	if (shm_ops() == before && !ioctl(coll_comm_fd(comm), COLL_IOC_SHM, &s))
		complain("no op in shared memory\n");
}

static void check_cause(int ret, int err, uint32_t kind, uint32_t rank)
{
	struct coll_status s;

	status(&s);
	if (ret != -err || s.cause.error != (uint32_t)err || s.cause.kind != kind ||
	    (rank != COLL_RANK_NONE && s.cause.rank != rank))
		complain("%s; cause: error %u, kind %u, rank %d\n", coll_strerror(ret),
			 s.cause.error, s.cause.kind, (int)s.cause.rank);
}

/* The command of the last op is different on one rank at least. */
static void differ(uint32_t victim)
{
	uint8_t v[8192] = { 0 };
	struct coll_cmd c;
	uint32_t i, n = test_below(&lot, 40), what = test_below(&lot, 6);
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = sum_round(i, 0, 5);
	coll_cmd_allreduce(comm, &c, COLL_IN_PLACE, v, 5, COLL_I32, COLL_OP_SUM);
	if (me == victim) {
		if (what == 0)
			coll_cmd_barrier(comm, &c);
		if (what == 1)
			coll_cmd_broadcast(comm, &c, v, 5, COLL_I32, 0);
		c.count += what == 2;
		c.op = what == 3 ? COLL_OP_MAX : c.op;
		c.dtype = what == 4 ? COLL_U32 : c.dtype;
		/* Too large for shared memory. */
		if (what == 5)
			c.count = sizeof(v) / 4;
	}
	if (!ret)
		ret = run(&c, test_below(&own_lot, 4));
	check_cause(ret, EBADE, COLL_CAUSE_MISMATCH, COLL_RANK_NONE);
}

static void posted(void)
{
	uint64_t before = shm_ops();
	coll_comm_t *comms[2] = { comm, NULL };
	int ret = coll_comm_dup(comm, &comms[1]);

	if (ret) {
		complain("dup: %s\n", coll_strerror(ret));
		return;
	}
	bad += shm_posted(comms, 4000, &lot, &own_lot);
	if (shm_ops() == before)
		complain("no op in shared memory\n");
	coll_finalize(comms[1]);
}

/* ---- calls ---- */

static void without_calls(uint32_t way)
{
	uint64_t before, most = 0, quiet = 0;
	int i, j, ret = 0;

	/* Others may want the CPUs now and then. */
	for (i = 0; i < 2000 && !ret; i++) {
		before = ioctl_calls();
		for (j = 0; j < 50 && !ret; j++)
			ret = sum_round((uint64_t)j, way, 2);
		before = ioctl_calls() - before;
		quiet += !before;
		most = before > most ? before : most;
	}
	if (ret || !quiet)
		complain("way %u: %s; %llu of %d times 50 ops without a call, %llu calls at most\n",
			 way, coll_strerror(ret), (unsigned long long)quiet, i,
			 (unsigned long long)most);
}

/* Commands of this rank, and its sleeps, for @n ops. */
static void for_the_node(uint64_t n)
{
	uint64_t submits = ioctl_submits(), sleeps = ioctl_sleeps(), i, want;
	struct coll_shm s = { 0 };
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = sum_round(i, 0, 2);
	submits = ioctl_submits() - submits;
	sleeps = ioctl_sleeps() - sleeps;
	if (ret || ioctl(coll_comm_fd(comm), COLL_IOC_SHM, &s))
		complain("%s; %s\n", coll_strerror(ret), strerror(errno));
	want = s.local ? 0 : n;
	printf("# rank %u: %.3f commands, %.3f sleeps for each op\n", me,
	       (double)submits / (double)n, (double)sleeps / (double)n);
	if (submits != want)
		complain("%llu commands for %llu ops\n", (unsigned long long)submits,
			 (unsigned long long)n);
}

/* The mean of many ops, and how often the kernel has put this process to sleep meanwhile. */
static void print_time(uint64_t bytes, uint32_t way)
{
	static int32_t in[4096], out[4096];
	const int runs = 20000;
	struct rusage before, after;
	struct coll_cmd c;
	uint64_t begin;
	int i, ret = 0;

	coll_cmd_allreduce(comm, &c, in, out, bytes / 4, COLL_I32, COLL_OP_SUM);
	if (way)
		c.algorithm = COLL_ALG_RING;
	for (i = 0; i < 100 && !ret; i++)
		ret = coll_submit(comm, &c);
	getrusage(RUSAGE_SELF, &before);
	begin = now_ns();
	for (i = 0; i < runs && !ret; i++)
		ret = coll_submit(comm, &c);
	begin = now_ns() - begin;
	getrusage(RUSAGE_SELF, &after);
	if (!me)
		printf("allreduce of %llu bytes, %s: %.3f us, %.3f switches; %s\n",
		       (unsigned long long)bytes, way ? "by the kernel" : "shared memory",
		       (double)begin / runs / 1000,
		       (double)(after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw -
				before.ru_nivcsw) / runs, coll_strerror(ret));
}

static void times(void)
{
	uint64_t bytes;
	uint32_t way;

	for (way = 0; way < 2; way++)
		for (bytes = 8; bytes <= 16384; bytes *= bytes == 8 ? 128 : 4)
			print_time(bytes, way);
}

static void off(void)
{
	uint64_t i;

	for (i = 0; i < 100; i++)
		if (sum_round(i, 0, 2))
			complain("round %llu\n", (unsigned long long)i);
	if (shm_ops())
		complain("%llu ops in shared memory\n", (unsigned long long)shm_ops());
}

/* Ops of @c in shared memory when 10 of @bytes are done. */
static uint64_t ops_there(coll_comm_t *c, uint64_t bytes)
{
	static int32_t in[4096], out[4096];
	struct coll_status before = { 0 }, after = { 0 };
	int i, ret;

	ret = coll_comm_status(c, &before);
	for (i = 0; i < 10 && !ret; i++)
		ret = coll_allreduce(c, in, out, bytes / 4, COLL_I32, COLL_OP_SUM);
	if (!ret)
		ret = coll_comm_status(c, &after);
	if (ret)
		complain("%llu bytes: %s\n", (unsigned long long)bytes, coll_strerror(ret));
	return after.shm_ops - before.shm_ops;
}

static void check_limit(coll_comm_t *c)
{
	uint64_t small = ops_there(c, 1024), large = ops_there(c, 1028);

	if (small != 10 || large)
		complain("%llu of 10 small ops in shared memory, %llu of 10 large ones\n",
			 (unsigned long long)small, (unsigned long long)large);
}

static void limited(bool check)
{
	coll_comm_t *copy = NULL;
	int ret = coll_comm_dup(comm, &copy);

	if (ret)
		complain("dup: %s\n", coll_strerror(ret));
	if (check) {
		check_limit(comm);
		check_limit(copy);
	}
	coll_finalize(copy);
}

/* ---- ends ---- */

static void *end_soon(void *arg)
{
	usleep(1000 + test_below(&own_lot, 30000));
	if (*(const char *)arg == 'k')
		kill(getpid(), SIGKILL);
	if (*(const char *)arg == 'a')
		coll_abort(comm, 7);
	return NULL;
}

static int until_error(uint64_t rounds)
{
	uint64_t i;
	int ret = 0;

	for (i = 0; i < rounds && !ret; i++)
		ret = sum_round(i, test_below(&own_lot, 2) * 2, 2);
	return ret;
}

static void killed(uint32_t victim, const char *mode)
{
	uint64_t begin = now_ns();
	pthread_t t;
	int ret;

	if (me == victim)
		pthread_create(&t, NULL, end_soon, (void *)mode);
	ret = until_error(~0ULL);
	if (now_ns() - begin > 60 * SECOND)
		complain("heard after %llu ms\n",
			 (unsigned long long)((now_ns() - begin) / 1000000));
	if (*mode == 'k')
		check_cause(ret, EHOSTDOWN, COLL_CAUSE_EXIT, victim);
	else
		check_cause(ret, ESHUTDOWN, COLL_CAUSE_ABORT, victim);
}

static void killed_early(uint32_t victim)
{
	coll_comm_t *copy;
	pthread_t t;

	if (me == victim)
		pthread_create(&t, NULL, end_soon, (void *)"k");
	while (!coll_comm_dup(comm, &copy))
		coll_finalize(copy);
	check_cause(until_error(~0ULL), EHOSTDOWN, COLL_CAUSE_EXIT, victim);
}

static void left(uint32_t victim)
{
	uint64_t n = 1 + test_below(&lot, 300);
	int ret = until_error(n);

	if (ret)
		complain("%s\n", coll_strerror(ret));
	if (me == victim)
		exit(bad != 0);
	check_cause(until_error(~0ULL), EHOSTDOWN, COLL_CAUSE_CLOSE, victim);
}

/* Start a process that lets this one go on after that time, however late this one stops. */
static void stop_for(unsigned int us)
{
	pid_t parent = getpid(), child = fork();

	if (!child) {
		usleep(us);
		for (;;) {
			kill(parent, SIGCONT);
			usleep(10000);
		}
	}
	raise(SIGSTOP);
	kill(child, SIGKILL);
	wait(NULL);
}

static void stopped(uint32_t victim, bool deadline)
{
	int ret = until_error(100);

	if (deadline)
		coll_comm_set_timeout(comm, 2 * SECOND);
	if (me == victim)
		stop_for(deadline ? 10000000 : 300000);
	if (!ret)
		ret = until_error(200);
	if (deadline)
		check_cause(ret, ETIMEDOUT, COLL_CAUSE_TIMEOUT, victim);
	else if (ret)
		complain("%s\n", coll_strerror(ret));
}

static void *scribble_thread(void *arg)
{
	uint64_t state = own_lot, *own;
	struct coll_shm s = { 0 };
	int i;

	if (ioctl(coll_comm_fd(comm), COLL_IOC_SHM, &s)) {
		complain("no shared memory: %s\n", strerror(errno));
		return NULL;
	}
	own = mmap(NULL, s.own_size, PROT_READ | PROT_WRITE, MAP_SHARED, coll_comm_fd(comm),
		   (off_t)s.own_offset);
	if (own == MAP_FAILED) {
		complain("mmap: %s\n", strerror(errno));
		return NULL;
	}
	for (i = 0; i < 10000; i++) {
		own[test_below(&state, (uint32_t)s.own_size / 8)] = test_rand(&state);
		/* The first words are those that others look at. */
		own[test_below(&state, 20)] = test_below(&state, 3) ?
			test_below(&state, 5000) : test_rand(&state);
		if (!(i % 64))
			usleep(10);
	}
	return NULL;
}

/* Ops of the other ranks end, with any values or an error. */
static void scribble(uint32_t victim)
{
	uint64_t i, rounds;
	pthread_t t;
	int ret = 0;
	struct coll_cmd c;
	struct coll_status st;
	uint8_t v[512];

	status(&st);
	/* Ops over links take longer. */
	rounds = st.nr_nodes > 1 ? 4000 : 20000;
	coll_comm_set_timeout(comm, SECOND);
	if (me == victim)
		pthread_create(&t, NULL, scribble_thread, NULL);
	for (i = 0; i < rounds && !ret; i++) {
		draw_cmd(&c, shm_kinds[test_below(&lot, SHM_NR_KINDS)], COLL_U32, COLL_OP_SUM);
		place(&c, a, false);
		ret = coll_submit(comm, &c);
	}
	memset(v, 0, sizeof(v));
	/* A rank whose deadline passes while another one changes its slot aborts. */
	if (ret && ret != -ETIMEDOUT && ret != -EBADE && ret != -EHOSTDOWN && ret != -ESHUTDOWN)
		complain("round %llu: %s\n", (unsigned long long)i, coll_strerror(ret));
	if (me == victim)
		pthread_join(t, NULL);
}

static void *barrier_thread(void *arg)
{
	coll_barrier(comm);
	return NULL;
}

/* Empty the own slots, which other ranks have seen, and post an op by the kernel. */
static void take_back(void)
{
	struct coll_shm s = { 0 };
	struct coll_cmd cmd;
	pthread_t t;
	void *own;

	own = ioctl(coll_comm_fd(comm), COLL_IOC_SHM, &s) ? MAP_FAILED :
	      mmap(NULL, s.own_size, PROT_READ | PROT_WRITE, MAP_SHARED, coll_comm_fd(comm),
		   (off_t)s.own_offset);
	if (own == MAP_FAILED) {
		complain("no shared memory: %s\n", strerror(errno));
		return;
	}
	pthread_create(&t, NULL, barrier_thread, NULL);
	usleep(300000);
	memset(own, 0, s.own_size);
	coll_cmd_barrier(comm, &cmd);
	ioctl(coll_comm_fd(comm), COLL_IOC_SUBMIT, &cmd);
	pthread_join(t, NULL);
}

static void liar(void)
{
	uint64_t begin;
	int i, ret = 0;

	for (i = 0; i < 200 && !ret; i++)
		ret = coll_barrier(comm);
	if (ret)
		complain("barrier: %s\n", coll_strerror(ret));
	/* Only the ranks between have a deadline. */
	coll_comm_set_timeout(comm, me && me < size - 1 ? SECOND : 0);
	begin = now_ns();
	if (!me) {
		take_back();
	} else if (me == size - 1) {
		sleep(6);
	} else {
		ret = coll_barrier(comm);
		if (!ret || now_ns() - begin > 4 * SECOND)
			complain("%s after %llu ms\n", coll_strerror(ret),
				 (unsigned long long)(now_ns() - begin) / 1000000);
	}
}

static void forked(void)
{
	int32_t v[2] = { 1, 2 };
	int status = -1, ret;
	pid_t pid;

	ret = until_error(100);
	pid = fork();
	if (!pid) {
		ret = coll_allreduce(comm, COLL_IN_PLACE, v, 2, COLL_I32, COLL_OP_SUM);
		coll_finalize(comm);
		_exit(ret != -EPERM);
	}
	if (!ret)
		ret = until_error(1000);
	waitpid(pid, &status, 0);
	if (ret || status)
		complain("%s; child: %x\n", coll_strerror(ret), status);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint32_t victim = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
	int ret;

	/* So that lines of several ranks are in the order in which they were written. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = coll_init(NULL, &comm);
	if (ret) {
		printf("coll_init: %s\n", coll_last_error());
		return 2;
	}
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	lot = seed * 2 + 1;
	own_lot = (seed + 1) * 1000003 + me * 2 + 1;
	a = malloc(ROOM);
	b = malloc(ROOM);
	fill(a, 1);
	if (!me)
		printf("seed %llu\n", (unsigned long long)seed);
	if (!strcmp(mode, "bits"))
		bits();
	else if (!strcmp(mode, "mixed"))
		mixed();
	else if (!strcmp(mode, "differ"))
		differ(victim);
	else if (!strcmp(mode, "calls"))
		without_calls(0), without_calls(2);
	else if (!strcmp(mode, "node"))
		for_the_node(5000);
	else if (!strcmp(mode, "posted"))
		posted();
	else if (!strcmp(mode, "time"))
		times();
	else if (!strcmp(mode, "off"))
		off();
	else if (!strcmp(mode, "limit") || !strcmp(mode, "dup"))
		limited(*mode == 'l');
	else if (!strcmp(mode, "early"))
		killed_early(victim);
	else if (!strcmp(mode, "kill") || !strcmp(mode, "abort"))
		killed(victim, mode);
	else if (!strcmp(mode, "leave"))
		left(victim);
	else if (!strcmp(mode, "stop") || !strcmp(mode, "slow"))
		stopped(victim, mode[1] == 't');
	else if (!strcmp(mode, "scribble"))
		scribble(victim);
	else if (!strcmp(mode, "liar"))
		liar();
	else if (!strcmp(mode, "fork"))
		forked();
	else
		return 2;
	if (!bad)
		printf("rank %u is well\n", me);
	fflush(stdout);
	coll_finalize(comm);
	return bad != 0;
}
