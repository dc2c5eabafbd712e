// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Tables for a part of a communicator. */
#include <errno.h>
#include <stdlib.h>

#include "collective.h"
#include "select_fill.h"
#include "select_inherit.h"
#include "select_set.h"

/*
 * Which tables of the parent are valid in a part: some need the same nodes, others also the same
 * ranks.
 */
static void compare(const coll_comm_t *child, const coll_comm_t *parent,
		    const uint32_t *members, bool *nodes, bool *ranks)
{
	uint32_t i;

	*nodes = child->nr_nodes == parent->nr_nodes;
	for (i = 0; *nodes && i < child->nr_nodes; i++)
		*nodes = child->origin[i] == parent->origin[i];
	*ranks = *nodes && child->size == parent->size;
	for (i = 0; *ranks && i < child->size; i++)
		*ranks = child->node_of[i] == parent->node_of[members[i]];
}

/* Rank 0 of a part. */
static int make_tables(coll_comm_t *child, const struct select_tables *from, bool nodes,
		       bool ranks, struct select_tables *tables)
{
	struct select_bench b = { .comm = child, .model = from->model };
	const struct select_plan plan = { .budget_ms = 0 };
	uint32_t c;
	int ret = 0;

	if (child->nr_nodes > 1 && from->model.beta > 0)
		ret = select_fill(&b, &plan, tables);
	tables->model = from->model;
	for (c = 1; c < COLL_NR_COLLECTIVES; c++) {
		bool same = coll_kind_of(c)->flags & COLL_KIND_RANKS ? ranks : nodes;

		if (same || from->of[c].source == COLL_SELECT_FIXED)
			tables->of[c] = from->of[c];
	}
	return ret;
}

static int inherit_hosts(coll_comm_t *child, const coll_comm_t *parent, const uint32_t *members)
{
	uint32_t i;

	if (!parent->hosts)
		return 0;
	child->hosts = calloc(child->nr_nodes, sizeof(*child->hosts));
	if (!child->hosts)
		return -ENOMEM;
	for (i = 0; i < child->size; i++)
		child->hosts[child->node_of[i]] = parent->hosts[parent->node_of[members[i]]];
	return 0;
}

int select_inherit(coll_comm_t *child, const coll_comm_t *parent, const uint32_t *members,
		   struct deadline deadline)
{
	struct select_tables *tables;
	bool nodes, ranks;
	int ret;

	ret = inherit_hosts(child, parent, members);
	if (!parent->select)
		return ret;
	tables = calloc(1, sizeof(*tables));
	if (!tables)
		ret = -ENOMEM;
	if (!ret) {
		compare(child, parent, members, &nodes, &ranks);
		if (!child->rank)
			ret = make_tables(child, parent->select, nodes, ranks, tables);
	}
	/* The other ranks wait for a broadcast. The caller tells the error to all of them. */
	if (ret)
		coll_abort(child, (uint32_t)-ret);
	else
		ret = select_share_tables(child, tables, deadline);
	if (ret)
		free(tables);
	else
		child->select = tables;
	return ret;
}

int select_copy(coll_comm_t *child, const coll_comm_t *parent)
{
	struct select_tables *tables;
	uint32_t i;
	int ret;

	if (parent->hosts) {
		child->hosts = calloc(child->nr_nodes, sizeof(*child->hosts));
		if (!child->hosts)
			return -ENOMEM;
		for (i = 0; i < child->nr_nodes; i++)
			child->hosts[i] = parent->hosts[i];
	}
	if (!parent->select)
		return 0;
	tables = malloc(sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	*tables = *parent->select;
	ret = select_put_tables(child, tables, NULL);
	if (ret)
		free(tables);
	else
		child->select = tables;
	return ret;
}
