// SPDX-License-Identifier: GPL-2.0
/* Messages between rank 0 and the last rank: there and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collperf.h"
#include "optable.h"

/**
 * struct pair - one of the two ranks, or one that looks on
 * @other: the partner
 * @reg: registered buffers, if asked for
 */
struct pair {
	coll_comm_t *comm;
	const struct perf_options *opt;
	uint32_t rank, other;
	bool plays;
	uint8_t *in, *out;
	uint32_t reg[2];
	uint64_t wrong;
};

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int fail(const struct pair *p, const char *what, int ret)
{
	fprintf(stderr, "collperf: rank %u: %s: %s\n", p->rank, what, coll_strerror(ret));
	return 2;
}

static uint8_t byte_of(uint32_t rank, int iter, uint64_t i)
{
	return (uint8_t)((i * 2654435761U >> 9) + rank * 101 + (uint32_t)iter * 7);
}

static void fill(struct pair *p, int iter, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		p->in[i] = byte_of(p->rank, iter, i);
	memset(p->out, 0, bytes);
}

static void check(struct pair *p, int iter, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		p->wrong += p->out[i] != byte_of(p->other, iter, i);
}

static int send_one(const struct pair *p, uint64_t bytes)
{
	coll_request_t *req;
	int ret;

	if (p->opt->ioctl)
		return coll_send(p->comm, p->in, bytes, COLL_BYTE, p->other, 1);
	ret = coll_isend(p->comm, p->in, bytes, COLL_BYTE, p->other, 1, &req);
	return ret ? ret : coll_wait(req);
}

static int recv_one(const struct pair *p, uint64_t bytes)
{
	coll_request_t *req;
	int ret;

	if (p->opt->ioctl)
		return coll_recv(p->comm, p->out, bytes, COLL_BYTE, p->other, 1, NULL);
	ret = coll_irecv(p->comm, p->out, bytes, COLL_BYTE, p->other, 1, NULL, &req);
	return ret ? ret : coll_wait(req);
}

/* There and back; *us is half of it. */
static int ping_pong(struct pair *p, int iter, uint64_t bytes, double *us)
{
	double begin;
	int ret;

	if (p->opt->check)
		fill(p, iter, bytes);
	ret = coll_barrier(p->comm);
	if (ret || !p->plays)
		return ret;
	begin = now_us();
	ret = p->rank ? recv_one(p, bytes) : send_one(p, bytes);
	if (!ret)
		ret = p->rank ? send_one(p, bytes) : recv_one(p, bytes);
	*us = (now_us() - begin) / 2;
	if (!ret && p->opt->check)
		check(p, iter, bytes);
	return ret;
}

static int cmp_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static int run_size(struct pair *p, uint64_t bytes, uint64_t *total)
{
	int n = p->opt->iters, i, ret = 0;
	double *us = calloc((size_t)n, sizeof(*us)), unused, median;
	char text[32] = "N/A";
	uint64_t wrong;

	if (!us)
		return fail(p, "times", -12);
	p->wrong = 0;
	for (i = -p->opt->warmup; !ret && i < n; i++)
		ret = ping_pong(p, i, bytes, i < 0 ? &unused : &us[i]);
	wrong = p->wrong;
	if (!ret)
		ret = coll_allreduce(p->comm, COLL_IN_PLACE, &wrong, 1, COLL_U64, COLL_OP_SUM);
	if (ret) {
		free(us);
		return fail(p, "ping-pong", ret);
	}
	*total += wrong;
	qsort(us, (size_t)n, sizeof(*us), cmp_double);
	median = us[n / 2];
	free(us);
	if (p->opt->check)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)wrong);
	if (!p->rank) {
		printf("  %10llu %11.2f %9.3f %8s\n", (unsigned long long)bytes, median,
		       median > 0 ? (double)bytes / median / 1e3 : 0, text);
		fflush(stdout);
	}
	return 0;
}

static int prepare(struct pair *p)
{
	size_t max = p->opt->max + 1;
	int ret = 0;

	p->in = calloc(1, max);
	p->out = calloc(1, max);
	if (!p->in || !p->out)
		return fail(p, "buffers", -12);
	/* Pages that are there, as they are in a program that has worked for a while. */
	memset(p->in, 1, max);
	memset(p->out, 1, max);
	if (p->opt->registered) {
		ret = coll_register_buffer(p->comm, p->in, max, 0, &p->reg[0]);
		if (!ret)
			ret = coll_register_buffer(p->comm, p->out, max, COLL_REG_WRITE, &p->reg[1]);
	}
	return ret ? fail(p, "registering", ret) : 0;
}

int perf_pair(coll_comm_t *comm, const struct perf_options *opt)
{
	uint32_t last = coll_comm_size(comm) - 1;
	struct pair p = { .comm = comm, .opt = opt, .rank = coll_comm_rank(comm) };
	uint64_t bytes, total = 0;
	int ret;

	p.other = p.rank ? 0 : last;
	p.plays = last && (!p.rank || p.rank == last);
	if (!last)
		return fail(&p, "two ranks are needed", -22);
	ret = prepare(&p);
	if (!ret && !p.rank)
		printf("# collperf sendrecv: ranks 0 and %u, %s, %s%s\n"
		       "# %d iterations after %d to warm up; time: half of there and back, the median\n"
		       "# %10s %11s %9s %8s\n# %10s %11s %9s\n",
		       last, coll_comm_node_of(comm, last) == coll_comm_node(comm) ?
		       "on one node" : "on two nodes", opt->ioctl ? "ioctl" : "io_uring",
		       opt->registered ? ", registered buffers" : "", opt->iters, opt->warmup,
		       "size", "time", "bw", "#wrong", "(B)", "(us)", "(GB/s)");
	for (bytes = opt->min; !ret && bytes <= opt->max; ) {
		uint64_t next = (uint64_t)((double)bytes * opt->factor);

		ret = run_size(&p, bytes, &total);
		bytes = next > bytes ? next : bytes + 1;
	}
	if (opt->registered && !ret) {
		coll_unregister_buffer(comm, p.reg[0]);
		coll_unregister_buffer(comm, p.reg[1]);
	}
	free(p.in);
	free(p.out);
	return ret ? ret : total != 0;
}
