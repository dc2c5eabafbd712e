// SPDX-License-Identifier: GPL-2.0
/* The commands of an iteration, and how they are run. */
#include "collperf_call.h"

/* What only some collectives need. */
struct args {
	const void *send;
	void *recv;
	uint64_t count;
	const uint64_t *counts;
	enum coll_dtype dtype;
	enum coll_op_code op;
	uint32_t root;
};

static void fill_reducing(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
			  const struct args *a)
{
	switch (what) {
	case COLL_REDUCE:
		coll_cmd_reduce(comm, cmd, a->send, a->recv, a->count, a->dtype, a->op, a->root);
		break;
	case COLL_REDUCE_SCATTER:
		coll_cmd_reduce_scatter(comm, cmd, a->send, a->recv, a->counts, a->dtype, a->op);
		break;
	case COLL_REDUCE_SCATTER_BLOCK:
		coll_cmd_reduce_scatter_block(comm, cmd, a->send, a->recv, a->count, a->dtype,
					      a->op);
		break;
	case COLL_SCAN:
		coll_cmd_scan(comm, cmd, a->send, a->recv, a->count, a->dtype, a->op);
		break;
	case COLL_EXSCAN:
		coll_cmd_exscan(comm, cmd, a->send, a->recv, a->count, a->dtype, a->op);
		break;
	default:
		coll_cmd_allreduce(comm, cmd, a->send, a->recv, a->count, a->dtype, a->op);
		break;
	}
}

static void fill_counted(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
			 const struct args *a)
{
	switch (what) {
	case COLL_ALLGATHERV:
		coll_cmd_allgatherv(comm, cmd, a->send, a->recv, a->counts, NULL, a->dtype);
		break;
	case COLL_GATHERV:
		coll_cmd_gatherv(comm, cmd, a->send, a->count, a->recv, a->counts, NULL, a->dtype,
				 a->root);
		break;
	case COLL_SCATTERV:
		coll_cmd_scatterv(comm, cmd, a->send, a->counts, NULL, a->recv, a->count, a->dtype,
				  a->root);
		break;
	default:
		coll_cmd_alltoallv(comm, cmd, a->send, a->recv, a->counts, NULL, a->dtype);
		break;
	}
}

static void fill_moving(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
			const struct args *a)
{
	switch (what) {
	case COLL_BROADCAST:
		coll_cmd_broadcast(comm, cmd, a->recv, a->count, a->dtype, a->root);
		break;
	case COLL_ALLGATHER:
		coll_cmd_allgather(comm, cmd, a->send, a->recv, a->count, a->dtype);
		break;
	case COLL_GATHER:
		coll_cmd_gather(comm, cmd, a->send, a->recv, a->count, a->dtype, a->root);
		break;
	case COLL_SCATTER:
		coll_cmd_scatter(comm, cmd, a->send, a->recv, a->count, a->dtype, a->root);
		break;
	case COLL_ALLTOALL:
		coll_cmd_alltoall(comm, cmd, a->send, a->recv, a->count, a->dtype);
		break;
	default:
		fill_counted(comm, cmd, what, a);
		break;
	}
}

int call_fill(struct call *c, int nth, const struct shape *s)
{
	const struct data_spec *spec = &c->spec;
	struct coll_cmd *cmd = &c->cmds[nth];
	struct args a = {
		.send = c->send + nth * c->stride, .recv = c->recv + nth * c->stride,
		.count = s->count, .counts = c->counts, .dtype = spec->dtype, .op = spec->op,
		.root = spec->root,
	};

	if (s->in_recv)
		a.send = COLL_IN_PLACE;
	if (s->out_send)
		a.recv = (void *)(uintptr_t)COLL_IN_PLACE;
	if (spec->what == COLL_BARRIER)
		coll_cmd_barrier(c->comm, cmd);
	else if (perf_reduces(spec->what))
		fill_reducing(c->comm, cmd, spec->what, &a);
	else
		fill_moving(c->comm, cmd, spec->what, &a);
	if (spec->op == COLL_OP_PREMULSUM)
		cmd->scalar = data_scalar(spec);
	cmd->algorithm = c->opt->algorithm;
	cmd->segment = c->opt->segment;
	if (!c->opt->persistent)
		return 0;
	coll_request_free(c->reqs[nth]);
	return coll_persist(c->comm, cmd, &c->reqs[nth]);
}

void call_end(struct call *c)
{
	int i;

	for (i = 0; c->opt->persistent && c->reqs && i < c->opt->aggregate; i++)
		coll_request_free(c->reqs[i]);
}

static int run_prepared(const struct call *c)
{
	int ret = coll_startall(c->reqs, (size_t)c->opt->aggregate), i, end;

	/* A request that has not been started is not waited for. */
	for (i = 0; i < c->opt->aggregate; i++) {
		end = coll_wait(c->reqs[i]);
		ret = ret ? ret : end;
	}
	return ret;
}

int call_run(const struct call *c)
{
	int n = c->opt->aggregate, i, ret = 0, end;

	if (c->opt->ioctl) {
		for (i = 0; !ret && i < n; i++)
			ret = coll_submit(c->comm, &c->cmds[i]);
		return ret;
	}
	if (c->opt->persistent)
		return run_prepared(c);
	for (i = 0; !ret && i < n; i++)
		ret = coll_isubmit(c->comm, &c->cmds[i], &c->reqs[i]);
	/* If there is an error, the last one has not been started. */
	end = coll_waitall(c->reqs, (size_t)(ret ? i - 1 : i));
	return ret ? ret : end;
}

int call_barrier(const struct call *c)
{
	coll_request_t *req;
	int ret;

	if (c->opt->ioctl)
		return coll_barrier(c->comm);
	ret = coll_ibarrier(c->comm, &req);
	return ret ? ret : coll_wait(req);
}
