// SPDX-License-Identifier: GPL-2.0
/* Measuring: what is timed, and how one figure is made of many. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collperf_call.h"
#include "collperf_show.h"
#include "optable.h"

/**
 * struct perf - a run
 * @elem: bytes of an element of what is run at the moment
 * @data: its test data, NULL if nothing is checked
 * @bytes: of a buffer
 * @reg: registrations of the two buffers, if there are any
 * @times: microseconds of each iteration
 * @scratch: as many numbers as @times
 * @total: wrong elements, as this rank knows
 */
struct perf {
	struct call call;
	const struct perf_options *opt;
	struct show show;
	size_t elem;
	struct data *data;
	size_t bytes;
	uint32_t reg[2];
	double *times, *scratch;
	uint64_t total;
};

/* Say what went wrong, and what the kernel knows of it. */
static int fail(const struct perf *p, const char *what, int err)
{
	struct coll_status st;
	char cause[256] = "";

	if (!coll_comm_status(p->call.comm, &st) && st.cause.kind != COLL_CAUSE_NONE)
		coll_cause_str(&st.cause, cause, sizeof(cause));
	fprintf(stderr, "collperf: rank %u: %s: %s%s%s\n", p->call.spec.rank, what,
		coll_strerror(err), *cause ? "; first: " : "", cause);
	return 2;
}

static uint8_t *input_of(const struct perf *p, const struct shape *s, int nth)
{
	uint8_t *buf = s->in_recv ? p->call.recv : p->call.send;

	return buf + nth * p->call.stride + s->in_at * p->elem;
}

static uint8_t *output_of(const struct perf *p, const struct shape *s, int nth)
{
	uint8_t *buf = s->out_send ? p->call.send : p->call.recv;

	return buf + nth * p->call.stride + s->out_at * p->elem;
}

/* Input, and bytes in the output that cannot be the result. */
static void prepare(const struct perf *p, uint32_t iter, const struct shape *s)
{
	int k;

	for (k = 0; k < p->opt->aggregate; k++) {
		if (!s->out_send)
			memset(output_of(p, s, k), 0xa5, s->out * p->elem);
		data_fill(p->data, iter, input_of(p, s, k), s->in);
	}
}

static uint64_t check(const struct perf *p, uint32_t iter, const struct shape *s)
{
	uint64_t wrong = 0;
	int k;

	for (k = 0; k < p->opt->aggregate; k++)
		wrong += data_check(p->data, iter, output_of(p, s, k), s);
	return wrong;
}

/* One iteration. *shm: ops through shared memory. */
static int iterate_once(struct perf *p, double *us, uint64_t *shm)
{
	double begin;
	int ret = call_barrier(&p->call);

	if (ret)
		return fail(p, "barrier", ret);
	*shm -= path_shm_ops(p->call.comm);
	begin = perf_now_us();
	ret = call_run(&p->call);
	*us = (perf_now_us() - begin) / p->opt->aggregate;
	*shm += path_shm_ops(p->call.comm);
	return ret ? fail(p, coll_collective_name(p->opt->what), ret) : 0;
}

static int iterate(struct perf *p, const struct shape *s, struct perf_figures *f, uint64_t *shm)
{
	const struct perf_options *o = p->opt;
	double unused;
	int ret, i;

	for (i = -o->warmup; i < o->iters; i++) {
		uint32_t iter = (uint32_t)(i + o->warmup);

		if (i == 0)
			*shm = 0;
		if (p->data)
			prepare(p, iter, s);
		ret = iterate_once(p, i < 0 ? &unused : &p->times[i], shm);
		if (ret)
			return ret;
		if (p->data)
			f->wrong += check(p, iter, s);
	}
	return 0;
}

/* Reduce the times of each iteration over the ranks with @op. *us: the median of the results. */
static int median_of(struct perf *p, enum coll_op_code op, double *us)
{
	size_t n = (size_t)p->opt->iters;
	int ret;

	memcpy(p->scratch, p->times, n * sizeof(*p->times));
	ret = coll_allreduce(p->call.comm, COLL_IN_PLACE, p->scratch, n, COLL_F64, op);
	if (ret)
		return fail(p, "allreduce of times", ret);
	*us = perf_median(p->scratch, p->opt->iters);
	return 0;
}

static int times_of_ranks(struct perf *p, double us[NR_TIMES])
{
	int ret = median_of(p, COLL_OP_MIN, &us[TIME_MIN]);

	if (!ret)
		ret = median_of(p, COLL_OP_AVG, &us[TIME_MEAN]);
	if (!ret)
		ret = median_of(p, COLL_OP_MAX, &us[TIME_MAX]);
	us[TIME_RANK0] = perf_median(p->times, p->opt->iters);
	return ret;
}

static int measure(struct perf *p, const struct shape *s, struct perf_figures *f)
{
	uint64_t shm = 0, own;
	int ret = 0, k;

	for (k = 0; !ret && k < p->opt->aggregate; k++)
		ret = call_fill(&p->call, k, s);
	if (ret)
		return fail(p, "preparing", ret);
	ret = iterate(p, s, f, &shm);
	if (!ret)
		ret = times_of_ranks(p, f->us);
	if (ret)
		return ret;
	f->measured = true;
	f->path = path_of(p->call.comm, p->opt->ioctl,
			  (uint64_t)p->opt->iters * (uint64_t)p->opt->aggregate, shm);
	own = f->wrong;
	ret = coll_allreduce(p->call.comm, COLL_IN_PLACE, &f->wrong, 1, COLL_U64, COLL_OP_SUM);
	if (ret)
		return fail(p, "allreduce of counts", ret);
	/* If this allreduce itself is broken, a rank still counts its own wrong elements. */
	p->total += f->wrong > own ? f->wrong : own;
	return 0;
}

static void count_blocks(const struct perf *p, uint64_t count)
{
	uint32_t i;

	for (i = 0; i < 2 * p->call.spec.size; i++)
		p->call.counts[i] = count;
}

static int run_size(struct perf *p, int cycle, uint64_t total)
{
	const struct data_spec *spec = &p->call.spec;
	struct shape_rank rank = { spec->what, spec->rank, spec->size, spec->root };
	struct perf_row row = { .cycle = cycle, .dtype = spec->dtype, .op = spec->op };
	struct shape s;
	int place, ret = 0;

	for (place = 0; !ret && place < NR_PLACES; place++) {
		if (!(p->opt->places >> place & 1))
			continue;
		shape_of(&s, &rank, total, (enum perf_place)place);
		row.count = s.total;
		row.bytes = s.total * p->elem;
		count_blocks(p, s.count);
		ret = measure(p, &s, &row.at[place]);
	}
	if (!ret && !spec->rank)
		show_row(&p->show, &row);
	return ret;
}

static void *get_buffer(uint64_t bytes)
{
	void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A block of each rank has at least one element, and each op has buffers of its own. */
static int size_buffers(struct perf *p)
{
	const struct perf_options *o = p->opt;
	uint64_t least = o->max ? (uint64_t)p->call.spec.size * LARGEST_ELEM : 0;
	uint64_t bytes = o->max > least ? o->max : least;

	p->call.stride = (bytes + 63) / 64 * 64;
	return __builtin_mul_overflow(p->call.stride, (size_t)o->aggregate, &p->bytes);
}

static int get_buffers(struct perf *p)
{
	const struct perf_options *o = p->opt;
	struct call *c = &p->call;

	if (!size_buffers(p)) {
		c->send = get_buffer(p->bytes);
		c->recv = get_buffer(p->bytes);
	}
	c->counts = calloc(2 * c->spec.size, sizeof(*c->counts));
	c->cmds = calloc((size_t)o->aggregate, sizeof(*c->cmds));
	c->reqs = calloc((size_t)o->aggregate, sizeof(*c->reqs));
	p->times = calloc((size_t)o->iters, sizeof(*p->times));
	p->scratch = calloc((size_t)o->iters, sizeof(*p->scratch));
	if (c->send && c->recv && c->counts && c->cmds && c->reqs && p->times && p->scratch)
		return 0;
	fprintf(stderr, "collperf: no memory for two buffers of %llu bytes\n",
		(unsigned long long)o->max * (unsigned long long)o->aggregate);
	return 2;
}

static int register_buffers(struct perf *p)
{
	struct call *c = &p->call;
	int ret;

	if (!p->opt->registered || !p->bytes)
		return 0;
	ret = coll_register_buffer(c->comm, c->send, p->bytes,
				   p->opt->places >> IN_PLACE & 1 ? COLL_REG_WRITE : 0,
				   &p->reg[0]);
	if (!ret)
		ret = coll_register_buffer(c->comm, c->recv, p->bytes, COLL_REG_WRITE, &p->reg[1]);
	return ret ? fail(p, "register a buffer", ret) : 0;
}

static void put_buffers(struct perf *p)
{
	if (p->call.send)
		munmap(p->call.send, p->bytes ? p->bytes : 1);
	if (p->call.recv)
		munmap(p->call.recv, p->bytes ? p->bytes : 1);
	call_end(&p->call);
	free(p->call.counts);
	free(p->call.cmds);
	free(p->call.reqs);
	free(p->times);
	free(p->scratch);
}

static int run_sizes(struct perf *p, int cycle)
{
	const struct perf_options *o = p->opt;
	uint64_t bytes;
	int ret = 0;

	for (bytes = o->min; !ret && bytes <= o->max; bytes = perf_next(o, bytes))
		ret = run_size(p, cycle, bytes / p->elem);
	return ret;
}

static int run_pair(struct perf *p, int cycle, uint32_t dtype, uint32_t op)
{
	struct data_spec *spec = &p->call.spec;
	uint64_t most;
	int ret;

	spec->dtype = (enum coll_dtype)dtype;
	spec->op = (enum coll_op_code)op;
	p->elem = coll_dtype_size(dtype);
	most = p->opt->max / p->elem;
	if (p->opt->check) {
		p->data = data_new(spec, most > spec->size ? most : spec->size,
				   (uint32_t)(p->opt->iters + p->opt->warmup));
		if (!p->data) {
			fprintf(stderr, "collperf: no memory\n");
			return 2;
		}
	}
	ret = run_sizes(p, cycle);
	data_free(p->data);
	p->data = NULL;
	return ret;
}

static int run_cycle(struct perf *p, int cycle)
{
	const struct perf_options *o = p->opt;
	uint32_t dtype, op;
	int ret = 0;

	if (o->what == COLL_BARRIER)
		return run_size(p, cycle, 0);
	for (dtype = 1; !ret && dtype < COLL_NR_DTYPES; dtype++)
		for (op = 0; !ret && op < COLL_NR_OPS; op++)
			if (perf_wanted(o, dtype, op))
				ret = run_pair(p, cycle, dtype, op);
	return ret;
}

static int run_cycles(struct perf *p)
{
	int cycles = p->opt->cycles, cycle, ret = 0;

	for (cycle = 0; !ret && (!cycles || cycle < cycles); cycle++)
		ret = run_cycle(p, cycle);
	return ret;
}

static int start(struct perf *p)
{
	int ret = p->opt->narrow ? coll_comm_set_narrow(p->call.comm, true) : 0;

	if (ret)
		return fail(p, "narrow", ret);
	ret = get_buffers(p);
	if (!ret)
		ret = register_buffers(p);
	if (!ret && !p->call.spec.rank && !show_begin(&p->show, p->call.comm, p->opt))
		ret = 2;
	return ret;
}

int perf_run(coll_comm_t *comm, const struct perf_options *opt)
{
	struct perf p = {
		.call = {
			.comm = comm,
			.opt = opt,
			.spec = {
				.what = opt->what,
				.rank = coll_comm_rank(comm), .size = coll_comm_size(comm),
				.root = opt->root,
				.narrow = opt->narrow,
			},
		},
		.opt = opt,
	};
	int ret = start(&p), end;

	if (!ret) {
		ret = run_cycles(&p);
		end = p.call.spec.rank || show_end(&p.show) ? 0 : 2;
		ret = ret ? ret : end;
	}
	put_buffers(&p);
	return ret ? ret : p.total != 0;
}
