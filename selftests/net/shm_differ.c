// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that disagree about a collective, each by a way of its own: in shared memory, blocking or
 * not, by ioctl, by io_uring. All get EBADE, now and later, with the same cause, and no buffer changes. The
 * disagreements are those of selftests/func/mismatch.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shm_job.h"
#include "util.h"

#define MS	1000000ULL
#define HANG_MS	60000
#define COUNT	1000
#define SIZE	3

enum way {
	LIBRARY,
	FLIGHT,
	KERNEL,
	URING,
};

static const char ways[] = "lfku";

static void less(struct coll_cmd *c)		{ c->count = COUNT - 1; }
static void one_element(struct coll_cmd *c)	{ c->count = 1; }
static void none(struct coll_cmd *c)		{ c->count = 0; }
static void other_op(struct coll_cmd *c)	{ c->op = COLL_OP_MAX; }
static void other_dtype(struct coll_cmd *c)	{ c->dtype = COLL_F32; }
static void other_root(struct coll_cmd *c)	{ c->root = 1; }
static void narrow(struct coll_cmd *c)		{ c->flags |= COLL_CMD_NARROW; }
static void scan(struct coll_cmd *c)		{ c->collective = COLL_SCAN; }

static void wide_dtype(struct coll_cmd *c)
{
	c->dtype = COLL_I64;
	c->count = COUNT / 2;
}

static void barrier(struct coll_cmd *c)
{
	memset(c, 0, sizeof(*c));
	c->collective = COLL_BARRIER;
}

static void broadcast(struct coll_cmd *c)
{
	c->collective = COLL_BROADCAST;
	c->op = COLL_OP_NONE;
	c->send_addr = 0;
}

static const struct change {
	const char *name;
	bool broadcast;
	void (*apply)(struct coll_cmd *c);
} changes[] = {
	{ "count - 1", false, less },
	{ "count 1", false, one_element },
	{ "count 0", false, none },
	{ "op", false, other_op },
	{ "dtype of the same size", false, other_dtype },
	{ "wider dtype, same bytes", false, wide_dtype },
	{ "barrier for allreduce", false, barrier },
	{ "broadcast for allreduce", false, broadcast },
	{ "scan for allreduce", false, scan },
	{ "narrow", false, narrow },
	{ "bcast count - 1", true, less },
	{ "bcast count 0", true, none },
	{ "bcast dtype", true, other_dtype },
	{ "barrier for bcast", true, barrier },
	{ "root", true, other_root },
};

#define NR_CHANGES (sizeof(changes) / sizeof(changes[0]))

/**
 * struct disagreement - one of them
 * @before: ops that all agree about
 */
struct disagreement {
	uint64_t seed;
	const struct change *change;
	uint32_t odd, before;
	enum way way[SIZE];
};

/* Half of the ways use shared memory: slots are compared only if all ranks use it. */
static const enum way way_lots[] = { LIBRARY, FLIGHT, KERNEL, URING };

#define NR_LOTS	4
#define NR_CHOICES (NR_CHANGES * NR_LOTS * NR_LOTS * NR_LOTS * SIZE)
/* Has no divisor in common with NR_CHOICES. */
#define STRIDE	1009

/*
 * With NR_CHOICES consecutive seeds every change meets every mixture of ways. A few of them have
 * a bit of everything.
 */
static void choose(struct disagreement *d, uint64_t seed)
{
	uint64_t lot = seed % NR_CHOICES * STRIDE % NR_CHOICES;
	uint32_t r;

	d->seed = seed;
	d->change = &changes[lot % NR_CHANGES];
	lot /= NR_CHANGES;
	for (r = 0; r < SIZE; r++, lot /= NR_LOTS)
		d->way[r] = way_lots[lot % NR_LOTS];
	d->odd = lot % SIZE;
	d->before = seed % 4;
}

static int submit(struct job *j, struct coll_cmd *c, enum way way)
{
	coll_request_t *req;
	int ret;

	if (way == KERNEL || way == URING)
		c->flags |= COLL_CMD_SLEEP;
	if (way == LIBRARY || way == KERNEL)
		return coll_submit(j->comm, c);
	ret = coll_isubmit(j->comm, c, &req);
	return ret ? ret : coll_wait(req);
}

static void make_cmd(struct job *j, struct coll_cmd *c, const struct disagreement *d,
		     uint32_t rank, int32_t *in, int32_t *out)
{
	if (d->change->broadcast)
		coll_cmd_broadcast(j->comm, c, out, COUNT, COLL_I32, 0);
	else
		coll_cmd_allreduce(j->comm, c, in, out, COUNT, COLL_I32, COLL_OP_SUM);
	if (rank == d->odd)
		d->change->apply(c);
	c->timeout_ns = 20000 * MS;
}

static void run(struct job *j, uint32_t rank)
{
	const struct disagreement *d = j->arg;
	struct job_rank *me = &j->sh->rank[rank];
	static int32_t in[COUNT], out[COUNT];
	uint64_t lot = d->seed * 2 + 1;
	struct coll_cmd c;
	uint32_t i;

	for (i = 0; i < d->before; i++)
		if (job_random_op(j, rank, &lot, 0, d->way[rank] % 2, true))
			me->wrong++;
	memset(in, 1 + rank, sizeof(in));
	memset(out, 101 + rank, sizeof(out));
	make_cmd(j, &c, d, rank, in, out);
	job_note(j, rank, submit(j, &c, d->way[rank]));
	for (i = 0; i < sizeof(in); i++)
		me->wrong += ((uint8_t *)in)[i] != 1 + rank || ((uint8_t *)out)[i] != 101 + rank;
	barrier(&c);
	c.timeout_ns = 1000 * MS;
	me->next = submit(j, &c, d->way[(rank + 1) % SIZE]);
}

static bool is_right(const struct job *j, uint32_t r)
{
	const struct job_rank *k = &j->sh->rank[r];
	const struct coll_cause *c = &k->status.cause;

	return k->phase == JOB_ENDED && k->result == -EBADE && k->next == -EBADE && !k->wrong &&
	       c->kind == COLL_CAUSE_MISMATCH && c->error == EBADE &&
	       !memcmp(c, &j->sh->rank[0].status.cause, sizeof(*c));
}

static unsigned int judge(const struct job *j, const struct disagreement *d)
{
	unsigned int bad = 0;
	uint32_t r;

	for (r = 0; r < SIZE; r++) {
		const struct job_rank *k = &j->sh->rank[r];

		if (is_right(j, r))
			continue;
		bad++;
		printf("# seed %" PRIu64 ": %s by rank %u, ways %c%c%c: rank %u %s: result %d, next %d, "
		       "%" PRIu64 " wrong bytes; cause kind %u error %u seq %" PRIu64 "\n",
		       d->seed, d->change->name, d->odd, ways[d->way[0]], ways[d->way[1]],
		       ways[d->way[2]], r, k->phase == JOB_ENDED ? "ended" : "HANGS",
		       k->result, k->next, k->wrong, k->status.cause.kind,
		       k->status.cause.error, (uint64_t)k->status.cause.seq);
	}
	return bad;
}

int shm_differ(unsigned int times, uint64_t seed)
{
	unsigned int i, bad = 0;

	for (i = 0; i < times && bad < 10; i++) {
		struct disagreement d;
		struct job j = { .size = SIZE, .run = run, .arg = &d };

		choose(&d, seed + i);
		if (job_start(&j)) {
			bad++;
			break;
		}
		job_wait(&j, JOB_ENDED, HANG_MS);
		bad += judge(&j, &d);
		job_stop(&j);
	}
	printf("%u disagreements, %u ranks that heard something wrong\n", i, bad);
	return i < times || bad;
}
