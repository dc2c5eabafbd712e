// SPDX-License-Identifier: GPL-2.0
/*
 * usage: collrun -n RANKS coll_step ITERATIONS [KIND]: training steps by named tensors, see
 * step.h.
 */
#define _GNU_SOURCE
#include <coll/tensor.h>

#include "step.h"

static coll_tensors_t *ts;
static coll_comm_t *base;
static struct {
	const struct step_set *set;
	coll_tensor_t *made[STEP_MOST];
} sets[8];

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "coll_step: %s: %s; %s\n", what, coll_strerror(ret), coll_tensor_error());
	exit(1);
}

static void barrier(void)
{
	must(coll_barrier(base), "barrier");
}

static void collect(double *v, int n, int largest)
{
	must(coll_allreduce(base, COLL_IN_PLACE, v, (uint64_t)n, COLL_F64,
			    largest ? COLL_OP_MAX : COLL_OP_SUM), "collect");
}

static void plain(float *in, float *out, size_t count)
{
	must(coll_allreduce(base, in, out, count, COLL_F32, COLL_OP_SUM), "allreduce");
}

static coll_tensor_t **made(const struct step_set *s)
{
	size_t i;

	for (i = 0; sets[i].set != s; i++)
		if (i + 1 == sizeof(sets) / sizeof(*sets))
			exit(2);
	return sets[i].made;
}

static coll_tensor_t *make(const char *name, const float *in, float *out, size_t count,
			   uint32_t priority)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t;

	coll_tensor_spec_init(&spec, name);
	coll_cmd_allreduce(coll_tensors_comm(ts), &spec.cmd, in, out, count, COLL_F32, COLL_OP_SUM);
	spec.priority = priority;
	must(coll_tensor_create(ts, &spec, &t), "create");
	return t;
}

static void prepare(struct step_set *s)
{
	char name[64];
	int i, k;

	for (k = 0; sets[k].set; k++)
		;
	sets[k].set = s;
	for (i = 0; i < s->n; i++) {
		snprintf(name, sizeof(name), "%s.%d", s->name, i);
		sets[k].made[i] = make(name, s->in + s->at[i], s->out + s->at[i], s->count[i], 0);
	}
}

static void post(const struct step_set *s, coll_tensor_t **all)
{
	coll_tensor_t *order[STEP_MOST];
	int i;

	for (i = 0; i < s->n; i++)
		order[i] = all[s->order[i]];
	must(coll_tensor_postall(order, (size_t)s->n, NULL), "post");
}

static void run(const struct step_set *s)
{
	coll_tensor_t **all = made(s);

	if (s->n == 1) {
		must(coll_tensor_run(all[0]), "run");
		return;
	}
	post(s, all);
	must(coll_tensor_waitall(all, (size_t)s->n), "wait");
}

static void fresh(int serial, float *in, float *out, size_t count)
{
	char name[32];

	snprintf(name, sizeof(name), "new.%d", serial);
	must(coll_tensor_allreduce(ts, name, in, out, count, COLL_F32, COLL_OP_SUM, NULL), "new");
}

static double urgent(const struct step_set *s)
{
	static float in[2], out[2];
	static coll_tensor_t *t;
	coll_tensor_t **all = made(s);
	double begin;

	if (!t)
		t = make("urgent", in, out, 2, COLL_TENSOR_PRIORITY_MAX);
	post(s, all);
	begin = bench_now_us();
	must(coll_tensor_post(t), "urgent");
	must(coll_tensor_wait(t), "urgent");
	begin = bench_now_us() - begin;
	must(coll_tensor_waitall(all, (size_t)s->n), "wait");
	return begin;
}

int main(int argc, char **argv)
{
	struct step_peer p = {
		.prepare = prepare, .run = run, .fresh = fresh, .plain = plain, .urgent = urgent,
		.barrier = barrier, .collect = collect,
	};

	must(coll_tensors_init(NULL, 0, &ts), "coll_tensors_init");
	base = coll_tensors_base(ts);
	p.rank = (int)coll_comm_rank(base);
	p.ranks = (int)coll_comm_size(base);
	p.only = argc > 2 ? argv[2] : NULL;
	step_all(&p, argc > 1 ? atoi(argv[1]) : 50);
	coll_tensors_finalize(ts);
	return 0;
}
