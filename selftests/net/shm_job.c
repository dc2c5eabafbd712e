// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "reap.h"
#include "shm_job.h"
#include "shm_kinds.h"
#include "util.h"

#define MS	1000000ULL
#define JOIN_MS	30000

/**
 * struct meeting - the context of the exchange
 */
struct meeting {
	struct job *j;
	uint32_t rank;
};

/* Called once by each rank. */
static int exchange(void *ctx, const void *mine, void *all, size_t len, uint32_t timeout_ms)
{
	const struct meeting *m = ctx;
	struct job_shared *sh = m->j->sh;
	uint64_t end = test_now_ns() + timeout_ms * MS;
	uint32_t r;

	if (len > sizeof(sh->mine[0]))
		return -EMSGSIZE;
	memcpy(sh->mine[m->rank], mine, len);
	sh->nr_came++;
	while (sh->nr_came < m->j->size) {
		if (test_now_ns() > end)
			return -ETIMEDOUT;
		test_sleep_us(100);
	}
	for (r = 0; r < m->j->size; r++)
		memcpy((char *)all + r * len, sh->mine[r], len);
	return 0;
}

static int join(struct job *j, uint32_t rank)
{
	struct meeting m = { .j = j, .rank = rank };
	struct coll_config cfg;

	setenv("COLL_SHM", "1", 1);
	coll_config_init(&cfg);
	cfg.rank = rank;
	cfg.size = j->size;
	cfg.timeout_ms = JOIN_MS;
	cfg.exchange = exchange;
	cfg.exchange_ctx = &m;
	return coll_init(&cfg, &j->comm);
}

static uint64_t job_shm_ops(const struct job *j)
{
	struct coll_status s = { 0 };

	ioctl(coll_comm_fd(j->comm), COLL_IOC_STATUS, &s);
	return s.shm_ops;
}

/* Until all ranks have mapped the memory, ops may go by the kernel. The second barrier does not. */
static int warm_up(struct job *j, uint32_t rank)
{
	int ret;

	ret = coll_barrier(j->comm);
	j->sh->nr_warm++;
	while (!ret && j->sh->nr_warm < j->size)
		test_sleep_us(100);
	if (!ret)
		ret = coll_barrier(j->comm);
	if (!ret)
		j->sh->rank[rank].first_op = job_shm_ops(j);
	return ret;
}

static void child(struct job *j, uint32_t rank)
{
	struct job_rank *me = &j->sh->rank[rank];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me->result = join(j, rank);
	if (!me->result)
		me->result = warm_up(j, rank);
	if (!me->result) {
		me->phase = JOB_READY;
		j->run(j, rank);
	}
	me->phase = JOB_ENDED;
	while (!j->sh->quit)
		test_sleep_us(500);
	_exit(0);
}

int job_start(struct job *j)
{
	uint32_t r;

	memset(j->pid, 0, sizeof(j->pid));
	j->sh = mmap(NULL, sizeof(*j->sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (j->sh == MAP_FAILED)
		return -errno;
	for (r = 0; r < j->size; r++) {
		j->pid[r] = fork();
		if (!j->pid[r])
			child(j, r);
		if (j->pid[r] < 0) {
			j->pid[r] = 0;
			job_stop(j);
			return -EAGAIN;
		}
	}
	return 0;
}

bool job_wait(const struct job *j, uint32_t phase, unsigned int ms)
{
	uint64_t end = test_now_ns() + ms * MS;
	uint32_t r = 0;

	while (r < j->size) {
		if (!j->pid[r] || j->sh->rank[r].phase >= phase) {
			r++;
			continue;
		}
		if (test_now_ns() > end)
			return false;
		test_sleep_us(200);
	}
	return true;
}

bool job_reap(struct job *j, uint32_t rank, unsigned int ms)
{
	return !j->pid[rank] || reap_one(&j->pid[rank], ms) >= 0;
}

void job_stop(struct job *j)
{
	j->sh->quit = 1;
	reap_all(j->pid, j->size, 2000);
	munmap(j->sh, sizeof(*j->sh));
}

void job_note(struct job *j, uint32_t rank, int ret)
{
	struct job_rank *me = &j->sh->rank[rank];

	me->when = test_now_ns();
	me->result = ret;
	if (!ret) {
		me->done++;
		return;
	}
	memset(&me->status, 0, sizeof(me->status));
	ioctl(coll_comm_fd(j->comm), COLL_IOC_STATUS, &me->status);
	me->shm_ops = me->status.shm_ops - me->first_op;
}

/* ---- random ops ---- */

static void draw_cmd(struct coll_cmd *c, uint32_t size, uint64_t *lot)
{
	uint16_t what = shm_kinds[test_below(lot, SHM_NR_KINDS)];
	uint32_t root = test_below(lot, size);

	memset(c, 0, sizeof(*c));
	c->collective = what;
	if (what == COLL_BARRIER)
		return;
	c->dtype = COLL_U32;
	/* The blocks of all ranks fit in a buffer. */
	c->count = 1 + test_below(lot, test_below(lot, 4) ? 8 : JOB_ROOM / 4 / size);
	c->op = shm_reduces(what) ? COLL_OP_SUM : 0;
	c->root = shm_is_rooted(what) ? root : 0;
}

/* Has @rank an input of its own? */
static bool gives(const struct coll_cmd *c, uint32_t rank)
{
	return c->collective != COLL_BARRIER && c->collective != COLL_BROADCAST &&
	       (c->collective != COLL_SCATTER || rank == c->root);
}

/* Has @rank memory for an output? */
static bool gets(const struct coll_cmd *c, uint32_t rank)
{
	if (c->collective == COLL_GATHER || c->collective == COLL_REDUCE)
		return rank == c->root;
	return c->collective != COLL_BARRIER;
}

static uint32_t value(uint32_t rank, uint32_t i)
{
	return rank * 7919 + i * 31 + 1;
}

/* The sum of element @i of ranks 0 .. @nr - 1. */
static uint32_t sum(uint32_t nr, uint32_t i)
{
	uint32_t r, v = 0;

	for (r = 0; r < nr; r++)
		v += value(r, i);
	return v;
}

/* Element @i of the result of @rank; @nr: how many it has. */
static uint32_t wanted(const struct coll_cmd *c, uint32_t size, uint32_t rank, uint32_t i,
		       uint32_t *nr)
{
	uint32_t count = c->count, block = i / count, at = i % count;

	*nr = count;
	switch (c->collective) {
	case COLL_BROADCAST:
		return value(c->root, i);
	case COLL_SCATTER:
		return value(c->root, rank * count + i);
	case COLL_GATHER:
	case COLL_ALLGATHER:
		*nr = c->collective == COLL_GATHER && rank != c->root ? 0 : size * count;
		return value(block, at);
	case COLL_ALLTOALL:
		*nr = size * count;
		return value(block, rank * count + at);
	case COLL_SCAN:
		return sum(rank + 1, i);
	case COLL_EXSCAN:
		*nr = rank ? count : 0;
		return sum(rank, i);
	case COLL_REDUCE_SCATTER_BLOCK:
		return sum(size, rank * count + i);
	case COLL_REDUCE:
		*nr = rank == c->root ? count : 0;
		break;
	}
	return sum(size, i);
}

static uint64_t nr_wrong(const struct coll_cmd *c, uint32_t size, uint32_t rank,
			 const uint32_t *out)
{
	uint32_t i, nr = 1, want;
	uint64_t wrong = 0;

	for (i = 0; c->count && i < nr; i++) {
		want = wanted(c, size, rank, i, &nr);
		if (i >= nr || out[i] == want)
			continue;
		wrong++;
		printf("# collective %u of %u elements, root %u, rank %u of %u: element %u is %x, not %x\n",
		       c->collective, (unsigned int)c->count, c->root, rank, size, i, out[i],
		       want);
	}
	return wrong;
}

int job_random_op(struct job *j, uint32_t rank, uint64_t *lot, uint32_t flags, bool posted,
		  bool check)
{
	static uint32_t in[JOB_ROOM / 4], out[(JOB_ROOM + JOB_GUARD) / 4];
	coll_request_t *req;
	uint64_t wrong = 0;
	struct coll_cmd c;
	uint32_t i;
	int ret;

	draw_cmd(&c, j->size, lot);
	c.flags = flags;
	for (i = 0; i < JOB_ROOM / 4; i++)
		in[i] = value(rank, i);
	memset(out, 0xa5, sizeof(out));
	if (gives(&c, rank))
		c.send_addr = (uintptr_t)in;
	if (gets(&c, rank))
		c.recv_addr = (uintptr_t)out;
	if (c.collective == COLL_BROADCAST && rank == c.root)
		memcpy(out, in, c.count * 4);
	ret = posted ? coll_isubmit(j->comm, &c, &req) : coll_submit(j->comm, &c);
	if (posted && !ret)
		ret = coll_wait(req);
	for (i = JOB_ROOM / 4; i < sizeof(out) / 4; i++)
		wrong += out[i] != 0xa5a5a5a5;
	if (!ret && check)
		wrong += nr_wrong(&c, j->size, rank, out);
	j->sh->rank[rank].wrong += wrong;
	return ret;
}
