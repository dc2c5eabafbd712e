// SPDX-License-Identifier: GPL-2.0
/*
 * usage: tensor_sets_rank join|groups|factors|sets SEED
 *
 * Named tensors by the library, one of any number of ranks: ranks that join, groups, factors,
 * communicators of some of the ranks. All ranks get the same SEED. Status 0: 0 wrong.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coll/tensor.h>

#define COUNT	2000
#define MEMBERS	40
#define ROUNDS	12

static coll_tensors_t *ts;
static uint32_t me, size;
static uint64_t seed;
static uint64_t wrong;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* Say what is wrong, and count it. */
static void __attribute__((format(printf, 2, 3))) check(int good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return;
	wrong++;
	va_start(ap, fmt);
	fprintf(stderr, "rank %u, seed %llu: ", me, (unsigned long long)seed);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, " (%s)\n", coll_tensor_error());
	va_end(ap);
}

static float in[MEMBERS][COUNT], out[MEMBERS][COUNT];

static void fill_in(void)
{
	uint32_t k, i;

	for (k = 0; k < MEMBERS; k++)
		for (i = 0; i < COUNT; i++) {
			in[k][i] = (float)(me + k + i % 7);
			out[k][i] = -1;
		}
}

/* The sum of ranks of @from (bit r: rank r) */
static float sum_of(uint64_t from, uint32_t k, uint32_t i)
{
	float all = 0;
	uint32_t r;

	for (r = 0; r < size; r++)
		if (from >> r & 1)
			all += (float)(r + k + i % 7);
	return all;
}

static void spec_of(struct coll_tensor_spec *spec, const char *name, uint32_t k, enum coll_op_code op)
{
	coll_tensor_spec_init(spec, name);
	coll_cmd_allreduce(coll_tensors_comm(ts), &spec->cmd, in[k], out[k], COUNT, COLL_F32, op);
}

static int run(const struct coll_tensor_spec *spec)
{
	coll_tensor_t *t;
	int ret = coll_tensor_submit(ts, spec, &t);

	return ret ? ret : coll_tensor_wait(t);
}

/* --- join ------------------------------------------------------------------------ */

/* Steps that a rank has data for. */
static uint32_t steps_of(uint32_t rank, uint32_t round)
{
	return (uint32_t)(mix(seed + 31 * round + rank) % 5);
}

static uint32_t steps_of_all(uint32_t round)
{
	uint32_t r, most = 0;

	for (r = 0; r < size; r++)
		if (steps_of(r, round) > most)
			most = steps_of(r, round);
	return most;
}

static uint64_t present(uint32_t round, uint32_t step)
{
	uint64_t map = 0;
	uint32_t r;

	for (r = 0; r < size; r++)
		if (steps_of(r, round) > step)
			map |= 1ULL << r;
	return map;
}

static void step_with(uint32_t round, uint32_t step)
{
	uint64_t map = present(round, step);
	struct coll_tensor_spec spec;
	float want, by;
	uint32_t few;

	for (few = 0; few < 2; few++) {
		fill_in();
		spec_of(&spec, few ? "few" : "all", 0, COLL_OP_AVG);
		spec.flags = few ? COLL_TENSOR_AVG_PRESENT : 0;
		check(!run(&spec), "round %u, step %u", round, step);
		by = (float)(few ? __builtin_popcountll(map) : size);
		want = sum_of(map, 0, 5) / by;
		check(fabsf(out[0][5] - want) <= 1e-6f * want, "round %u, step %u: %g, not %g",
		      round, step, (double)out[0][5], (double)want);
	}
	check(!coll_tensor_barrier(ts, "barrier", NULL), "a barrier");
}

static uint32_t told;

static void on_join(coll_tensor_t *t, int result, void *arg)
{
	(void)t;
	told += !result && *(uint32_t *)arg < size;
}

/* Those with fewer steps join while others wait for them in a numbered barrier. */
static void join_early(uint32_t round, uint32_t *last)
{
	bool early = steps_of(me, round) < steps_of_all(round);
	coll_tensor_t *t = NULL;

	if (early) {
		check(!coll_tensors_ijoin(ts, last, on_join, last, &t), "ijoin");
		check(coll_tensor_barrier(ts, "no", NULL) == -EBUSY &&
		      strstr(coll_tensor_error(), "this rank has joined"), "a post after a join");
	}
	check(!coll_barrier(coll_tensors_base(ts)), "a numbered barrier");
	if (!early)
		check(!coll_tensors_ijoin(ts, last, on_join, last, &t), "ijoin");
	check(!coll_tensor_wait(t), "wait for a join");
}

static void test_join(void)
{
	uint32_t round, step, last, lasts[2];

	for (round = 0; round < ROUNDS && !wrong; round++) {
		for (step = 0; step < steps_of(me, round); step++)
			step_with(round, step);
		last = size;
		if (round % 2)
			check(!coll_tensors_join(ts, &last), "join");
		else
			join_early(round, &last);
		check(last < size && steps_of(last, round) == steps_of_all(round),
		      "round %u: rank %u was not the last one", round, last);
		/* All ranks must have the same last rank. */
		lasts[0] = last;
		check(!coll_tensor_allreduce(ts, "last", &lasts[0], &lasts[1], 1, COLL_U32,
					     COLL_OP_MAX, NULL) && lasts[1] == last,
		      "round %u: the last rank was %u, and %u elsewhere", round, last, lasts[1]);
	}
	check(told == ROUNDS / 2, "callbacks of joins: %u", told);
}

/* --- groups ----------------------------------------------------------------------- */

static char names[MEMBERS][24];
static struct coll_tensor_spec specs[MEMBERS];
static coll_tensor_t *tensors[MEMBERS];

/* Each rank has an order of its own. */
static void make_specs(uint32_t round)
{
	uint64_t lots = mix(seed + round) + me;
	struct coll_tensor_spec spec;
	uint32_t k, o;

	fill_in();
	for (k = 0; k < MEMBERS; k++) {
		snprintf(names[k], sizeof(names[k]), "r%u.m%u", round, k);
		spec_of(&specs[k], names[k], k, COLL_OP_SUM);
	}
	for (k = MEMBERS; k > 1; k--) {
		lots = mix(lots);
		o = (uint32_t)(lots >> 16) % k;
		spec = specs[k - 1];
		specs[k - 1] = specs[o];
		specs[o] = spec;
	}
}

static void group_is_right(uint32_t round)
{
	uint64_t all = (1ULL << size) - 1;
	uint32_t k, i;

	for (k = 0; k < MEMBERS; k++)
		for (i = 0; i < COUNT; i++)
			if (out[k][i] != sum_of(all, k, i)) {
				check(0, "group %u: member %u: [%u] %g", round, k, i,
				      (double)out[k][i]);
				return;
			}
}

/* One rank posts only a part at first: nothing starts. */
static void group_waits(void)
{
	coll_tensor_t *t[MEMBERS];
	uint32_t k, ended = 0;
	size_t posted;
	int done;

	make_specs(100);
	if (me) {
		check(!coll_tensor_submitgroup(ts, specs, MEMBERS, t, &posted), "a group");
		/* Without the group rank 0 has posted all but one. */
		check(!coll_tensor_barrier(ts, "half", NULL), "half");
		for (k = 0; k < MEMBERS; k++) {
			check(!coll_tensor_test(t[k], &done), "test");
			ended += done;
		}
		check(!ended, "%u members have ended before all were posted", ended);
		check(!coll_tensor_barrier(ts, "rest", NULL), "rest");
		check(wrong || !coll_tensor_waitall(t, MEMBERS), "the group");
	} else {
		check(!coll_tensor_barrier(ts, "half", NULL), "half");
		check(!coll_tensor_barrier(ts, "rest", NULL), "rest");
		check(!coll_tensor_submitgroup(ts, specs, MEMBERS, t, &posted), "a group");
		check(!coll_tensor_waitall(t, MEMBERS), "the group");
	}
	if (!wrong)
		group_is_right(100);
}

/*
 * The last rank cannot post one member, which is not its first: all members end, on all ranks,
 * and name it.
 */
static void group_refused(void)
{
	coll_tensor_t *t[MEMBERS];
	uint32_t k, bad = 0;
	size_t posted;
	int ret, one;

	make_specs(200);
	if (me == size - 1) {
		k = 1 + (uint32_t)(mix(seed) % (MEMBERS - 1));
		specs[k].cmd.dtype = 999;
	}
	ret = coll_tensor_submitgroup(ts, specs, MEMBERS, t, &posted);
	if (me == size - 1)
		check(ret == -EINVAL && posted < MEMBERS, "a bad member: %s", coll_strerror(ret));
	else
		check(!ret, "a group of which another rank has a bad member");
	for (k = 0; k < posted; k++) {
		one = coll_tensor_wait(t[k]);
		bad += one == -ECANCELED && strstr(coll_tensor_error(), "could not post all");
		check(one == -ECANCELED, "member %u: %s", k, coll_strerror(one));
	}
	check(bad == posted, "%u of %zu say why", bad, posted);
	check(!coll_tensor_barrier(ts, "after", NULL), "the barrier after it");
}

static void test_groups(void)
{
	uint32_t round, k;
	size_t posted;

	for (round = 0; round < ROUNDS && !wrong; round++) {
		make_specs(round);
		if (round % 2) {
			for (k = 0; k < MEMBERS; k++)
				check(!coll_tensor_create(ts, &specs[k], &tensors[k]), "create");
			check(!coll_tensor_postgroup(tensors, MEMBERS, &posted) &&
			      posted == MEMBERS, "post a group");
		} else {
			check(!coll_tensor_submitgroup(ts, specs, MEMBERS, tensors, NULL),
			      "submit a group");
		}
		check(wrong || !coll_tensor_waitall(tensors, MEMBERS), "wait for a group");
		if (!wrong)
			group_is_right(round);
	}
	if (size > 1)
		group_waits();
	group_refused();
}

/* --- factors ----------------------------------------------------------------------- */

static void test_factors(void)
{
	static const double pre[] = { 0, 0.5, 0, 2, -1 }, post[] = { 0, 0, 4, 0.25, 8 };
	uint64_t all = (1ULL << size) - 1;
	struct coll_tensor_spec spec;
	uint32_t round, i;
	float want;
	int ret;

	for (round = 0; round < 10; round++) {
		fill_in();
		spec_of(&spec, "scaled", 1, round / 5 ? COLL_OP_AVG : COLL_OP_SUM);
		spec.prescale = pre[round % 5];
		spec.postscale = post[round % 5];
		check(!run(&spec), "round %u", round);
		for (i = 0; i < COUNT && !wrong; i++) {
			want = sum_of(all, 1, i) * (pre[round % 5] != 0 ? (float)pre[round % 5] : 1);
			want /= round / 5 ? (float)size : 1;
			want *= post[round % 5] != 0 ? (float)post[round % 5] : 1;
			check(fabsf(out[1][i] - want) <= 1e-6f * fabsf(want), "[%u] %g, not %g", i,
			      (double)out[1][i], (double)want);
		}
	}
	spec.prescale = NAN;
	check(run(&spec) == -EINVAL, "a factor that is no number");
	spec_of(&spec, "scaled", 1, COLL_OP_MAX);
	spec.postscale = 2;
	check(run(&spec) == -EOPNOTSUPP, "factors of a maximum");
	if (size > 1) {
		spec_of(&spec, "scaled", 1, COLL_OP_SUM);
		spec.prescale = me ? 0.5 : 0.125;
		ret = run(&spec);
		check(ret == -EBADE && strstr(coll_tensor_error(), "the factor for inputs") &&
		      strstr(coll_tensor_error(), "0.125 on rank 0") &&
		      strstr(coll_tensor_error(), "0.5 on rank "), "ranks that disagree: %s",
		      coll_strerror(ret));
	}
	check(!coll_tensor_barrier(ts, "after", NULL), "the barrier after it");
}

/* --- some of the ranks --------------------------------------------------------------- */

/* Check that @set has exactly the ranks of @map. */
static void set_is_right(coll_tensors_t *set, const char *what, uint64_t map)
{
	uint64_t mine = 1ULL << me, got = 0;

	check(coll_comm_size(coll_tensors_comm(set)) == (uint32_t)__builtin_popcountll(map),
	      "%s has %u ranks", what, coll_comm_size(coll_tensors_comm(set)));
	check(!coll_tensor_allreduce(set, "ranks", &mine, &got, 1, COLL_U64, COLL_OP_BOR, NULL) &&
	      got == map, "%s has ranks %#llx, not %#llx", what, (unsigned long long)got,
	      (unsigned long long)map);
}

static uint32_t place_of(const coll_comm_t *base, uint32_t rank)
{
	uint32_t r, place = 0;

	for (r = 0; r < rank; r++)
		place += coll_comm_node_of(base, r) == coll_comm_node_of(base, rank);
	return place;
}

static void test_sets(coll_comm_t *base)
{
	coll_tensors_t *local, *cross, *odd, *none;
	uint64_t here = 0, across = 0, like = 0;
	coll_tensor_t *t;
	int done = 0;
	uint32_t r;

	for (r = 0; r < size; r++) {
		here |= (uint64_t)(coll_comm_node_of(base, r) == coll_comm_node(base)) << r;
		across |= (uint64_t)(place_of(base, r) == place_of(base, me)) << r;
		like |= (uint64_t)(r % 2 == me % 2) << r;
	}
	check(!coll_tensors_local(base, 0, &local), "the ranks of a node");
	check(!coll_tensors_cross(base, 0, &cross), "ranks with equal places");
	check(!coll_tensors_split(base, (int32_t)(me % 2), 0, 0, &odd), "odd and even ranks");
	check(!coll_tensors_split(base, COLL_UNDEFINED, 0, 0, &none) && !none, "no ranks");
	if (wrong)
		return;
	/* One that is not ready holds up none of the others. */
	check(!coll_tensor_barrier(ts, "late", me ? &t : NULL) || !me, "all ranks");
	set_is_right(local, "local", here);
	set_is_right(cross, "cross", across);
	set_is_right(odd, "odd and even", like);
	if (me) {
		check(!coll_tensor_test(t, &done) && done <= 1, "test");
		check(done || !coll_tensor_wait(t), "all ranks");
	}
	check(!coll_barrier(base), "the parent");
	check(!coll_tensors_finalize(odd) && !coll_tensors_finalize(cross) &&
	      !coll_tensors_finalize(local), "finalize");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int ret;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	ret = coll_tensors_init(NULL, 0, &ts);
	if (ret) {
		fprintf(stderr, "init: %s\n", coll_tensor_error());
		return 1;
	}
	me = coll_comm_rank(coll_tensors_comm(ts));
	size = coll_comm_size(coll_tensors_comm(ts));
	if (!strcmp(what, "join"))
		test_join();
	else if (!strcmp(what, "groups"))
		test_groups();
	else if (!strcmp(what, "factors"))
		test_factors();
	else if (!strcmp(what, "sets"))
		test_sets(coll_tensors_base(ts));
	else
		wrong++;
	coll_tensors_finalize(ts);
	if (!me || wrong)
		printf("%s: rank %u, seed %llu: %llu wrong\n", what, me, (unsigned long long)seed,
		       (unsigned long long)wrong);
	return wrong > 0;
}
