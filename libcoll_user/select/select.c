// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Tables of algorithms. Rank 0 fills them: by a model whose numbers were measured on the links
 * of this communicator, and by timing algorithms until the budget is used up. It broadcasts the
 * tables, and every rank gives them to its kernel. Until then commands name their algorithms, so
 * no node uses a table that another node does not have yet.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "algorithms/table.h"
#include "base/debug.h"
#include "base/fpstate.h"
#include "collective.h"
#include "comm/comm.h"
#include "comm/topology.h"
#include "select.h"
#include "select_file.h"
#include "select_fill.h"
#include "select_save.h"
#include "select_set.h"

static void fix_table(struct select_table *out, uint16_t algorithm)
{
	memset(out, 0, sizeof(*out));
	out->nr = 1;
	out->source = COLL_SELECT_FIXED;
	out->rows[0].bytes = ~0ULL;
	out->rows[0].algorithm = algorithm;
}

static int measure(coll_comm_t *comm, const struct select_plan *plan, struct deadline deadline,
		   struct select_tables *tables)
{
	struct select_bench b = { .comm = comm, .deadline = deadline };
	int ret;

	if (comm->rank) {
		ret = select_follow(&b);
	} else {
		ret = select_calibrate(&b);
		if (!ret)
			ret = select_fill(&b, plan, tables);
		if (!ret)
			ret = select_end(&b);
		else
			/* The others wait for the next step: they have to get an error. */
			coll_abort(comm, (uint32_t)-ret);
	}
	if (b.buf)
		munmap(b.buf, 2 * b.room);
	return ret;
}

/* Number of ranks of each node; NULL: no memory. */
static uint32_t *count_ranks(const coll_comm_t *comm)
{
	uint32_t *on = calloc(comm->nr_nodes, sizeof(*on)), i;

	for (i = 0; on && i < comm->size; i++)
		on[comm->node_of[i]]++;
	return on;
}

static int key_of(const coll_comm_t *comm, struct select_key *key)
{
	uint32_t *on = count_ranks(comm);
	int ret = on ? select_key_of(comm->hosts, on, comm->nr_nodes, key) : -ENOMEM;

	free(on);
	return ret;
}

int select_read_file(struct select_file *f, const char *path)
{
	int ret = select_file_read(f, path);

	if (ret == -EINVAL)
		coll_explain("%s:%u: %s", path, f->line, f->what);
	else if (ret)
		coll_explain("%s: %s", path, strerror(-ret));
	return ret;
}

/* Rank 0. Return: 1: its tables are there; 0: the file has none for these hosts. */
static int take_from_file(const coll_comm_t *comm, const char *path, struct select_tables *tables)
{
	const struct select_set *set;
	struct select_file f = { 0 };
	struct select_key key;
	int ret;

	ret = key_of(comm, &key);
	if (!ret)
		ret = select_read_file(&f, path);
	if (!ret) {
		set = select_file_find(&f, &key);
		ret = set != NULL;
		if (set)
			*tables = set->tables;
		coll_debug("%s: line %u has tables for these hosts", path, set ? set->line : 0);
	}
	select_file_free(&f);
	return ret;
}

/* Set tables from the file of rank 0, on all ranks. */
static int find_in_file(coll_comm_t *comm, const char *path, struct deadline deadline,
			struct select_tables *tables)
{
	int32_t found = comm->rank ? 0 : take_from_file(comm, path, tables);
	int ret = select_run(comm, deadline, COLL_BROADCAST, COLL_ALG_BINOMIAL, NULL, &found,
			     sizeof(found));

	return ret ? ret : found;
}

int select_run_mode(coll_comm_t *comm, const struct select_plan *plan, enum select_mode mode,
		    struct deadline deadline)
{
	struct select_tables *tables = calloc(1, sizeof(*tables));
	uint32_t c;
	int ret = 0;

	if (!tables) {
		coll_abort(comm, ENOMEM);
		return -ENOMEM;
	}
	if (mode == SELECT_MODE_FILE) {
		ret = find_in_file(comm, plan->file, deadline, tables);
		if (!ret && comm->nr_nodes > 1)
			mode = SELECT_MODE_MEASURE;
		ret = ret > 0 ? 0 : ret;
	}
	if (!ret && mode == SELECT_MODE_MEASURE)
		ret = measure(comm, plan, deadline, tables);
	for (c = 1; c < COLL_NR_COLLECTIVES && !comm->rank; c++)
		if (plan->fixed[c])
			fix_table(&tables->of[c], plan->fixed[c]);
	if (!ret)
		ret = select_share_tables(comm, tables, deadline);
	if (ret) {
		free(tables);
		return ret;
	}
	free(comm->select);
	comm->select = tables;
	return 0;
}

/* ---- calls of the library ---- */

static struct deadline comm_deadline(const coll_comm_t *comm)
{
	uint64_t ms = comm->timeout_ns / 1000000 + !!(comm->timeout_ns % 1000000);

	return deadline_in(ms && ms < 1U << 30 ? (uint32_t)ms : 1U << 30);
}

static bool can_select(const coll_comm_t *comm)
{
	return comm->nr_nodes <= TOPOLOGY_FULL && comm->version.features & COLL_FEAT_SELECT;
}

/* Algorithms that the environment has fixed stay. */
static void keep_fixed(const coll_comm_t *comm, struct select_plan *plan)
{
	uint32_t c;

	for (c = 1; comm->select && c < COLL_NR_COLLECTIVES; c++)
		if (comm->select->of[c].source == COLL_SELECT_FIXED)
			plan->fixed[c] = comm->select->of[c].rows[0].algorithm;
}

int coll_comm_tune(coll_comm_t *comm, uint32_t ms)
{
	struct select_plan plan = {
		.budget_ms = ms < INT32_MAX ? (int32_t)ms : INT32_MAX, .all = true,
	};
	struct fp_state fp;
	int ret;

	if (!comm)
		return -EINVAL;
	if (!can_select(comm))
		return -EOPNOTSUPP;
	keep_fixed(comm, &plan);
	fp_enter(&fp, false);
	ret = select_run_mode(comm, &plan, SELECT_MODE_MEASURE, comm_deadline(comm));
	fp_leave(&fp);
	return ret;
}

int coll_comm_load_tables(coll_comm_t *comm, const char *path)
{
	struct select_tables *tables;
	struct deadline deadline;
	struct fp_state fp;
	int ret;

	if (!comm)
		return -EINVAL;
	if (!can_select(comm))
		return -EOPNOTSUPP;
	deadline = comm_deadline(comm);
	/* One rank alone. */
	if (!comm->hosts)
		return -ENODATA;
	tables = calloc(1, sizeof(*tables));
	if (!tables) {
		coll_abort(comm, ENOMEM);
		return -ENOMEM;
	}
	fp_enter(&fp, false);	/* integers of the file become doubles */
	ret = find_in_file(comm, path ? path : "", deadline, tables);
	fp_leave(&fp);
	if (ret == 1)
		ret = select_share_tables(comm, tables, deadline);
	else if (!ret)
		ret = -ENODATA;
	if (ret) {
		free(tables);
		return ret;
	}
	free(comm->select);
	comm->select = tables;
	return 0;
}

/* A comment with host names and date: the file has only a digest of the names. */
static int hosts_note(const coll_comm_t *comm, char **text)
{
	size_t len = 0;
	uint32_t i;
	FILE *f = open_memstream(text, &len);

	if (!f)
		return -ENOMEM;
	for (i = 0; i < comm->nr_nodes; i++)
		fprintf(f, "%s%s", i ? " " : "", comm->hosts[i].name);
	return fclose(f) ? -ENOMEM : 0;
}

int coll_comm_save_tables(coll_comm_t *comm, const char *path)
{
	struct select_key key;
	struct fp_state fp;
	char *text = NULL;
	int ret;

	if (!comm || !path)
		return -EINVAL;
	if (!comm->select || !comm->hosts)
		return -ENODATA;
	ret = key_of(comm, &key);
	if (!ret)
		ret = hosts_note(comm, &text);
	fp_enter(&fp, false);
	if (!ret)
		ret = select_file_save(path, &key, comm->select, (const char *const *)&text, 1);
	fp_leave(&fp);
	if (ret)
		coll_explain("%s: %s", path, strerror(-ret));
	free(text);
	return ret;
}

/* Without any table the communicator is as if it had never had one. */
static void forget_if_empty(coll_comm_t *comm)
{
	uint32_t c;

	for (c = 0; comm->select && c < COLL_NR_COLLECTIVES; c++)
		if (comm->select->of[c].nr)
			return;
	if (comm->select && comm->select->model.alpha > 0)
		return;
	free(comm->select);
	comm->select = NULL;
}

int coll_comm_select(coll_comm_t *comm, enum coll_collective what,
		     const struct coll_select_row *rows, uint32_t nr)
{
	struct select_table *t;
	struct deadline deadline;
	int ret, mine;

	if (!comm)
		return -EINVAL;
	deadline = comm_deadline(comm);
	if (!comm->select)
		comm->select = calloc(1, sizeof(*comm->select));
	ret = select_barrier(comm, deadline);
	if (ret)
		return ret;
	t = comm->select && what < COLL_NR_COLLECTIVES ? &comm->select->of[what] : NULL;
	if (!comm->select)
		mine = -ENOMEM;
	else if (!t || nr > SELECT_MAX_ROWS || (nr && !rows))
		mine = -EINVAL;
	else
		mine = select_set_table(comm, what, rows, nr, COLL_SELECT_USER);
	ret = select_agree(comm, deadline, mine);
	if (ret && what < COLL_NR_COLLECTIVES) {
		/*
		 * Undo the change on all ranks; none goes on before that is done. The first rank
		 * of a node does it for the whole node. The kernel may refuse the call of another
		 * rank, because the first rank has gone on with an op.
		 */
		select_set_table(comm, what, t ? t->rows : NULL, t ? t->nr : 0, t ? t->source : 0);
	} else if (!ret) {
		if (nr)
			memcpy(t->rows, rows, nr * sizeof(*rows));
		t->nr = nr;
		t->source = COLL_SELECT_USER;
		forget_if_empty(comm);
		return 0;
	}
	select_agree(comm, deadline, 0);
	forget_if_empty(comm);
	return ret;
}

int coll_comm_set_algorithm(coll_comm_t *comm, enum coll_collective what, const char *name)
{
	struct coll_select_row row = { .bytes = ~0ULL };

	/* The kernel refuses an unknown algorithm on all ranks together. */
	row.algorithm = (name ? select_number(what, name) : 0) ?: UINT16_MAX;
	return coll_comm_select(comm, what, &row, name ? 1 : 0);
}

int coll_comm_choice(const coll_comm_t *comm, enum coll_collective what, uint64_t bytes,
		     struct coll_select_row *row)
{
	const struct coll_algorithm *a;
	const struct select_table *t;
	uint32_t i = 0;

	if (!comm || !row)
		return -EINVAL;
	*row = (struct coll_select_row){ .bytes = UINT64_MAX };
	if (comm->select && what < COLL_NR_COLLECTIVES) {
		t = &comm->select->of[what];
		while (i < t->nr && bytes > t->rows[i].bytes)
			i++;
		if (i < t->nr)
			*row = t->rows[i];
	}
	a = coll_algorithm_find(what, row->algorithm);
	if (!a)
		return -EINVAL;
	if (!row->algorithm)
		row->algorithm = a->id;
	return 0;
}

const char *coll_comm_algorithm(const coll_comm_t *comm, enum coll_collective what,
				uint64_t bytes)
{
	const struct coll_algorithm *a;
	struct coll_select_row row;

	if (coll_comm_choice(comm, what, bytes, &row))
		return NULL;
	a = coll_algorithm_find(what, row.algorithm);
	return a ? a->name : NULL;
}
