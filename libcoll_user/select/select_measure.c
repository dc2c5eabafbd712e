// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Measures algorithms over the links that will be used. Rank 0 chooses the next step and
 * broadcasts it; all ranks run it. The time of a run is that of the slowest rank.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "algorithms/table.h"
#include "base/debug.h"
#include "collective.h"
#include "comm/comm.h"
#include "select_measure.h"

/* The most runs of one algorithm at one size, and in one step. A run may be several ops. */
#define MAX_RUNS	64
#define MAX_REPS	32
/* Runs of every algorithm before the first ones drop out. */
#define FIRST_REPS	3
/* Barriers before all measurements. */
#define BARRIERS	3
/* The most algorithms in one step. */
#define MAX_WHO		24
/* Bytes of vectors that show the costs of a message and of a byte. */
#define SHORT		4
#define LONG		65536
/* For longer vectors there is no extra run to warm up. */
#define NO_WARM_UP	(1 << 20)
/*
 * A run consists of ops of the same algorithm, one after the other, that take about this many
 * seconds together. The time of a single short op would depend on which rank leaves the barrier
 * first.
 */
#define RUN_TIME	2e-3
#define MAX_BATCH	64
/* Elements of the sums that measure the time to fold a byte, and number of these sums. */
#define FOLD		65536
#define FOLDS		4

/* A step, as rank 0 broadcasts it: algorithms and number of runs; @what 0: no more steps. */
struct step {
	uint64_t what;
	uint64_t bytes;
	uint32_t reps;
	uint32_t warm;
	uint32_t batch;
	uint32_t reserved;
	uint64_t nr;
	struct {
		uint32_t algorithm;
		uint32_t segment;
	} who[MAX_WHO];
};

/* The runs of an algorithm so far: the time of the slowest rank in each. */
struct runs {
	uint32_t nr;
	double t[MAX_RUNS];
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Make a command that sums f32, or copies bytes. @root: if the collective has one */
static void command(coll_comm_t *comm, enum coll_collective what, void *in, void *out,
		    uint64_t bytes, uint32_t root, struct coll_cmd *cmd)
{
	const enum coll_op_code sum = COLL_OP_SUM;
	uint64_t n = bytes / 4;

	switch (what) {
	case COLL_BROADCAST:
		coll_cmd_broadcast(comm, cmd, out, bytes, COLL_BYTE, root);
		break;
	case COLL_REDUCE:
		coll_cmd_reduce(comm, cmd, in, out, n, COLL_F32, sum, root);
		break;
	case COLL_ALLREDUCE:
		coll_cmd_allreduce(comm, cmd, in, out, n, COLL_F32, sum);
		break;
	case COLL_REDUCE_SCATTER_BLOCK:
		coll_cmd_reduce_scatter_block(comm, cmd, in, out, n, COLL_F32, sum);
		break;
	case COLL_ALLGATHER:
		coll_cmd_allgather(comm, cmd, in, out, bytes, COLL_BYTE);
		break;
	case COLL_GATHER:
		coll_cmd_gather(comm, cmd, in, out, bytes, COLL_BYTE, root);
		break;
	case COLL_SCATTER:
		coll_cmd_scatter(comm, cmd, in, out, bytes, COLL_BYTE, root);
		break;
	case COLL_ALLTOALL:
		coll_cmd_alltoall(comm, cmd, in, out, bytes, COLL_BYTE);
		break;
	case COLL_SCAN:
		coll_cmd_scan(comm, cmd, in, out, n, COLL_F32, sum);
		break;
	case COLL_EXSCAN:
		coll_cmd_exscan(comm, cmd, in, out, n, COLL_F32, sum);
		break;
	default:
		coll_cmd_barrier(comm, cmd);
	}
	/*
	 * These are for the commands of the application. Only some algorithms can send smaller
	 * elements between nodes, and all are timed.
	 */
	cmd->flags &= ~(COLL_CMD_WIRE | COLL_CMD_NARROW);
}

static int run_one(coll_comm_t *comm, struct deadline deadline, struct coll_cmd *cmd,
		   uint32_t algorithm, uint32_t segment)
{
	cmd->algorithm = (uint16_t)algorithm;
	cmd->segment = segment;
	cmd->timeout_ns = ((uint64_t)deadline_left(deadline) + 1) * 1000000;
	return coll_submit(comm, cmd);
}

int select_run(coll_comm_t *comm, struct deadline deadline, enum coll_collective what,
	       enum coll_algorithm_id alg, void *in, void *out, uint64_t bytes)
{
	struct coll_cmd cmd;

	command(comm, what, in, out, bytes, 0, &cmd);
	return run_one(comm, deadline, &cmd, (uint32_t)alg, 0);
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

/* Replace the time of each run by that of the slowest rank. */
static int slowest(struct select_bench *b, double *times, uint64_t nr)
{
	struct coll_cmd cmd;

	coll_cmd_allreduce(b->comm, &cmd, COLL_IN_PLACE, times, nr, COLL_F64, COLL_OP_MAX);
	return run_one(b->comm, b->deadline, &cmd, COLL_ALG_RECURSIVE_DOUBLING, 0);
}

/*
 * Set the deadline of every rank to the earliest of all ranks: ranks begin at different times, and
 * rank 0 decides how long to measure. Call this after a barrier, so that no rank waits for the
 * others between reading the time it has left and sharing it.
 */
static int share_deadline(struct select_bench *b)
{
	double least = -deadline_left(b->deadline);
	int ret = slowest(b, &least, 1);

	if (!ret && least <= 0)
		b->deadline = deadline_min(b->deadline, deadline_in((uint32_t)-least));
	return ret;
}

static int cmp(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* The median, not the minimum: an application does not run at the best moments only. */
static double median(const struct runs *r)
{
	double sorted[MAX_RUNS];

	memcpy(sorted, r->t, r->nr * sizeof(*sorted));
	qsort(sorted, r->nr, sizeof(*sorted), cmp);
	return r->nr ? sorted[(r->nr - 1) / 2] : 0;
}

/*
 * Another order each time, the same on all ranks: an algorithm may profit from the state of the
 * caches that the algorithm before it leaves, and a fixed order would always favour the same one.
 * The constants are those of Knuth's MMIX.
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

/* Bytes of the longer vector of a collective. */
static uint64_t vector_bytes(const struct select_bench *b, const struct step *s)
{
	bool blocks = coll_kind_of((uint32_t)s->what)->flags & COLL_KIND_BLOCKS;

	return s->bytes * (blocks ? b->comm->size : 1);
}

/*
 * Has every rank the memory? The ranks only ask each other if @b->room is too small, and @b->room
 * is the same on all ranks. Return: 0; 1: a rank has no memory; or -errno.
 */
static int have_room(struct select_bench *b, uint64_t bytes)
{
	double missing = 0;
	int ret;

	if (bytes <= b->room)
		return 0;
	missing = want_room(b, bytes) != 0;
	ret = slowest(b, &missing, 1);
	if (!ret && missing > 0) {
		/* Free it on all ranks, so that @b->room stays the same on all. */
		if (b->buf)
			munmap(b->buf, 2 * b->room);
		b->buf = NULL;
		b->room = 0;
		ret = 1;
	}
	return ret;
}

/*
 * A run of one algorithm, after a barrier; @seconds: time of one op of it. Each op of a batch has
 * another root. Otherwise the root of broadcasts could finish all of them before the last rank has
 * received the first one.
 */
static int run_batch(struct select_bench *b, const struct step *s, uint32_t i, double *seconds)
{
	struct coll_cmd cmd;
	double begin;
	uint32_t k;
	int ret;

	ret = barrier(b);
	begin = now();
	for (k = 0; !ret && k < s->batch; k++) {
		command(b->comm, (enum coll_collective)s->what, b->buf, b->buf + b->room, s->bytes,
			k % b->comm->size, &cmd);
		ret = run_one(b->comm, b->deadline, &cmd, s->who[i].algorithm, s->who[i].segment);
	}
	*seconds = (now() - begin) / s->batch;
	return ret;
}

/* Run each algorithm once; @times: result for each of them. */
static int run_turn(struct select_bench *b, const struct step *s, const uint32_t *order,
		    double *times)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < s->nr; i++)
		ret = run_batch(b, s, order[i], &times[order[i]]);
	return ret;
}

/* With ->warm there is a first run that does not count: it opens windows and faults in pages. */
static int run_step(struct select_bench *b, const struct step *s, struct runs *result)
{
	double times[(MAX_REPS + 1) * MAX_WHO] = { 0 };
	uint32_t order[MAX_WHO], i, rep, reps = s->reps + s->warm;
	int ret;

	/* The step comes from rank 0, which is trusted but may run another version. */
	if (s->reps > MAX_REPS || s->warm > 1 || s->nr > MAX_WHO || !s->batch ||
	    s->batch > MAX_BATCH || s->what >= COLL_NR_COLLECTIVES ||
	    s->bytes > SELECT_MAX_BYTES || vector_bytes(b, s) > SELECT_MAX_BYTES) {
		coll_abort(b->comm, EPROTO);
		return -EPROTO;
	}
	ret = have_room(b, vector_bytes(b, s));
	if (ret)
		return ret;
	for (i = 0; i < s->nr; i++)
		order[i] = i;
	for (rep = 0; !ret && rep < reps; rep++) {
		shuffle(order, s->nr, rep);
		ret = run_turn(b, s, order, times + rep * s->nr);
	}
	if (!ret)
		ret = slowest(b, times, reps * s->nr);
	for (rep = s->warm; !ret && rep < reps; rep++)
		for (i = 0; i < s->nr; i++)
			if (result[i].nr < MAX_RUNS)
				result[i].t[result[i].nr++] = times[rep * s->nr + i];
	return ret;
}

static int announce(struct select_bench *b, struct step *s)
{
	return select_run(b->comm, b->deadline, COLL_BROADCAST, COLL_ALG_BINOMIAL, NULL, s,
			  sizeof(*s));
}

/* Rank 0: broadcast a step and run it. */
static int do_step(struct select_bench *b, struct step *s, struct runs *result)
{
	int ret = announce(b, s);

	return ret ? ret : run_step(b, s, result);
}

int select_follow(struct select_bench *b)
{
	struct runs *unused = calloc(MAX_WHO, sizeof(*unused));
	struct step s = { 0 };
	int ret, i;

	/* The others wait for this rank: they have to get an error. */
	if (!unused) {
		coll_abort(b->comm, ENOMEM);
		return -ENOMEM;
	}
	/* The commands with which select_calibrate() begins. */
	for (i = 0, ret = 0; i < BARRIERS && !ret; i++)
		ret = barrier(b);
	if (!ret)
		ret = share_deadline(b);
	while (!ret) {
		ret = announce(b, &s);
		if (ret || !s.what)
			break;
		ret = run_step(b, &s, unused);
		/* 1: a rank has no memory. Rank 0 knows that, and chooses another step. */
		ret = ret > 0 ? 0 : ret;
		for (i = 0; i < MAX_WHO; i++)
			unused[i].nr = 0;
	}
	free(unused);
	return ret;
}

int select_end(struct select_bench *b)
{
	struct step s = { 0 };

	return announce(b, &s);
}

/*
 * Seconds per byte of a sum in user space, which takes as long as in the kernel. The vectors are
 * larger than the first cache, because gamma matters for such vectors. The time to read the clock
 * is subtracted: in user-mode Linux it is as long as the sum.
 */
static int fold_byte(double *gamma)
{
	float *x = calloc(2 * FOLD, sizeof(*x));
	double best = 1, clock = 1, start, begin, end;
	int i;

	if (!x)
		return -ENOMEM;
	for (i = 0; i < FOLDS; i++) {
		start = now();
		begin = now();
		coll_reduce_local(x, x + FOLD, FOLD, COLL_F32, COLL_OP_SUM);
		end = now();
		clock = begin - start < clock ? begin - start : clock;
		best = end - begin < best ? end - begin : best;
	}
	free(x);
	*gamma = (best > 2 * clock ? best - clock : best / 2) / (FOLD * sizeof(*x));
	/* A coarse clock may show no time at all, but a cost is never 0. */
	if (*gamma < 1e-12)
		*gamma = 1e-12;
	return 0;
}

/* The cost of one algorithm by the model as it is now. */
static double cost(struct select_bench *b, enum coll_collective what,
		   enum coll_algorithm_id alg, uint64_t bytes)
{
	return select_cost(&b->model, coll_algorithm_find(what, alg), b->comm->nr_nodes, bytes, 0);
}

/* Times of two algorithms; if @second is COLL_ALG_AUTO, of one. */
static int times_of(struct select_bench *b, enum coll_collective what, uint64_t bytes,
		    uint32_t reps, enum coll_algorithm_id first,
		    enum coll_algorithm_id second, double *t)
{
	struct step s = {
		.what = what, .bytes = bytes, .reps = reps, .warm = 1, .batch = 1,
		.nr = second ? 2 : 1,
		.who = { { (uint32_t)first, 0 }, { (uint32_t)second, 0 } },
	};
	struct runs r[2] = { 0 };
	int ret = do_step(b, &s, r);

	t[0] = median(&r[0]);
	t[1] = median(&r[1]);
	return ret > 0 ? -ENOMEM : ret;
}

/*
 * The costs of a message. A chain has n - 1 hops there and, by tokens, n - 1 hops back; each hop
 * takes alpha and the overhead at both ends. The root of a linear broadcast has the overhead of
 * n - 1 tokens and n - 1 messages. If all nodes send to all nodes, and that takes longer than these
 * costs predict, they share something (a switch, or the processors of one host).
 */
static int fit_messages(struct select_bench *b, double *linear)
{
	struct select_model *m = &b->model;
	double n = b->comm->nr_nodes, t[2], hop;
	int ret;

	ret = times_of(b, COLL_BROADCAST, SHORT, 3, COLL_ALG_CHAIN, COLL_ALG_LINEAR, t);
	if (ret)
		return ret;
	*linear = t[1];
	hop = t[0] / (n - 1) / 2;
	m->overhead = n > 2 ? (*linear - 2 * hop) / (n - 2) / 2 : hop / 4;
	if (m->overhead > hop * 0.45)
		m->overhead = hop * 0.45;
	if (m->overhead < hop / 1000)
		m->overhead = hop / 1000;
	m->alpha = hop - 2 * m->overhead;
	ret = times_of(b, COLL_ALLREDUCE, SHORT, 3, COLL_ALG_MESH_FULL, COLL_ALG_AUTO, t);
	if (!ret && t[0] > cost(b, COLL_ALLREDUCE, COLL_ALG_MESH_FULL, SHORT))
		m->busy_message = t[0] / (n * (n - 1));
	return ret;
}

/* The cost of a byte, with one sender and with all senders. */
static int fit_bytes(struct select_bench *b, double linear)
{
	struct select_model *m = &b->model;
	double n = b->comm->nr_nodes, t[2], each, small, busy;
	int ret;

	ret = times_of(b, COLL_BROADCAST, LONG, 2, COLL_ALG_LINEAR, COLL_ALG_AUTO, t);
	if (ret)
		return ret;
	each = (t[0] - linear) / ((n - 1) * LONG);
	/* The receiver copies or folds each byte: a time below gamma is an error of measurement. */
	m->beta = each > m->gamma ? each : m->gamma;
	small = cost(b, COLL_ALLREDUCE, COLL_ALG_MESH, SHORT);
	ret = times_of(b, COLL_ALLREDUCE, 4 * LONG, 2, COLL_ALG_MESH, COLL_ALG_AUTO, t);
	/* All nodes together send 2 (n - 1) vectors, and fold half of these bytes. */
	busy = (t[0] - small) / (2 * (n - 1) * 4 * LONG) - m->gamma / 2;
	if (!ret && t[0] > cost(b, COLL_ALLREDUCE, COLL_ALG_MESH, 4 * LONG) && busy > 0)
		m->busy_byte = busy;
	return ret;
}

/* On one node there are no links: guess costs, which only decide what is tried first. */
static void guess(struct select_bench *b)
{
	b->model.alpha = b->barrier / 2;
	b->model.overhead = b->barrier / 8;
	b->model.beta = b->model.gamma;
}

int select_calibrate(struct select_bench *b)
{
	struct select_model *m = &b->model;
	double linear = 0, begin;
	int ret, i;

	b->barrier = 3600;
	for (i = 0, ret = 0; i < BARRIERS && !ret; i++) {
		begin = now();
		ret = barrier(b);
		begin = now() - begin;
		b->barrier = begin < b->barrier ? begin : b->barrier;
	}
	if (!ret)
		ret = share_deadline(b);
	if (!ret)
		ret = fold_byte(&m->gamma);
	if (b->comm->nr_nodes == 1)
		guess(b);
	else if (!ret)
		ret = fit_messages(b, &linear);
	if (!ret && b->comm->nr_nodes > 1)
		ret = fit_bytes(b, linear);
	coll_debug("alpha %g s, overhead %g s, beta %g s/byte, gamma %g s/byte, busy %g s, %g s/byte",
		   m->alpha, m->overhead, m->beta, m->gamma, m->busy_message, m->busy_byte);
	return ret;
}

/**
 * struct race - algorithms that take turns
 * @t: all algorithms of the collective
 * @who: indices of those that have not dropped out
 * @runs: of each of these, all runs so far
 */
struct race {
	struct select_time *t;
	uint32_t who[MAX_WHO];
	struct runs runs[MAX_WHO];
	uint32_t nr, k;
};

/* How much slower than the best an algorithm may be: less after more runs. */
static double margin(uint32_t runs)
{
	return runs <= FIRST_REPS ? 1.6 : runs <= 3 * FIRST_REPS ? 1.25 : 1.1;
}

/* An algorithm that is clearly slower than the best drops out, but keeps its time. */
static void drop_out(struct race *r)
{
	uint32_t i, left = 0;
	double best = 0;

	for (i = 0; i < r->nr; i++) {
		double q = median(&r->runs[i]);

		r->t[r->who[i]].measured[r->k] = q;
		if (!best || q < best)
			best = q;
	}
	for (i = 0; i < r->nr; i++) {
		if (r->t[r->who[i]].measured[r->k] > margin(r->runs[i].nr) * best)
			continue;
		r->who[left] = r->who[i];
		if (left != i)
			r->runs[left] = r->runs[i];
		left++;
	}
	r->nr = left;
}

/* Estimate of the seconds for one run of each algorithm. */
static double turn_time(const struct select_bench *b, const struct race *r, uint32_t batch)
{
	double once = 0;
	uint32_t i;

	for (i = 0; i < r->nr; i++)
		once += batch * select_estimate(&r->t[r->who[i]], r->k) + b->barrier;
	return once;
}

/*
 * Number of ops in a run: many short ones, but the first runs and the run to warm up have to fit
 * into @left seconds. If possible a multiple of the number of ranks, so that each is root equally
 * often.
 */
static uint32_t batch_of(const struct select_bench *b, const struct race *r, double left)
{
	double mean = (turn_time(b, r, 1) - r->nr * b->barrier) / r->nr;
	uint32_t n = b->comm->size, batch = MAX_BATCH;

	while (batch > 1 && (batch * mean > RUN_TIME ||
			     (FIRST_REPS + 1) * turn_time(b, r, batch) > left))
		batch--;
	return batch > n ? batch - batch % n : batch;
}

static int run_race(struct select_bench *b, struct race *r, enum coll_collective what,
		    double left)
{
	double end = now() + left, once, turns;
	struct step s = { .what = what, .bytes = SELECT_BYTES(r->k) };
	uint32_t reps = FIRST_REPS, total = 0, i;
	int ret;

	if (what == COLL_BARRIER)
		s.bytes = 0;
	for (; r->nr && total < MAX_RUNS; total += s.reps) {
		s.batch = batch_of(b, r, end - now());
		once = turn_time(b, r, s.batch);
		s.warm = !total && s.bytes <= NO_WARM_UP;
		turns = once > 0 ? (end - now()) / once - s.warm : 0;
		if (turns < 1)
			return total ? 0 : 1;
		s.reps = turns < reps ? (uint32_t)turns : reps;
		s.nr = r->nr;
		for (i = 0; i < r->nr; i++) {
			s.who[i].algorithm = r->t[r->who[i]].alg->id;
			s.who[i].segment = r->t[r->who[i]].segment;
		}
		ret = do_step(b, &s, r->runs);
		if (ret)
			return ret;
		drop_out(r);
		if (r->nr < 2)
			return 0;
		reps = reps < MAX_REPS / 2 ? 2 * reps : MAX_REPS;
	}
	return 0;
}

/* The blocks have equal sizes, so no arrays of counts are needed. */
static enum coll_collective timed_as(uint32_t collective)
{
	return collective == COLL_REDUCE_SCATTER ? COLL_REDUCE_SCATTER_BLOCK :
						   (enum coll_collective)collective;
}

int select_measure(struct select_bench *b, struct select_time *t, const uint32_t *who,
		   uint32_t nr, uint32_t k, double left)
{
	struct race *r;
	uint32_t i;
	int ret;

	if (!nr)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return 1;
	r->t = t;
	r->k = k;
	for (i = 0; i < nr && i < MAX_WHO; i++)
		r->who[r->nr++] = who[i];
	ret = run_race(b, r, timed_as(t->alg->collective), left);
	free(r);
	return ret;
}
