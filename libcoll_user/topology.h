/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Who shares a node, and which nodes need a link. */
#ifndef LIBCOLL_TOPOLOGY_H
#define LIBCOLL_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "auth.h"

/**
 * struct topology - nodes of a communicator
 * @node_of: node of each rank; nodes are numbered densely, in the order of
 *	their first ranks
 * @leader_of: lowest rank of each node; makes the connections of the node
 * @linked: of each node, whether this node has a link to it
 */
struct topology {
	uint32_t size;
	uint32_t rank;
	uint32_t node;
	uint32_t nr_nodes;
	uint32_t *node_of;
	uint32_t *leader_of;
	bool *linked;
};

/* @id: AUTH_LEN bytes: what two ranks have in common if they share a node. */
int topology_identity(const char *node, uint8_t *id);

/**
 * topology_init() - number the nodes
 * @ids: identities by rank, @stride bytes apart
 */
int topology_init(struct topology *t, uint32_t rank, uint32_t size,
		  const uint8_t *ids, size_t stride);
void topology_destroy(struct topology *t);

#endif
