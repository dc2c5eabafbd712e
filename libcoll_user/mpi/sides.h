/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Input and results of calls that move data. */
#ifndef LIBCOLL_MPI_SIDES_H
#define LIBCOLL_MPI_SIDES_H

#include <errno.h>

#include "call.h"

/* Set the layout of the results: @out for coll, @to for storing them. @filled: as layout_open() */
static inline void set_out(struct call *c, const struct layout *l, bool filled)
{
	if (!c->err && !c->probe)
		c->err = layout_open(l, filled, &c->out);
	c->to = *l;
	c->stores = true;
}

static inline void set_in(struct call *c, const struct layout *l)
{
	if (!c->err && !c->probe)
		c->err = layout_open(l, true, &c->in);
	c->from = *l;
}

/* set_in() of input that lies where the results go: see call_copy_in(). */
static inline void copy_in(struct call *c, const struct layout *l)
{
	if (!c->err && !c->probe)
		c->err = layout_copy(l, &c->in);
}

/* Is the layout known, with the counts of blocks? */
static inline bool has_counts(const struct call *c)
{
	return !c->err && !c->probe;
}

/*
 * @fits: both sides of the rank's own block have the bytes that are moved. In a wrong program they may
 * not. Then nothing is touched, and all ranks get an error: others may wait for this one already.
 */
static inline void check_own_block(struct call *c, bool fits)
{
	if (has_counts(c) && !fits)
		c->err = -EINVAL;
}

/* The input; COLL_IN_PLACE if it lies where the results go. */
static inline const void *in_of(const struct call *c, bool in_place)
{
	return in_place ? COLL_IN_PLACE : c->in.addr;
}

/* Blocks of all ranks, of one type. */
static inline struct layout layout_v(const struct call *c, const void *base,
				     const void *counts, const void *displs, MPI_Datatype type)
{
	return (struct layout){ .base = (void *)base, .n = c->size, .counts = counts,
				.displs = displs, .wide = c->wide, .type = type };
}

#endif
