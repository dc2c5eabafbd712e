// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Collectives in shared memory, between threads. The test plays the kernel: it wakes all ranks now
 * and then, and takes no op. Tested are results of all collectives for any number of ranks, which
 * commands are for the kernel, ranks that use the kernel or disagree, and a rank that writes random
 * bytes into its part while a sanitizer watches the others; registered buffers; up to which size
 * ops are done there; and, access by access, a failure while a rank looks. The blocks of v-forms have random counts and places.
 *
 * usage: test_shm [SEED]
 */
#define _GNU_SOURCE	/* registers in a signal's context */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/bytes.h"
#include "comm/buffers.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "comm/shm_turn.h"
#include "nonblocking/async.h"
#include "setup/shm_limit.h"
#include "shm/shm_flight.h"
#include "shm/shm_op.h"
#include "shm/shm_run.h"
#include "shm/shm_wait.h"
#include "tap.h"

#define MOST	8
#define DATA	4096
#define ROOM	(MOST * DATA)

/* The layout is that of the header, not that of a kernel. */
#define RANK_OFFSET	128
#define AREA_OFFSET	4096
#define SLOT_OFFSET	192
#define SLOT_SIZE	(sizeof(struct coll_shm_slot) + DATA + 64)
#define AREA_SIZE	(SLOT_OFFSET + COLL_SHM_SLOTS * SLOT_SIZE)
static uint64_t lot;
static _Atomic uint64_t sleeps, wakes;
/* A registered buffer has this number. */
static uint32_t next_id;
/* A rank sleeps for long for an op of this many bytes, or more. 0: no op is slow */
static uint64_t shm_slow;
/* Only if it reduces. */
static bool slow_folds;
/* Only from this position on. */
static uint64_t slow_from;
/* What takes long takes so many microseconds, */
static unsigned int slow_us = 25000;
/* times this. */
static unsigned int slowness = 1;
/* The communicator with this header fails as soon as a rank sleeps. */
static struct coll_shm_header *fails;
/* So many sleeps are refused, with this errno. */
static _Atomic int refusals;
static int refused_with;
/* A rank called coll_abort(). */
static _Atomic bool aborted;
struct work;
/* This rank comes at the deadline of one that sleeps, as the kernel fails the communicator. */
static struct work *comer;
struct world;
/* The first rank is posting the first op of rank 1. */
static struct world *posting;

/* ---- the kernel ---- */

static bool is_slow(uint64_t pos);
static void post_for_other(struct world *w);
static bool come_at_the_deadline(void);

/* This process may use the first two CPUs only. */
static bool few_cpus;

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	if (!few_cpus)
		return (int)syscall(SYS_sched_getaffinity, pid, size, set) < 0 ? -1 : 0;
	CPU_ZERO_S(size, set);
	CPU_SET_S(0, size, set);
	CPU_SET_S(1, size, set);
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	(void)fd;
	if (request == COLL_IOC_SHM_WAIT) {
		sleeps++;
		if (refusals > 0 && refusals--) {
			errno = refused_with;
			return -1;
		}
		if (fails)
			__atomic_store_n(&fails->failed, ESHUTDOWN, __ATOMIC_RELEASE);
		if (come_at_the_deadline()) {
			errno = ETIMEDOUT;
			return -1;
		}
		va_start(ap, request);
		usleep(is_slow(va_arg(ap, struct coll_shm_wait *)->pos) ? slow_us * slowness : 100);
		va_end(ap);
		return 0;
	}
	if (request == COLL_IOC_REGISTER) {
		va_start(ap, request);
		va_arg(ap, struct coll_register *)->id = next_id;
		va_end(ap);
		return 0;
	}
	wakes += request == COLL_IOC_SHM_WAKE;
	if (request == COLL_IOC_SHM_WAKE && posting)
		post_for_other(posting);
	return 0;
}

bool async_is_queued(coll_comm_t *comm)
{
	(void)comm;
	return false;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	aborted = true;
	__atomic_store_n((uint32_t *)&comm->shm->h->failed, code, __ATOMIC_RELEASE);
	return 0;
}

/* There are no nonblocking ops. */
void shm_flight_allow(coll_comm_t *comm)
{
	(void)comm;
}

/**
 * struct world - a communicator
 * @memory: what all share
 */
struct world {
	uint32_t n;
	uint8_t *memory;
	struct coll_comm comm[MOST];
	struct shm shm[MOST];
	unsigned char alive;
};

static struct coll_shm_rank *told(struct world *w, uint32_t r)
{
	return (void *)(w->memory + RANK_OFFSET + r * sizeof(struct coll_shm_rank));
}

static struct world *world_new(uint32_t n)
{
	struct world *w = calloc(1, sizeof(*w));
	struct coll_shm_header *h;
	uint32_t r;

	w->n = n;
	w->alive = 1;
	w->memory = aligned_alloc(4096, (AREA_OFFSET + n * AREA_SIZE + 4095) / 4096 * 4096);
	memset(w->memory, 0, AREA_OFFSET + n * AREA_SIZE);
	h = (void *)w->memory;
	*h = (struct coll_shm_header){
		.magic = COLL_SHM_MAGIC, .version = COLL_SHM_VERSION, .nr_local = n,
		.rank_offset = RANK_OFFSET, .rank_size = sizeof(struct coll_shm_rank),
		.area_offset = AREA_OFFSET, .area_size = AREA_SIZE,
		.slot_offset = SLOT_OFFSET, .slot_size = SLOT_SIZE, .data_size = DATA,
		.active = 1,
	};
	for (r = 0; r < n; r++) {
		w->shm[r] = (struct shm){
			.all = w->memory, .own = w->memory + AREA_OFFSET + r * AREA_SIZE,
			.n = n, .me = r, .ranks = n, .rank = r,
			.h = h, .alive = &w->alive, .gave = ~0ULL,
			.spins = 20, .crowd = 1, .limit = { DATA, DATA },
		};
		shm_read_header(&w->shm[r]);
		w->comm[r].size = n;
		w->comm[r].rank = r;
		w->comm[r].shm = &w->shm[r];
	}
	return w;
}

static void world_free(struct world *w)
{
	uint32_t r;

	for (r = 0; r < w->n; r++)
		free(w->shm[r].plans);
	free(w->memory);
	free(w);
}

uint32_t coll_comm_rank(const coll_comm_t *comm)
{
	return comm->rank;
}

/**
 * struct work - what one rank does
 * @cmd: its command
 * @done: has it been done there?
 * @res: its result then
 * @spent: otherwise, its time that has passed
 * @over: the call has returned
 */
struct work {
	pthread_t thread;
	struct world *w;
	uint32_t rank;
	struct coll_cmd cmd;
	uint32_t in[ROOM / 4], out[ROOM / 4];
	bool done;
	int res;
	uint64_t spent;
	atomic_bool over;
};

static void *do_work(void *arg)
{
	struct work *k = arg;

	k->done = shm_submit(&k->w->comm[k->rank], &k->cmd, &k->res, &k->spent);
	k->over = true;
	if (!k->done)
		shm_given(&k->w->comm[k->rank]);
	return NULL;
}

static void run_all(struct work *k, uint32_t n)
{
	uint32_t r;

	for (r = 0; r < n; r++) {
		/* A pause is the affair of another test. */
		k[r].w->shm[r].next_try = 0;
		pthread_create(&k[r].thread, NULL, do_work, &k[r]);
	}
	for (r = 0; r < n; r++)
		pthread_join(k[r].thread, NULL);
}

/* ---- results ---- */

static uint32_t input(uint32_t rank, uint32_t i)
{
	return rank * 7919 + i * 31 + 1;
}

/* Element @i of the result of @rank, or false: it has none. */
static bool wanted(const struct coll_cmd *c, uint32_t n, uint32_t rank, uint32_t i, uint32_t *v)
{
	uint32_t count = (uint32_t)c->count, r, first = 0, last = n;

	switch (c->collective) {
	case COLL_BROADCAST:
		*v = input(c->root, i);
		return i < count;
	case COLL_GATHER:
		*v = input(i / (count ? count : 1), i % (count ? count : 1));
		return rank == c->root && i < n * count;
	case COLL_ALLGATHER:
		*v = input(i / (count ? count : 1), i % (count ? count : 1));
		return i < n * count;
	case COLL_SCATTER:
		*v = input(c->root, rank * count + i);
		return i < count;
	case COLL_ALLTOALL:
		*v = input(i / (count ? count : 1), rank * count + i % (count ? count : 1));
		return i < n * count;
	case COLL_BARRIER:
		return false;
	case COLL_SCAN:
		last = rank + 1;
		break;
	case COLL_EXSCAN:
		last = rank;
		break;
	}
	for (*v = 0, r = first; r < last; r++)
		*v += input(r, c->collective == COLL_REDUCE_SCATTER_BLOCK ? rank * count + i : i);
	return i < count && last && (c->collective != COLL_REDUCE || rank == c->root);
}

static const uint16_t kinds[] = {
	COLL_BARRIER, COLL_BROADCAST, COLL_REDUCE, COLL_ALLREDUCE, COLL_REDUCE_SCATTER_BLOCK,
	COLL_ALLGATHER, COLL_GATHER, COLL_SCATTER, COLL_ALLTOALL, COLL_SCAN, COLL_EXSCAN,
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool is_rooted(uint16_t what)
{
	return what == COLL_REDUCE || what == COLL_BROADCAST || what == COLL_GATHER ||
	       what == COLL_SCATTER;
}

static bool reduces(uint16_t what)
{
	return what == COLL_REDUCE || what == COLL_ALLREDUCE || what == COLL_SCAN ||
	       what == COLL_EXSCAN || what == COLL_REDUCE_SCATTER_BLOCK;
}

/* The command of one rank, out of place. */
static void prepare(struct work *k, struct world *w, uint32_t rank, uint16_t what,
		    uint32_t count, uint32_t root)
{
	struct coll_cmd *c = &k->cmd;
	uint32_t i;

	k->w = w;
	k->rank = rank;
	memset(c, 0, sizeof(*c));
	c->collective = what;
	for (i = 0; i < ROOM / 4; i++) {
		k->in[i] = input(rank, i);
		k->out[i] = ~0U;
	}
	if (what == COLL_BARRIER)
		return;
	c->dtype = COLL_U32;
	c->count = count;
	c->op = reduces(what) ? COLL_OP_SUM : 0;
	c->root = is_rooted(what) ? root : 0;
	/* Only what the rank needs: anything else is for the kernel to refuse. */
	if (what != COLL_BROADCAST && (what != COLL_SCATTER || rank == root))
		c->send_addr = (uintptr_t)k->in;
	if ((what != COLL_REDUCE && what != COLL_GATHER) || rank == root)
		c->recv_addr = (uintptr_t)k->out;
	if (what == COLL_BROADCAST && rank == root)
		c->recv_addr = (uintptr_t)k->in;
}

/* The same in place, where that may be. */
static void in_place(struct work *k)
{
	struct coll_cmd *c = &k->cmd;
	uint32_t at = 0, count = (uint32_t)c->count;

	if (c->collective == COLL_BARRIER || c->collective == COLL_BROADCAST ||
	    c->collective == COLL_SCATTER || (is_rooted(c->collective) && c->root != k->rank))
		return;
	if (c->collective == COLL_ALLGATHER || c->collective == COLL_GATHER)
		at = k->rank * count;
	memcpy(k->out + at, k->in, (ROOM / 4 - at) * 4);
	c->flags |= COLL_CMD_INPLACE;
	c->send_addr = 0;
}

static bool check(const struct work *k, uint32_t n)
{
	const uint32_t *out = k->out;
	uint32_t i, v;

	if (k->cmd.collective == COLL_BROADCAST && k->rank == k->cmd.root)
		out = k->in;
	for (i = 0; i < ROOM / 4 && wanted(&k->cmd, n, k->rank, i, &v); i++)
		if (out[i] != v) {
			printf("# collective %u, count %u, rank %u of %u: element %u is %u, not %u\n",
			       k->cmd.collective, (unsigned int)k->cmd.count, k->rank, n, i,
			       out[i], v);
			return false;
		}
	return k->done && !k->res;
}

static bool results(uint32_t n, struct work *k)
{
	struct world *w = world_new(n);
	bool good = true;
	uint32_t i, r, root, count;

	for (i = 0; i < 200 && good; i++) {
		root = below(&lot, n);
		count = below(&lot, DATA / 4 / n + 1);
		for (r = 0; r < n; r++) {
			prepare(&k[r], w, r, kinds[i % NR_KINDS], count, root);
			if (below(&lot, 2))
				in_place(&k[r]);
		}
		run_all(k, n);
		for (r = 0; r < n; r++)
			good &= check(&k[r], n);
	}
	for (r = 0; r < n; r++)
		good &= w->shm[r].ops == i &&
			((struct coll_shm_area *)w->shm[r].own)->ops == i;
	world_free(w);
	return good;
}

/* ---- counts ---- */

/**
 * struct blocks - blocks with counts of their own, the same on all ranks
 * @counts: what each rank gives and gets; of an alltoallv, by giver and taker
 * @displs: where they begin, in vectors that have them all
 */
struct blocks {
	uint64_t counts[MOST][MOST], displs[MOST];
};

/* As a command has them: of an alltoallv twice as many. */
static uint64_t cmd_counts[MOST][2 * MOST], cmd_displs[MOST][2 * MOST];

static void draw_blocks(struct blocks *b, uint32_t n, uint16_t what)
{
	uint64_t at = 0;
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			b->counts[k][i] = below(&lot, 4) ? below(&lot, 40) : 0;
			/* Only there has each rank its own. */
			if (what != COLL_ALLTOALLV)
				b->counts[k][i] = b->counts[0][i];
		}
		b->displs[i] = at;
		at += what == COLL_REDUCE_SCATTER ? b->counts[0][i] : 41 + below(&lot, 3);
	}
}

/* Where an empty block lies does not matter. */
static void misplace_empty_blocks(struct blocks *b, uint32_t n, uint16_t what)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (what != COLL_ALLTOALLV && what != COLL_REDUCE_SCATTER && !b->counts[0][i])
			b->displs[i] = below(&lot, 2) ? 0 : ~0ULL;
}

/* Element @e of what rank @from gives to rank @to, or to all. */
static uint32_t element(uint32_t from, uint32_t to, uint64_t e)
{
	return input(from, to * 1000 + (uint32_t)e);
}

static bool is_to_all(uint16_t what)
{
	return what == COLL_ALLGATHERV || what == COLL_GATHERV;
}

static void fill_in(struct work *k, const struct blocks *b, uint16_t what, uint32_t n, bool root)
{
	uint32_t me = k->rank, i, e;

	for (i = 0; i < n && (what != COLL_SCATTERV || root); i++)
		for (e = 0; e < b->counts[me][i] && !is_to_all(what); e++)
			k->in[b->displs[i] + e] = element(me, i, e);
	for (e = 0; is_to_all(what) && e < b->counts[me][me]; e++)
		k->in[e] = element(me, 0, e);
}

static void prepare_counts(struct work *k, struct world *w, uint32_t rank, uint16_t what,
			   const struct blocks *b, uint32_t root)
{
	bool rooted = what == COLL_GATHERV || what == COLL_SCATTERV, has = !rooted || rank == root;
	struct coll_cmd *c = &k->cmd;
	uint32_t i;

	prepare(k, w, rank, what, 0, 0);
	memset(c, 0, sizeof(*c));
	c->collective = what;
	c->dtype = COLL_U32;
	c->op = what == COLL_REDUCE_SCATTER ? COLL_OP_SUM : 0;
	c->root = rooted ? root : 0;
	c->count = has ? 0 : b->counts[rank][rank];
	c->send_addr = what == COLL_SCATTERV && rank != root ? 0 : (uintptr_t)k->in;
	c->recv_addr = what == COLL_GATHERV && rank != root ? 0 : (uintptr_t)k->out;
	fill_in(k, b, what, w->n, rank == root);
	if (!has)
		return;
	for (i = 0; i < w->n; i++) {
		cmd_counts[rank][i] = b->counts[rank][i];
		cmd_counts[rank][w->n + i] = b->counts[i][rank];
		cmd_displs[rank][i] = b->displs[i];
		cmd_displs[rank][w->n + i] = b->displs[i];
	}
	c->counts_addr = (uintptr_t)cmd_counts[rank];
	c->displs_addr = what == COLL_REDUCE_SCATTER ? 0 : (uintptr_t)cmd_displs[rank];
}

/* The result that a rank is to have, over what its output had before. */
static void want_counts(const struct work *k, const struct blocks *b, uint32_t root, uint32_t *out)
{
	uint32_t me = k->rank, n = k->w->n, i, r, e, what = k->cmd.collective;

	if (what == COLL_GATHERV && me != root)
		return;
	for (i = 0; i < n; i++)
		for (e = 0; e < b->counts[i][me] && what == COLL_ALLTOALLV; e++)
			out[b->displs[i] + e] = element(i, me, e);
	for (i = 0; i < n; i++)
		for (e = 0; e < b->counts[i][i] && is_to_all((uint16_t)what); e++)
			out[b->displs[i] + e] = element(i, 0, e);
	for (e = 0; e < b->counts[me][me] && what == COLL_SCATTERV; e++)
		out[e] = element(root, me, e);
	for (e = 0; e < b->counts[me][me] && what == COLL_REDUCE_SCATTER; e++)
		for (r = 0, out[e] = 0; r < n; r++)
			out[e] += element(r, me, e);
}

static bool check_counts(const struct work *k, const struct blocks *b, uint32_t root)
{
	static uint32_t want[ROOM / 4];
	uint32_t i;

	memset(want, 0xff, sizeof(want));
	want_counts(k, b, root, want);
	for (i = 0; i < ROOM / 4 && k->out[i] == want[i]; i++)
		;
	if (i < ROOM / 4 || !k->done || k->res)
		printf("# collective %u, rank %u of %u, root %u: %s, element %u is %u, not %u\n",
		       k->cmd.collective, k->rank, k->w->n, root, k->done ? "done" : "not done",
		       i, k->out[i % (ROOM / 4)], want[i % (ROOM / 4)]);
	return i == ROOM / 4 && k->done && !k->res;
}

static const uint16_t counted[] = {
	COLL_ALLGATHERV, COLL_GATHERV, COLL_SCATTERV, COLL_ALLTOALLV, COLL_REDUCE_SCATTER,
};

/**
 * struct counted_op - a v-form, and the communicator that does it
 * @w: NULL: there has been none yet
 */
struct counted_op {
	struct world *w;
	uint16_t what;
	uint32_t root;
	struct blocks b;
};

/* Another v-form; or the same again, of an alltoallv with one other count. */
static void draw_counted(struct counted_op *o, uint32_t n)
{
	bool again = o->w && below(&lot, 2);

	if (!o->w)
		o->w = world_new(n);
	if (again && o->what == COLL_ALLTOALLV)
		o->b.counts[below(&lot, n)][below(&lot, n)] = below(&lot, 41);
	if (again)
		return;
	o->what = counted[below(&lot, 5)];
	o->root = below(&lot, n);
	draw_blocks(&o->b, n, o->what);
	misplace_empty_blocks(&o->b, n, o->what);
}

static bool with_counts(struct work *k)
{
	static struct counted_op ops[MOST + 1];
	struct counted_op *o;
	uint32_t i, r, n;
	bool good = true;

	for (i = 0; i < 400 && good; i++) {
		n = 2 + i % (MOST - 1);
		o = &ops[n];
		draw_counted(o, n);
		for (r = 0; r < n; r++)
			prepare_counts(&k[r], o->w, r, o->what, &o->b, o->root);
		run_all(k, n);
		for (r = 0; r < n; r++)
			good &= check_counts(&k[r], &o->b, o->root);
	}
	for (n = 2; n <= MOST; n++)
		world_free(ops[n].w);
	return good;
}

/* One rank has another count: none takes the op. */
static bool counts_differ(struct work *k)
{
	uint32_t i, r, n, root, other;
	struct world *w;
	struct blocks b;
	bool good = true;

	for (i = 0; i < 40 && good; i++) {
		n = 2 + i % (MOST - 1);
		root = below(&lot, n);
		other = below(&lot, n);
		w = world_new(n);
		draw_blocks(&b, n, counted[i % 5]);
		for (r = 0; r < n; r++)
			prepare_counts(&k[r], w, r, counted[i % 5], &b, root);
		/* What a root gives to itself is its own affair. */
		if (k[other].cmd.counts_addr)
			cmd_counts[other][(other + 1 + below(&lot, n - 1)) % n]++;
		else
			k[other].cmd.count++;
		run_all(k, n);
		for (r = 0; r < n; r++) {
			good &= !k[r].done;
			if (k[r].done)
				printf("# collective %u: rank %u of %u has done it, %u differs\n",
				       counted[i % 5], r, n, other);
		}
		world_free(w);
	}
	return good;
}

/* ---- what is for the kernel ---- */

/* A single rank asks: it would wait for the others if it took the op. */
#define KERNEL(...)							\
do {									\
	prepare(k, w, 0, COLL_ALLREDUCE, 3, 0);				\
	fails->failed = 0;						\
	__VA_ARGS__;							\
	do_work(k);							\
	good &= !k->done;						\
	if (k->done)							\
		printf("# taken: %s\n", #__VA_ARGS__);			\
} while (0)

static bool for_the_kernel(struct work *k)
{
	struct world *w = world_new(2);
	struct coll_cmd *c = &k->cmd;
	bool good = true;
	struct blocks b;

	memset(&b, 0, sizeof(b));
	b.counts[0][0] = b.counts[0][1] = b.counts[1][0] = b.counts[1][1] = 3;
	b.displs[1] = 3;
	/* If it takes one, it hears that the communicator has failed. */
	fails = (void *)w->memory;
	KERNEL(fails->failed = ESHUTDOWN);
	KERNEL(c->algorithm = COLL_ALG_RING);
	KERNEL(c->flags = COLL_CMD_SLEEP);
	KERNEL(c->flags = COLL_CMD_REG_SEND);
	KERNEL(c->flags = 1U << 31);
	KERNEL(c->op = COLL_OP_USER);
	KERNEL(c->op = COLL_OP_REPLACE);
	KERNEL(c->op = COLL_OP_NONE);
	KERNEL(c->op = 0xffff);
	KERNEL(c->dtype = COLL_DTYPE_NONE);
	KERNEL(c->dtype = 0xffff);
	KERNEL(c->collective = COLL_SEND);
	KERNEL(c->collective = COLL_ALLGATHERV);
	KERNEL(c->op = 0, c->collective = COLL_ALLGATHERV);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLGATHERV, &b, 0), c->count = 1);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLGATHERV, &b, 0), c->flags = COLL_CMD_REG_RECV);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLGATHERV, &b, 0), cmd_displs[0][1] = 0);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLGATHERV, &b, 0), cmd_displs[0][1] = ~0ULL);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLGATHERV, &b, 0), cmd_counts[0][1] = ~0ULL);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLGATHERV, &b, 0), c->recv_addr = 0);
	KERNEL(prepare_counts(k, w, 0, COLL_REDUCE_SCATTER, &b, 0), c->displs_addr = c->counts_addr);
	KERNEL(prepare_counts(k, w, 0, COLL_REDUCE_SCATTER, &b, 0), cmd_counts[0][0] = 600,
	       cmd_counts[0][1] = 600);
	KERNEL(prepare_counts(k, w, 0, COLL_SCATTERV, &b, 0), cmd_counts[0][1] = DATA / 8);
	KERNEL(prepare_counts(k, w, 0, COLL_SCATTERV, &b, 1), c->count = DATA / 8);
	KERNEL(prepare_counts(k, w, 0, COLL_SCATTERV, &b, 1), c->displs_addr = 8);
	KERNEL(prepare_counts(k, w, 0, COLL_GATHERV, &b, 1), c->count = DATA / 4 + 1);
	KERNEL(prepare_counts(k, w, 0, COLL_GATHERV, &b, 0), cmd_counts[0][0] = DATA / 4);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLTOALLV, &b, 0), cmd_counts[0][2] = DATA / 8);
	KERNEL(prepare_counts(k, w, 0, COLL_ALLTOALLV, &b, 0), c->flags = COLL_CMD_INPLACE,
	       c->send_addr = 0);
	KERNEL(c->collective = 0);
	KERNEL(c->collective = 0xffff);
	KERNEL(c->root = 1);
	KERNEL(c->collective = COLL_REDUCE, c->root = 2);
	KERNEL(c->count = DATA / 4 + 1);
	KERNEL(c->count = ~0ULL);
	KERNEL(c->count = 1ULL << 62);
	KERNEL(c->collective = COLL_ALLTOALL, c->op = 0, c->count = DATA / 8 + 1);
	KERNEL(c->send_addr = 0);
	KERNEL(c->recv_addr = 0);
	KERNEL(c->recv_addr = c->send_addr + 4);
	KERNEL(c->recv_addr = c->send_addr);
	KERNEL(c->recv_addr = ~0ULL);
	KERNEL(c->counts_addr = 1);
	KERNEL(c->segment = 64);
	KERNEL(c->scalar = 1);
	KERNEL(c->source = 1);
	KERNEL(c->collective = COLL_SCAN, c->op = COLL_OP_AVG);
	KERNEL(c->collective = COLL_BROADCAST, c->op = COLL_OP_SUM);
	KERNEL(c->collective = COLL_REDUCE, c->root = 1, c->flags = COLL_CMD_INPLACE);
	/* Addresses and buffers that this rank has no use for. */
	KERNEL(c->collective = COLL_REDUCE, c->root = 1);
	KERNEL(c->collective = COLL_GATHER, c->op = 0, c->root = 1);
	KERNEL(c->collective = COLL_SCATTER, c->op = 0, c->root = 1);
	KERNEL(c->collective = COLL_BROADCAST, c->op = 0);
	KERNEL(c->collective = COLL_BARRIER, c->op = 0, c->dtype = 0, c->count = 0);
	KERNEL(c->flags = COLL_CMD_INPLACE);
	KERNEL(c->flags = COLL_CMD_REG_RECV, c->recv_buf = 7);
	KERNEL(c->send_buf = 1);
	KERNEL(c->recv_buf = 1);
	KERNEL(told(w, 0)->posted = 1);
	told(w, 0)->completed = 1;
	KERNEL(w->shm[0].next_try = 3);
	w->shm[0].next_try = 0;
	KERNEL(w->alive = 0);
	w->alive = 1;
	KERNEL(((struct coll_shm_header *)w->memory)->active = 0);
	((struct coll_shm_header *)w->memory)->active = 1;
	prepare(k, w, 0, COLL_ALLREDUCE, 3, 0);
	fails->failed = 0;
	do_work(k);
	good &= k->done && k->res == -ESHUTDOWN;
	fails = NULL;
	world_free(w);
	return good;
}

/* Some ranks go the kernel's way, or leave, or want another thing: all others follow. */
static bool astray(struct work *k, uint32_t how)
{
	struct world *w = world_new(4);
	uint32_t r, i, other = below(&lot, 4);
	bool good = true;

	for (i = 0; i < 20 && good; i++) {
		for (r = 0; r < 4; r++)
			prepare(&k[r], w, r, COLL_ALLREDUCE, 5, 0);
		run_all(k, 4);
		for (r = 0; r < 4; r++)
			good &= check(&k[r], 4);
	}
	for (r = 0; r < 4; r++)
		prepare(&k[r], w, r, COLL_ALLREDUCE, 5, 0);
	if (how == 0)
		told(w, other)->posted++;
	if (how == 1)
		told(w, other)->left = 1;
	if (how == 2)
		k[other].cmd.count++;
	if (how == 3)
		k[other].cmd.dtype = COLL_I32;
	if (how == 4)
		k[other].cmd.collective = COLL_BARRIER;
	/* As that one does. */
	if (how < 2)
		k[other].cmd.flags = COLL_CMD_SLEEP;
	if (how == 4)
		memset(&k[other].cmd.op, 0, sizeof(k[other].cmd) -
		       offsetof(struct coll_cmd, op));
	run_all(k, 4);
	for (r = 0; r < 4; r++)
		good &= !k[r].done;
	/* The kernel has refused it: this rank's slot is not to be believed. */
	if (how > 1) {
		told(w, other)->posted = 0;
		do_work(&k[other]);
		good &= !k[other].done && w->shm[other].broken;
	}
	world_free(w);
	return good;
}

/* The kernel does the first op of rank 1, an allreduce of 5 elements. */
static void post_for_other(struct world *w)
{
	uint32_t *result = (uint32_t *)shm_data(&w->shm[1], 1, 1);
	uint32_t i;

	for (i = 0; i < 5; i++)
		result[i] = input(0, i) + input(1, i);
	told(w, 1)->posted = 1;
	__atomic_store_n((uint64_t *)&told(w, 1)->finished, 1, __ATOMIC_RELEASE);
}

/*
 * Several nodes. Rank 0 changes what its slot says, so rank 1 gives the op to the kernel. @late:
 * the kernel has looked at the slots before that, and posts the op for rank 1 at this moment.
 */
static bool changes_its_slot(struct work *k, bool late)
{
	struct world *w = world_new(2);
	bool good;

	w->shm[1].nodes = true;
	prepare(k, w, 1, COLL_ALLREDUCE, 5, 0);
	((struct coll_shm_slot *)shm_slot(&w->shm[0], 0, 1))->pos = 1;
	posting = late ? w : NULL;
	do_work(k);
	posting = NULL;
	good = k->done == late && (!late || (!k->res && check(k, 2)));
	/* Otherwise the kernel would still find it. */
	good &= !shm_slot(&w->shm[1], 1, 1)->pos;
	world_free(w);
	return good;
}

/* ---- threads and time ---- */

static void begin_work(struct work *k, struct world *w, uint32_t rank, uint32_t count)
{
	prepare(k, w, rank, COLL_ALLREDUCE, count, 0);
	k->over = false;
	pthread_create(&k->thread, NULL, do_work, k);
}

/* Until rank 0 waits for rank 1 in its first op. */
static void wait_for_slot(struct world *w)
{
	while (__atomic_load_n(&shm_slot(&w->shm[0], 0, 1)->pos, __ATOMIC_ACQUIRE) != 1)
		usleep(1000);
}

/* A rank has two threads: the second op begins when the first one is over. */
static bool second_thread(struct work *k)
{
	struct world *w = world_new(2);
	bool good;

	begin_work(&k[0], w, 0, 5);
	wait_for_slot(w);
	begin_work(&k[1], w, 0, 7);
	usleep(20000);
	good = !k[0].over && !k[1].over;
	prepare(&k[2], w, 1, COLL_ALLREDUCE, 5, 0);
	do_work(&k[2]);
	pthread_join(k[0].thread, NULL);
	good &= check(&k[2], 2) && check(&k[0], 2);
	w->shm[0].next_try = 0;
	w->shm[1].next_try = 0;
	prepare(&k[2], w, 1, COLL_ALLREDUCE, 7, 0);
	do_work(&k[2]);
	pthread_join(k[1].thread, NULL);
	good &= k[1].over;
	world_free(w);
	return good;
}

/* The op of the first thread is for the kernel: the second one waits until that has numbered it. */
static bool second_thread_behind(struct work *k)
{
	struct world *w = world_new(2);
	uint64_t spent;
	bool good;

	told(w, 1)->posted = 1;
	prepare(&k[0], w, 0, COLL_ALLREDUCE, 5, 0);
	good = !shm_submit(&w->comm[0], &k[0].cmd, &k[0].res, &spent);
	begin_work(&k[1], w, 0, 7);
	usleep(20000);
	good &= !k[1].over;
	__atomic_store_n((uint64_t *)&told(w, 0)->posted, 1, __ATOMIC_RELEASE);
	pthread_join(k[1].thread, NULL);
	good &= !k[1].done;
	/* That thread has the turn no more, whatever the first one says now. */
	shm_given(&w->comm[0]);
	begin_work(&k[1], w, 0, 7);
	pthread_join(k[1].thread, NULL);
	world_free(w);
	return good;
}

static struct work *handled;

static void submit_in_handler(int sig)
{
	uint64_t spent;

	(void)sig;
	handled->done = shm_submit(&handled->w->comm[0], &handled->cmd, &handled->res, &spent);
	handled->over = true;
}

static bool signal_handler(struct work *k)
{
	struct sigaction sa = { .sa_handler = submit_in_handler };
	struct world *w = world_new(2);
	bool good;

	sigaction(SIGUSR1, &sa, NULL);
	handled = &k[2];
	prepare(handled, w, 0, COLL_ALLREDUCE, 7, 0);
	handled->over = false;
	begin_work(&k[0], w, 0, 5);
	wait_for_slot(w);
	pthread_kill(k[0].thread, SIGUSR1);
	while (!handled->over)
		usleep(1000);
	good = handled->done && handled->res == -EDEADLK;
	prepare(&k[1], w, 1, COLL_ALLREDUCE, 5, 0);
	do_work(&k[1]);
	pthread_join(k[0].thread, NULL);
	good &= check(&k[0], 2) && check(&k[1], 2);
	world_free(w);
	return good;
}

/* What a rank has waited here is no more of its deadline. */
static bool time_spent(struct work *k)
{
	struct world *w = world_new(2);
	uint64_t before = sleeps;
	bool good;

	prepare(&k[0], w, 0, COLL_ALLREDUCE, 5, 0);
	k[0].cmd.timeout_ns = 60000000000ULL;
	pthread_create(&k[0].thread, NULL, do_work, &k[0]);
	/* Its time counts from just before its first sleep. */
	while (sleeps == before)
		usleep(1000);
	usleep(50000);
	__atomic_store_n((uint64_t *)&told(w, 1)->posted, 1, __ATOMIC_RELEASE);
	pthread_join(k[0].thread, NULL);
	good = !k[0].done && k[0].spent > 20000000ULL && k[0].spent < k[0].cmd.timeout_ns;
	world_free(w);
	return good;
}

static bool come_at_the_deadline(void)
{
	struct work *k = comer;

	if (!k)
		return false;
	comer = NULL;
	do_work(k);
	__atomic_store_n((uint32_t *)&k->w->comm[0].shm->h->failed, ETIMEDOUT, __ATOMIC_RELEASE);
	return true;
}

/*
 * The last rank comes at the deadline of the other one. It succeeds. The other one is told that the
 * communicator has failed.
 */
static bool in_time_too_late(struct work *k)
{
	struct world *w = world_new(2);
	bool good;

	prepare(&k[1], w, 1, COLL_ALLREDUCE, 5, 0);
	prepare(&k[0], w, 0, COLL_ALLREDUCE, 5, 0);
	comer = &k[1];
	do_work(&k[0]);
	good = !comer && check(&k[1], 2) && k[0].done && k[0].res == -ETIMEDOUT;
	world_free(w);
	return good;
}

/* As the function of coll_comm_set_idle() */
static uint64_t idle_for_a_minute(void *arg, uint64_t waited_ns)
{
	(void)arg, (void)waited_ns;
	return 60000000000ULL;
}

/*
 * The kernel refuses a sleep. The slot of the rank says that it takes part in the op, so it must not
 * go back: it tries again, until its deadline.
 */
static bool sleep_refused(struct work *k, int err, coll_idle_fn *idle)
{
	struct world *w = world_new(2);
	bool good;

	w->comm[0].idle = idle;
	refusals = 20;
	refused_with = err;
	begin_work(&k[0], w, 0, 5);
	while (refusals && !k[0].over)
		usleep(1000);
	refusals = 0;
	good = !k[0].over;
	prepare(&k[1], w, 1, COLL_ALLREDUCE, 5, 0);
	do_work(&k[1]);
	pthread_join(k[0].thread, NULL);
	good &= check(&k[0], 2) && check(&k[1], 2) && !aborted;
	refusals = 1 << 30;
	prepare(&k[0], w, 0, COLL_ALLREDUCE, 5, 0);
	k[0].cmd.timeout_ns = 20000000;
	do_work(&k[0]);
	good &= aborted && k[0].done && k[0].res == -ETIMEDOUT;
	refusals = 0;
	aborted = false;
	world_free(w);
	return good;
}

/*
 * Two threads of a rank sleep for one op each. The word that says so is about the later op, and one
 * thread must not clear it for the other one.
 */
static bool two_sleepers(void)
{
	struct world *w = world_new(2);
	struct shm_op first = { .pos = 5 }, later = { .pos = 6 };
	const struct shm *s = &w->shm[0];
	bool good;

	shm_wait_announce(s, &first);
	good = shm_own_area(s)->sleeps == 5;
	shm_wait_announce(s, &later);
	shm_wait_end(s, &first);
	good &= shm_own_area(s)->sleeps == 6;
	shm_wait_announce(s, &first);
	good &= shm_own_area(s)->sleeps == 6;
	shm_wait_end(s, &later);
	good &= !shm_own_area(s)->sleeps;
	world_free(w);
	return good;
}

/* ---- turns ---- */

static _Atomic unsigned int looks_around;

static void look_around(void)
{
	looks_around++;
}

/* A thread gives two ops to the kernel, one after the other: that is not the same turn. */
static bool turns_differ(void)
{
	struct world *w = world_new(2);
	struct shm *s = &w->shm[0];
	uint64_t turn[2];
	int i;

	for (i = 0; i < 2; i++) {
		shm_turn_begin(s, 0);
		shm_turn_give(s);
		turn[i] = s->turn;
		told(w, 0)->posted = i + 1;
		shm_turn_given(s);
	}
	world_free(w);
	return turn[0] != turn[1];
}

static atomic_bool turn_taken;

static void *hold_turn(void *arg)
{
	shm_turn_begin(arg, 0);
	turn_taken = true;
	usleep(50000);
	shm_turn_end(arg);
	return NULL;
}

/* The largest time limit must not overflow: the thread waits until it gets its turn. */
static bool turn_waits_for_long(void)
{
	struct world *w = world_new(2);
	struct shm *s = &w->shm[0];
	pthread_t other;
	bool good;

	pthread_create(&other, NULL, hold_turn, s);
	while (!turn_taken)
		usleep(100);
	good = !shm_turn_begin(s, UINT64_MAX);
	pthread_join(other, NULL);
	shm_turn_end(s);
	world_free(w);
	return good;
}

/* A thread that waits for its turn looks after other commands. */
static bool turn_looks_around(struct work *k)
{
	struct world *w = world_new(2);
	struct shm *s = &w->shm[0];
	bool good;
	int i;

	shm_turn_look_around(look_around);
	shm_turn_begin(s, 0);
	good = !looks_around;
	begin_work(&k[0], w, 0, 5);
	for (i = 0; i < 5000 && !looks_around; i++)
		usleep(1000);
	good &= looks_around && !k[0].over;
	shm_turn_end(s);
	prepare(&k[1], w, 1, COLL_ALLREDUCE, 5, 0);
	do_work(&k[1]);
	pthread_join(k[0].thread, NULL);
	good &= check(&k[0], 2) && check(&k[1], 2);
	shm_turn_look_around(NULL);
	world_free(w);
	return good;
}

/* ---- the same command again ---- */

/* Both ranks submit what they have. Return: it has been done in shared memory, by both. */
static bool again(struct work *k)
{
	run_all(k, 2);
	return k[0].done && k[1].done && !k[0].res && !k[1].res;
}

/* Counts and displacements of an allgatherv are in memory that the program changes. */
static bool other_counts(struct work *k, struct world *w)
{
	uint64_t counts[2], displs[2] = { 0 };
	bool good = true;
	uint32_t r, i, n;

	for (r = 0; r < 2; r++) {
		prepare(&k[r], w, r, COLL_ALLGATHERV, 0, 0);
		k[r].cmd.counts_addr = (uintptr_t)counts;
		k[r].cmd.displs_addr = (uintptr_t)displs;
	}
	/* The counts change, then the displacements, then nothing does. */
	for (n = 3; n < 27; n++) {
		counts[0] = n / 3;
		counts[1] = 9 - n / 3;
		displs[1] = n / 3 + !!(n % 3);
		memset(k[0].out, 0xff, sizeof(k[0].out));
		memset(k[1].out, 0xff, sizeof(k[1].out));
		good &= again(k);
		for (r = 0; r < 2; r++)
			for (i = 0; i < 9; i++)
				good &= k[r].out[i < n / 3 ? i : i - n / 3 + displs[1]] ==
					(i < n / 3 ? input(0, i) : input(1, i - n / 3));
	}
	/* blocks that overlap are for the kernel */
	displs[1] = 0;
	return good && !again(k);
}

static void set_limits(struct world *w, size_t limit)
{
	shm_set_limits(&w->shm[0], limit);
	shm_set_limits(&w->shm[1], limit);
}

/* What follows from a command is found out again when the communicator has changed. */
static bool repeated(struct work *k)
{
	struct world *w = world_new(2);
	uint32_t r, i;
	bool good = true;

	for (r = 0; r < 2; r++)
		prepare(&k[r], w, r, COLL_ALLREDUCE, 5, 0);
	for (i = 0; i < 3; i++)
		good &= again(k) && check(&k[0], 2) && check(&k[1], 2);
	set_limits(w, 19);
	good &= !again(k);
	set_limits(w, 20);
	good &= again(k);
	for (r = 0; r < 2; r++) {
		prepare(&k[r], w, r, COLL_SCAN, 5, 0);
		k[r].cmd.op = COLL_OP_PREMULSUM;
		w->comm[r].version.features = COLL_FEAT_RANK_ORDER;
	}
	good &= again(k);
	w->comm[0].version.features = w->comm[1].version.features = 0;
	good &= !again(k);
	set_limits(w, DATA);
	good &= other_counts(k, w);
	world_free(w);
	return good;
}

/* ---- registered buffers ---- */

/* The memory of ranks that have registered it is used as any other. */
static bool registered(struct work *k)
{
	struct world *w = world_new(2);
	bool good = true;
	uint32_t id, r;

	for (r = 0; r < 2; r++) {
		coll_register_buffer(&w->comm[r], k[r].in, sizeof(k[r].in), 0, &id);
		next_id = 3;
		coll_register_buffer(&w->comm[r], k[r].out, sizeof(k[r].out), COLL_REG_WRITE, &id);
		next_id = 0;
		prepare(&k[r], w, r, COLL_ALLREDUCE, 9, 0);
		buffers_apply(&w->comm[r], &k[r].cmd);
		good &= k[r].cmd.flags == (COLL_CMD_REG_SEND | COLL_CMD_REG_RECV) &&
			k[r].cmd.recv_buf == 3;
	}
	run_all(k, 2);
	for (r = 0; r < 2; r++)
		good &= check(&k[r], 2);
	/* Not that one, and not all of it. */
	k[0].cmd.recv_buf = 2;
	do_work(k);
	good &= !k->done;
	k[0].cmd.recv_buf = 3;
	k[0].cmd.recv_addr += sizeof(k[0].out) - 32;
	do_work(k);
	good &= !k->done;
	/* What a thread remembers of its last command ends with the buffer. */
	for (r = 0; r < 3; r++) {
		if (r == 2)
			coll_unregister_buffer(w->comm, 3);
		prepare(&k[0], w, 0, COLL_ALLREDUCE, 9, 0);
		buffers_apply(w->comm, &k[0].cmd);
		good &= k[0].cmd.flags == (r == 2 ? COLL_CMD_REG_SEND :
					   COLL_CMD_REG_SEND | COLL_CMD_REG_RECV);
	}
	for (r = 0; r < 2; r++)
		buffers_free(&w->comm[r]);
	world_free(w);
	return good;
}

/* ---- the limit ---- */

/**
 * struct kernel - allreduces of the ranks of a world
 * @us: what it takes for an op of DATA bytes, and for a smaller one
 * @fail_at: this op, from 1, fails; 0: none does
 * @ops: until now
 * @came: ranks of the next one
 * @acc: its result, 64-bit maxima, or the minimum of one 32-bit word
 */
static struct kernel {
	struct world *w;
	unsigned int us_large, us_small;
	uint64_t fail_at, ops;
	uint32_t came;
	uint64_t acc[8], result[8];
	pthread_mutex_t lock;
	pthread_cond_t changed;
} kernel = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Is the op at @pos one of those that shall take long? */
static bool is_slow(uint64_t pos)
{
	const struct coll_shm_slot *slot;
	uint32_t r;

	for (r = 0; shm_slow && pos >= slow_from && r < kernel.w->n; r++) {
		slot = shm_slot(&kernel.w->shm[0], r, pos);
		if (__atomic_load_n(&slot->pos, __ATOMIC_ACQUIRE) == pos)
			return slot->count * coll_dtype_bytes(slot->dtype) >= shm_slow &&
			       (!slow_folds || slot->op);
	}
	return false;
}

static void kernel_fold(const struct coll_cmd *c, const void *v)
{
	const uint64_t *in = v;
	uint64_t i, least;

	if (c->op == COLL_OP_MIN) {
		least = *(const uint32_t *)v;
		if (!kernel.came || least < kernel.acc[0])
			kernel.acc[0] = least;
	}
	for (i = 0; c->op == COLL_OP_MAX && i < c->count; i++)
		if (!kernel.came || in[i] > kernel.acc[i])
			kernel.acc[i] = in[i];
}

static void kernel_meet(const struct coll_cmd *c, void *v)
{
	uint64_t nth = kernel.ops;

	kernel_fold(c, v);
	if (++kernel.came == kernel.w->n) {
		kernel.came = 0;
		kernel.ops++;
		memcpy(kernel.result, kernel.acc, sizeof(kernel.acc));
		pthread_cond_broadcast(&kernel.changed);
	}
	while (kernel.ops == nth)
		pthread_cond_wait(&kernel.changed, &kernel.lock);
	if (c->op == COLL_OP_MAX)
		memcpy(v, kernel.result, c->count * 8);
	if (c->op == COLL_OP_MIN)
		*(uint32_t *)v = (uint32_t)kernel.result[0];
}

/* By the kernel, if not in shared memory: a rank that is there meanwhile has to see it. */
int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	struct coll_shm_rank *r = told(kernel.w, comm->rank);
	struct coll_shm_header *h = (void *)kernel.w->memory;
	uint64_t spent;
	int ret = 0;

	if (comm->shm && shm_submit(comm, cmd, &ret, &spent))
		return ret;
	usleep(cmd->count * coll_dtype_bytes(cmd->dtype) == DATA ? kernel.us_large : kernel.us_small);
	__atomic_store_n(&r->posted, r->posted + 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&kernel.lock);
	kernel_meet(cmd, (void *)(uintptr_t)cmd->recv_addr);
	if (kernel.fail_at && kernel.ops >= kernel.fail_at) {
		h->failed = EHOSTDOWN;
		ret = -EHOSTDOWN;
	}
	pthread_mutex_unlock(&kernel.lock);
	__atomic_store_n(&r->completed, r->completed + 1, __ATOMIC_RELEASE);
	if (comm->shm)
		shm_given(comm);
	return ret;
}

/**
 * struct settling - a rank that takes part in finding the limit
 */
struct settling {
	pthread_t thread;
	struct coll_comm *comm;
	struct shm_terms terms;
	int ret;
};

static void *do_settle(void *arg)
{
	struct settling *s = arg;

	s->ret = shm_settle(s->comm, &s->terms, deadline_in(60000 * slowness));
	return NULL;
}

/*
 * @limit: result: what the ranks came to. ~0: they differ, or one of them has failed
 */
static void settle_all(const struct shm_terms *terms, int want, size_t *limit)
{
	struct world *w = kernel.w;
	struct settling s[MOST];
	const struct shm *one = NULL;
	uint32_t r;

	kernel.ops = 0;
	for (r = 0; r < w->n; r++) {
		s[r] = (struct settling){ .comm = &w->comm[r], .terms = *terms };
		pthread_create(&s[r].thread, NULL, do_settle, &s[r]);
	}
	for (r = 0; r < w->n; r++) {
		pthread_join(s[r].thread, NULL);
		if (w->comm[r].shm)
			one = w->comm[r].shm;
	}
	memcpy(limit, one->limit, sizeof(one->limit));
	for (r = 0; r < w->n; r++)
		if (s[r].ret != want || w->shm[r].always ||
		    (w->comm[r].shm && memcmp(w->shm[r].limit, one->limit, sizeof(one->limit)))) {
			printf("# rank %u: %d, limits %zu %zu, not %zu %zu\n", r, s[r].ret,
			       w->shm[r].limit[SHM_COPIES], w->shm[r].limit[SHM_FOLDS],
			       one->limit[SHM_COPIES], one->limit[SHM_FOLDS]);
			limit[SHM_COPIES] = limit[SHM_FOLDS] = ~0UL;
		}
}

static bool settles(const char *what, bool good, const size_t *limit)
{
	if (!good)
		printf("# %s: limits %zu %zu, %llu ops of the kernel\n", what, limit[SHM_COPIES],
		       limit[SHM_FOLDS], (unsigned long long)kernel.ops);
	return good;
}

#define ARE(limit, n)	((limit)[0] == (n) && (limit)[1] == (n))

#define SETTLES(cond, ...)						\
do {									\
	kernel.w = world_new(3);					\
	kernel.us_large = kernel.us_small = 0;				\
	kernel.fail_at = 0;						\
	t = (struct shm_terms){						\
		.all = true, .limit = { SHM_MEASURE, SHM_MEASURE },	\
		.budget_ns = ~0ULL / 4,					\
	};								\
	want = 0;							\
	__VA_ARGS__;							\
	settle_all(&t, want, limit);					\
	good &= settles(#__VA_ARGS__, cond, limit);			\
	world_free(kernel.w);						\
} while (0)

static bool limits_once(void)
{
	struct shm_terms t;
	size_t limit[SHM_KINDS];
	bool good = true;
	int want;

	/* Whatever this machine is like, all ranks agree. */
	SETTLES(limit[0] <= DATA && limit[1] <= DATA && kernel.ops);
	SETTLES(ARE(limit, DATA) && kernel.ops, kernel.us_large = 20000 * slowness);
	SETTLES(ARE(limit, DATA / 4), kernel.us_small = 20000 * slowness, shm_slow = DATA);
	slow_folds = true;
	SETTLES(limit[SHM_FOLDS] == DATA / 4 && limit[SHM_COPIES] == DATA,
		kernel.us_small = 20000 * slowness, kernel.us_large = 10000 * slowness);
	slow_folds = false;
	SETTLES(limit[0] < 64 && limit[1] < 64, shm_slow = 1);
	shm_slow = 0;
	/* One round for each kind, however long it takes, and the sum of its times. */
	SETTLES(ARE(limit, DATA) && kernel.ops == 1 + 2 * (4 + 1), t.budget_ns = 0, shm_slow = 1);
	shm_slow = 0;
	SETTLES(ARE(limit, 1000) && !kernel.ops, t.limit[0] = t.limit[1] = 1000);
	SETTLES(limit[0] == 1000 && limit[1] == 900, t.limit[0] = 1000, t.limit[1] = 900);
	SETTLES(ARE(limit, DATA) && !kernel.ops, t.limit[0] = t.limit[1] = SHM_MEASURE - 1);
	SETTLES(ARE(limit, DATA) && !kernel.ops, t.all = false);
	/* One has not been able to map it. */
	SETTLES(ARE(limit, DATA) && kernel.ops == 1, kernel.w->comm[1].shm = NULL);
	SETTLES(ARE(limit, DATA), kernel.fail_at = 1, want = -EHOSTDOWN);
	SETTLES(ARE(limit, DATA), kernel.fail_at = 4, want = -EHOSTDOWN);
	return good;
}

/* With more ranks than CPUs: smaller vectors first, and the sum of all rounds counts. */
static bool crowded_limits_once(void)
{
	struct shm_terms t;
	size_t limit[SHM_KINDS];
	bool good = true;
	int want;

	/* Many ops are timed. */
	slow_us = 2000;
	SETTLES(ARE(limit, DATA), t.crowded = true,
		kernel.us_large = kernel.us_small = 500 * slowness);
	SETTLES(ARE(limit, 0), t.crowded = true, shm_slow = 1);
	SETTLES(ARE(limit, DATA / 4), t.crowded = true, shm_slow = DATA,
		kernel.us_small = 500 * slowness);
	/*
	 * From the second round on ops of DATA bytes are slow, 2 ms each against 1. One op goes
	 * before all, and a sum is behind each round.
	 */
	shm_slow = DATA;
	slow_from = 1 + COLL_SHM_SLOTS + 4 + 4 + 1 + 1;
	SETTLES(limit[SHM_COPIES] == DATA,
		kernel.us_large = 1000 * slowness, kernel.us_small = 1500 * slowness);
	/* Two smaller vectors go before. */
	slow_from = 1 + 16 + 2 * 5 * (16 + 16 + 1) + 16 + 16 + 1 + 1;
	SETTLES(limit[SHM_COPIES] == DATA / 4, t.crowded = true,
		kernel.us_large = 1000 * slowness, kernel.us_small = 500 * slowness);
	shm_slow = slow_from = 0;
	/* If time is up, no larger vector is tried. */
	SETTLES(ARE(limit, 64) && kernel.ops == 1 + 2 * (16 + 1), t.crowded = true,
		t.budget_ns = 0, kernel.us_small = 500 * slowness);
	SETTLES(ARE(limit, 0) && kernel.ops == 1 + 2 * (16 + 1), t.crowded = true, t.budget_ns = 0,
		shm_slow = 1);
	shm_slow = 0;
	/* A given limit is a bound. */
	SETTLES(ARE(limit, 1000) && kernel.ops, t.crowded = true, t.limit[0] = t.limit[1] = 1000,
		kernel.us_large = kernel.us_small = 500 * slowness);
	SETTLES(ARE(limit, 0) && !kernel.ops, t.crowded = true, t.limit[0] = t.limit[1] = 0);
	/* Limits that rank 0 has inherited. */
	SETTLES(limit[0] == 100 && limit[1] == 50 && !kernel.ops, t.crowded = t.inherits = true,
		t.limit[0] = 100, t.limit[1] = 50);
	/* One has not been able to map the memory: nothing has been measured. */
	SETTLES(ARE(limit, 0) && kernel.ops == 1, t.crowded = true, kernel.w->comm[1].shm = NULL);
	slow_us = 25000;
	return good;
}

/* Where a switch of threads takes as long as what is slow here, times differ too little. */
static bool limits(bool (*once)(void))
{
	bool good = false;

	for (slowness = 1; slowness <= 25 && !good; slowness *= 5)
		good = once();
	slowness = 1;
	return good;
}

static bool offers(const char *env, const char *always, int ret, uint32_t limit)
{
	struct world *w = world_new(2);
	uint8_t blob[SHM_BLOB];
	struct shm_terms t;
	bool good;

	memset(blob, 9, sizeof(blob));

	setenv("COLL_SHM", always, 1);
	setenv("COLL_SHM_LIMIT", env, 1);
	good = shm_offer(&w->comm[0], NULL, blob) == ret;
	/* This world has no such feature. */
	good &= !(blob[0] & SHM_BLOB_PART);
	shm_hear(&t, 0, blob);
	good &= ret || (ARE(t.limit, limit) && !t.all);
	blob[0] = 1;
	shm_hear(&t, 0, blob);
	put_le32(blob + 1, 7);
	shm_hear(&t, 1, blob);
	good &= t.all && (ret || ARE(t.limit, limit));
	blob[0] = 0;
	shm_hear(&t, 2, blob);
	shm_hear(&t, 3, blob);
	good &= !t.all;
	world_free(w);
	return good;
}

/*
 * What a rank of six offers that may use two CPUs at most. The limits of its parent are 100 and 50.
 * @crowd: ranks for each CPU there; 0: there is no parent. Return: the bits; *sum: of the limits
 */
static uint8_t offers_crowded(const char *always, const char *env, uint32_t crowd, uint64_t *sum)
{
	struct world *like = world_new(7), *w = world_new(6);
	uint8_t blob[SHM_BLOB];
	struct shm_terms t;

	setenv("COLL_SHM", always, 1);
	setenv("COLL_SHM_LIMIT", env, 1);
	like->comm[0].nr_nodes = w->comm[0].nr_nodes = 1;
	like->shm[0].crowd = crowd;
	like->shm[0].limit[0] = 100;
	like->shm[0].limit[1] = 50;
	few_cpus = true;
	shm_offer(&w->comm[0], crowd ? &like->comm[0] : NULL, blob);
	few_cpus = false;
	shm_hear(&t, 0, blob);
	*sum = (uint64_t)t.limit[0] + t.limit[1];
	world_free(like);
	world_free(w);
	return blob[0];
}

static bool crowded_offers(void)
{
	uint64_t sum;

	return offers_crowded("", "", 0, &sum) == SHM_BLOB_CROWDED && sum == 2 * (uint64_t)SHM_MEASURE &&
	       offers_crowded("1", "", 0, &sum) == 0 &&
	       offers_crowded("", "", 1, &sum) == SHM_BLOB_CROWDED && sum == 2 * (uint64_t)SHM_MEASURE &&
	       offers_crowded("", "", 4, &sum) == (SHM_BLOB_CROWDED | SHM_BLOB_INHERITS) && sum == 150 &&
	       /* A number bounds what is inherited. */
	       offers_crowded("", "70", 4, &sum) == (SHM_BLOB_CROWDED | SHM_BLOB_INHERITS) && sum == 120 &&
	       offers_crowded("", "70", 1, &sum) == SHM_BLOB_CROWDED && sum == 140;
}

/* One rank is crowded: all hear it, and more time is given. Rank 0 says if limits are inherited. */
static bool crowded_terms(void)
{
	uint8_t one[SHM_BLOB] = { SHM_BLOB_PART | SHM_BLOB_CROWDED | SHM_BLOB_INHERITS };
	uint8_t none[SHM_BLOB] = { SHM_BLOB_PART };
	struct shm_terms t;
	uint64_t budget;
	bool good;

	shm_hear(&t, 0, none);
	budget = t.budget_ns;
	shm_hear(&t, 1, none);
	good = t.all && !t.crowded && !t.inherits;
	shm_hear(&t, 2, one);
	good &= t.all && t.crowded && !t.inherits && t.budget_ns > budget;
	shm_hear(&t, 0, one);
	return good && t.all && t.crowded && t.inherits;
}

/*
 * A communicator of @ranks is made from another one, whose limits are 100 and 50. @env:
 * COLL_SHM_LIMIT. Return: the sum of what is offered.
 */
static uint64_t inherited(uint32_t ranks, bool mapped, const char *env)
{
	struct world *like = world_new(3), *w = world_new(ranks);
	uint8_t blob[SHM_BLOB];
	struct shm_terms t;

	setenv("COLL_SHM", "", 1);
	setenv("COLL_SHM_LIMIT", env, 1);
	like->shm[0].limit[0] = 100;
	like->shm[0].limit[1] = 50;
	if (!mapped)
		like->comm[0].shm = NULL;
	shm_offer(&w->comm[0], &like->comm[0], blob);
	shm_hear(&t, 0, blob);
	world_free(like);
	world_free(w);
	return (uint64_t)t.limit[0] + t.limit[1];
}

/* ---- the second look ---- */

#ifdef __x86_64__
/*
 * What the other rank and the kernel do may come between any two accesses of a rank that looks.
 * The page with the header is closed, so that each access to it is a signal; before the @event-th
 * the other rank posts its slot, and the communicator fails.
 */
static struct world *closed;
static int event;

static void happen(void)
{
	struct coll_shm_slot *slot = shm_own_slot(&closed->shm[1], 1);
	struct coll_shm_slot say = {
		.pos = 1, .collective = COLL_ALLREDUCE, .op = COLL_OP_SUM, .dtype = COLL_U32,
		.count = 1,
	};
	uint32_t v = input(1, 0);

	memcpy(slot + 1, &v, sizeof(v));
	*slot = say;
	((struct coll_shm_header *)closed->memory)->failed = EHOSTDOWN;
}

/* The access is let through, and the page closed behind it. */
static void on_access(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	if ((uint8_t *)info->si_addr < closed->memory ||
	    (uint8_t *)info->si_addr >= closed->memory + AREA_OFFSET)
		_exit(3);
	mprotect(closed->memory, AREA_OFFSET, PROT_READ | PROT_WRITE);
	if (!--event)
		happen();
	regs[REG_EFL] |= 0x100;		/* one instruction */
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
	mprotect(closed->memory, AREA_OFFSET, PROT_NONE);
}

/* *taken: it was done there, and not left to the kernel */
static bool fails_at(struct work *k, int nth, bool *taken)
{
	struct world *w = world_new(2);
	bool good;

	prepare(k, w, 0, COLL_ALLREDUCE, 1, 0);
	closed = w;
	event = nth;
	mprotect(w->memory, AREA_OFFSET, PROT_NONE);
	do_work(k);
	mprotect(w->memory, AREA_OFFSET, PROT_READ | PROT_WRITE);
	*taken = k->done;
	/* The other rank has been there before the failure: the op is complete. */
	good = !k->done || (!k->res && k->out[0] == input(0, 0) + input(1, 0));
	if (!good)
		printf("# a failure before access %d: %d\n", nth, k->res);
	world_free(w);
	return good;
}

static bool second_look(struct work *k)
{
	struct sigaction access = { .sa_sigaction = on_access, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	struct sigaction old_access, old_step;
	bool good = true, taken;
	int nth, here = 0, nowhere = 0;

	sigaction(SIGSEGV, &access, &old_access);
	sigaction(SIGTRAP, &step, &old_step);
	for (nth = 1; nth <= 120 && good; nth++) {
		good = fails_at(k, nth, &taken);
		here += taken;
		nowhere += !taken;
	}
	sigaction(SIGSEGV, &old_access, NULL);
	sigaction(SIGTRAP, &old_step, NULL);
	/* Before the op began it is the kernel's. */
	return good && here && nowhere;
}
#endif

/* ---- scribbling ---- */

struct scribbler {
	struct world *w;
	_Atomic bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint8_t *own = s->w->shm[0].own;
	uint64_t state = lot;
	size_t at;
	uint32_t v;

	while (!s->stop) {
		at = below(&state, AREA_SIZE / 4) * 4;
		v = below(&state, 2) ? below(&state, 2000) : below(&state, ~0U);
		__atomic_store_n((uint32_t *)(own + at), v, __ATOMIC_RELAXED);
		at = SLOT_OFFSET + below(&state, COLL_SHM_SLOTS) * SLOT_SIZE;
		__atomic_store_n((uint64_t *)(own + at), below(&state, 12000), __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Rank 0 only scribbles. The others come back with a value, or without, and touch nothing else. */
static bool scribbled(struct work *k)
{
	struct world *w = world_new(3);
	struct scribbler s = { .w = w };
	struct timespec end, now;
	bool good = true;
	pthread_t t;
	uint32_t i, r;

	pthread_create(&t, NULL, scribble, &s);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 3;
	for (i = 0; i < 3000; i++) {
		for (r = 1; r < 3; r++) {
			prepare(&k[r], w, r, kinds[i % NR_KINDS], below(&lot, 300), 0);
			w->shm[r].broken = false;
			w->shm[r].next_try = 0;
			pthread_create(&k[r].thread, NULL, do_work, &k[r]);
		}
		/* Nobody posts what they wait for, if not by chance: let it fail. */
		usleep(300);
		((struct coll_shm_header *)w->memory)->failed = EHOSTDOWN;
		for (r = 1; r < 3; r++) {
			pthread_join(k[r].thread, NULL);
			good &= !k[r].done || !k[r].res || k[r].res == -EHOSTDOWN;
		}
		((struct coll_shm_header *)w->memory)->failed = 0;
		w->shm[1].ops = w->shm[2].ops = i + 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (i > 20 && now.tv_sec > end.tv_sec)
			break;
	}
	s.stop = true;
	pthread_join(t, NULL);
	world_free(w);
	return good;
}

int main(int argc, char **argv)
{
	struct work *k = calloc(MOST, sizeof(*k));
	char name[64];
	uint32_t n;

	lot = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# seed %llu\n", (unsigned long long)lot);
	/* A rank that waits forever is a failure, too. */
	alarm(1200);
	for (n = 2; n <= MOST; n++) {
		snprintf(name, sizeof(name), "results of all collectives, %u ranks", n);
		ok(results(n, k), name);
	}
	ok(with_counts(k), "blocks with counts of their own");
	ok(counts_differ(k), "one rank has other counts");
	ok(for_the_kernel(k), "what is for the kernel");
	ok(astray(k, 0), "a rank goes the kernel's way");
	ok(astray(k, 1), "a rank has left");
	ok(astray(k, 2), "another count");
	ok(astray(k, 3), "another type");
	ok(astray(k, 4), "another collective");
	ok(second_thread(k), "a second thread waits");
	ok(second_thread_behind(k), "a second thread does not overtake the first one");
	ok(signal_handler(k), "a signal handler is refused");
	ok(time_spent(k), "the time that was spent here");
	ok(in_time_too_late(k), "the last rank comes at the deadline of the other one");
	ok(sleep_refused(k, ENOMEM, NULL) && sleep_refused(k, EBUSY, NULL),
	   "a sleep that is refused");
	ok(sleep_refused(k, EBUSY, idle_for_a_minute), "and one between calls of a function");
	ok(two_sleepers(), "two threads that sleep");
	ok(turns_differ(), "a turn is not taken for a later one of the same thread");
	ok(turn_waits_for_long(), "a thread with the longest time limit waits for its turn");
	ok(turn_looks_around(k), "a thread that waits for its turn looks around");
	ok(repeated(k), "the same command again");
	ok(registered(k), "registered buffers");
	ok(limits(limits_once), "a limit that all ranks agree about");
	ok(limits(crowded_limits_once), "a limit with more ranks than CPUs");
	ok(crowded_offers(), "a rank says that it has more ranks than CPUs, or inherits limits");
	ok(crowded_terms(), "and all hear it");
	ok(offers("", "", 0, SHM_MEASURE) && offers("auto", "1", 0, SHM_MEASURE) &&
	   offers("4096", "", 0, 4096) && offers("", "1", 0, SHM_MEASURE - 1) &&
	   offers("0", "1", 0, 0) && offers("many", "", -EINVAL, 0) &&
	   offers("-1", "", -EINVAL, 0), "a limit that the environment gives");
	ok(changes_its_slot(k, false) && changes_its_slot(k, true),
	   "several nodes: a rank changes its slot while the op is posted");
	ok(inherited(3, true, "") == 150 && inherited(2, true, "") == 2ULL * SHM_MEASURE &&
	   inherited(3, true, "auto") == 150 && inherited(3, false, "") == 2ULL * SHM_MEASURE,
	   "the limit of a parent with as many ranks");
	ok(inherited(3, true, "40") == 80 && inherited(3, true, "4096") == 8192 &&
	   !inherited(3, true, "0"), "a number in the environment goes before it");
#ifdef __x86_64__
	ok(second_look(k), "a failure between two looks");
#endif
	ok(scribbled(k), "a rank that writes what it likes");
	ok(sleeps && wakes, "some slept, and were woken");
	free(k);
	return ok_done();
}
