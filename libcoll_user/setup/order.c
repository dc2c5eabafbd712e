// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * COLL_ORDER: nodes in another order than that of their first ranks.
 *
 * The number of a node is its place in schedules between nodes, and the program that makes a
 * communicator gives the numbers. So another order is another numbering of the nodes; ranks
 * keep their numbers. coll_init() makes a communicator as usual, and the ranks use it to agree
 * on the order. If the order changes, a second communicator on the same connections replaces it.
 *
 * To measure distances, pairs of nodes exchange messages without bytes; the quickest exchange
 * counts. Pairs take turns, as in a tournament, so that each node is in one pair at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/debug.h"
#include "comm/comm.h"
#include "comm/topology.h"
#include "order.h"
#include "ring.h"
#include "select/select_env.h"
#include "split.h"

/* Exchanges of a pair; the first ones wait for the partner to be there. */
#define EXCHANGES	8
/* Another order is taken only if it is shorter by this factor: measuring is not exact. */
#define WORTH		0.9
/* The longest list that makes sense: as many names as there may be nodes. */
#define LIST_MAX	(COLL_MAX_SIZE * 192)

/* ---- a list of names ---- */

static int read_all(const char *path, char *text, size_t room)
{
	size_t have = 0;
	ssize_t n;
	int fd, ret = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		/* ENOENT would mean that the device is missing. */
		return errno == ENOENT ? -EINVAL : -errno;
	while (have < room && (n = read(fd, text + have, room - have)) > 0)
		have += (size_t)n;
	if (n < 0)
		ret = -errno;
	else if (have == room)
		ret = -EINVAL;
	else
		text[have] = 0;
	close(fd);
	return ret;
}

/* Read a list of names into @text. @value is the list, or the path of a file with it. */
static int read_list(const char *value, char *text)
{
	char *p;
	int ret;

	if (strchr(value, '/')) {
		ret = read_all(value, text, LIST_MAX);
		if (ret)
			return ret;
	} else if (strlen(value) < LIST_MAX) {
		strcpy(text, value);
	} else {
		return -EINVAL;
	}
	/* Blank out comments, up to the ends of their lines. */
	for (p = strchr(text, '#'); p; p = strchr(p, '#'))
		while (*p && *p != '\n')
			*p++ = ' ';
	return 0;
}

int order_offer(void)
{
	const char *value = getenv("COLL_ORDER");
	char *text;
	int ret;

	if (!value || !*value)
		return ORDER_NONE;
	if (!strcmp(value, "measure"))
		return ORDER_MEASURE;
	text = malloc(LIST_MAX);
	ret = text ? read_list(value, text) : -ENOMEM;
	free(text);
	if (ret)
		coll_explain("COLL_ORDER=%s: %s", value, strerror(-ret));
	return ret ? ret : ORDER_LIST;
}

static int node_by_name(const coll_comm_t *comm, const char *name)
{
	struct select_host host;
	uint32_t i;

	if (select_host_named(name, &host))
		return -1;
	for (i = 0; i < comm->nr_nodes; i++)
		if (!memcmp(comm->hosts[i].id, host.id, sizeof(host.id)))
			return (int)i;
	return -1;
}

/* Rank 0 sets @order from the list. */
static int list_order(const coll_comm_t *comm, uint32_t *order)
{
	char *text = malloc(LIST_MAX), *name, *rest = NULL;
	bool seen[COLL_MAX_SIZE] = { false };
	uint32_t nr = 0;
	int ret, node;

	ret = text ? read_list(getenv("COLL_ORDER"), text) : -ENOMEM;
	name = ret ? NULL : strtok_r(text, " \t\r\n,", &rest);
	for (; name && !ret; name = strtok_r(NULL, " \t\r\n,", &rest)) {
		node = node_by_name(comm, name);
		if (node < 0 || seen[node]) {
			coll_explain("COLL_ORDER: %s: %s", name,
				     node < 0 ? "no such node" : "twice");
			ret = -EINVAL;
			break;
		}
		seen[node] = true;
		order[nr++] = (uint32_t)node;
	}
	if (!ret && nr != comm->nr_nodes) {
		coll_explain("COLL_ORDER: names %u of %u nodes", nr, comm->nr_nodes);
		ret = -EINVAL;
	}
	free(text);
	return ret;
}

/* ---- measuring ---- */

static uint32_t leader_of(const coll_comm_t *comm, uint32_t node)
{
	uint32_t i = 0;

	while (comm->node_of[i] != node)
		i++;
	return i;
}

/*
 * The partner of @i in one round of a round-robin tournament of @n, which is even, in n - 1 rounds.
 * By the circle method: the last one stays, and the others rotate.
 */
static uint32_t partner_of(uint32_t n, uint32_t round, uint32_t i)
{
	uint32_t j;

	if (i == n - 1)
		return round % 2 ? (round + n - 1) / 2 : round / 2;
	j = (round + n - 1 - i) % (n - 1);
	return j == i ? n - 1 : j;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Measure the nanoseconds that an exchange with another rank takes. */
static int exchange(coll_comm_t *comm, uint32_t rank, uint64_t *ns)
{
	double best = 1e9, begin, t;
	int i, ret = 0;

	for (i = 0; i < EXCHANGES && !ret; i++) {
		begin = now_s();
		ret = coll_sendrecv(comm, NULL, 0, COLL_BYTE, rank, 0, NULL, 0, COLL_BYTE,
				    rank, 0, NULL);
		t = now_s() - begin;
		if (i && t < best)
			best = t;
	}
	*ns = (uint64_t)(best * 1e9) + 1;
	return ret;
}

/* Measure how far all nodes are from each other. All ranks get the result. */
static int measure(coll_comm_t *comm, uint64_t *far)
{
	uint32_t n = comm->nr_nodes, even = n + n % 2, round, peer;
	int ret = 0;

	for (round = 0; round + 1 < even && comm->rank == leader_of(comm, comm->node); round++) {
		peer = partner_of(even, round, comm->node);
		if (peer >= n)
			continue;
		ret = exchange(comm, leader_of(comm, peer),
			       &far[(size_t)comm->node * n + peer]);
		/* The communicator has failed, so the other ranks learn of it, too. */
		if (ret)
			return ret;
		far[(size_t)peer * n + comm->node] = far[(size_t)comm->node * n + peer];
	}
	return coll_allreduce(comm, COLL_IN_PLACE, far, (uint64_t)n * n, COLL_U64, COLL_OP_MAX);
}

static int measured_order(coll_comm_t *comm, uint32_t *order)
{
	uint32_t n = comm->nr_nodes;
	uint64_t *far = calloc((size_t)n * n, sizeof(*far));
	double *ways = calloc((size_t)n * n, sizeof(*ways)), as_is;
	size_t i;
	int ret;

	ret = far && ways ? 0 : -ENOMEM;
	/* A rank without memory does not take part: the others must not wait for it. */
	if (ret)
		coll_abort(comm, ENOMEM);
	else
		ret = measure(comm, far);
	if (!ret && !comm->rank) {
		for (i = 0; i < (size_t)n * n; i++)
			ways[i] = (double)far[i];
		as_is = ring_length(n, ways, order);
		ret = ring_order(n, ways, n <= RING_EXACT, order);
		if (!ret && ring_length(n, ways, order) > WORTH * as_is)
			for (i = 0; i < n; i++)
				order[i] = (uint32_t)i;
	}
	free(far);
	free(ways);
	return ret;
}

/* ---- applying it ---- */

/* Tell rank 0's order, or its error, to all ranks. */
static int tell_order(coll_comm_t *comm, int status, uint32_t *order)
{
	uint32_t n = comm->nr_nodes, *all = calloc(n + 1, sizeof(*all)), i;
	int ret;

	if (!all) {
		coll_abort(comm, ENOMEM);
		return -ENOMEM;
	}
	all[0] = status < 0 ? (uint32_t)-status : 0;
	memcpy(all + 1, order, n * sizeof(*order));
	ret = coll_broadcast(comm, all, n + 1, COLL_U32, 0);
	if (!ret && all[0])
		ret = -(int)all[0];
	for (i = 0; !ret && i < n; i++)
		if (all[i + 1] >= n)
			ret = -EPROTO;
	if (!ret)
		memcpy(order, all + 1, n * sizeof(*order));
	free(all);
	return ret;
}

static int find_order(coll_comm_t *comm, enum order_mode mode, uint32_t *order)
{
	int ret = 0;

	if (mode == ORDER_MEASURE)
		ret = measured_order(comm, order);
	else if (!comm->rank)
		ret = list_order(comm, order);
	/* A failure on another rank than 0 has ended the communicator. */
	if (ret && comm->rank)
		return ret;
	return tell_order(comm, ret, order);
}

/* Replace the communicator by one with the nodes in that order. */
static int replace(coll_comm_t **comm, const uint32_t *order)
{
	coll_comm_t *old = *comm, *new;
	uint32_t n = old->nr_nodes, i, *place = calloc(n, sizeof(*place));
	int ret;

	if (!place) {
		coll_abort(old, ENOMEM);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		place[order[i]] = i;
	ret = split_reorder(old, place, &new);
	free(place);
	if (ret)
		return ret;
	coll_finalize(old);
	*comm = new;
	return 0;
}

int order_accept(coll_comm_t **comm, enum order_mode mode, struct deadline deadline)
{
	uint32_t n = (*comm)->nr_nodes, i, *order;
	bool same = true;
	int ret;

	if (mode == ORDER_NONE || n < 2)
		return 0;
	if (mode == ORDER_MEASURE && n > TOPOLOGY_FULL)
		return -EOPNOTSUPP;
	(*comm)->timeout_ns = (uint64_t)deadline_left(deadline) * 1000000 + 1;
	order = calloc(n, sizeof(*order));
	for (i = 0; order && i < n; i++)
		order[i] = i;
	if (order) {
		ret = find_order(*comm, mode, order);
	} else {
		coll_abort(*comm, ENOMEM);
		ret = -ENOMEM;
	}
	for (i = 0; !ret && i < n; i++)
		same &= order[i] == i;
	coll_debug("order of nodes: %s", ret ? coll_strerror(ret) : same ? "as it was" : "new");
	if (!ret && !same)
		ret = replace(comm, order);
	if (!ret)
		(*comm)->timeout_ns = 0;
	free(order);
	return ret;
}
