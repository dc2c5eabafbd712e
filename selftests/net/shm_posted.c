// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rand.h"
#include "shm_posted.h"

#define WINDOW	12
#define LARGE	6000		/* elements, too many for a slot */

/**
 * struct posted - an op that this rank has begun
 * @req: NULL: none
 * @persistent: it is given back
 * @nth: its number
 */
struct posted {
	coll_request_t *req;
	bool persistent;
	uint32_t nth, count;
	int32_t in[LARGE], out[LARGE];
};

static struct posted window[WINDOW];

static int32_t value(uint32_t rank, uint32_t nth, uint32_t i)
{
	return (int32_t)(rank * 1000003 + nth * 17 + i);
}

static int failed(coll_comm_t *comm, const struct posted *p, const char *what, int ret)
{
	struct coll_status st = { 0 };
	char cause[256] = "";

	if (!ret)
		return 0;
	coll_comm_status(comm, &st);
	coll_cause_str(&st.cause, cause, sizeof(cause));
	printf("rank %u: op %u of %u elements: %s: %s; %s\n", coll_comm_rank(comm), p->nth,
	       p->count, what, coll_strerror(ret), cause);
	return 1;
}

static int check(coll_comm_t *comm, const struct posted *p, int ret)
{
	uint32_t i, r;
	int32_t want;

	for (i = 0; i < p->count && !ret; i++) {
		for (r = 0, want = 0; r < coll_comm_size(comm); r++)
			want += value(r, p->nth, i);
		if (p->out[i] == want)
			continue;
		printf("rank %u: element %u is %d, not %d\n", coll_comm_rank(comm), i, p->out[i],
		       want);
		ret = -EILSEQ;
	}
	return failed(comm, p, "result", ret);
}

static int end_one(coll_comm_t *comm, struct posted *p, uint64_t *own)
{
	int done = 1, ret = 0;

	if (!p->req)
		return 0;
	if (test_below(own, 2))
		ret = coll_wait(p->req);
	else
		while (ret = test_below(own, 4) ? coll_test(p->req, &done) :
		       coll_wait_for(p->req, 20000, &done), !done)
			;
	if (p->persistent)
		coll_request_free(p->req);
	p->req = NULL;
	return check(comm, p, ret);
}

/* Begin an op: blocking, persistent or nonblocking, as this rank draws. */
static int begin(coll_comm_t *comm, struct posted *p, struct coll_cmd *cmd, uint64_t *own)
{
	uint32_t way = test_below(own, 4);
	int ret;

	if (!way)
		return check(comm, p, coll_submit(comm, cmd));
	p->persistent = way == 1;
	if (way > 1)
		return failed(comm, p, "post", coll_isubmit(comm, cmd, &p->req));
	ret = coll_persist(comm, cmd, &p->req);
	return failed(comm, p, "start", ret ? ret : coll_start(p->req));
}

int shm_posted(coll_comm_t *const *comms, uint32_t rounds, uint64_t *lot, uint64_t *own)
{
	uint32_t i, k, mixed = 0;
	struct coll_cmd cmd;
	struct posted *p;
	coll_comm_t *comm;
	int bad = 0;

	for (i = 0; i < rounds && !bad; i++) {
		p = &window[test_below(own, WINDOW)];
		bad += end_one(comms[0], p, own);
		comm = comms[!test_below(lot, 4)];
		p->nth = i;
		p->count = test_below(lot, 12) ? 1 + test_below(lot, 200) : LARGE;
		for (k = 0; k < p->count; k++)
			p->in[k] = value(coll_comm_rank(comm), i, k);
		memset(p->out, 0, p->count * sizeof(*p->out));
		coll_cmd_allreduce(comm, &cmd, p->in, p->out, p->count, COLL_I32, COLL_OP_SUM);
		/* In some stretches of 64 rounds, ranks do some ops by the kernel. */
		mixed = i % 64 ? mixed : test_below(lot, 2);
		if (mixed && !test_below(own, 8))
			cmd.flags |= COLL_CMD_SLEEP;
		bad += begin(comm, p, &cmd, own);
		if (!test_below(own, 100))
			usleep(test_below(own, 2000));
	}
	for (i = 0; i < WINDOW; i++)
		bad += end_one(comms[0], &window[i], own);
	return bad;
}
