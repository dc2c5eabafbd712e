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
 * @times: microseconds of each iteration, then of the slowest rank
 */
struct perf {
	coll_comm_t *comm;
	const struct perf_options *opt;
	struct perf_data data;
	void *send, *recv;
	double *times;
	uint64_t wrong;
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
	fprintf(stderr, "collperf: rank %u: %s: %s%s%s\n", p->data.rank, what,
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

/* The collective, once. */
static int run_once(const struct perf *p, uint64_t count)
{
	const struct perf_options *o = p->opt;
	const void *send = o->inplace ? COLL_IN_PLACE : p->send;
	coll_request_t *req;
	int ret;

	if (o->what == COLL_BARRIER)
		return barrier(p);
	if (o->ioctl)
		return o->what == COLL_BROADCAST ?
		       coll_broadcast(p->comm, p->recv, count, o->dtype, o->root) :
		       coll_allreduce(p->comm, send, p->recv, count, o->dtype, o->op);
	if (o->what == COLL_BROADCAST)
		ret = coll_ibroadcast(p->comm, p->recv, count, o->dtype, o->root, &req);
	else
		ret = coll_iallreduce(p->comm, send, p->recv, count, o->dtype, o->op, &req);
	return ret ? ret : coll_wait(req);
}

/* Input in place, and bytes in the output that cannot be the result. */
static void prepare(struct perf *p, uint64_t count)
{
	if (p->opt->what == COLL_BROADCAST || p->opt->inplace) {
		data_fill(&p->data, p->recv, count);
		return;
	}
	data_fill(&p->data, p->send, count);
	memset(p->recv, 0xa5, count * p->opt->elem);
}

static int iterate(struct perf *p, uint64_t count)
{
	const struct perf_options *o = p->opt;
	double begin;
	int ret, i;

	for (i = -o->warmup; i < o->iters; i++) {
		p->data.iter = (uint32_t)(i + o->warmup);
		if (o->check && o->what != COLL_BARRIER)
			prepare(p, count);
		ret = barrier(p);
		if (ret)
			return fail(p, "barrier", ret);
		begin = now_us();
		ret = run_once(p, count);
		if (i >= 0)
			p->times[i] = now_us() - begin;
		if (ret)
			return fail(p, coll_collective_name(o->what), ret);
		if (o->check && o->what != COLL_BARRIER)
			p->wrong += data_check(&p->data, p->recv, count);
	}
	return 0;
}

static int cmp_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Of every iteration the slowest rank, of all iterations the median. */
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
	double n = p->data.size;

	return p->opt->what == COLL_ALLREDUCE ? 2 * (n - 1) / n : 1;
}

static void print_head(const struct perf *p)
{
	const struct perf_options *o = p->opt;
	struct coll_version v;

	coll_device_version(p->comm, &v);
	printf("# collperf %s: %u ranks on %u nodes, %s%s%s, reductions by %.*s\n"
	       "# %d iterations after %d to warm up; time: of each iteration the slowest rank,\n"
	       "# of these the median; a barrier before each. %s\n",
	       coll_collective_name(o->what), p->data.size, coll_comm_nodes(p->comm),
	       o->ioctl ? "ioctl" : "io_uring", o->inplace ? ", in place" : "",
	       o->registered ? ", registered buffers" : "",
	       (int)sizeof(v.simd), (const char *)v.simd, o->iters, o->warmup,
	       o->check ? "Every element of every iteration is checked." : "Nothing is checked.");
	printf("# %10s %12s %6s %6s %6s %11s %9s %9s %8s\n", "size", "count", "type",
	       "op", "root", "time", "algbw", "busbw", "#wrong");
	printf("# %10s %12s %6s %6s %6s %11s %9s %9s %8s\n", "(B)", "(elements)", "",
	       "", "", "(us)", "(GB/s)", "(GB/s)", "");
}

static void print_row(const struct perf *p, uint64_t count, double us, uint64_t wrong)
{
	const struct perf_options *o = p->opt;
	double bytes = (double)(count * o->elem);
	double bw = us > 0 ? bytes / us / 1e3 : 0;
	bool data = o->what != COLL_BARRIER;
	char root[16] = "-1", text[32] = "N/A";

	if (o->what == COLL_BROADCAST)
		snprintf(root, sizeof(root), "%u", o->root);
	if (o->check && data)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)wrong);
	printf("  %10.0f %12llu %6s %6s %6s %11.2f %9.3f %9.3f %8s\n", bytes,
	       (unsigned long long)count, data ? coll_dtype_name(o->dtype) : "none",
	       o->op != COLL_OP_NONE ? coll_op_name(o->op) : "none", root, us, bw,
	       bw * bus_factor(p), text);
	fflush(stdout);
}

static int run_size(struct perf *p, uint64_t count, uint64_t *total)
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
	*total += wrong > p->wrong ? wrong : p->wrong;
	if (!p->data.rank)
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
	uint32_t id;
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
	ret = coll_register_buffer(p->comm, p->send, o->max, 0, &id);
	if (!ret)
		ret = coll_register_buffer(p->comm, p->recv, o->max, COLL_REG_WRITE, &id);
	return ret ? fail(p, "register a buffer", ret) : 0;
}

int perf_run(coll_comm_t *comm, const struct perf_options *opt)
{
	struct perf p = {
		.comm = comm,
		.opt = opt,
		.data = {
			.what = opt->what, .dtype = opt->dtype, .op = opt->op,
			.rank = coll_comm_rank(comm), .size = coll_comm_size(comm),
			.root = opt->root,
		},
	};
	uint64_t bytes, next, total = 0;
	int ret;

	ret = get_buffers(&p);
	if (!ret && !p.data.rank)
		print_head(&p);
	for (bytes = opt->min; !ret && bytes <= opt->max; bytes = next) {
		ret = run_size(&p, bytes / opt->elem, &total);
		if (opt->what == COLL_BARRIER)
			break;
		next = (uint64_t)((double)bytes * opt->factor);
		if (next <= bytes)
			next = bytes + 1;
	}
	if (!ret && opt->check && !p.data.rank)
		printf("# wrong elements in all: %llu\n", (unsigned long long)total);
	free(p.times);
	return ret ? ret : total != 0;
}
