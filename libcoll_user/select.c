// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Tables of algorithms: rank 0 fills them, by a model whose numbers were measured on
 * this communicator's links and by timing algorithms as long as the budget lasts, and
 * tells the others; every rank gives them to its kernel. Commands meanwhile name their
 * algorithms, so no node looks at a table that another one does not have yet.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "collective.h"
#include "comm.h"
#include "debug.h"
#include "optable.h"
#include "select.h"
#include "topology.h"

/* What coll_init() spends on timing algorithms, and what it does for "tune". */
#define INIT_MS		10
#define TUNE_MS		10000
#define MAX_ALGS	16
/* A row of its own wants to be worth it. */
#define WORTH		0.98
/* Longest vector that is timed, if there is time. */
#define TIMED		(SELECT_SIZES - 1)

/* What all ranks tell each other, and rank 0 says, before anything is measured. */
enum { BLOB_CAN, BLOB_MODE };
enum { MODE_NONE, MODE_FIXED, MODE_MEASURE };

static const struct coll_algorithm *by_name(uint32_t collective, const char *name)
{
	const struct coll_algorithm *a;
	uint32_t i;

	for (i = 0; (a = coll_algorithm_at(i)); i++)
		if (a->collective == coll_plain_collective(collective) &&
		    !strcmp(a->name, name))
			return coll_algorithm_find(collective, a->id);
	return NULL;
}

/* COLL_ALGORITHM_ALLREDUCE and its like. */
static int env_fixed(struct select_plan *plan, uint32_t collective)
{
	const char *name = coll_collective_name(collective), *value;
	const struct coll_algorithm *a;
	char var[64];
	size_t i;

	if (!name)
		return 0;
	snprintf(var, sizeof(var), "COLL_ALGORITHM_%s", name);
	for (i = 0; var[i]; i++)
		var[i] = (char)toupper((unsigned char)var[i]);
	value = getenv(var);
	if (!value || !*value)
		return 0;
	a = by_name(collective, value);
	if (!a) {
		coll_debug("%s=%s: there is none of that name", var, value);
		return -EINVAL;
	}
	plan->fixed[collective] = a->id;
	return 0;
}

static int select_env(struct select_plan *plan)
{
	const char *v = getenv("COLL_SELECT");
	uint32_t c;
	int ret = 0;

	memset(plan, 0, sizeof(*plan));
	if (!v || !*v || !strcmp(v, "init"))
		plan->budget_ms = INIT_MS;
	else if (!strcmp(v, "tune"))
		plan->budget_ms = TUNE_MS;
	else if (!strcmp(v, "model"))
		plan->budget_ms = 0;
	else if (!strcmp(v, "off"))
		plan->budget_ms = -1;
	else
		return -EINVAL;
	for (c = 1; c < COLL_NR_COLLECTIVES && !ret; c++)
		ret = env_fixed(plan, c);
	return ret;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- filling tables, on rank 0 ---- */

/* Algorithms of a collective that fit any operator, with what the model says. */
static uint32_t candidates(const struct select_bench *b, uint32_t collective,
			   struct select_time *t)
{
	bool ranks = coll_kind_of(collective)->flags & COLL_KIND_RANKS;
	uint32_t n = ranks ? b->comm->size : b->comm->nr_nodes, i, k, nr = 0;
	const struct coll_algorithm *a;

	for (i = 0; (a = coll_algorithm_at(i)) && nr < MAX_ALGS; i++) {
		if (a->collective != collective)
			continue;
		memset(&t[nr], 0, sizeof(t[nr]));
		t[nr].alg = a;
		for (k = 0; k < SELECT_SIZES; k++) {
			t[nr].model[k] = select_cost(&b->model, a, n, SELECT_BYTES(k), 0);
			if (t[nr].model[k] < 0)
				t[nr].model[k] = 3600;
		}
		nr++;
	}
	return nr;
}

/* Seconds for 4 << @quarter bytes. Between the sizes looked at costs are straight lines. */
static double between(const struct select_time *t, uint32_t quarter)
{
	double low = select_estimate(t, quarter / 4), high;

	if (!(quarter % 4))
		return low;
	high = select_estimate(t, quarter / 4 + 1);
	return low + (high - low) * ((1 << quarter % 4) - 1) / 15;
}

static void fill_table(struct select_table *out, const struct select_time *t, uint32_t nr)
{
	uint32_t quarter, i, best, last = 0;

	out->nr = 0;
	for (quarter = 0; nr && quarter <= 4 * (SELECT_SIZES - 1); quarter++) {
		for (i = 0, best = last; i < nr; i++) {
			double stay = best == last && out->nr ? WORTH : 1;

			if (between(&t[i], quarter) < stay * between(&t[best], quarter))
				best = i;
		}
		if (!out->nr || (best != last && out->nr < SELECT_MAX_ROWS))
			out->rows[out->nr++] = (struct coll_select_row){
				.algorithm = t[best].alg->id,
			};
		else if (best != last)
			break;
		/* Halfway to the next size, whose own row may be another one. */
		out->rows[out->nr - 1].bytes = (4ULL << quarter) * 3 / 2;
		last = best;
	}
	if (out->nr)
		out->rows[out->nr - 1].bytes = ~0ULL;
}

static void fix_table(struct select_table *out, uint16_t algorithm)
{
	memset(out, 0, sizeof(*out));
	out->nr = 1;
	out->rows[0].bytes = ~0ULL;
	out->rows[0].algorithm = algorithm;
}

/* The two that everybody uses are timed, shorter vectors first; for others, the model. */
static int fill_tables(struct select_bench *b, const struct select_plan *plan,
		       struct select_tables *out)
{
	static const uint32_t timed[] = { COLL_ALLREDUCE, COLL_BROADCAST };
	struct select_time t[2][MAX_ALGS], other[MAX_ALGS];
	double end = now_s() + plan->budget_ms / 1e3;
	uint32_t nr[2], k, i, c;
	bool over[2] = { false };
	int ret = 0;

	for (i = 0; i < 2; i++)
		nr[i] = candidates(b, timed[i], t[i]);
	for (k = 0; k <= TIMED && ret >= 0; k++) {
		for (i = 0; i < 2 && ret >= 0; i++) {
			if (over[i] || plan->fixed[timed[i]])
				continue;
			/* What short vectors leave of their share is for long ones. */
			ret = select_measure(b, t[i], nr[i], k,
					     (end - now_s()) / (2 * (TIMED + 1 - k) - i));
			over[i] = ret == 1;
		}
	}
	if (ret < 0)
		return ret;
	for (c = 1; c < COLL_NR_COLLECTIVES; c++) {
		if (c == COLL_ALLREDUCE || c == COLL_BROADCAST)
			fill_table(&out->of[c], t[c == COLL_BROADCAST], nr[c == COLL_BROADCAST]);
		else
			fill_table(&out->of[c], other, candidates(b, c, other));
	}
	return 0;
}

/* ---- giving them to the kernel, on all ranks ---- */

static int set_table(coll_comm_t *comm, uint32_t collective, const struct coll_select_row *rows,
		     uint32_t nr)
{
	struct coll_select s = {
		.collective = collective, .nr = nr, .rows = (uint64_t)(uintptr_t)rows,
	};

	return ioctl(comm->fd, COLL_IOC_SELECT, &s) ? -errno : 0;
}

static int barrier(coll_comm_t *comm, struct deadline deadline)
{
	return select_run(comm, deadline, COLL_BARRIER, COLL_ALG_DISSEMINATION, NULL, NULL, 0);
}

/* Nobody goes on before all have their tables, or a rank has failed to. */
static int agree(coll_comm_t *comm, struct deadline deadline, int ret)
{
	int32_t worst = ret;
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE,
		.algorithm = COLL_ALG_RECURSIVE_DOUBLING,
		.op = COLL_OP_MIN,
		.dtype = COLL_I32,
		.flags = COLL_CMD_INPLACE,
		.recv_addr = (uint64_t)(uintptr_t)&worst,
		.count = 1,
		.timeout_ns = ((uint64_t)deadline_left(deadline) + 1) * 1000000,
	};
	int err = coll_submit(comm, &cmd);

	return err ? err : worst;
}

static int set_tables(coll_comm_t *comm, const struct select_tables *t, struct deadline deadline)
{
	uint32_t c;
	int ret;

	ret = barrier(comm, deadline);
	if (ret)
		return ret;
	for (c = 1; c < COLL_NR_COLLECTIVES && !ret; c++) {
		/* A module that lacks the collective does without. */
		if (t->of[c].nr && comm->version.collectives >> c & 1)
			ret = set_table(comm, c, t->of[c].rows, t->of[c].nr);
	}
	return agree(comm, deadline, ret);
}

static int share_tables(coll_comm_t *comm, struct select_tables *t, struct deadline deadline)
{
	int ret = select_run(comm, deadline, COLL_BROADCAST, COLL_ALG_BINOMIAL, NULL, t, sizeof(*t));

	return ret ? ret : set_tables(comm, t, deadline);
}

static int setup(coll_comm_t *comm, const struct select_plan *plan, struct deadline deadline,
		 struct select_tables *tables)
{
	struct select_bench b = { .comm = comm, .deadline = deadline };
	int ret;

	if (comm->rank) {
		ret = select_follow(&b);
	} else {
		ret = select_calibrate(&b);
		if (!ret)
			ret = fill_tables(&b, plan, tables);
		if (!ret)
			ret = select_end(&b);
	}
	if (b.buf)
		munmap(b.buf, 2 * b.room);
	return ret;
}

int select_offer(const coll_comm_t *comm, struct select_plan *plan, uint8_t *blob)
{
	uint32_t c;
	int ret;

	/* With more nodes not every algorithm has its links. */
	blob[BLOB_CAN] = comm->nr_nodes <= TOPOLOGY_FULL &&
			 comm->version.features & COLL_FEAT_SELECT;
	blob[BLOB_MODE] = MODE_NONE;
	if (comm->rank)
		return 0;
	ret = select_env(plan);
	for (c = 1; c < COLL_NR_COLLECTIVES; c++)
		if (plan->fixed[c])
			blob[BLOB_MODE] = MODE_FIXED;
	if (plan->budget_ms >= 0 && comm->nr_nodes > 1)
		blob[BLOB_MODE] = MODE_MEASURE;
	return ret;
}

static int run_mode(coll_comm_t *comm, const struct select_plan *plan, int mode,
		    struct deadline deadline)
{
	struct select_tables *tables = calloc(1, sizeof(*tables));
	uint32_t c;
	int ret = 0;

	if (!tables) {
		coll_abort(comm, ENOMEM);
		return -ENOMEM;
	}
	if (mode == MODE_MEASURE)
		ret = setup(comm, plan, deadline, tables);
	for (c = 1; c < COLL_NR_COLLECTIVES && !comm->rank; c++)
		if (plan->fixed[c])
			fix_table(&tables->of[c], plan->fixed[c]);
	if (!ret)
		ret = share_tables(comm, tables, deadline);
	if (ret) {
		free(tables);
		return ret;
	}
	free(comm->select);
	comm->select = tables;
	return 0;
}

int select_accept(coll_comm_t *comm, const struct select_plan *plan, const uint8_t *blobs,
		  size_t stride, struct deadline deadline)
{
	uint32_t i;

	for (i = 0; i < comm->size; i++)
		if (!blobs[i * stride + BLOB_CAN])
			return 0;
	if (blobs[BLOB_MODE] == MODE_NONE)
		return 0;
	return run_mode(comm, plan, blobs[BLOB_MODE], deadline);
}

/* ---- what users ask for ---- */

static struct deadline comm_deadline(const coll_comm_t *comm)
{
	uint64_t ms = comm->timeout_ns / 1000000;

	return deadline_in(ms && ms < 1U << 30 ? (uint32_t)ms : 1U << 30);
}

int coll_comm_tune(coll_comm_t *comm, uint32_t ms)
{
	const struct select_plan plan = { .budget_ms = ms < INT32_MAX ? (int32_t)ms : INT32_MAX };

	if (comm->nr_nodes > TOPOLOGY_FULL || !(comm->version.features & COLL_FEAT_SELECT))
		return -EOPNOTSUPP;
	if (comm->nr_nodes == 1)
		return 0;
	return run_mode(comm, &plan, MODE_MEASURE, comm_deadline(comm));
}

int coll_comm_select(coll_comm_t *comm, enum coll_collective what,
		     const struct coll_select_row *rows, uint32_t nr)
{
	struct deadline deadline = comm_deadline(comm);
	struct select_table *t;
	int ret, mine;

	if (!comm->select)
		comm->select = calloc(1, sizeof(*comm->select));
	ret = barrier(comm, deadline);
	if (ret)
		return ret;
	t = comm->select && what < COLL_NR_COLLECTIVES ? &comm->select->of[what] : NULL;
	if (!comm->select)
		mine = -ENOMEM;
	else if (!t || nr > SELECT_MAX_ROWS)
		mine = -EINVAL;
	else
		mine = set_table(comm, what, rows, nr);
	ret = agree(comm, deadline, mine);
	if (ret && !mine) {
		/* All or none; nobody goes on before it is so. */
		mine = set_table(comm, what, t->rows, t->nr);
	} else if (!ret) {
		if (nr)
			memcpy(t->rows, rows, nr * sizeof(*rows));
		t->nr = nr;
		return 0;
	}
	agree(comm, deadline, 0);
	return ret;
}

int coll_comm_set_algorithm(coll_comm_t *comm, enum coll_collective what, const char *name)
{
	const struct coll_algorithm *a = name ? by_name(what, name) : NULL;
	struct coll_select_row row = { .bytes = ~0ULL };

	/* What there is not, the kernel refuses on all ranks together. */
	row.algorithm = a ? a->id : UINT16_MAX;
	return coll_comm_select(comm, what, &row, name ? 1 : 0);
}

const char *coll_comm_algorithm(const coll_comm_t *comm, enum coll_collective what,
				uint64_t bytes)
{
	const struct select_table *t;
	const struct coll_algorithm *a;
	uint32_t i = 0, id = COLL_ALG_AUTO;

	if (comm->select && what < COLL_NR_COLLECTIVES) {
		t = &comm->select->of[what];
		while (i < t->nr && bytes > t->rows[i].bytes)
			i++;
		if (i < t->nr)
			id = t->rows[i].algorithm;
	}
	a = coll_algorithm_find(what, id);
	return a ? a->name : NULL;
}
