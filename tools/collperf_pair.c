// SPDX-License-Identifier: GPL-2.0
/* Messages between rank 0 and the last rank: there and back. */
#include <stdlib.h>
#include <string.h>

#include "collperf_show.h"

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
	struct show show;
};

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
	begin = perf_now_us();
	ret = p->rank ? recv_one(p, bytes) : send_one(p, bytes);
	if (!ret)
		ret = p->rank ? send_one(p, bytes) : recv_one(p, bytes);
	*us = (perf_now_us() - begin) / 2;
	if (!ret && p->opt->check)
		check(p, iter, bytes);
	return ret;
}

/* The two ranks only: the others have no time. */
static int times_of_ranks(struct pair *p, double *us, double out[NR_TIMES])
{
	double own = p->plays ? perf_median(us, p->opt->iters) : 0, sum = own, max = own;
	double min = p->plays ? own : 1e300;
	int ret = coll_allreduce(p->comm, COLL_IN_PLACE, &min, 1, COLL_F64, COLL_OP_MIN);

	if (!ret)
		ret = coll_allreduce(p->comm, COLL_IN_PLACE, &max, 1, COLL_F64, COLL_OP_MAX);
	if (!ret)
		ret = coll_allreduce(p->comm, COLL_IN_PLACE, &sum, 1, COLL_F64, COLL_OP_SUM);
	out[TIME_RANK0] = own;
	out[TIME_MIN] = min;
	out[TIME_MAX] = max;
	out[TIME_MEAN] = sum / 2;
	return ret;
}

static int measure(struct pair *p, uint64_t bytes, struct perf_figures *f)
{
	int n = p->opt->iters, i, ret = 0;
	double *us = calloc((size_t)n, sizeof(*us)), unused;

	if (!us)
		return -12;
	p->wrong = 0;
	for (i = -p->opt->warmup; !ret && i < n; i++)
		ret = ping_pong(p, i, bytes, i < 0 ? &unused : &us[i]);
	f->measured = true;
	f->path = path_kernel(p->comm, p->opt->ioctl);
	f->wrong = p->wrong;
	if (!ret)
		ret = times_of_ranks(p, us, f->us);
	if (!ret)
		ret = coll_allreduce(p->comm, COLL_IN_PLACE, &f->wrong, 1, COLL_U64, COLL_OP_SUM);
	free(us);
	return ret;
}

static int run_size(struct pair *p, int cycle, uint64_t bytes, uint64_t *total)
{
	struct perf_row row = {
		.cycle = cycle, .bytes = bytes, .count = bytes, .dtype = COLL_BYTE,
	};
	int ret = measure(p, bytes, &row.at[OUT_OF_PLACE]);

	if (ret)
		return fail(p, "ping-pong", ret);
	*total += row.at[OUT_OF_PLACE].wrong;
	if (!p->rank)
		show_row(&p->show, &row);
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

static int run_cycles(struct pair *p, uint64_t *total)
{
	const struct perf_options *o = p->opt;
	uint64_t bytes;
	int cycle, ret = 0;

	for (cycle = 0; !ret && (!o->cycles || cycle < o->cycles); cycle++)
		for (bytes = o->min; !ret && bytes <= o->max; bytes = perf_next(o, bytes))
			ret = run_size(p, cycle, bytes, total);
	return ret;
}

int perf_pair(coll_comm_t *comm, const struct perf_options *opt)
{
	uint32_t last = coll_comm_size(comm) - 1;
	struct pair p = { .comm = comm, .opt = opt, .rank = coll_comm_rank(comm) };
	uint64_t total = 0;
	int ret;

	p.other = p.rank ? 0 : last;
	p.plays = last && (!p.rank || p.rank == last);
	if (!last)
		return fail(&p, "two ranks are needed", -22);
	ret = prepare(&p);
	if (!ret && !p.rank && !show_begin(&p.show, comm, opt))
		ret = 2;
	if (!ret) {
		ret = run_cycles(&p, &total);
		if (!p.rank && !show_end(&p.show) && !ret)
			ret = 2;
	}
	if (opt->registered && !ret) {
		coll_unregister_buffer(comm, p.reg[0]);
		coll_unregister_buffer(comm, p.reg[1]);
	}
	free(p.in);
	free(p.out);
	return ret ? ret : total != 0;
}
