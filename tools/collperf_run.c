// SPDX-License-Identifier: GPL-2.0
/* Measuring: what is timed, and how one figure is made of many. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "collperf.h"
#include "optable.h"

/**
 * struct perf - a run
 * @spec: what is run at the moment
 * @elem: bytes of an element of it
 * @data: its test data, NULL if nothing is checked
 * @send_id: registration of @send, if there is one
 * @recv_id: registration of @recv
 * @times: microseconds of each iteration, then of the slowest rank
 * @wrong: elements at this size
 * @total: elements in all
 */
struct perf {
	coll_comm_t *comm;
	const struct perf_options *opt;
	struct data_spec spec;
	size_t elem;
	struct data *data;
	void *send, *recv;
	uint32_t send_id, recv_id;
	double *times;
	uint64_t wrong, total;
};

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Say what went wrong, and what the kernel knows of it. */
static int fail(const struct perf *p, const char *what, int err)
{
	struct coll_status st;
	char cause[256] = "";

	if (!coll_comm_status(p->comm, &st) && st.cause.kind != COLL_CAUSE_NONE)
		coll_cause_str(&st.cause, cause, sizeof(cause));
	fprintf(stderr, "collperf: rank %u: %s: %s%s%s\n", p->spec.rank, what,
		coll_strerror(err), *cause ? "; first: " : "", cause);
	return 2;
}

static int barrier(const struct perf *p)
{
	coll_request_t *req;
	int ret;

	if (p->opt->ioctl)
		return coll_barrier(p->comm);
	ret = coll_ibarrier(p->comm, &req);
	return ret ? ret : coll_wait(req);
}

/* Any command, with what the options say of how it is to be done. */
static int run_command(const struct perf *p, struct coll_cmd *cmd)
{
	coll_request_t *req;
	int ret;

	cmd->algorithm = p->opt->algorithm;
	cmd->segment = p->opt->segment;
	if (p->opt->ioctl)
		return coll_submit(p->comm, cmd);
	ret = coll_isubmit(p->comm, cmd, &req);
	return ret ? ret : coll_wait(req);
}

/* The collective by one algorithm, or with segments of a size. */
static int run_named(const struct perf *p, uint64_t count)
{
	const struct perf_options *o = p->opt;
	const void *send = o->inplace ? COLL_IN_PLACE : p->send;
	struct coll_cmd cmd;

	if (o->what == COLL_BARRIER)
		coll_cmd_barrier(p->comm, &cmd);
	else if (o->what == COLL_BROADCAST)
		coll_cmd_broadcast(p->comm, &cmd, p->recv, count, p->spec.dtype, o->root);
	else
		coll_cmd_allreduce(p->comm, &cmd, send, p->recv, count, p->spec.dtype,
				   p->spec.op);
	return run_command(p, &cmd);
}

/* The one operator that needs more than the calls for allreduce take. */
static int premulsum(const struct perf *p, uint64_t count)
{
	const struct perf_options *o = p->opt;
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE,
		.op = COLL_OP_PREMULSUM,
		.dtype = (uint16_t)p->spec.dtype,
		.recv_addr = (uint64_t)(uintptr_t)p->recv,
		.count = count,
		.scalar = data_scalar(&p->spec),
		.flags = o->narrow ? COLL_CMD_NARROW : 0,
	};

	if (o->inplace)
		cmd.flags |= COLL_CMD_INPLACE;
	else
		cmd.send_addr = (uint64_t)(uintptr_t)p->send;
	if (o->registered) {
		cmd.flags |= COLL_CMD_REG_RECV | (o->inplace ? 0 : COLL_CMD_REG_SEND);
		cmd.recv_buf = p->recv_id;
		cmd.send_buf = o->inplace ? 0 : p->send_id;
	}
	return run_command(p, &cmd);
}

/* The collective, once. */
static int run_once(const struct perf *p, uint64_t count)
{
	const struct perf_options *o = p->opt;
	const void *send = o->inplace ? COLL_IN_PLACE : p->send;
	enum coll_dtype dtype = p->spec.dtype;
	enum coll_op_code op = p->spec.op;
	coll_request_t *req;
	int ret;

	if (op == COLL_OP_PREMULSUM && o->what == COLL_ALLREDUCE)
		return premulsum(p, count);
	if (o->algorithm || o->segment)
		return run_named(p, count);
	if (o->what == COLL_BARRIER)
		return barrier(p);
	if (o->ioctl)
		return o->what == COLL_BROADCAST ?
		       coll_broadcast(p->comm, p->recv, count, dtype, o->root) :
		       coll_allreduce(p->comm, send, p->recv, count, dtype, op);
	if (o->what == COLL_BROADCAST)
		ret = coll_ibroadcast(p->comm, p->recv, count, dtype, o->root, &req);
	else
		ret = coll_iallreduce(p->comm, send, p->recv, count, dtype, op, &req);
	return ret ? ret : coll_wait(req);
}

/* Input in place, and bytes in the output that cannot be the result. */
static void prepare(struct perf *p, uint32_t iter, uint64_t count)
{
	if (p->opt->what == COLL_BROADCAST || p->opt->inplace) {
		data_fill(p->data, iter, p->recv, count);
		return;
	}
	data_fill(p->data, iter, p->send, count);
	memset(p->recv, 0xa5, count * p->elem);
}

static int iterate(struct perf *p, uint64_t count)
{
	const struct perf_options *o = p->opt;
	double begin;
	int ret, i;

	for (i = -o->warmup; i < o->iters; i++) {
		uint32_t iter = (uint32_t)(i + o->warmup);

		if (p->data)
			prepare(p, iter, count);
		ret = barrier(p);
		if (ret)
			return fail(p, "barrier", ret);
		begin = now_us();
		ret = run_once(p, count);
		if (i >= 0)
			p->times[i] = now_us() - begin;
		if (ret)
			return fail(p, coll_collective_name(o->what), ret);
		if (p->data)
			p->wrong += data_check(p->data, iter, p->recv, count);
	}
	return 0;
}

static int cmp_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* The slowest rank of each iteration, and the median of these. */
static int median_time(struct perf *p, double *us)
{
	int n = p->opt->iters;
	int ret;

	ret = coll_allreduce(p->comm, COLL_IN_PLACE, p->times, (uint64_t)n, COLL_F64,
			     COLL_OP_MAX);
	if (ret)
		return fail(p, "allreduce of times", ret);
	qsort(p->times, (size_t)n, sizeof(*p->times), cmp_double);
	*us = n % 2 ? p->times[n / 2] : (p->times[n / 2 - 1] + p->times[n / 2]) / 2;
	return 0;
}

/* As in the performance notes of nccl-tests: bytes each link has to carry. */
static double bus_factor(const struct perf *p)
{
	double n = p->spec.size;

	return p->opt->what == COLL_ALLREDUCE ? 2 * (n - 1) / n : 1;
}

/* Is it asked for, and can it be had? A broadcast has pairs with COLL_OP_NONE. */
static bool wanted(const struct perf_options *o, uint32_t dtype, uint32_t op)
{
	if (!(o->dtypes >> dtype & 1))
		return false;
	if (o->what == COLL_BROADCAST)
		return op == COLL_OP_NONE && coll_dtype_size(dtype);
	return (o->ops >> op & 1) && coll_op_defined(op, dtype);
}

unsigned int perf_pairs(const struct perf_options *o)
{
	uint32_t dtype, op;
	unsigned int n = 0;

	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++)
		for (op = 0; op < COLL_NR_OPS; op++)
			n += wanted(o, dtype, op);
	return n;
}

static void print_head(const struct perf *p)
{
	const struct perf_options *o = p->opt;
	struct coll_version v;

	coll_device_version(p->comm, &v);
	printf("# collperf %s: %u ranks on %u nodes, %s%s%s%s, reductions by %.*s\n"
	       "# %d iterations after %d to warm up; time: of each iteration the slowest rank,\n"
	       "# of these the median; a barrier before each. %s\n",
	       coll_collective_name(o->what), p->spec.size, coll_comm_nodes(p->comm),
	       o->ioctl ? "ioctl" : "io_uring", o->inplace ? ", in place" : "",
	       o->registered ? ", registered buffers" : "", o->narrow ? ", narrow" : "",
	       (int)sizeof(v.simd), (const char *)v.simd, o->iters, o->warmup,
	       o->check ? "Every element of every iteration is checked." : "Nothing is checked.");
	if (o->what != COLL_BARRIER && perf_pairs(o) > 1)
		printf("# %u pairs of type and operator\n", perf_pairs(o));
	printf("# %10s %12s %6s %6s %6s %11s %9s %9s %8s\n", "size", "count", "type",
	       "op", "root", "time", "algbw", "busbw", "#wrong");
	printf("# %10s %12s %6s %6s %6s %11s %9s %9s %8s\n", "(B)", "(elements)", "",
	       "", "", "(us)", "(GB/s)", "(GB/s)", "");
}

static void print_row(const struct perf *p, uint64_t count, double us, uint64_t wrong)
{
	const struct perf_options *o = p->opt;
	double bytes = (double)(count * p->elem);
	double bw = us > 0 ? bytes / us / 1e3 : 0;
	bool data = o->what != COLL_BARRIER;
	char root[16] = "-1", text[32] = "N/A";

	if (o->what == COLL_BROADCAST)
		snprintf(root, sizeof(root), "%u", o->root);
	if (p->data)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)wrong);
	printf("  %10.0f %12llu %6s %6s %6s %11.2f %9.3f %9.3f %8s\n", bytes,
	       (unsigned long long)count, data ? coll_dtype_name(p->spec.dtype) : "none",
	       coll_op_name(p->spec.op), root, us, bw, bw * bus_factor(p), text);
	fflush(stdout);
}

static int run_size(struct perf *p, uint64_t count)
{
	uint64_t wrong;
	double us = 0;
	int ret;

	p->wrong = 0;
	ret = iterate(p, count);
	if (!ret)
		ret = median_time(p, &us);
	if (ret)
		return ret;
	wrong = p->wrong;
	ret = coll_allreduce(p->comm, COLL_IN_PLACE, &wrong, 1, COLL_U64, COLL_OP_SUM);
	if (ret)
		return fail(p, "allreduce of counts", ret);
	/* Should the sum itself be broken, a rank still knows its own. */
	p->total += wrong > p->wrong ? wrong : p->wrong;
	if (!p->spec.rank)
		print_row(p, count, us, wrong);
	return 0;
}

static void *get_buffer(uint64_t bytes)
{
	void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int get_buffers(struct perf *p)
{
	const struct perf_options *o = p->opt;
	int ret;

	p->send = get_buffer(o->max);
	p->recv = get_buffer(o->max);
	p->times = calloc((size_t)o->iters, sizeof(*p->times));
	if (!p->send || !p->recv || !p->times) {
		fprintf(stderr, "collperf: no memory for two buffers of %llu bytes\n",
			(unsigned long long)o->max);
		return 2;
	}
	if (!o->registered || !o->max)
		return 0;
	ret = coll_register_buffer(p->comm, p->send, o->max, 0, &p->send_id);
	if (!ret)
		ret = coll_register_buffer(p->comm, p->recv, o->max, COLL_REG_WRITE, &p->recv_id);
	return ret ? fail(p, "register a buffer", ret) : 0;
}

static int run_sizes(struct perf *p)
{
	const struct perf_options *o = p->opt;
	uint64_t bytes, next;
	int ret = 0;

	for (bytes = o->min; !ret && bytes <= o->max; bytes = next) {
		ret = run_size(p, bytes / p->elem);
		next = (uint64_t)((double)bytes * o->factor);
		if (next <= bytes)
			next = bytes + 1;
	}
	return ret;
}

static int run_pair(struct perf *p, uint32_t dtype, uint32_t op)
{
	int ret;

	p->spec.dtype = (enum coll_dtype)dtype;
	p->spec.op = (enum coll_op_code)op;
	p->elem = coll_dtype_size(dtype);
	if (p->opt->check) {
		p->data = data_new(&p->spec, p->opt->max / p->elem,
				   (uint32_t)(p->opt->iters + p->opt->warmup));
		if (!p->data) {
			fprintf(stderr, "collperf: no memory\n");
			return 2;
		}
	}
	ret = run_sizes(p);
	data_free(p->data);
	p->data = NULL;
	return ret;
}

static int run_pairs(struct perf *p)
{
	const struct perf_options *o = p->opt;
	uint32_t dtype, op;
	int ret = 0;

	if (o->what == COLL_BARRIER)
		return run_size(p, 0);
	for (dtype = 1; !ret && dtype < COLL_NR_DTYPES; dtype++)
		for (op = 0; !ret && op < COLL_NR_OPS; op++)
			if (wanted(o, dtype, op))
				ret = run_pair(p, dtype, op);
	return ret;
}

int perf_run(coll_comm_t *comm, const struct perf_options *opt)
{
	struct perf p = {
		.comm = comm,
		.opt = opt,
		.spec = {
			.what = opt->what,
			.rank = coll_comm_rank(comm), .size = coll_comm_size(comm),
			.root = opt->root,
			.narrow = opt->narrow,
		},
	};
	int ret = opt->narrow ? coll_comm_set_narrow(comm, true) : 0;

	if (ret)
		ret = fail(&p, "narrow", ret);
	else
		ret = get_buffers(&p);
	if (!ret && !p.spec.rank)
		print_head(&p);
	if (!ret)
		ret = run_pairs(&p);
	if (!ret && opt->check && !p.spec.rank)
		printf("# wrong elements in all: %llu\n", (unsigned long long)p.total);
	free(p.times);
	return ret ? ret : p.total != 0;
}
