// SPDX-License-Identifier: GPL-2.0
/* usage: collrun -n RANKS coll_each TASK...: every collective of coll, by blocking calls */
#define _GNU_SOURCE
#include <coll/coll.h>

#include "each.h"

static coll_comm_t *comm;
static uint64_t counts[2 * EACH_RANKS];

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "rank %u: %s: %s\n", comm ? coll_comm_rank(comm) : 0, what,
		coll_strerror(ret));
	exit(1);
}

static void fill_reducing(struct coll_cmd *c, enum each_what what, float *in, float *out, size_t n)
{
	switch (what) {
	case EACH_REDUCE:
		coll_cmd_reduce(comm, c, in, out, n, COLL_F32, COLL_OP_SUM, 0);
		break;
	case EACH_ALLREDUCE:
		coll_cmd_allreduce(comm, c, in, out, n, COLL_F32, COLL_OP_SUM);
		break;
	case EACH_REDUCE_SCATTER:
		coll_cmd_reduce_scatter(comm, c, in, out, counts, COLL_F32, COLL_OP_SUM);
		break;
	case EACH_REDUCE_SCATTER_BLOCK:
		coll_cmd_reduce_scatter_block(comm, c, in, out, n, COLL_F32, COLL_OP_SUM);
		break;
	case EACH_SCAN:
		coll_cmd_scan(comm, c, in, out, n, COLL_F32, COLL_OP_SUM);
		break;
	default:
		coll_cmd_exscan(comm, c, in, out, n, COLL_F32, COLL_OP_SUM);
	}
}

static void fill_moving(struct coll_cmd *c, enum each_what what, float *in, float *out, size_t n)
{
	switch (what) {
	case EACH_BARRIER:
		coll_cmd_barrier(comm, c);
		break;
	case EACH_BROADCAST:
		coll_cmd_broadcast(comm, c, out, n, COLL_F32, 0);
		break;
	case EACH_ALLGATHER:
		coll_cmd_allgather(comm, c, in, out, n, COLL_F32);
		break;
	case EACH_ALLGATHERV:
		coll_cmd_allgatherv(comm, c, in, out, counts, NULL, COLL_F32);
		break;
	case EACH_GATHER:
		coll_cmd_gather(comm, c, in, out, n, COLL_F32, 0);
		break;
	case EACH_GATHERV:
		coll_cmd_gatherv(comm, c, in, n, out, counts, NULL, COLL_F32, 0);
		break;
	case EACH_SCATTER:
		coll_cmd_scatter(comm, c, in, out, n, COLL_F32, 0);
		break;
	case EACH_SCATTERV:
		coll_cmd_scatterv(comm, c, in, counts, NULL, out, n, COLL_F32, 0);
		break;
	case EACH_ALLTOALL:
		coll_cmd_alltoall(comm, c, in, out, n, COLL_F32);
		break;
	default:
		coll_cmd_alltoallv(comm, c, in, out, counts, NULL, COLL_F32);
	}
}

static void set_counts(size_t n)
{
	int i;

	for (i = 0; i < 2 * EACH_RANKS; i++)
		counts[i] = n;
}

static void run(enum each_what what, float *in, float *out, size_t n)
{
	struct coll_cmd c;

	if (what == EACH_REDUCE || what == EACH_ALLREDUCE || what == EACH_REDUCE_SCATTER ||
	    what == EACH_REDUCE_SCATTER_BLOCK || what == EACH_SCAN || what == EACH_EXSCAN)
		fill_reducing(&c, what, in, out, n);
	else
		fill_moving(&c, what, in, out, n);
	must(coll_submit(comm, &c), each_names[what]);
}

static void collect(double *v, int n, int largest)
{
	must(coll_allreduce(comm, COLL_IN_PLACE, v, (uint64_t)n, COLL_F64,
			    largest ? COLL_OP_MAX : COLL_OP_SUM), "collect");
}

int main(int argc, char **argv)
{
	struct each e = { .set_counts = set_counts, .run = run, .collect = collect };

	must(coll_init(NULL, &comm), "init");
	e.rank = (int)coll_comm_rank(comm);
	e.ranks = (int)coll_comm_size(comm);
	if (e.ranks > EACH_RANKS)
		return 2;
	each_run(&e, argc - 1, argv + 1);
	coll_finalize(comm);
	return 0;
}
