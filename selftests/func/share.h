/* SPDX-License-Identifier: GPL-2.0 */
/* Communicators that use the links of another one. */
#ifndef SHARE_H
#define SHARE_H

#include <stdint.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define NODES	3

/* Join as the ranks of @c; nothing is linked. */
static inline int join_all(struct raw_comm *c, uint32_t size, uint32_t nodes)
{
	uint32_t r;
	int ret = 0;

	raw_plan(c, size, nodes);
	for (r = 0; !ret && r < size; r++) {
		c->fd[r] = raw_open();
		ret = c->fd[r] < 0 ? c->fd[r] : raw_join(c->fd[r], c, r);
	}
	return ret;
}

/* Every pair of nodes by the links of @parent; ranks are nodes. */
static inline int share_all(struct raw_comm *c, struct raw_comm *parent)
{
	uint32_t a, b;
	int ret = 0;

	for (a = 0; a < c->nodes; a++)
		for (b = 0; !ret && b < c->nodes; b++)
			if (a != b)
				ret = raw_share(c->fd[a], b, parent->fd[a], b);
	return ret;
}

/* A communicator of the same ranks and nodes, linked by the links of @parent. */
static inline int start_other(struct raw_comm *c, struct raw_comm *parent)
{
	int ret = join_all(c, parent->size, parent->nodes);

	return ret ? ret : share_all(c, parent);
}

#endif /* SHARE_H */
