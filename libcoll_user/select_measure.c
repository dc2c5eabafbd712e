// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Measuring, over the links that will be used. Rank 0 decides what is measured next and
 * tells the others by a broadcast; all of them run it, and of each run the slowest rank
 * counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "comm.h"
#include "debug.h"
#include "select.h"

#define MAX_REPS	48
/* Of these a byte's cost is found out: long beside a message, short to wait for. */
#define SHORT		4
#define LONG		65536
/* Who is that much slower than the best by estimate is not timed; long vectors are dear. */
#define HOPELESS	2.5
#define HOPELESS_LONG	1.5
/* Longer vectors are not run once more before those that count. */
#define NO_WARM_UP	(1 << 20)

/* Rank 0 says: run these algorithms so often; @what 0: it is over. */
struct step {
	uint64_t what;
	uint64_t bytes;
	uint64_t reps;
	uint64_t algorithms;	/* bit n: enum coll_algorithm_id n */
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int select_run(coll_comm_t *comm, struct deadline deadline, enum coll_collective what,
	       enum coll_algorithm_id alg, void *in, void *out, uint64_t bytes)
{
	struct coll_cmd cmd = {
		.collective = (uint16_t)what,
		.algorithm = (uint16_t)alg,
		.timeout_ns = ((uint64_t)deadline_left(deadline) + 1) * 1000000,
	};

	if (what != COLL_BARRIER) {
		cmd.dtype = what == COLL_ALLREDUCE ? COLL_F32 : COLL_BYTE;
		cmd.count = what == COLL_ALLREDUCE ? bytes / 4 : bytes;
		cmd.recv_addr = (uint64_t)(uintptr_t)out;
	}
	if (what == COLL_ALLREDUCE) {
		cmd.op = COLL_OP_SUM;
		cmd.send_addr = (uint64_t)(uintptr_t)in;
	}
	return coll_submit(comm, &cmd);
}

static int barrier(struct select_bench *b)
{
	return select_run(b->comm, b->deadline, COLL_BARRIER, COLL_ALG_DISSEMINATION, NULL,
			  NULL, 0);
}

static int want_room(struct select_bench *b, uint64_t bytes)
{
	uint8_t *p;

	if (bytes <= b->room)
		return 0;
	p = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	if (b->buf)
		munmap(b->buf, 2 * b->room);
	b->buf = p;
	b->room = bytes;
	return 0;
}

/* Of each run the slowest rank. A sum of times would do as well but for its unit. */
static int slowest(struct select_bench *b, double *times, uint64_t nr)
{
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE,
		.algorithm = COLL_ALG_RECURSIVE_DOUBLING,
		.op = COLL_OP_MAX,
		.dtype = COLL_F64,
		.flags = COLL_CMD_INPLACE,
		.recv_addr = (uint64_t)(uintptr_t)times,
		.count = nr,
		.timeout_ns = ((uint64_t)deadline_left(b->deadline) + 1) * 1000000,
	};

	return coll_submit(b->comm, &cmd);
}

static int cmp(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/*
 * The lower quartile, of a few runs the shortest: what comes between only makes them
 * longer. There is room for all numbers of algorithms in each turn.
 */
static double quartile(const double *times, uint32_t reps)
{
	double sorted[MAX_REPS];
	uint32_t i;

	for (i = 0; i < reps; i++)
		sorted[i] = times[i * COLL_NR_ALGS];
	qsort(sorted, reps, sizeof(*sorted), cmp);
	return sorted[(reps - 1) / 4];
}

/*
 * Another order each time, the same on all ranks: who goes first leaves things behind, and
 * in a fixed order always for the same one. Numbers: Knuth's MMIX.
 */
static void shuffle(uint32_t *ids, uint32_t nr, uint64_t lot)
{
	uint32_t i, k, swap;

	for (i = nr; i > 1; i--) {
		lot = lot * 6364136223846793005ULL + 1442695040888963407ULL;
		k = (uint32_t)((lot >> 33) % i);
		swap = ids[k];
		ids[k] = ids[i - 1];
		ids[i - 1] = swap;
	}
}

/* One time before those that count: windows open, pages come in. */
static int run_step(struct select_bench *b, const struct step *s, double *result)
{
	double times[MAX_REPS * COLL_NR_ALGS] = { 0 }, begin;
	uint32_t ids[COLL_NR_ALGS], nr = 0, i, rep;
	int ret = 0;

	/* The others would wait for us. */
	if (s->reps > MAX_REPS || s->bytes > SELECT_BYTES(SELECT_SIZES - 1) ||
	    want_room(b, s->bytes)) {
		coll_abort(b->comm, ENOMEM);
		return -ENOMEM;
	}
	for (i = 1; i < COLL_NR_ALGS; i++)
		if (s->algorithms >> i & 1)
			ids[nr++] = i;
	for (rep = s->bytes > NO_WARM_UP; !ret && rep <= s->reps; rep++) {
		shuffle(ids, nr, rep);
		for (i = 0; !ret && i < nr; i++) {
			ret = barrier(b);
			begin = now();
			if (!ret)
				ret = select_run(b->comm, b->deadline, s->what, ids[i], b->buf,
						 b->buf + b->room, s->bytes);
			if (rep)
				times[(rep - 1) * COLL_NR_ALGS + ids[i]] = now() - begin;
		}
	}
	if (!ret)
		ret = slowest(b, times, s->reps * COLL_NR_ALGS);
	for (i = 0; !ret && i < nr; i++)
		result[ids[i]] = quartile(times + ids[i], (uint32_t)s->reps);
	return ret;
}

static int announce(struct select_bench *b, struct step *s)
{
	return select_run(b->comm, b->deadline, COLL_BROADCAST, COLL_ALG_BINOMIAL, NULL, s,
			  sizeof(*s));
}

/* Rank 0: say it and do it. */
static int do_step(struct select_bench *b, enum coll_collective what, uint64_t bytes,
		   uint64_t reps, uint64_t algorithms, double *result)
{
	struct step s = { what, bytes, reps, algorithms };
	int ret = announce(b, &s);

	return ret ? ret : run_step(b, &s, result);
}

int select_follow(struct select_bench *b)
{
	double unused[COLL_NR_ALGS];
	struct step s = { 0 };
	int ret;

	/* As select_calibrate() begins. */
	ret = barrier(b);
	if (!ret)
		ret = barrier(b);
	if (!ret)
		ret = barrier(b);
	while (!ret) {
		ret = announce(b, &s);
		if (ret || !s.what)
			break;
		ret = run_step(b, &s, unused);
	}
	return ret;
}

int select_end(struct select_bench *b)
{
	struct step s = { 0 };

	return announce(b, &s);
}

/* Seconds per byte of a sum here, which is what it is in the kernel. */
static double fold_byte(void)
{
	static float x[4096], y[4096];
	double best = 1, begin;
	int i;

	for (i = 0; i < 3; i++) {
		begin = now();
		coll_reduce_local(x, y, 4096, COLL_F32, COLL_OP_SUM);
		begin = now() - begin;
		best = begin < best ? begin : best;
	}
	return best / sizeof(x);
}

/* What the model says of one algorithm now. */
static double cost(struct select_bench *b, enum coll_collective what,
		   enum coll_algorithm_id alg, uint64_t bytes)
{
	return select_cost(&b->model, coll_algorithm_find(what, alg), b->comm->nr_nodes, bytes, 0);
}

/*
 * Messages: a chain is n - 1 hops there and, by tokens, back, of the way and the overhead
 * at both ends each; the root of a linear broadcast has the overhead of n - 1 tokens and
 * n - 1 messages. If everybody sends to everybody and that takes longer than these say,
 * they have something in common.
 */
static int fit_messages(struct select_bench *b, double *linear)
{
	struct select_model *m = &b->model;
	double n = b->comm->nr_nodes, t[COLL_NR_ALGS], hop, all;
	int ret;

	ret = do_step(b, COLL_BROADCAST, SHORT, 3,
		      1U << COLL_ALG_CHAIN | 1U << COLL_ALG_LINEAR, t);
	if (ret)
		return ret;
	*linear = t[COLL_ALG_LINEAR];
	hop = t[COLL_ALG_CHAIN] / (n - 1) / 2;
	m->overhead = n > 2 ? (*linear - 2 * hop) / (n - 2) / 2 : hop / 4;
	if (m->overhead > hop * 0.45)
		m->overhead = hop * 0.45;
	if (m->overhead < hop / 1000)
		m->overhead = hop / 1000;
	m->alpha = hop - 2 * m->overhead;
	ret = do_step(b, COLL_ALLREDUCE, SHORT, 3, 1U << COLL_ALG_MESH_FULL, t);
	all = t[COLL_ALG_MESH_FULL];
	if (!ret && all > cost(b, COLL_ALLREDUCE, COLL_ALG_MESH_FULL, SHORT))
		m->busy_message = all / (n * (n - 1));
	return ret;
}

/* Bytes, likewise: of one sender, and of all. */
static int fit_bytes(struct select_bench *b, double linear)
{
	struct select_model *m = &b->model;
	double n = b->comm->nr_nodes, t[COLL_NR_ALGS], each, small;
	int ret;

	ret = do_step(b, COLL_BROADCAST, LONG, 2, 1U << COLL_ALG_LINEAR, t);
	if (ret)
		return ret;
	each = (t[COLL_ALG_LINEAR] - linear) / ((n - 1) * LONG);
	m->beta = each > 1e-12 ? each : 1e-12;
	small = cost(b, COLL_ALLREDUCE, COLL_ALG_MESH, SHORT);
	ret = do_step(b, COLL_ALLREDUCE, 4 * LONG, 2, 1U << COLL_ALG_MESH, t);
	if (!ret && t[COLL_ALG_MESH] > cost(b, COLL_ALLREDUCE, COLL_ALG_MESH, 4 * LONG) &&
	    t[COLL_ALG_MESH] > small)
		m->busy_byte = (t[COLL_ALG_MESH] - small) / (2 * (n - 1) * 4 * LONG);
	return ret;
}

int select_calibrate(struct select_bench *b)
{
	struct select_model *m = &b->model;
	double linear = 0, begin;
	int ret, i;

	b->barrier = 3600;
	for (i = 0, ret = 0; i < 3 && !ret; i++) {
		begin = now();
		ret = barrier(b);
		begin = now() - begin;
		b->barrier = begin < b->barrier ? begin : b->barrier;
	}
	m->gamma = fold_byte();
	if (!ret)
		ret = fit_messages(b, &linear);
	if (!ret)
		ret = fit_bytes(b, linear);
	coll_debug("alpha %g s, overhead %g s, beta %g s/byte, gamma %g s/byte, busy %g s, %g s/byte",
		   m->alpha, m->overhead, m->beta, m->gamma, m->busy_message, m->busy_byte);
	return ret;
}

double select_estimate(const struct select_time *t, uint32_t k)
{
	uint32_t j = k;
	double more;

	while (j && !t->measured[j])
		j--;
	if (j == k || !t->measured[j])
		return t->measured[k] ? t->measured[k] : t->model[k];
	/* Long vectors tell how fast bytes are, short ones what is there besides. */
	if (SELECT_BYTES(j) >= LONG && t->model[j] > 0)
		return t->measured[j] * t->model[k] / t->model[j];
	more = t->model[k] - t->model[j];
	return t->measured[j] + (more > 0 ? more : 0);
}

int select_measure(struct select_bench *b, struct select_time *t, uint32_t nr, uint32_t k,
		   double left)
{
	double hopeless = SELECT_BYTES(k) > NO_WARM_UP ? HOPELESS_LONG : HOPELESS;
	double best = 0, once = 0, rounds, result[COLL_NR_ALGS] = { 0 };
	uint64_t algorithms = 0, reps;
	uint32_t i;
	int ret;

	for (i = 0; i < nr; i++)
		if (!best || select_estimate(&t[i], k) < best)
			best = select_estimate(&t[i], k);
	for (i = 0; i < nr; i++) {
		if (select_estimate(&t[i], k) > hopeless * best)
			continue;
		algorithms |= 1ULL << t[i].alg->id;
		once += select_estimate(&t[i], k) + b->barrier;
	}
	rounds = once > 0 ? left / once - (SELECT_BYTES(k) <= NO_WARM_UP) : 0;
	if (rounds < 1)
		return 1;
	reps = rounds > MAX_REPS ? MAX_REPS : (uint64_t)rounds;
	ret = do_step(b, t->alg->collective, SELECT_BYTES(k), reps, algorithms, result);
	for (i = 0; !ret && i < nr; i++)
		t[i].measured[k] = result[t[i].alg->id];
	return ret;
}
