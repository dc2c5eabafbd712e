// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Nonblocking collectives in shared memory, between threads, over a kernel that the test makes up: it
 * numbers the commands of each rank, runs those with the same number, and lets ranks sleep. Tested
 * are: any order of blocking, nonblocking and persistent ops, with some ranks in the kernel; more ops
 * than there are slots; two communicators, where a rank waits in one for what it has left open
 * in the other; a message beside an op; two threads of a rank, one of which waits for a message; ranks
 * that disagree, leave, abort, or are late; commands that the kernel refuses.
 *
 * usage: test_flight [SEED]
 */
#define _GNU_SOURCE	/* pthread_timedjoin_np() */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collective.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "nonblocking/async.h"
#include "shm/shm_flight.h"
#include "tap.h"

#define MOST	6
#define DATA	1024
#define ROOM	(MOST * 600)		/* elements of a vector */
#define OPS	8192			/* commands of a rank */
#define LARGE	500			/* elements, too many for a slot */

/* The layout is that of the header, not that of a kernel. */
#define RANK_OFFSET	128
#define AREA_OFFSET	4096
#define SLOT_OFFSET	192
#define SLOT_SIZE	(sizeof(struct coll_shm_slot) + DATA + 64)
#define AREA_SIZE	(SLOT_OFFSET + COLL_SHM_SLOTS * SLOT_SIZE)
static uint64_t lot;

/* ---- the kernel ---- */

/**
 * struct kcmd - a command of a rank
 * @tag: of COLL_IOC_POST
 * @posted: by COLL_IOC_POST
 * @done: with @result
 */
struct kcmd {
	struct coll_cmd cmd;
	uint64_t tag;
	bool posted, done, collected;
	int result;
};

/**
 * struct world - a communicator
 * @memory: what the ranks share
 * @cmds: of each rank, by number
 * @nr: how many of them
 * @message: the last message of each rank, which has no number
 * @messages_end: a message that is posted is over at once
 * @refuse: so many commands of a rank are refused, with @refuse_err
 */
struct world {
	uint32_t n;
	uint8_t *memory;
	struct coll_shm_header *h;
	struct coll_comm comm[MOST];
	struct shm shm[MOST];
	unsigned char alive;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct kcmd *cmds[MOST];
	uint64_t nr[MOST];
	struct kcmd message[MOST];
	bool messages_end;
	uint32_t refuse[MOST];
	int refuse_err;
};

static struct world *worlds[2];
static _Atomic uint64_t sleeps, looks, messages;

static struct coll_shm_rank *told(struct world *w, uint32_t r)
{
	return (void *)(w->memory + RANK_OFFSET + r * sizeof(struct coll_shm_rank));
}

static uint32_t *vec(uint64_t addr)
{
	return (uint32_t *)(uintptr_t)addr;
}

static void k_end(struct world *w, uint32_t r, uint64_t n, int result)
{
	struct kcmd *k = &w->cmds[r][n];

	if (k->done)
		return;
	k->done = true;
	k->result = result;
	__atomic_store_n((uint64_t *)&told(w, r)->completed, told(w, r)->completed + 1,
			 __ATOMIC_RELEASE);
}

static void k_fail(struct world *w, int err)
{
	uint64_t i;
	uint32_t r;

	if (!w->h->failed)
		__atomic_store_n(&w->h->failed, (uint32_t)err, __ATOMIC_RELEASE);
	for (r = 0; r < w->n; r++)
		for (i = 0; i < w->nr[r]; i++)
			k_end(w, r, i, -(int)w->h->failed);
	for (r = 0; r < w->n; r++) {
		if (!w->message[r].done)
			w->message[r].result = -(int)w->h->failed;
		w->message[r].done = true;
	}
	pthread_cond_broadcast(&w->changed);
}

/* Elements of the block of rank @r. */
static uint64_t block(const struct coll_cmd *c, uint32_t r)
{
	return ((const uint64_t *)(uintptr_t)c->counts_addr)[r];
}

static void k_allgatherv(struct world *w, uint64_t n)
{
	uint32_t r, to;
	uint64_t at;

	for (to = 0; to < w->n; to++)
		for (r = 0, at = 0; r < w->n; at += block(&w->cmds[to][n].cmd, r), r++)
			memcpy(vec(w->cmds[to][n].cmd.recv_addr) + at,
			       vec(w->cmds[r][n].cmd.send_addr),
			       block(&w->cmds[to][n].cmd, r) * 4);
}

static void k_data(struct world *w, uint64_t n)
{
	struct coll_cmd *c = &w->cmds[0][n].cmd;
	uint32_t r, sum, root = c->root;
	uint64_t i;

	for (i = 0; i < c->count && c->collective == COLL_ALLREDUCE; i++) {
		for (r = 0, sum = 0; r < w->n; r++)
			sum += vec(w->cmds[r][n].cmd.send_addr)[i];
		for (r = 0; r < w->n; r++)
			vec(w->cmds[r][n].cmd.recv_addr)[i] = sum;
	}
	for (r = 0; r < w->n && c->collective == COLL_BROADCAST; r++)
		if (r != root)
			memcpy(vec(w->cmds[r][n].cmd.recv_addr),
			       vec(w->cmds[root][n].cmd.recv_addr), c->count * 4);
	if (c->collective == COLL_ALLGATHERV)
		k_allgatherv(w, n);
}

/* All ranks have posted command @n: run it. */
static void k_run(struct world *w, uint64_t n)
{
	const struct coll_cmd *c = &w->cmds[0][n].cmd, *d;
	uint32_t r;

	for (r = 1; r < w->n; r++) {
		d = &w->cmds[r][n].cmd;
		if (d->collective != c->collective || d->count != c->count || d->root != c->root) {
			k_fail(w, EBADE);
			return;
		}
	}
	k_data(w, n);
	for (r = 0; r < w->n; r++)
		k_end(w, r, n, 0);
	pthread_cond_broadcast(&w->changed);
}

/* The kernel reads counts at once. */
static void k_copy_counts(struct world *w, struct coll_cmd *c)
{
	uint64_t *copy;

	if (!c->counts_addr)
		return;
	copy = malloc(w->n * 8);
	memcpy(copy, (void *)(uintptr_t)c->counts_addr, w->n * 8);
	c->counts_addr = (uintptr_t)copy;
}

static int k_post(struct world *w, uint32_t r, const struct coll_cmd *c, uint64_t tag, bool posted)
{
	uint64_t n = w->nr[r];
	uint32_t i;

	if (w->h->failed)
		return -(int)w->h->failed;
	if (w->refuse[r] && w->refuse[r]--)
		return -w->refuse_err;
	if (coll_is_message(c->collective)) {
		w->message[r] = (struct kcmd){
			.cmd = *c, .tag = tag, .posted = posted, .done = w->messages_end,
		};
		messages++;
		pthread_cond_broadcast(&w->changed);
		return 0;
	}
	if (n == OPS)
		return -ENOBUFS;
	w->cmds[r][n] = (struct kcmd){ .cmd = *c, .tag = tag, .posted = posted };
	k_copy_counts(w, &w->cmds[r][n].cmd);
	w->nr[r]++;
	__atomic_store_n((uint64_t *)&told(w, r)->posted, w->nr[r], __ATOMIC_RELEASE);
	pthread_cond_broadcast(&w->changed);
	for (i = 0; i < w->n; i++) {
		if (told(w, i)->left)
			k_fail(w, EHOSTDOWN);
		if (w->nr[i] <= n)
			return 0;
	}
	if (!w->h->failed)
		k_run(w, n);
	return 0;
}

static bool k_goes_on(struct world *w, uint32_t me, const struct coll_shm_wait *a)
{
	bool missing = false;
	uint32_t r;

	if (w->h->failed)
		return true;
	for (r = 0; r < w->n; r++) {
		bool gone = r != me && (told(w, r)->posted > a->posted || told(w, r)->left);

		if (__atomic_load_n(&shm_slot(&w->shm[0], r, a->pos)->pos, __ATOMIC_ACQUIRE) == a->pos)
			continue;
		if (gone)
			return true;
		missing = true;
	}
	return !missing;
}

static struct timespec after(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	ns = ns < 1000000000000ULL ? ns : 1000000000000ULL;
	t.tv_sec += (time_t)(ns / 1000000000);
	t.tv_nsec += (long)(ns % 1000000000);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static int k_sleep(struct world *w, uint32_t me, const struct coll_shm_wait *a)
{
	struct timespec end = after(a->timeout_ns ? a->timeout_ns : ~0ULL);
	int ret = 0;

	sleeps++;
	looks += a->flags & COLL_SHM_WAIT_LOOK;
	while (!ret && !k_goes_on(w, me, a))
		ret = pthread_cond_timedwait(&w->changed, &w->lock, &end);
	if (!ret || k_goes_on(w, me, a))
		return 0;
	if (a->flags & COLL_SHM_WAIT_LOOK)
		return -ETIME;
	k_fail(w, ETIMEDOUT);
	return -ETIMEDOUT;
}

static int k_submit(struct world *w, uint32_t r, const struct coll_cmd *c)
{
	uint64_t n = w->nr[r];
	int ret;

	/* A message has no number. It is over at once. */
	if (coll_is_message(c->collective)) {
		messages++;
		return 0;
	}
	ret = k_post(w, r, c, 0, false);
	while (!ret && !w->cmds[r][n].done)
		pthread_cond_wait(&w->changed, &w->lock);
	return ret ? ret : w->cmds[r][n].result;
}

static int k_collect(struct world *w, uint32_t r, const struct coll_collect *c)
{
	struct coll_completion *to = (void *)(uintptr_t)c->completions;
	struct timespec end = after(c->timeout_ns);
	bool open;
	uint64_t i;
	uint32_t got = 0;
	int ret = 0;

	for (;;) {
		for (i = 0, open = false; i <= w->nr[r] && got < c->nr; i++) {
			struct kcmd *k = i < w->nr[r] ? &w->cmds[r][i] : &w->message[r];

			open |= k->posted && !k->done;
			if (!k->posted || !k->done || k->collected)
				continue;
			k->collected = true;
			to[got++] = (struct coll_completion){ .tag = k->tag, .result = k->result };
		}
		if (got >= c->min || !open || ret)
			return (int)got;
		ret = pthread_cond_timedwait(&w->changed, &w->lock, &end);
	}
}

static int k_call(struct world *w, uint32_t r, unsigned long request, void *arg)
{
	const struct coll_post_entry *e;

	switch (request) {
	case COLL_IOC_SHM_WAIT:
		return k_sleep(w, r, arg);
	case COLL_IOC_SHM_WAKE:
		pthread_cond_broadcast(&w->changed);
		return 0;
	case COLL_IOC_SUBMIT:
		return k_submit(w, r, arg);
	case COLL_IOC_POST:
		e = (void *)(uintptr_t)((struct coll_post *)arg)->entries;
		return k_post(w, r, (void *)(uintptr_t)e->arg, e->tag, true) ?: 1;
	case COLL_IOC_COLLECT:
		return k_collect(w, r, arg);
	case COLL_IOC_ABORT:
		k_fail(w, ESHUTDOWN);
		return 0;
	default:
		return -ENOTTY;
	}
}

/* The descriptor has the communicator and the rank. */
int ioctl(int fd, unsigned long request, ...)
{
	struct world *w = worlds[fd / 100];
	va_list ap;
	int ret;

	va_start(ap, request);
	pthread_mutex_lock(&w->lock);
	ret = k_call(w, (uint32_t)fd % 100, request, va_arg(ap, void *));
	pthread_mutex_unlock(&w->lock);
	va_end(ap);
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	(void)code;
	return ioctl(comm->fd, COLL_IOC_ABORT, NULL);
}

uint32_t coll_comm_rank(const coll_comm_t *comm)
{
	return comm->rank;
}

static int no_ring(struct async *a)
{
	(void)a;
	return -EPERM;
}

const struct async_backend async_ring = { .init = no_ring };

/* ---- worlds ---- */

static struct world *world_new(uint32_t n, uint32_t which)
{
	size_t bytes = (AREA_OFFSET + n * AREA_SIZE + 4095) / 4096 * 4096;
	struct world *w = calloc(1, sizeof(*w));
	uint32_t r;

	w->n = n;
	w->alive = 1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->memory = aligned_alloc(4096, bytes);
	memset(w->memory, 0, bytes);
	w->h = (void *)w->memory;
	*w->h = (struct coll_shm_header){
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
			.h = w->h, .alive = &w->alive, .gave = ~0ULL,
			.spins = 20, .crowd = 1, .limit = { DATA, DATA }, .always = true,
		};
		shm_read_header(&w->shm[r]);
		w->comm[r] = (struct coll_comm){
			.fd = (int)(which * 100 + r), .size = n, .rank = r, .shm = &w->shm[r],
			.flags = COLL_CONFIG_NO_URING,
			.version = { .features = COLL_FEAT_POST, .max_inflight = 256 },
		};
		pthread_mutex_init(&w->comm[r].async_once_lock, NULL);
		shm_flight_allow(&w->comm[r]);
		w->cmds[r] = calloc(OPS, sizeof(struct kcmd));
	}
	worlds[which] = w;
	return w;
}

static void world_free(struct world *w)
{
	uint64_t i;
	uint32_t r;

	for (r = 0; r < w->n; r++) {
		async_destroy(&w->comm[r]);
		free(w->shm[r].plans);
		free(w->shm[r].flights);
		for (i = 0; i < w->nr[r]; i++)
			free((void *)(uintptr_t)w->cmds[r][i].cmd.counts_addr);
		free(w->cmds[r]);
	}
	free(w->memory);
	free(w);
}

static void post_at(struct world *w, uint32_t r)
{
	pthread_mutex_lock(&w->lock);
	told(w, r)->left = 1;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

/* ---- any order ---- */

/**
 * struct flown - an op that a rank has begun
 * @req: NULL: none
 * @kind: persistent: it stays
 */
struct flown {
	coll_request_t *req;
	bool persistent;
	uint16_t what;
	uint32_t count, root, nth;
	uint32_t in[600], out[ROOM];
};

#define WINDOW	12

/**
 * struct rank - a thread
 * @common: what all ranks draw alike
 * @lot: what it draws by itself
 * @kernel: one of so many ops is for the kernel, by its own choice; 0: none
 */
struct rank {
	pthread_t thread;
	struct world *w;
	uint32_t me, ops, kernel;
	uint64_t common, lot;
	struct flown f[WINDOW];
	bool good;
	int ret;
};

static uint32_t value(uint32_t rank, uint32_t nth, uint32_t i)
{
	return rank * 7919 + nth * 104729 + i * 31 + 1;
}

static bool is_right(const struct rank *k, const struct flown *f)
{
	uint32_t i, r, at = 0, want;

	for (i = 0; i < f->count && f->what == COLL_ALLREDUCE; i++) {
		for (r = 0, want = 0; r < k->w->n; r++)
			want += value(r, f->nth, i);
		if (f->out[i] != want)
			return false;
	}
	for (i = 0; i < f->count && f->what == COLL_BROADCAST; i++)
		if (f->out[i] != value(f->root, f->nth, i))
			return false;
	for (r = 0; r < k->w->n && f->what == COLL_ALLGATHERV; r++)
		for (i = 0; i < f->count + r; i++)
			if (f->out[at++] != value(r, f->nth, i))
				return false;
	return true;
}

static void check(struct rank *k, struct flown *f, int ret)
{
	if (ret || !is_right(k, f)) {
		printf("# rank %u of %u, op %u, collective %u, count %u: %d\n", k->me, k->w->n,
		       f->nth, f->what, f->count, ret);
		k->good = false;
	}
}

/* Fill in the op that all ranks do now. */
static void prepare(struct rank *k, struct flown *f, struct coll_cmd *c, uint64_t *counts,
		    uint32_t nth)
{
	static const uint16_t whats[] = { COLL_ALLREDUCE, COLL_BROADCAST, COLL_ALLGATHERV, COLL_BARRIER };
	uint32_t i;

	f->what = whats[below(&k->common, 4)];
	f->count = below(&k->common, 4) ? 1 + below(&k->common, 40) : LARGE;
	f->root = below(&k->common, k->w->n);
	f->nth = nth;
	memset(c, 0, sizeof(*c));
	c->collective = f->what;
	memset(f->out, 0xff, sizeof(f->out));
	if (f->what == COLL_BARRIER)
		return;
	c->dtype = COLL_U32;
	c->op = f->what == COLL_ALLREDUCE ? COLL_OP_SUM : 0;
	c->count = f->what == COLL_ALLGATHERV ? 0 : f->count;
	c->root = f->what == COLL_BROADCAST ? f->root : 0;
	for (i = 0; i < 600; i++)
		f->in[i] = value(k->me, nth, i);
	for (i = 0; i < k->w->n; i++)
		counts[i] = f->count + i;
	c->send_addr = f->what == COLL_BROADCAST ? 0 : (uintptr_t)f->in;
	c->recv_addr = (uintptr_t)f->out;
	if (f->what == COLL_BROADCAST)
		memcpy(f->out, f->in, f->count * 4);
	if (f->what == COLL_ALLGATHERV)
		c->counts_addr = (uintptr_t)counts;
}

static void end_one(struct rank *k, struct flown *f)
{
	int done = 1, ret = 0;

	if (!f->req)
		return;
	if (below(&k->lot, 2))
		ret = coll_wait(f->req);
	else
		while (ret = below(&k->lot, 4) ? coll_test(f->req, &done) :
		       coll_wait_for(f->req, 20000, &done), !done)
			;
	check(k, f, ret);
	if (f->persistent)
		coll_request_free(f->req);
	f->req = NULL;
}

static void do_op(struct rank *k, uint32_t nth)
{
	struct flown *f = &k->f[below(&k->lot, WINDOW)];
	uint64_t counts[MOST];
	struct coll_cmd c;
	uint32_t way = below(&k->lot, 4);
	int ret;

	end_one(k, f);
	prepare(k, f, &c, counts, nth);
	if (k->kernel && !below(&k->lot, k->kernel))
		c.flags |= COLL_CMD_SLEEP;
	if (!way) {
		check(k, f, coll_submit(&k->w->comm[k->me], &c));
		return;
	}
	f->persistent = way == 1;
	if (way == 1) {
		ret = coll_persist(&k->w->comm[k->me], &c, &f->req);
		if (!ret)
			ret = coll_start(f->req);
	} else {
		ret = coll_isubmit(&k->w->comm[k->me], &c, &f->req);
	}
	if (ret)
		check(k, f, ret);
	/* They have been read. */
	memset(counts, 0xff, sizeof(counts));
}

static void *any_order(void *arg)
{
	struct rank *k = arg;
	uint32_t i;

	for (i = 0; i < k->ops && k->good; i++) {
		do_op(k, i);
		if (!below(&k->lot, 50))
			usleep(below(&k->lot, 300));
	}
	for (i = 0; i < WINDOW; i++)
		end_one(k, &k->f[i]);
	return NULL;
}

static struct rank ranks[MOST];

static void start(struct world *w, void *(*fn)(void *), uint32_t ops, uint32_t kernel)
{
	uint64_t common = below(&lot, ~0U);
	uint32_t r;

	for (r = 0; r < w->n; r++) {
		memset(&ranks[r], 0, sizeof(ranks[r]));
		ranks[r] = (struct rank){
			.w = w, .me = r, .ops = ops, .common = common, .lot = below(&lot, ~0U),
			.kernel = kernel, .good = true,
		};
		pthread_create(&ranks[r].thread, NULL, fn, &ranks[r]);
	}
}

static bool join(uint32_t n)
{
	bool good = true;
	uint32_t r;

	for (r = 0; r < n; r++) {
		pthread_join(ranks[r].thread, NULL);
		good &= ranks[r].good;
	}
	return good;
}

static bool in_any_order(uint32_t n, uint32_t kernel, bool pauses)
{
	struct world *w = world_new(n, 0);
	bool good;
	uint32_t r;

	for (r = 0; r < n; r++)
		w->shm[r].always = !pauses;
	start(w, any_order, 2000, kernel);
	good = join(n);
	printf("# %llu ops there, %llu by the kernel\n", (unsigned long long)w->shm[0].ops,
	       (unsigned long long)w->nr[0]);
	for (r = 0; r < n; r++)
		good &= w->shm[r].ops + w->nr[r] == 2000 && w->shm[r].ops == w->shm[0].ops &&
			(kernel || pauses || w->shm[r].ops);
	world_free(w);
	return good;
}

/* ---- single ops ---- */

static coll_request_t *reqs[MOST][COLL_SHM_SLOTS + 2];
static uint32_t ins[MOST][COLL_SHM_SLOTS + 2][LARGE], outs[MOST][COLL_SHM_SLOTS + 2][LARGE];

static int begin(struct world *w, uint32_t r, uint32_t nth, uint32_t count, uint32_t flags)
{
	struct coll_cmd c = {
		.collective = COLL_ALLREDUCE, .op = COLL_OP_SUM, .dtype = COLL_U32,
		.count = count, .flags = flags,
		.send_addr = (uintptr_t)ins[r][nth], .recv_addr = (uintptr_t)outs[r][nth],
	};
	uint32_t i;

	for (i = 0; i < count; i++)
		ins[r][nth][i] = value(r, nth, i);
	return coll_isubmit(&w->comm[r], &c, &reqs[r][nth]);
}

static bool finish(struct world *w, uint32_t r, uint32_t nth, uint32_t count)
{
	uint32_t i, q, want;
	int ret = coll_wait(reqs[r][nth]);

	for (i = 0; i < count && !ret; i++) {
		for (q = 0, want = 0; q < w->n; q++)
			want += value(q, nth, i);
		if (outs[r][nth][i] != want)
			ret = 1;
	}
	if (ret)
		printf("# rank %u, op %u: %d\n", r, nth, ret);
	return !ret;
}

/* No call waits, however many ops there are; those behind a large one are the kernel's. */
static bool many(uint32_t large)
{
	struct world *w = world_new(2, 0);
	const uint32_t n = COLL_SHM_SLOTS + 2;
	bool good = true;
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		good &= !begin(w, i / n, i % n, i % n == large ? LARGE : 3, 0);
	for (i = 0; i < 2 * n && good; i++)
		good = finish(w, i / n, i % n, i % n == large ? LARGE : 3);
	good &= w->shm[0].ops >= (large < COLL_SHM_DEPTH ? large : COLL_SHM_DEPTH) &&
		w->nr[0] == w->nr[1];
	world_free(w);
	return good;
}

static void *wait_first(void *arg)
{
	struct rank *k = arg;

	k->good = finish(k->w, 0, 0, 3);
	return NULL;
}

/* The last rank begins the op, and makes no further call: a rank that sleeps is woken. */
static bool woken(void)
{
	struct world *w = world_new(2, 0);
	struct rank k = { .w = w };
	uint64_t before = sleeps;
	struct timespec end;
	bool good;

	good = !begin(w, 0, 0, 3, 0);
	pthread_create(&k.thread, NULL, wait_first, &k);
	while (sleeps == before)
		usleep(1000);
	good &= !begin(w, 1, 0, 3, 0);
	end = after(60000000000ULL);
	good &= !pthread_timedjoin_np(k.thread, NULL, &end);
	/* Else that thread would use what is freed. */
	if (!good) {
		pthread_cond_broadcast(&w->changed);
		pthread_join(k.thread, NULL);
	}
	good = good && k.good && finish(w, 1, 0, 3);
	world_free(w);
	return good;
}

static void *receive(void *arg)
{
	struct rank *k = arg;
	struct coll_cmd c = { .collective = COLL_RECV, .source = 1 };

	k->good = !coll_submit(&k->w->comm[k->me], &c);
	return NULL;
}

/* The message of rank @r: wait until it has been posted, and end it. */
static void deliver(struct world *w, uint32_t r)
{
	bool posted = false;

	while (!posted) {
		usleep(1000);
		pthread_mutex_lock(&w->lock);
		posted = w->message[r].posted;
		w->message[r].done = posted;
		pthread_cond_broadcast(&w->changed);
		pthread_mutex_unlock(&w->lock);
	}
}

/*
 * A thread of rank 0 sleeps until rank 1 comes to a collective. Rank 1 comes when another thread of
 * rank 0 has received a message.
 */
static bool message_first(void)
{
	struct world *w = world_new(2, 0);
	struct rank k = { .w = w }, other = { .w = w };
	uint64_t before = sleeps;
	struct timespec end;
	bool good;

	good = !begin(w, 0, 0, 3, 0);
	pthread_create(&k.thread, NULL, wait_first, &k);
	while (sleeps == before)
		usleep(1000);
	pthread_create(&other.thread, NULL, receive, &other);
	deliver(w, 0);
	end = after(60000000000ULL);
	good &= !pthread_timedjoin_np(other.thread, NULL, &end);
	good &= !begin(w, 1, 0, 3, 0);
	pthread_join(k.thread, NULL);
	if (!good)
		pthread_join(other.thread, NULL);
	good = good && k.good && other.good && finish(w, 1, 0, 3);
	world_free(w);
	return good;
}

/* A command that waits behind a flight has a deadline, too. */
static bool deadline_behind(void)
{
	struct world *w = world_new(2, 0);
	bool good;

	good = !begin(w, 0, 0, 3, 0) && !begin(w, 0, 1, LARGE, 0);
	reqs[0][1]->cmd.timeout_ns = 20000000;
	good &= coll_wait(reqs[0][1]) == -ETIMEDOUT && coll_wait(reqs[0][0]) == -ESHUTDOWN;
	world_free(w);
	return good;
}

/* An op waits for those before it: its deadline holds, though theirs are later. */
static bool deadline_later(void)
{
	struct world *w = world_new(2, 0);
	bool good;

	good = !begin(w, 0, 0, 3, 0) && !begin(w, 0, 1, 3, 0);
	reqs[0][1]->cmd.timeout_ns = 20000000;
	good &= coll_wait(reqs[0][1]) == -ETIMEDOUT && coll_wait(reqs[0][0]) == -ETIMEDOUT;
	world_free(w);
	return good;
}

/* The same for a command that is not the first of the queue, and for a blocking one. */
static bool deadline_in_queue(bool blocks)
{
	struct world *w = world_new(2, 0);
	struct coll_cmd c = { .collective = COLL_BARRIER, .timeout_ns = 20000000 };
	bool good;

	good = !begin(w, 0, 0, 3, 0) && !begin(w, 0, 1, LARGE, 0);
	if (blocks) {
		good &= coll_submit(&w->comm[0], &c) == -ETIMEDOUT;
	} else {
		good &= !begin(w, 0, 2, LARGE, 0);
		reqs[0][2]->cmd.timeout_ns = 20000000;
		good &= coll_wait(reqs[0][2]) == -ETIMEDOUT;
	}
	good &= coll_wait(reqs[0][1]) < 0 && coll_wait(reqs[0][0]) < 0;
	world_free(w);
	return good;
}

/* There is no room in the kernel, and no message comes. */
static bool deadline_no_room(bool blocks)
{
	struct world *w = world_new(2, 0);
	struct coll_cmd recv = { .collective = COLL_RECV, .source = 1 };
	struct coll_cmd c = {
		.collective = COLL_BARRIER, .flags = COLL_CMD_SLEEP, .timeout_ns = 20000000,
	};
	coll_request_t *first, *second;
	bool good;

	good = !coll_isubmit(&w->comm[0], &recv, &first);
	w->comm[0].async->limit = 1;
	if (blocks) {
		good &= !coll_isubmit(&w->comm[0], &recv, &second);
		good &= coll_submit(&w->comm[0], &c) == -ETIMEDOUT;
	} else {
		good &= !coll_isubmit(&w->comm[0], &c, &second);
	}
	good &= coll_wait(second) == -ETIMEDOUT && coll_wait(first) < 0;
	world_free(w);
	return good;
}

static void *stay_in_turn(void *arg)
{
	struct rank *k = arg;
	struct coll_cmd c = { .collective = COLL_BARRIER };

	k->good = coll_submit(&k->w->comm[0], &c) < 0;
	return NULL;
}

/* Another thread is in a collective, whose last rank does not come. */
static bool deadline_of_turn(void)
{
	struct world *w = world_new(2, 0);
	struct coll_cmd c = { .collective = COLL_BARRIER, .timeout_ns = 20000000 };
	struct rank k = { .w = w };
	uint64_t before = sleeps;
	coll_request_t *req;
	bool good;

	pthread_create(&k.thread, NULL, stay_in_turn, &k);
	while (sleeps == before)
		usleep(1000);
	good = coll_isubmit(&w->comm[0], &c, &req) == -ETIMEDOUT && !req;
	pthread_join(k.thread, NULL);
	good &= k.good;
	world_free(w);
	return good;
}

/* A command that the kernel has to take from the shortcut, and does not take, has a deadline. */
static bool deadline_refused(void)
{
	struct world *w = world_new(2, 0);
	bool good;

	good = !begin(w, 0, 0, 3, 0) && !begin(w, 0, 1, 3, 0);
	reqs[0][0]->cmd.timeout_ns = 20000000;
	w->refuse[0] = ~0U;
	w->refuse_err = EAGAIN;
	good &= !begin(w, 1, 0, 3, COLL_CMD_SLEEP);
	good &= coll_wait(reqs[0][0]) == -ETIMEDOUT && coll_wait(reqs[0][1]) == -ETIMEDOUT;
	good &= coll_wait(reqs[1][0]) == -ESHUTDOWN;
	world_free(w);
	return good;
}

/* Without the library, which would move on the ops of rank 0: they are in this process, too. */
static void *rank_one(void *arg)
{
	struct rank *k = arg;
	uint32_t x = 1, y = 0, i;
	struct coll_cmd c = {
		.collective = COLL_ALLREDUCE, .op = COLL_OP_SUM, .dtype = COLL_U32, .count = 3,
		.send_addr = (uintptr_t)ins[1][0], .recv_addr = (uintptr_t)outs[1][0],
	};

	for (i = 0; i < 3; i++)
		ins[1][0][i] = value(1, 0, i);
	/* The op of the first communicator is to end, then comes that of the second one. */
	usleep(10000);
	k->good = !ioctl(worlds[0]->comm[1].fd, COLL_IOC_SUBMIT, &c);
	c.count = 1;
	c.send_addr = (uintptr_t)&x;
	c.recv_addr = (uintptr_t)&y;
	k->good &= !ioctl(worlds[1]->comm[1].fd, COLL_IOC_SUBMIT, &c) && y == 2;
	return NULL;
}

/*
 * Rank 0 has an op in the first communicator, and waits in the second one. Rank 1 gives the first
 * op to the kernel, and comes to the second communicator when it has ended.
 */
static bool two_worlds(uint32_t flags)
{
	struct world *w = world_new(2, 0), *v = world_new(2, 1);
	struct rank k = { .good = false };
	uint32_t x = 1, y = 0;
	struct coll_cmd c = {
		.collective = COLL_ALLREDUCE, .op = COLL_OP_SUM, .dtype = COLL_U32, .count = 1,
		.send_addr = (uintptr_t)&x, .recv_addr = (uintptr_t)&y, .flags = flags,
	};
	bool good;

	good = !begin(w, 0, 0, 3, 0) && w->comm[0].async->flying == 1;
	pthread_create(&k.thread, NULL, rank_one, &k);
	good &= !coll_submit(&v->comm[0], &c) && y == 2;
	pthread_join(k.thread, NULL);
	good &= k.good && finish(w, 0, 0, 3);
	world_free(w);
	world_free(v);
	return good;
}

/* Do two ops of each rank end with @err after @event? */
static bool ends(int err, uint32_t count, void (*event)(struct world *w))
{
	struct world *w = world_new(2, 0);
	bool good = true;
	uint32_t i;
	int ret;

	for (i = 0; i < 2; i++)
		good &= !begin(w, 0, i, 3, 0);
	if (event)
		event(w);
	for (i = 0; i < 2 && count; i++)
		begin(w, 1, i, i ? 3 : count, 0);
	for (i = 0; i < 4 && good; i++) {
		coll_request_t **req = &reqs[i % 2][i / 2];

		if (i % 2 && !count)
			continue;
		ret = coll_wait(*req);
		if (ret != err)
			printf("# rank %u, op %u: %d, not %d\n", i % 2, i / 2, ret, err);
		good &= ret == err;
	}
	world_free(w);
	return good;
}

static void abort_it(struct world *w)
{
	coll_abort(&w->comm[1], 0);
}

static void leave(struct world *w)
{
	post_at(w, 1);
}

static void be_short(struct world *w)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		reqs[0][i]->cmd.timeout_ns = 2000000;
	(void)w;
}

/* An op ends when its deadline has passed, and no test before that ends it. */
static bool deadline_of(uint64_t ns, bool *early)
{
	struct world *w = world_new(2, 0);
	int done = 1, ret;
	bool good;

	good = !begin(w, 0, 0, 3, 0);
	reqs[0][0]->cmd.timeout_ns = ns;
	ret = coll_test(reqs[0][0], &done);
	if (!ret && !done)
		ret = coll_wait_for(reqs[0][0], ns / 30, &done);
	*early = done;
	good &= done || (!ret && !w->h->failed);
	usleep((useconds_t)(ns / 750));
	/* What is done is freed. */
	while (!done)
		ret = coll_test(reqs[0][0], &done);
	good &= ret == -ETIMEDOUT && w->h->failed == ETIMEDOUT;
	world_free(w);
	return good;
}

/* A busy machine may look too late: try again with more time. */
static bool deadline(void)
{
	uint64_t ns = 30000000;
	bool early, good;

	do {
		good = deadline_of(ns, &early);
		ns *= 4;
	} while (good && early && ns < 10000000000ULL);
	return good && !early;
}

/* The kernel refuses an op that comes to it in the end: the rank's next op takes its number. */
static bool refused(int err)
{
	struct world *w = world_new(2, 0);
	bool good;
	int ret;

	good = !begin(w, 0, 0, 3, 0) && !begin(w, 0, 1, 3, 0);
	w->refuse[0] = err == EAGAIN ? 3 : 1;
	w->refuse_err = err;
	good &= !begin(w, 1, 0, 3, COLL_CMD_SLEEP);
	if (err == EAGAIN) {
		good &= finish(w, 0, 0, 3) && finish(w, 1, 0, 3);
		good &= !begin(w, 1, 1, 3, 0) && finish(w, 0, 1, 3) && finish(w, 1, 1, 3);
		good &= w->nr[0] == 1 && w->shm[0].ops == 1;
	} else {
		ret = coll_wait(reqs[0][0]);
		good &= ret == -err && !coll_wait(reqs[0][1]) && !coll_wait(reqs[1][0]);
		good &= outs[1][0][0] == value(1, 0, 0) + value(0, 1, 0);
		good &= !begin(w, 0, 2, 3, 0) && !begin(w, 1, 2, 3, 0) && finish(w, 0, 2, 3) &&
			finish(w, 1, 2, 3) && w->shm[0].broken;
	}
	world_free(w);
	return good;
}

static int gather(struct world *w, uint32_t r, uint64_t *counts, coll_request_t **req)
{
	struct coll_cmd c = {
		.collective = COLL_ALLGATHERV, .dtype = COLL_U32,
		.send_addr = (uintptr_t)ins[r][1], .recv_addr = (uintptr_t)outs[r][1],
		.counts_addr = (uintptr_t)counts,
	};

	ins[r][1][0] = ins[r][1][1] = 5 + r;
	return coll_persist(&w->comm[r], &c, req);
}

/* Both ranks start: rank 0 has one element, and rank 1 has @n. Counts change after the call. */
static bool gather_once(struct world *w, coll_request_t **req, uint64_t *counts, uint64_t n)
{
	const uint32_t *out = outs[0][1];
	bool good = true;
	uint32_t r;

	memset(outs[0][1], 0, sizeof(outs[0][1]));
	for (r = 0; r < 2; r++) {
		counts[0] = 1;
		counts[1] = n;
		good &= !coll_start(req[r]);
		good &= w->comm[r].async->queued == !r;
		memset(counts, 0, 2 * sizeof(*counts));
	}
	for (r = 0; r < 2; r++)
		good &= !coll_wait(req[r]);
	return good && out[0] == 5 && out[1] == 6 && out[2] == (n == 2 ? 6 : 0);
}

/*
 * A v-form has to wait in the queue of rank 0: the kernel refuses it at first, or has another
 * command and takes no more. No memory is shared.
 */
static bool counts_in_queue(bool full)
{
	struct world *w = world_new(2, 0);
	coll_request_t *req[2];
	uint64_t counts[2], n;
	bool good = true;
	uint32_t r;

	w->comm[0].version.max_inflight = 2;
	w->refuse_err = EAGAIN;
	for (r = 0; r < 2; r++) {
		w->comm[r].shm = NULL;
		good &= !gather(w, r, counts, &req[r]);
	}
	for (n = 1; n <= 2; n++) {
		for (r = 0; r < 2 && full; r++)
			good &= !begin(w, r, 0, 3, 0);
		w->refuse[0] = !full;
		good &= gather_once(w, req, counts, n);
		for (r = 0; r < 2 && full; r++)
			good &= finish(w, r, 0, 3);
	}
	for (r = 0; r < 2; r++)
		coll_request_free(req[r]);
	world_free(w);
	return good;
}

/* An op of another thread comes behind the flights of the first one. */
static bool blocking_behind(void)
{
	struct world *w = world_new(2, 0);
	bool good;

	good = !begin(w, 0, 0, 3, 0) && !begin(w, 0, 1, 3, 0);
	start(w, any_order, 0, 0);
	join(2);
	good &= !begin(w, 0, 2, LARGE, 0) && !begin(w, 1, 0, 3, 0) && !begin(w, 1, 1, 3, 0) &&
		!begin(w, 1, 2, LARGE, 0);
	good &= finish(w, 1, 0, 3) && finish(w, 1, 1, 3);
	good &= finish(w, 0, 2, LARGE) && finish(w, 1, 2, LARGE) && finish(w, 0, 1, 3) &&
		finish(w, 0, 0, 3);
	good &= w->shm[0].ops == 2 && w->nr[0] == 1;
	world_free(w);
	return good;
}

static void *receive_beside(void *arg)
{
	struct rank *k = arg;
	struct coll_cmd cmd = { .collective = COLL_RECV, .dtype = COLL_U32 };

	k->good = !coll_submit(&k->w->comm[0], &cmd);
	return NULL;
}

/*
 * A thread receives. When it has seen that nothing is on a shortcut, another thread begins an op
 * there. The message comes to the kernel nevertheless before the op is over.
 */
static bool message_beside(uint32_t nth)
{
	struct world *w = world_new(2, 0);
	struct rank k = { .w = w };
	uint64_t before = messages;
	bool good;
	int i;

	/* The op may be on the shortcut before the thread looks: then the message is posted. */
	w->messages_end = true;
	/* There is an async from here on. */
	good = !begin(w, 0, 0, 3, 0) && !begin(w, 1, 0, 3, 0) && finish(w, 0, 0, 3) &&
	       finish(w, 1, 0, 3);
	pthread_mutex_lock(&w->comm[0].async->lock);
	pthread_create(&k.thread, NULL, receive_beside, &k);
	usleep(10000 * (1 + nth % 3));
	/* In most cases this thread gets the lock again before the one that sleeps. */
	pthread_mutex_unlock(&w->comm[0].async->lock);
	good &= !begin(w, 0, 1, 3, 0);
	for (i = 0; i < 10000 && messages == before; i++)
		usleep(1000);
	good &= messages == before + 1;
	good &= !begin(w, 1, 1, 3, 0) && finish(w, 0, 1, 3) && finish(w, 1, 1, 3);
	pthread_join(k.thread, NULL);
	good &= k.good;
	world_free(w);
	return good;
}

static bool messages_beside(void)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < 30 && good; i++)
		good = message_beside(i);
	return good;
}

int main(int argc, char **argv)
{
	char name[80];
	uint32_t n;

	lot = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	printf("# seed %llu\n", (unsigned long long)lot);
	/* A rank that waits forever is a failure, too. */
	alarm(1200);
	for (n = 2; n <= MOST; n++) {
		snprintf(name, sizeof(name), "ops in any order, %u ranks", n);
		ok(in_any_order(n, 0, n % 2), name);
		snprintf(name, sizeof(name), "some by the kernel, %u ranks", n);
		ok(in_any_order(n, 10, n % 2), name);
	}
	ok(many(~0U), "more ops than slots");
	ok(many(2), "a large op among them");
	ok(blocking_behind(), "a large op behind others");
	ok(messages_beside(), "a message beside an op");
	ok(woken(), "a rank that sleeps is woken");
	ok(message_first(), "a thread receives while another one sleeps");
	ok(deadline_behind(), "a deadline behind another op");
	ok(deadline_later(), "a deadline of an op that is not the first");
	ok(deadline_in_queue(false), "a deadline in the middle of the queue");
	ok(deadline_in_queue(true), "a deadline of a blocking op behind the queue");
	ok(deadline_no_room(false), "a deadline without room in the kernel");
	ok(deadline_no_room(true), "a deadline of a blocking op without room in the kernel");
	ok(deadline_of_turn(), "a deadline while another thread has the turn");
	ok(deadline_refused(), "a deadline of a command that the kernel does not take");
	ok(two_worlds(0), "a rank waits in another communicator");
	ok(two_worlds(COLL_CMD_SLEEP), "a rank waits in another communicator, in the kernel");
	ok(ends(-EBADE, 4, NULL), "ranks that disagree");
	ok(ends(-ESHUTDOWN, 0, abort_it), "an abort");
	ok(ends(-EHOSTDOWN, 0, leave), "a rank leaves");
	ok(ends(-ETIMEDOUT, 0, be_short), "a rank is too late");
	ok(deadline(), "a deadline is heard of when it is over");
	ok(counts_in_queue(true) && counts_in_queue(false), "counts of a command in the queue");
	ok(refused(EAGAIN), "the kernel takes a command later");
	ok(refused(EINVAL), "the kernel refuses a command");
	ok(sleeps && looks, "some slept");
	return ok_done();
}
