// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... beside_rank OPS SEED: one rank of a test of many collectives in flight at once
 * on one communicator: of several kinds and many sizes, up to DEPTH at a time, waited for in
 * any order; every element is verified, and buffers are used again at once.
 *
 * collrun -n 2 ... beside_rank leave: the second rank leaves after a collective. The first rank
 * has begun another one before. The collective that both have begun ends well.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coll/coll.h>

#include "rand.h"
#include "rank.h"

#define DEPTH		40
#define LARGEST		(300 << 10)	/* elements */
#define JUNK		0xa5
#define LEAVE		(200 << 10)	/* elements: not lent */

enum what { ALLREDUCE, BROADCAST, BARRIER, REDUCE, ALLGATHER, REDUCE_SCATTER, ALLTOALL, SCAN,
	    NR_WHAT };

/* One collective: the same on all ranks but for its buffers. */
struct job {
	coll_request_t *req;
	enum what what;
	uint32_t count, root, salt;
	uint32_t *in, *out;
};

static coll_comm_t *comm;
static uint32_t size;
static uint64_t lots;

/* Element @i of rank @rank. */
static uint32_t element(const struct job *j, uint32_t rank, uint32_t i)
{
	return i * 2654435761U + rank * 40503U + j->salt;
}

/* The sum of those of ranks 0 to @n - 1. */
static uint32_t sum(const struct job *j, uint32_t n, uint32_t i)
{
	return n * (i * 2654435761U + j->salt) + n * (n - 1) / 2 * 40503U;
}

static uint32_t in_length(const struct job *j)
{
	if (j->what == BARRIER)
		return 0;
	return j->what == REDUCE_SCATTER || j->what == ALLTOALL ? j->count * size : j->count;
}

static uint32_t out_length(const struct job *j)
{
	if (j->what == BARRIER || (j->what == REDUCE && me != j->root))
		return 0;
	return j->what == ALLGATHER || j->what == ALLTOALL ? j->count * size : j->count;
}

static uint32_t expected(const struct job *j, uint32_t i)
{
	uint32_t block = j->count ? i / j->count : 0;

	switch (j->what) {
	case BROADCAST:
		return element(j, j->root, i);
	case ALLGATHER:
		return element(j, block, i % j->count);
	case REDUCE_SCATTER:
		return sum(j, size, me * j->count + i);
	case ALLTOALL:
		return element(j, block, me * j->count + i % j->count);
	case SCAN:
		return sum(j, me + 1, i);
	default:
		return sum(j, size, i);
	}
}

/* Draw the next job, the same on all ranks. */
static void draw(struct job *j)
{
	static const uint32_t sizes[] = { 1, 16, 1000, 1024, 5000, 20000, LARGEST };
	uint32_t most = sizes[test_below(&lots, sizeof(sizes) / sizeof(sizes[0]))];

	j->what = test_below(&lots, NR_WHAT);
	/* if there is a block for each rank, all blocks together have this count */
	j->count = test_below(&lots, most) + 1;
	if (j->what == ALLGATHER || j->what == REDUCE_SCATTER || j->what == ALLTOALL)
		j->count = j->count / size + 1;
	j->root = test_below(&lots, size);
	j->salt = test_below(&lots, 1U << 31);
}

static void begin(struct job *j)
{
	uint32_t i, n = in_length(j);
	struct coll_cmd cmd;

	for (i = 0; i < n; i++)
		j->in[i] = element(j, me, i);
	switch (j->what) {
	case ALLREDUCE:
		coll_cmd_allreduce(comm, &cmd, j->in, j->out, j->count, COLL_U32, COLL_OP_SUM);
		break;
	case BROADCAST:
		if (j->root == me)
			memcpy(j->out, j->in, 4 * j->count);
		coll_cmd_broadcast(comm, &cmd, j->out, j->count, COLL_U32, j->root);
		break;
	case BARRIER:
		coll_cmd_barrier(comm, &cmd);
		break;
	case REDUCE:
		coll_cmd_reduce(comm, &cmd, j->in, me == j->root ? j->out : NULL, j->count,
				COLL_U32, COLL_OP_SUM, j->root);
		break;
	case ALLGATHER:
		coll_cmd_allgather(comm, &cmd, j->in, j->out, j->count, COLL_U32);
		break;
	case REDUCE_SCATTER:
		coll_cmd_reduce_scatter_block(comm, &cmd, j->in, j->out, j->count, COLL_U32,
					      COLL_OP_SUM);
		break;
	case ALLTOALL:
		coll_cmd_alltoall(comm, &cmd, j->in, j->out, j->count, COLL_U32);
		break;
	default:
		coll_cmd_scan(comm, &cmd, j->in, j->out, j->count, COLL_U32, COLL_OP_SUM);
	}
	must(coll_isubmit(comm, &cmd, &j->req), "isubmit");
}

static void end(struct job *j)
{
	uint32_t i, n = out_length(j);

	must(coll_wait(j->req), "wait");
	for (i = 0; i < n; i++) {
		if (j->out[i] == expected(j, i))
			continue;
		fprintf(stderr, "rank %u: collective %d of %u elements: %u at %u, not %u\n", me,
			j->what, j->count, j->out[i], i, expected(j, i));
		exit(1);
	}
	memset(j->in, JUNK, 4 * in_length(j));
	memset(j->out, JUNK, 4 * n);
}

static uint32_t *buffer(size_t elements)
{
	uint32_t *buf = malloc(elements * sizeof(*buf));

	if (!buf)
		exit(2);
	return buf;
}

/* Each rank ends them in an order of its own, and begins others meanwhile. */
static void storm(uint32_t ops, uint64_t seed)
{
	uint64_t mine = (seed + 1) * (me + 1) * 0x9e3779b97f4a7c15ULL | 1;
	static struct job jobs[DEPTH];
	uint32_t begun = 0, left = DEPTH, i;
	struct job *free_jobs[DEPTH], *busy[DEPTH];
	uint32_t nr_busy = 0;

	lots = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (i = 0; i < DEPTH; i++) {
		jobs[i].in = buffer(LARGEST + 2 * size);
		jobs[i].out = buffer(LARGEST + 2 * size);
		free_jobs[i] = &jobs[i];
	}
	while (begun < ops || nr_busy) {
		if (begun < ops && left && (!nr_busy || test_below(&mine, 5))) {
			busy[nr_busy] = free_jobs[--left];
			draw(busy[nr_busy]);
			begin(busy[nr_busy++]);
			begun++;
			continue;
		}
		i = test_below(&mine, nr_busy);
		end(busy[i]);
		free_jobs[left++] = busy[i];
		busy[i] = busy[--nr_busy];
	}
}

static void leave(void)
{
	struct job one = { .what = BROADCAST, .count = LEAVE, .root = 1, .salt = 1 };
	struct job two = { .what = ALLREDUCE, .count = 1000, .salt = 2 };
	uint32_t word = 0;
	int ret;

	one.in = buffer(LEAVE);
	one.out = buffer(LEAVE);
	two.in = buffer(two.count);
	two.out = buffer(two.count);
	/* The first rank has begun both by then. */
	if (me)
		must(coll_recv(comm, &word, 1, COLL_U32, 0, 0, NULL), "a word");
	begin(&one);
	if (!me) {
		begin(&two);
		must(coll_send(comm, &word, 1, COLL_U32, 1, 0), "a word");
	}
	end(&one);
	if (me)
		return;
	ret = coll_wait(two.req);
	if (ret == -EHOSTDOWN)
		return;
	fprintf(stderr, "what the other rank has not begun ends with %s\n", coll_strerror(ret));
	exit(1);
}

int main(int argc, char **argv)
{
	must(coll_init(NULL, &comm), "coll_init");
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (argc == 2 && !strcmp(argv[1], "leave"))
		leave();
	else if (argc == 3)
		storm(strtoul(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
	else
		return 2;
	must(coll_finalize(comm), "coll_finalize");
	return 0;
}
