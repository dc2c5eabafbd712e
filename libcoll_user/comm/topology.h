/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Which ranks share a node, and which nodes need a link. */
#ifndef LIBCOLL_TOPOLOGY_H
#define LIBCOLL_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "net/auth.h"

/* Up to this many nodes every pair is linked, so any algorithm can be used. */
#define TOPOLOGY_FULL	128

/**
 * struct topology - nodes of a communicator
 * @node_of: node of each rank; nodes are numbered densely, by topology_init() in the
 *	order of their first ranks
 * @leader_of: lowest rank of each node; makes the connections of the node
 * @linked: of each node, whether this node has a link to it
 * @origin: of each node, its number in the communicator that coll_init() made. There it is the
 *	node itself; a part of that communicator sets other numbers.
 */
struct topology {
	uint32_t size;
	uint32_t rank;
	uint32_t node;
	uint32_t nr_nodes;
	uint32_t *node_of;
	uint32_t *leader_of;
	bool *linked;
	uint32_t *origin;
};

/* @id: AUTH_LEN bytes, which are equal for two ranks if they share a node. */
int topology_identity(const char *node, uint8_t *id);

/**
 * topology_init() - number the nodes
 * @ids: identities by rank, @stride bytes apart
 */
int topology_init(struct topology *t, uint32_t rank, uint32_t size,
		  const uint8_t *ids, size_t stride);

/**
 * topology_renumber() - give the nodes other numbers
 * @number: [nr_nodes], of each its new one: a permutation
 *
 * Return: 0 or -ENOMEM.
 */
int topology_renumber(struct topology *t, const uint32_t *number);

/**
 * topology_link_tree() - add the links of the tree of nodes that named collectives need
 *
 * With up to TOPOLOGY_FULL nodes they are there. Call it after topology_renumber().
 */
void topology_link_tree(struct topology *t);

/*
 * Does this node connect to @peer, or does it listen? Decided once for two hosts, by
 * coll_init(), and kept in all parts: a firewall that has let a connection through will do so
 * again, and rank 0's own address is never needed.
 */
bool topology_dials(const struct topology *t, uint32_t peer);

void topology_destroy(struct topology *t);

#endif
