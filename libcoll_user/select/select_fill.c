// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Fills tables, on rank 0: chooses the algorithms to be timed, divides the time for
 * measuring between them, and makes tables from the times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/table.h"
#include "base/debug.h"
#include "collective.h"
#include "comm/comm.h"
#include "select_fill.h"

/* Another algorithm gets a row only if it takes this part of the time, or less. */
#define WORTH		0.98
/* An algorithm with an estimate above this multiple of the best one is not timed. */
#define HOPELESS	2.5
#define HOPELESS_LONG	1.6
#define IS_LONG		(1 << 20)
/* From this size on segments are tried, for up to NEAR_MAX algorithms within NEAR of the best. */
#define SEGMENTED	(1 << 18)
#define NEAR		1.1
#define NEAR_MAX	2
/* A segment other than the kernel's is chosen only if it takes this part of the time, or less. */
#define SEGMENT_WORTH	0.96
/*
 * Index of the size whose algorithm is used for v-forms of which no rank knows all counts: see
 * coll_select_op() in the kernel.
 */
#define UNKNOWN_SIZE	3

static const uint32_t segments[] = { 16384, 65536, 1 << 20 };

/*
 * The collectives that are timed, in this order, and their shares of the time; coll_init()
 * times the first two.
 */
static const struct {
	uint32_t collective;
	uint32_t weight;
} timed[] = {
	{ COLL_ALLREDUCE, 6 },
	{ COLL_BROADCAST, 3 },
	{ COLL_REDUCE, 1 },
	{ COLL_REDUCE_SCATTER, 1 },
	{ COLL_ALLGATHER, 1 },
	{ COLL_ALLTOALL, 1 },
	{ COLL_GATHER, 1 },
	{ COLL_SCATTER, 1 },
	{ COLL_SCAN, 1 },
	{ COLL_EXSCAN, 1 },
	{ COLL_BARRIER, 1 },
};

#define NR_TIMED	(sizeof(timed) / sizeof(timed[0]))
#define INIT_TIMED	2

/**
 * struct field - the algorithms of one collective
 * @n: participants
 * @sizes: number of sizes that are measured
 * @over: do not measure longer vectors: they take too long
 */
struct field {
	uint32_t collective, n, nr, sizes;
	bool over;
	struct select_time t[SELECT_MAX_ALGS];
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- which algorithms ---- */

/* Steps of participant @p, from malloc(). */
static struct coll_step *steps_of(const struct coll_algorithm *a, uint32_t n, uint32_t p,
				  uint32_t *nr)
{
	struct coll_emit e = { 0 };

	if (a->emit(&e, n, p, 0))
		return NULL;
	*nr = e.nr;
	e = (struct coll_emit){ .steps = calloc(e.nr + 1, sizeof(*e.steps)), .cap = e.nr };
	if (e.steps)
		a->emit(&e, n, p, 0);
	return e.steps;
}

static bool same_step(const struct coll_step *a, const struct coll_step *b, bool rounds)
{
	return a->kind == b->kind && a->action == b->action &&
	       (a->flags & ~COLL_STEP_LAST) == (b->flags & ~COLL_STEP_LAST) &&
	       a->space == b->space && a->chunk == b->chunk && a->nr_chunks == b->nr_chunks &&
	       a->dep == b->dep && a->from_space == b->from_space && a->from == b->from &&
	       (a->kind == COLL_STEP_LOCAL || a->peer == b->peer) &&
	       (!rounds || a->round == b->round);
}

bool select_same_schedule(const struct coll_algorithm *a, const struct coll_algorithm *b,
			  uint32_t n)
{
	/* If ranks share a stream, rounds decide the order of transfers on it. */
	bool rounds = coll_kind_of(a->collective)->flags & COLL_KIND_RANKS, same = true;
	struct coll_step *x, *y;
	uint32_t p, i, nr_x = 0, nr_y = 0;

	if (a->collective != b->collective || a->chunks(n) != b->chunks(n))
		return false;
	for (p = 0; p < n && same; p++) {
		x = steps_of(a, n, p, &nr_x);
		y = steps_of(b, n, p, &nr_y);
		same = x && y && nr_x == nr_y;
		for (i = 0; same && i < nr_x; i++)
			same = same_step(&x[i], &y[i], rounds);
		free(x);
		free(y);
	}
	return same;
}

/* Up to this many participants, equal schedules are looked for; with more there are few. */
#define FEW		4

static bool is_double(const struct field *f, const struct coll_algorithm *a)
{
	uint32_t i;

	for (i = 0; i < f->nr && f->n <= FEW; i++)
		if (select_same_schedule(f->t[i].alg, a, f->n))
			return true;
	return false;
}

static void add(const struct select_bench *b, struct field *f, const struct coll_algorithm *a,
		uint32_t segment)
{
	struct select_time *t = &f->t[f->nr];
	uint32_t k;

	if (f->nr == SELECT_MAX_ALGS)
		return;
	memset(t, 0, sizeof(*t));
	t->alg = a;
	t->segment = segment;
	for (k = 0; k < f->sizes; k++) {
		t->model[k] = select_cost(&b->model, a, f->n, SELECT_BYTES(k), segment);
		if (t->model[k] < 0)
			t->model[k] = 3600;
	}
	f->nr++;
}

/* Collect all algorithms of a collective, each schedule once, with the times of the model. */
static void field_init(const struct select_bench *b, struct field *f, uint32_t collective)
{
	uint32_t kind = coll_kind_of(collective)->flags, i;
	const struct coll_algorithm *a;

	f->collective = collective;
	f->n = kind & COLL_KIND_RANKS ? b->comm->size : b->comm->nr_nodes;
	f->sizes = collective == COLL_BARRIER ? 1 : SELECT_SIZES;
	while (f->sizes > 1 && kind & COLL_KIND_BLOCKS &&
	       SELECT_BYTES(f->sizes - 1) * f->n > SELECT_MAX_BYTES)
		f->sizes--;
	for (i = 0; (a = coll_algorithm_of(collective, i)); i++)
		if (!is_double(f, a))
			add(b, f, a, 0);
	f->over = f->n < 2 || f->nr < 2;
}

/* Does any participant forward data before all of it has arrived? */
static bool is_pipelined(const struct coll_algorithm *a, uint32_t n)
{
	const uint32_t who[] = { 0, n / 2, n - 1 };
	struct coll_step *s;
	bool found = false;
	uint32_t i, k, nr = 0;

	for (i = 0; i < 3 && !found; i++) {
		s = steps_of(a, n, who[i], &nr);
		for (k = 0; s && k < nr; k++)
			found |= s[k].kind == COLL_STEP_SEND && s[k].dep != COLL_DEP_NONE &&
				 s[s[k].dep].kind == COLL_STEP_RECV;
		free(s);
	}
	return found;
}

/* ---- which of them are timed ---- */

/*
 * Collect the algorithms that may be the best by their estimates, sorted by these, and not more
 * than can be timed in @left seconds.
 */
static uint32_t hopeful(const struct select_bench *b, const struct field *f, uint32_t k,
			double left, uint32_t *who)
{
	double hopeless = SELECT_BYTES(k) > IS_LONG ? HOPELESS_LONG : HOPELESS, once = 0;
	uint32_t i, j, nr = 0;

	for (i = 0; i < f->nr; i++) {
		double t = select_estimate(&f->t[i], k);

		for (j = nr++; j && select_estimate(&f->t[who[j - 1]], k) > t; j--)
			who[j] = who[j - 1];
		who[j] = i;
	}
	for (i = 0; i < nr; i++) {
		double t = select_estimate(&f->t[who[i]], k);

		once += t + b->barrier;
		if (t > hopeless * select_estimate(&f->t[who[0]], k) || (i > 1 && once > left))
			break;
	}
	return i;
}

static double best_time(const struct field *f, uint32_t k)
{
	double best = 0;
	uint32_t i;

	for (i = 0; i < f->nr; i++)
		if (f->t[i].measured[k] && (!best || f->t[i].measured[k] < best))
			best = f->t[i].measured[k];
	return best;
}

/* Add algorithm @a with this segment to @who, which has @nr entries, and to the field. */
static uint32_t add_segment(const struct select_bench *b, struct field *f, uint32_t k,
			    const struct coll_algorithm *a, uint32_t segment, uint32_t *who,
			    uint32_t nr)
{
	uint32_t i, j;

	for (i = 0; i < f->nr; i++)
		if (f->t[i].alg == a && f->t[i].segment == segment)
			break;
	if (i == SELECT_MAX_ALGS)
		return nr;
	if (i == f->nr) {
		add(b, f, a, segment);
		/* For shorter vectors there is no measured time that could correct the model. */
		for (j = 0; j < k; j++)
			f->t[i].model[j] = 3600;
	}
	who[nr] = i;
	return nr + 1;
}

/* Time the best algorithms again, and with other segments if they forward data. */
static int try_segments(struct select_bench *b, struct field *f, uint32_t k, double left)
{
	uint32_t who[SELECT_MAX_ALGS], nr = 0, i, j, tried = 0, all = f->nr;
	double best = best_time(f, k);

	if (SELECT_BYTES(k) < SEGMENTED || !best)
		return 0;
	for (i = 0; i < all && tried < NEAR_MAX; i++) {
		const struct select_time t = f->t[i];

		if (t.segment || !t.measured[k] || t.measured[k] > NEAR * best)
			continue;
		who[nr++] = i;
		if (!is_pipelined(t.alg, f->n))
			continue;
		tried++;
		for (j = 0; j < sizeof(segments) / sizeof(segments[0]); j++)
			if (2 * segments[j] <= SELECT_BYTES(k))
				nr = add_segment(b, f, k, t.alg, segments[j], who, nr);
	}
	if (!tried)
		return 0;
	/* If there is no time for this, the segment of the kernel stays. */
	return select_measure(b, f->t, who, nr, k, left);
}

/* ---- how the time is shared ---- */

/* Long vectors take longer to measure, and the model is coarse for them. */
static uint32_t weight_of(const struct field *f, uint32_t i, uint32_t k)
{
	uint32_t longer = SELECT_BYTES(k) > IS_LONG ? k + 1 - SELECT_SIZES / 2 : 1;

	return f->over || k >= f->sizes ? 0 : timed[i].weight * longer;
}

/* The weight of the remaining work, from size @k of field @i on. */
static uint32_t weight_left(const struct field *f, uint32_t nr, uint32_t i, uint32_t k)
{
	uint32_t sum = 0;

	for (; k < SELECT_SIZES; k++, i = 0)
		for (; i < nr; i++)
			sum += weight_of(&f[i], i, k);
	return sum;
}

static int time_field(struct select_bench *b, struct field *f, uint32_t k, double left,
		      bool all)
{
	uint32_t who[SELECT_MAX_ALGS], nr;
	double end = now_s() + left;
	int ret;

	/* Segments are timed afterwards, in the rest of the time. */
	nr = hopeful(b, f, k, left / 2, who);
	ret = select_measure(b, f->t, who, nr, k, all ? left * 2 / 3 : left);
	if (ret == 1) {
		f->over = true;
		ret = 0;
	} else if (!ret && all) {
		ret = try_segments(b, f, k, end - now_s());
	}
	return ret < 0 ? ret : 0;
}

/*
 * Seconds for all measurements: at most half of the time until the deadline. The other half is for
 * the commands that follow, and for runs that take longer than estimated: a command that is late
 * ends the communicator.
 */
static double budget_of(const struct select_bench *b, const struct select_plan *plan)
{
	int half = deadline_left(b->deadline) / 2;

	if (plan->budget_ms <= half)
		return plan->budget_ms / 1e3;
	coll_debug("algorithms are timed for %d ms, not %d: the deadline is near", half,
		   plan->budget_ms);
	return half / 1e3;
}

static int time_fields(struct select_bench *b, struct field *f, const struct select_plan *plan)
{
	uint32_t nr = plan->all ? NR_TIMED : INIT_TIMED, i, k;
	double end = now_s() + budget_of(b, plan);
	int ret = 0;

	for (k = 0; k < SELECT_SIZES && !ret; k++) {
		for (i = 0; i < nr && !ret; i++) {
			uint32_t mine = weight_of(&f[i], i, k);

			/* Long vectors also get the time that short ones have not used. */
			if (mine)
				ret = time_field(b, &f[i], k, (end - now_s()) * mine /
						 weight_left(f, nr, i, k), plan->all);
		}
	}
	return ret;
}

/* ---- tables ---- */

/* Seconds for 4 << @quarter bytes, interpolated between the sizes that were measured. */
static double between(const struct select_time *t, uint32_t quarter)
{
	double low = select_estimate(t, quarter / 4), high;

	if (quarter % 4) {
		high = select_estimate(t, quarter / 4 + 1);
		low += (high - low) * ((1 << quarter % 4) - 1) / 15;
	}
	return t->segment ? low / SEGMENT_WORTH : low;
}

/*
 * Is the time of @t at size @k reliable? If any algorithm has been timed at this size, only the
 * measured times are reliable. If none has, all estimates with the kernel's segment are reliable,
 * and no others: the effect of another segment depends on the size.
 */
static bool known_at(const struct field *f, const struct select_time *t, uint32_t k)
{
	return t->measured[k] || (!best_time(f, k) && !t->segment);
}

static bool known_between(const struct field *f, const struct select_time *t, uint32_t quarter)
{
	return known_at(f, t, quarter / 4) && (!(quarter % 4) || known_at(f, t, quarter / 4 + 1));
}

/* The best algorithm for this size, of all or only of the @known ones; @last if it is as good. */
static uint32_t best_of(const struct field *f, uint32_t collective, uint32_t quarter,
			uint32_t last, bool known)
{
	uint32_t best = SELECT_MAX_ALGS, i;
	double t, least = 0;

	for (i = 0; i < f->nr; i++) {
		if (!select_fits(collective, f->t[i].alg) ||
		    (known && !known_between(f, &f->t[i], quarter)))
			continue;
		t = between(&f->t[i], quarter) * (i == last ? WORTH : 1);
		if (best == SELECT_MAX_ALGS || t < least) {
			best = i;
			least = t;
		}
	}
	return best;
}

static uint32_t best_at(const struct field *f, uint32_t collective, uint32_t quarter,
			uint32_t last)
{
	uint32_t best = best_of(f, collective, quarter, last, true);

	return best < SELECT_MAX_ALGS ? best : best_of(f, collective, quarter, last, false);
}

static void fill_table(struct select_table *out, const struct field *f, uint32_t collective)
{
	bool unknown = coll_kind_of(collective)->flags & COLL_KIND_PRIVATE;
	uint32_t quarter = unknown ? 4 * UNKNOWN_SIZE : 0, best, last = SELECT_MAX_ALGS, i;

	for (; quarter <= 4 * (f->sizes - 1); quarter++) {
		best = best_at(f, collective, quarter, last);
		if (best == SELECT_MAX_ALGS || (best != last && out->nr == SELECT_MAX_ROWS))
			break;
		if (best != last)
			out->rows[out->nr++] = (struct coll_select_row){
				.algorithm = f->t[best].alg->id, .segment = f->t[best].segment,
			};
		/* The row is valid up to the middle between this size and the next one. */
		out->rows[out->nr - 1].bytes = (4ULL << quarter) * 3 / 2;
		last = best;
		if (unknown)
			break;
	}
	if (out->nr)
		out->rows[out->nr - 1].bytes = UINT64_MAX;
	out->source = COLL_SELECT_MODEL;
	for (i = 0; i < f->nr; i++)
		if (f->t[i].measured[unknown ? UNKNOWN_SIZE : 0])
			out->source = COLL_SELECT_MEASURED;
}

int select_fill(struct select_bench *b, const struct select_plan *plan,
		struct select_tables *out)
{
	struct field *f = calloc(NR_TIMED, sizeof(*f));
	uint32_t i, c;
	int ret = 0;

	if (!f)
		return -ENOMEM;
	for (i = 0; i < NR_TIMED; i++) {
		field_init(b, &f[i], timed[i].collective);
		if (plan->fixed[timed[i].collective])
			f[i].over = true;
	}
	if (plan->budget_ms > 0)
		ret = time_fields(b, f, plan);
	out->model = b->model;
	for (c = 1; c < COLL_NR_COLLECTIVES && !ret; c++)
		for (i = 0; i < NR_TIMED; i++)
			if (f[i].n > 1 && timed[i].collective == coll_plain_collective(c))
				fill_table(&out->of[c], &f[i], c);
	free(f);
	return ret;
}
