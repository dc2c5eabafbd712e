/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The number of links to each node that large collectives use: COLL_STRIPES. */
#ifndef LIBCOLL_STRIPES_H
#define LIBCOLL_STRIPES_H

#include <coll/coll.h>

#include "base/deadline.h"

#define STRIPES_AUTO	0
/* As auto, but not if all nodes are on one machine: there is no network to measure. */
#define STRIPES_UNSET	255

/**
 * struct stripes - of a communicator
 * @links: the most parts of a collective; 0 or 1: one link
 * @least: the least bytes of a part; 0: the default of the kernel
 */
struct stripes {
	uint32_t links;
	uint64_t least;
};

/* COLL_STRIPES: ->links may be STRIPES_AUTO or STRIPES_UNSET. Return: 0 or -EINVAL. */
int stripes_env(struct stripes *s);

/* Tell the kernel. All ranks have to, before the next collective. Return: 0 or -errno. */
int stripes_set(coll_comm_t *comm, const struct stripes *s);

/**
 * struct stripes_more - how to get further links
 * @connect: make links [@from, @to) to all nodes. All ranks call it together, and get the same
 *	result
 * @ctx: for @connect
 */
struct stripes_more {
	int (*connect)(void *ctx, uint32_t from, uint32_t to);
	void *ctx;
};

/* Should the number of links be measured? The same answer on all ranks. */
bool stripes_may_profit(const coll_comm_t *comm);

/**
 * stripes_measure() - find out how many links are best, and set that
 * @comm: with one link; all of its ranks call this, before anybody uses it
 * @deadline: of every command
 * @more: see there
 *
 * Return: 0; or -errno, on all ranks or with the communicator failed.
 */
int stripes_measure(coll_comm_t *comm, struct deadline deadline, const struct stripes_more *more);

#endif
