// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Operators of the user's own: handles, forks, what is refused, and the schedule, for 1 to 9
 * ranks, each a thread, over a kernel made up here that moves bytes and counts them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/buffers.h"
#include "comm/comm.h"
#include "userop/userop_mesh.h"
#include "tap.h"

#define MAX_RANKS	9
#define BORDER		0xb0

/* --- a kernel ---------------------------------------------------------------- */

static uint32_t nr_ranks;
static struct coll_comm comms[MAX_RANKS];
static struct coll_cmd posted[MAX_RANKS];
static pthread_barrier_t barrier;
static _Atomic uint64_t moved, commands, aborted;
static _Atomic int fail_at;

uint32_t coll_comm_rank(const coll_comm_t *comm)
{
	return comm->rank;
}

uint32_t coll_comm_size(const coll_comm_t *comm)
{
	return comm->size;
}

void buffers_apply(coll_comm_t *comm, struct coll_cmd *cmd)
{
}

int coll_persist(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **req)
{
	return -EOPNOTSUPP;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	aborted++;
	return 0;
}

static uint8_t *pointer(uint64_t address)
{
	return (uint8_t *)(uintptr_t)address;
}

static const uint64_t *numbers(uint64_t address)
{
	return (const uint64_t *)(uintptr_t)address;
}

/* The address and number of the bytes that @from has for @to. */
static const uint8_t *source(uint32_t from, uint32_t to, uint64_t *len)
{
	const struct coll_cmd *c = &posted[from];
	const uint64_t *counts = numbers(c->counts_addr), *displs = numbers(c->displs_addr);

	switch (c->collective) {
	case COLL_ALLGATHER:
		*len = c->count;
		return pointer(c->recv_addr) + from * c->count;
	case COLL_ALLTOALLV:
		*len = counts[to];
		return pointer(c->send_addr) + displs[to];
	case COLL_GATHERV:
		*len = to == c->root ? (from == to ? counts[from] : c->count) : 0;
		return pointer(c->send_addr);
	default:
		*len = counts[from];
		return pointer(c->send_addr);
	}
}

/* The address at which @to wants the bytes of @from, and their number. */
static uint8_t *target(uint32_t from, uint32_t to, uint64_t *len)
{
	const struct coll_cmd *c = &posted[to];
	const uint64_t *counts = numbers(c->counts_addr), *displs = numbers(c->displs_addr);
	uint32_t at = c->collective == COLL_ALLTOALLV ? nr_ranks + from : from;

	if (c->collective == COLL_ALLGATHER) {
		*len = c->count;
		return pointer(c->recv_addr) + from * c->count;
	}
	*len = 0;
	if (!counts)
		return NULL;
	*len = counts[at];
	return pointer(c->recv_addr) + displs[at];
}

static int move(uint32_t me)
{
	uint64_t len, want;
	uint32_t k;
	int ret = 0;

	for (k = 0; k < nr_ranks; k++) {
		const uint8_t *from = source(k, me, &len);
		uint8_t *to = target(k, me, &want);

		if (posted[k].collective != posted[me].collective || len != want)
			ret = -EBADE;
		else if (len && from != to)
			memcpy(to, from, len);
		if (k != me)
			moved += len;
	}
	return ret;
}

int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	int ret;

	posted[comm->rank] = *cmd;
	if (!comm->rank) {
		commands++;
		fail_at--;
	}
	pthread_barrier_wait(&barrier);
	ret = fail_at ? move(comm->rank) : -EHOSTDOWN;
	pthread_barrier_wait(&barrier);
	return ret;
}

struct coll_request {
	int ret;
};

/* Runs at once. The VM tests that the order is right and that buffers are not shared. */
int coll_isubmit(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **req)
{
	*req = malloc(sizeof(**req));
	if (!*req)
		return -ENOMEM;
	(*req)->ret = coll_submit(comm, cmd);
	return 0;
}

int coll_wait(coll_request_t *req)
{
	int ret = req ? req->ret : 0;

	free(req);
	return ret;
}

int coll_wait_for(coll_request_t *req, uint64_t ns, int *done)
{
	*done = 1;
	return coll_wait(req);
}

/* --- memory ------------------------------------------------------------------ */

static __thread int malloc_fails_in;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

/* The linker puts it in the place of malloc(). */
void *__wrap_malloc(size_t bytes)
{
	return malloc_fails_in && !--malloc_fails_in ? NULL : __real_malloc(bytes);
}

/* --- operators --------------------------------------------------------------- */

static _Atomic uint64_t folded;

/*
 * Bytes a, b, c: the matrix 1 a c, 0 1 b, 0 0 1, mod 256. Does not commute. Elements may
 * be several of them.
 */
static void matrices(const void *invec, void *inoutvec, uint64_t len,
		     const struct coll_user_type *type, void *arg)
{
	const uint8_t *x = invec;
	uint8_t *y = inoutvec;
	uint64_t i;

	if (arg != &folded || !len || type->dtype != COLL_OPAQUE)
		abort();
	folded += len;
	for (i = 0; i < len * type->size; i += 3) {
		y[i + 2] = (uint8_t)(x[i + 2] + y[i + 2] + x[i] * y[i + 1]);
		y[i] += x[i];
		y[i + 1] += x[i + 1];
	}
}

static void subtract(const void *invec, void *inoutvec, uint64_t len,
		     const struct coll_user_type *type, void *arg)
{
	const double *x = invec;
	double *y = inoutvec;

	if (type->dtype != COLL_F64 || type->size != 8)
		abort();
	while (len--)
		y[len] = x[len] - y[len];
}

static void test_handles(void)
{
	coll_op_t op[100], again;
	int i, bad = 0;

	ok(coll_op_create(NULL, true, NULL, op) == -EINVAL &&
	   coll_op_create(subtract, true, NULL, NULL) == -EINVAL, "no function, no operator");
	ok(coll_op_free(0) == -EINVAL && coll_op_free(COLL_OP_SUM) == -EINVAL &&
	   coll_op_free(UINT64_MAX) == -EINVAL, "numbers that are no operators");
	for (i = 0; i < 100; i++)
		bad |= coll_op_create(subtract, false, NULL, &op[i]) || !op[i];
	for (i = 0; i < 100; i++)
		bad |= coll_op_free(op[i]);
	for (i = 0; i < 100; i++)
		bad |= coll_op_free(op[i]) != -EINVAL;
	ok(!bad, "a hundred of them, each freed once");
	bad = coll_op_create(subtract, false, NULL, &again);
	for (i = 0; i < 100; i++)
		bad |= again == op[i] || coll_op_free(op[i]) != -EINVAL;
	ok(!bad && !coll_op_free(again), "the one that takes a place is not the one before");
}

static _Atomic bool over;

static void *make_and_free(void *arg)
{
	coll_op_t op;

	while (!over)
		if (coll_op_create(subtract, true, NULL, &op) || coll_op_free(op))
			abort();
	return NULL;
}

/* Does the child of a fork make and free an operator, and have that of its parent? */
static bool child_can(coll_op_t mine)
{
	pid_t child = fork();
	coll_op_t op;
	int status;

	if (!child) {
		alarm(10);
		_exit(coll_op_create(subtract, true, NULL, &op) || coll_op_free(op) ||
		      coll_op_free(mine));
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* Another thread is in the middle of a call in most cases. */
static void test_fork(void)
{
	pthread_t thread;
	coll_op_t mine;
	bool good = true;
	int i;

	if (coll_op_create(subtract, true, NULL, &mine) ||
	    pthread_create(&thread, NULL, make_and_free, NULL))
		abort();
	for (i = 0; i < 30 && good; i++)
		good = child_can(mine);
	over = true;
	pthread_join(thread, NULL);
	ok(good && !coll_op_free(mine), "a child forked during calls of another thread");
}

static void test_local(void)
{
	struct coll_user_type f64 = coll_type_of(COLL_F64), wrong = { COLL_F64, 4 };
	double v[4] = { 1, 2, 10, 20 };
	coll_op_t op;

	ok(!coll_op_create(subtract, false, NULL, &op) &&
	   !coll_user_reduce_local(v, v + 2, 2, f64, op) && v[2] == -9 && v[3] == -18,
	   "the first vector is the earlier operand");
	ok(!coll_user_reduce_local(NULL, NULL, 0, f64, op), "nothing of nothing");
	ok(coll_user_reduce_local(NULL, v, 1, f64, op) == -EFAULT &&
	   coll_user_reduce_local(v, NULL, 1, f64, op) == -EFAULT, "NULL is refused");
	ok(coll_user_reduce_local(v, v + 1, 2, f64, op) == -EINVAL &&
	   coll_user_reduce_local(v, v, 1, f64, op) == -EINVAL &&
	   coll_user_reduce_local(v, v + 2, UINT64_MAX / 4, f64, op) == -EINVAL,
	   "so are vectors that overlap, or that nothing holds");
	ok(coll_user_reduce_local(v, v + 2, 1, wrong, op) == -EINVAL &&
	   coll_user_reduce_local(v, v + 2, 1, coll_type_opaque(0), op) == -EINVAL &&
	   coll_user_reduce_local(v, v + 2, 1, coll_type_of(COLL_DTYPE_NONE), op) == -EINVAL &&
	   coll_user_reduce_local(v, v + 2, 0, coll_type_of(COLL_NR_DTYPES), op) == -EINVAL,
	   "so are types that are none");
	coll_op_free(op);
	ok(coll_user_reduce_local(v, v + 2, 1, f64, op) == -EINVAL &&
	   coll_user_reduce_local(v, v + 2, 0, f64, op) == -EINVAL, "so is a freed operator");
}

/* --- collectives, a thread for each rank ------------------------------------- */

/* One call of all ranks. */
static struct {
	enum coll_collective what;
	uint64_t count, blocks[MAX_RANKS];
	size_t elem;
	uint32_t root;
	bool inplace;
	coll_op_t op;
} job;

static uint8_t *inputs[MAX_RANKS];
static int results[MAX_RANKS];
static _Atomic int wrong;

static void fill(uint32_t rank)
{
	uint64_t i, seed = rank * 977 + job.count;

	for (i = 0; i < job.count * job.elem; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		inputs[rank][i] = (uint8_t)(seed >> 56);
	}
}

/* The fold of ranks first .. last - 1, of bytes @at up to @at + @len. */
static void expect(uint32_t last, uint64_t at, uint64_t len, uint8_t *want)
{
	struct coll_user_type type = coll_type_opaque(job.elem);
	uint8_t *next = malloc(len + 1);
	uint32_t k;

	memcpy(want, inputs[0] + at, len);
	for (k = 1; k < last; k++) {
		memcpy(next, inputs[k] + at, len);
		if (len)
			matrices(want, next, len / job.elem, &type, &folded);
		memcpy(want, next, len);
	}
	free(next);
}

static int call(uint32_t me, const void *send, void *recv)
{
	struct coll_user_type type = coll_type_opaque(job.elem);
	coll_comm_t *c = &comms[me];

	switch (job.what) {
	case COLL_ALLREDUCE:
		return coll_user_allreduce(c, send, recv, job.count, type, job.op);
	case COLL_REDUCE:
		return coll_user_reduce(c, send, recv, job.count, type, job.op, job.root);
	case COLL_SCAN:
		return coll_user_scan(c, send, recv, job.count, type, job.op);
	case COLL_EXSCAN:
		return coll_user_exscan(c, send, recv, job.count, type, job.op);
	case COLL_REDUCE_SCATTER:
		return coll_user_reduce_scatter(c, send, recv, job.blocks, type, job.op);
	default:
		return coll_user_reduce_scatter_block(c, send, recv, job.count / nr_ranks,
						      type, job.op);
	}
}

/* Where in the vector is the result of this rank? Return: ranks it is the fold of; 0: none. */
static uint32_t shape(uint32_t me, uint64_t *at, uint64_t *len)
{
	uint32_t k;

	*at = 0;
	*len = job.count * job.elem;
	switch (job.what) {
	case COLL_REDUCE:
		return me == job.root ? nr_ranks : 0;
	case COLL_SCAN:
		return me + 1;
	case COLL_EXSCAN:
		return me;
	case COLL_REDUCE_SCATTER:
	case COLL_REDUCE_SCATTER_BLOCK:
		for (k = 0; k < me; k++)
			*at += job.blocks[k] * job.elem;
		*len = job.blocks[me] * job.elem;
		return nr_ranks;
	default:
		return nr_ranks;
	}
}

static void *rank_main(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, of;
	uint64_t bytes = job.count * job.elem, at, len, i;
	bool inplace = job.inplace && (job.what != COLL_REDUCE || me == job.root);
	/* The buffers have exactly the allowed length: the sanitizer watches. */
	uint8_t *in = malloc(bytes + !bytes), *out, *want = malloc(bytes + 1);

	of = shape(me, &at, &len);
	out = malloc((inplace ? bytes : len) + 1);
	memcpy(in, inputs[me], bytes);
	memset(out, BORDER, (inplace ? bytes : len) + 1);
	if (inplace)
		memcpy(out, in, bytes);
	results[me] = call(me, inplace ? COLL_IN_PLACE : in, out);
	if (of)
		expect(of, at, len, want);
	else if (inplace)
		memcpy(want, in, len);
	else
		memset(want, BORDER, len);
	if (!results[me] && (memcmp(out, want, len) || memcmp(in, inputs[me], bytes)))
		wrong++;
	for (i = inplace ? bytes : len; !results[me] && i < len + 1; i++)
		wrong += out[i] != BORDER;
	free(in);
	free(out);
	free(want);
	return NULL;
}

/* Returns whether all ranks say @ret. */
static bool run_all(int ret)
{
	pthread_t t[MAX_RANKS];
	uint32_t k;
	bool good = true;

	for (k = 0; k < nr_ranks; k++) {
		inputs[k] = malloc(job.count * job.elem + 1);
		fill(k);
	}
	for (k = 0; k < nr_ranks; k++)
		if (pthread_create(&t[k], NULL, rank_main, (void *)(uintptr_t)k))
			abort();
	for (k = 0; k < nr_ranks; k++) {
		pthread_join(t[k], NULL);
		good &= results[k] == ret;
	}
	for (k = 0; k < nr_ranks; k++)
		free(inputs[k]);
	return good;
}

static void set_ranks(uint32_t n)
{
	uint32_t k;

	if (nr_ranks)
		pthread_barrier_destroy(&barrier);
	nr_ranks = n;
	pthread_barrier_init(&barrier, NULL, n);
	for (k = 0; k < n; k++) {
		comms[k].rank = k;
		comms[k].size = n;
	}
}

/* Set the blocks of the vector. Its count may change a little. */
static void set_blocks(uint64_t count)
{
	uint32_t k;

	job.count = count;
	if (job.what != COLL_REDUCE_SCATTER && job.what != COLL_REDUCE_SCATTER_BLOCK)
		return;
	for (job.count = k = 0; k < nr_ranks; k++) {
		job.blocks[k] = job.what == COLL_REDUCE_SCATTER_BLOCK ? count / nr_ranks :
				(count / nr_ranks + 5 * k) % (2 * (count / nr_ranks) + 1);
		job.count += job.blocks[k];
	}
}

static const enum coll_collective kinds[] = {
	COLL_ALLREDUCE, COLL_REDUCE, COLL_SCAN, COLL_EXSCAN, COLL_REDUCE_SCATTER,
	COLL_REDUCE_SCATTER_BLOCK,
};

#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static void test_kind(const char *name, uint32_t n, size_t elem)
{
	const uint64_t counts[] = { 0, 1, n - 1, n, n + 1, 100, 301 };
	char text[80];
	size_t k, i;
	int bad = 0;

	set_ranks(n);
	job.elem = elem;
	wrong = 0;
	for (k = 0; k < NR_KINDS; k++) {
		job.what = kinds[k];
		for (i = 0; i < 2 * sizeof(counts) / sizeof(counts[0]); i++) {
			job.inplace = i % 2;
			set_blocks(counts[i / 2]);
			for (job.root = 0; job.root < (job.what == COLL_REDUCE ? n : 1); job.root++)
				bad |= !run_all(0);
		}
	}
	snprintf(text, sizeof(text), "%u ranks, %zu bytes each, %s", n, elem, name);
	ok(!bad && !wrong, text);
}

static void test_schedule(void)
{
	uint32_t n;

	for (n = 1; n <= MAX_RANKS; n++) {
		userop_small = 16 << 10;
		userop_piece = 256 << 10;
		test_kind("as they come", n, 3);
		userop_small = 0;
		test_kind("in one window", n, 12);
		userop_piece = 40;
		test_kind("in many windows", n, 12);
	}
	test_kind("elements longer than a piece", 4, 60);
	userop_small = 16 << 10;
	userop_piece = 256 << 10;
}

/* A rank moves 2 D (p - 1) / p bytes and the descriptions; one rank folds an element, once. */
static void test_cost(void)
{
	uint64_t bytes = 4000 * 12;

	set_ranks(4);
	job.elem = 12;
	job.what = COLL_ALLREDUCE;
	job.inplace = false;
	set_blocks(4000);
	moved = commands = folded = 0;
	ok(run_all(0) && moved == 2 * bytes * 3 + 4 * 3 * 64 && commands == 3,
	   "an allreduce moves 2 D (p - 1) bytes in all");
	/* expect() folds on each of the ranks, too. */
	ok(folded == (4000 + 4 * 4000) * 3, "and every element is folded once");
	moved = commands = 0;
	set_blocks(4);
	ok(run_all(0) && commands == 1, "a small one takes one command");
}

static void test_errors(void)
{
	double v[8] = { 0 };
	uint64_t counts[2] = { UINT64_MAX, 2 };
	struct coll_user_type f64 = coll_type_of(COLL_F64);
	coll_comm_t *c = &comms[0];

	set_ranks(2);
	commands = 0;
	ok(coll_user_allreduce(c, v, v + 4, 1, f64, COLL_OP_SUM) == -EINVAL &&
	   coll_user_reduce(c, v, v + 4, 1, f64, job.op, 2) == -EINVAL &&
	   coll_user_scan(c, v, v + 4, 1, coll_type_opaque(0), job.op) == -EINVAL &&
	   coll_user_scan(c, v, v + 4, UINT64_MAX / 8, f64, job.op) == -EINVAL &&
	   coll_user_reduce_scatter(c, v, v + 4, counts, f64, job.op) == -EINVAL &&
	   coll_user_reduce_scatter_block(c, v, v + 4, UINT64_MAX, f64, job.op) == -EINVAL &&
	   coll_user_exscan(&comms[1], v, v + 1, 2, f64, job.op) == -EINVAL &&
	   coll_user_reduce(c, COLL_IN_PLACE, v, 1, f64, job.op, 1) == -EINVAL,
	   "bad arguments");
	ok(coll_user_allreduce(c, NULL, v, 1, f64, job.op) == -EFAULT &&
	   coll_user_allreduce(c, v, NULL, 1, f64, job.op) == -EFAULT &&
	   coll_user_reduce(c, NULL, NULL, 1, f64, job.op, 1) == -EFAULT &&
	   coll_user_reduce_scatter(c, v, v + 4, NULL, f64, job.op) == -EFAULT,
	   "NULL where there should be memory");
	ok(!commands, "nothing of it reaches the kernel");
	job.what = COLL_ALLREDUCE;
	job.inplace = false;
	set_blocks(4000);
	userop_piece = 4096;
	fail_at = 4;
	aborted = 0;
	ok(run_all(-EHOSTDOWN) && aborted == 2,
	   "a failure in the middle: everybody aborts, nothing leaks");
	fail_at = 0;
	userop_piece = 256 << 10;
}

/* One rank has no memory: the others must not wait for it. @last: number of its allocations */
static void test_memory(const char *name, int last)
{
	uint8_t in[30] = { 0 }, out[30];
	int i, bad = 0;

	set_ranks(2);
	commands = 0;
	for (i = 1; i <= last; i++) {
		aborted = 0;
		malloc_fails_in = i;
		bad |= coll_user_allreduce(&comms[0], in, out, 10, coll_type_opaque(3),
					   job.op) != -ENOMEM || aborted != 1 || malloc_fails_in;
	}
	malloc_fails_in = 0;
	ok(!bad && !commands, name);
}

/* An operator has a size of pieces of its own, which gives the number of windows. */
static void test_piece(void)
{
	uint64_t one, many;

	set_ranks(4);
	job.elem = 12;
	job.what = COLL_ALLREDUCE;
	job.inplace = false;
	set_blocks(4000);
	commands = 0;
	run_all(0);
	one = commands;
	commands = 0;
	/* 1000 elements a rank, 100 of them a piece. */
	ok(!coll_op_set_piece(job.op, 1200 + 11) && run_all(0), "pieces of 100 elements");
	many = commands;
	ok(one == 3 && many == 1 + 2 * 10, "ten windows of two commands");
	commands = 0;
	ok(!coll_op_set_piece(job.op, 1) && run_all(0) && commands == 1 + 2 * 1000,
	   "of one element at least");
	commands = 0;
	ok(!coll_op_set_piece(job.op, UINT64_MAX) && run_all(0) && commands == 3,
	   "and of no more than there is");
	ok(!coll_op_set_piece(job.op, 0) && coll_op_set_piece(0, 1) == -EINVAL,
	   "no operator, no piece");
}

static coll_op_t two_ops[2];

static void *other_piece(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	uint8_t in[30] = { 0 }, out[30];

	results[me] = coll_user_allreduce(&comms[me], in, out, 10, coll_type_opaque(3),
					  two_ops[me]);
	return NULL;
}

static void *other_root(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	uint8_t in[30] = { 0 }, out[30];

	results[me] = coll_user_reduce(&comms[me], in, out, 10, coll_type_opaque(3), job.op, me);
	return NULL;
}

static void run_two(void *(*body)(void *))
{
	pthread_t t[2];
	uintptr_t k;

	set_ranks(2);
	for (k = 0; k < 2; k++)
		if (pthread_create(&t[k], NULL, body, (void *)k))
			abort();
	for (k = 0; k < 2; k++)
		pthread_join(t[k], NULL);
}

static void test_disagree(void)
{
	run_two(other_root);
	ok(results[0] == -EBADE && results[1] == -EBADE, "roots that disagree: EBADE on all");
	if (coll_op_create(matrices, false, &folded, &two_ops[0]) ||
	    coll_op_create(matrices, false, &folded, &two_ops[1]) ||
	    coll_op_set_piece(two_ops[1], 4096))
		abort();
	run_two(other_piece);
	ok(results[0] == -EBADE && results[1] == -EBADE, "pieces likewise");
	coll_op_free(two_ops[0]);
	coll_op_free(two_ops[1]);
}

int main(void)
{
	test_handles();
	test_fork();
	test_local();
	if (coll_op_create(matrices, false, &folded, &job.op))
		return 2;
	test_schedule();
	test_cost();
	test_piece();
	test_errors();
	test_memory("no memory for a small vector: the communicator is aborted", 1);
	userop_small = 0;
	/* Descriptions, and three arrays of the one window */
	test_memory("no memory for a window: likewise", 4);
	userop_small = 16 << 10;
	test_disagree();
	return ok_done();
}
