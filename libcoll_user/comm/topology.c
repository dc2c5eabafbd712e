// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/table.h"
#include "base/debug.h"
#include "coord/coord_tree.h"
#include "topology.h"

#define BOOT_ID		"/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN	36
#define NODE_MAX	64	/* with its NUL */

static int read_boot_id(char *id)
{
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC), err;
	size_t have = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (have < BOOT_ID_LEN && (n = read(fd, id + have, BOOT_ID_LEN - have)) > 0)
		have += (size_t)n;
	err = n < 0 ? -errno : -EIO;
	close(fd);
	return have < BOOT_ID_LEN ? err : 0;
}

int topology_identity(const char *node, uint8_t *id)
{
	char both[BOOT_ID_LEN + NODE_MAX] = { 0 };
	int ret;

	if (strlen(node) >= NODE_MAX) {
		coll_explain("the name of the node (COLL_NODE) has more than %d bytes", NODE_MAX - 1);
		return -EINVAL;
	}
	ret = read_boot_id(both);
	if (ret) {
		coll_explain("%s: %s", BOOT_ID, strerror(-ret));
		return ret;
	}
	strcpy(both + BOOT_ID_LEN, node);
	return auth_sha256(both, sizeof(both), id);
}

/* Does a collective have a root? Its schedules then depend on where that is. */
static bool is_rooted(u32 collective)
{
	switch (collective) {
	case COLL_BROADCAST: case COLL_REDUCE: case COLL_GATHER: case COLL_GATHERV:
	case COLL_SCATTER: case COLL_SCATTERV:
		return true;
	default:
		return false;
	}
}

/* Mark the nodes that @me exchanges anything with in one schedule. */
static int mark_peers(const struct coll_algorithm *alg, u32 n, u32 me, u32 root, bool *linked)
{
	struct coll_emit e = { 0 };
	int ret;
	u32 i;

	ret = alg->emit(&e, n, me, root);
	if (ret || !e.nr)
		return ret;
	e.steps = calloc(e.nr, sizeof(*e.steps));
	if (!e.steps)
		return -ENOMEM;
	e.cap = e.nr;
	e.nr = 0;
	ret = alg->emit(&e, n, me, root);
	for (i = 0; !ret && i < e.nr && i < e.cap; i++)
		if (e.steps[i].kind != COLL_STEP_LOCAL && e.steps[i].peer < n)
			linked[e.steps[i].peer] = true;
	free(e.steps);
	return ret;
}

/*
 * Find the links that schedules need. Each send has its receive, so both ends of a link find that
 * they need it without asking each other. In some collectives every pair of nodes exchanges
 * something. With more than TOPOLOGY_FULL nodes there are links for the default algorithms of the
 * other collectives only; all else fails with ENOTCONN.
 */
static int find_links(struct topology *t)
{
	static const u32 sparse[] = {
		COLL_BARRIER, COLL_BROADCAST, COLL_REDUCE, COLL_ALLREDUCE,
	};
	size_t i;
	u32 k, root;
	int ret;

	for (k = 0; k < t->nr_nodes; k++)
		t->linked[k] = t->nr_nodes <= TOPOLOGY_FULL;
	for (i = 0; i < sizeof(sparse) / sizeof(sparse[0]) && t->nr_nodes > TOPOLOGY_FULL; i++) {
		const struct coll_algorithm *alg = coll_algorithm_find(sparse[i], COLL_ALG_AUTO);
		u32 roots = is_rooted(sparse[i]) ? t->nr_nodes : 1;

		for (root = 0; alg && root < roots; root++) {
			ret = mark_peers(alg, t->nr_nodes, t->node, root, t->linked);
			if (ret)
				return ret;
		}
	}
	t->linked[t->node] = false;
	return 0;
}

struct tagged {
	const uint8_t *id;
	uint32_t rank;
};

static int cmp_tagged(const void *x, const void *y)
{
	const struct tagged *a = x, *b = y;
	int d = memcmp(a->id, b->id, AUTH_LEN);

	return d ? d : a->rank < b->rank ? -1 : 1;
}

/* Leader of every rank's node: sort by (identity, rank), the first of each run. */
static int find_leaders(struct topology *t, const uint8_t *ids, size_t stride)
{
	struct tagged *order;
	uint32_t i, first = 0;

	order = calloc(t->size, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (i = 0; i < t->size; i++)
		order[i] = (struct tagged){ ids + i * stride, i };
	qsort(order, t->size, sizeof(*order), cmp_tagged);
	for (i = 0; i < t->size; i++) {
		if (memcmp(order[i].id, order[first].id, AUTH_LEN))
			first = i;
		t->node_of[order[i].rank] = order[first].rank;
	}
	free(order);
	return 0;
}

int topology_init(struct topology *t, uint32_t rank, uint32_t size,
		  const uint8_t *ids, size_t stride)
{
	uint32_t i;
	int ret;

	memset(t, 0, sizeof(*t));
	t->rank = rank;
	t->size = size;
	t->node_of = calloc(size, sizeof(*t->node_of));
	t->leader_of = calloc(size, sizeof(*t->leader_of));
	t->linked = calloc(size, sizeof(*t->linked));
	t->origin = calloc(size, sizeof(*t->origin));
	ret = t->node_of && t->leader_of && t->linked && t->origin ? 0 : -ENOMEM;
	if (!ret)
		ret = find_leaders(t, ids, stride);
	if (ret)
		goto out_destroy;
	/* node_of names leaders so far; a leader comes before its followers. */
	for (i = 0; i < size; i++) {
		if (t->node_of[i] == i) {
			t->leader_of[t->nr_nodes] = i;
			t->origin[t->nr_nodes] = t->nr_nodes;
			t->node_of[i] = t->nr_nodes++;
		} else {
			t->node_of[i] = t->node_of[t->node_of[i]];
		}
	}
	t->node = t->node_of[rank];
	if (t->nr_nodes > 1)
		ret = find_links(t);
	if (!ret)
		return 0;

out_destroy:
	topology_destroy(t);
	return ret;
}

int topology_renumber(struct topology *t, const uint32_t *number)
{
	uint32_t *leader_of = calloc(t->size, sizeof(*leader_of));
	uint32_t *origin = calloc(t->size, sizeof(*origin));
	uint32_t i;

	if (!leader_of || !origin) {
		free(leader_of);
		free(origin);
		return -ENOMEM;
	}
	for (i = 0; i < t->nr_nodes; i++) {
		leader_of[number[i]] = t->leader_of[i];
		origin[number[i]] = t->origin[i];
	}
	free(t->leader_of);
	free(t->origin);
	t->leader_of = leader_of;
	t->origin = origin;
	for (i = 0; i < t->size; i++)
		t->node_of[i] = number[t->node_of[i]];
	t->node = number[t->node];
	memset(t->linked, 0, t->size * sizeof(*t->linked));
	return t->nr_nodes > 1 ? find_links(t) : 0;
}

/* Mark the node at a place of the tree, if there is one. */
static void mark_place(struct topology *t, uint64_t place)
{
	if (place < t->nr_nodes)
		t->linked[(place + t->node_of[0]) % t->nr_nodes] = true;
}

void topology_link_tree(struct topology *t)
{
	uint64_t place = ((uint64_t)t->node + t->nr_nodes - t->node_of[0]) % t->nr_nodes, k;

	if (place)
		mark_place(t, (place - 1) / COLL_COORD_FANOUT);
	for (k = 1; k <= COLL_COORD_FANOUT; k++)
		mark_place(t, place * COLL_COORD_FANOUT + k);
}

bool topology_dials(const struct topology *t, uint32_t peer)
{
	return t->origin[t->node] < t->origin[peer];
}

void topology_destroy(struct topology *t)
{
	free(t->node_of);
	free(t->leader_of);
	free(t->linked);
	free(t->origin);
	memset(t, 0, sizeof(*t));
}
