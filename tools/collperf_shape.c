// SPDX-License-Identifier: GPL-2.0
/* Inputs and outputs by the one table of collectives. */
#include "collective.h"
#include "collperf_shape.h"

bool shape_is_rooted(enum coll_collective what)
{
	return coll_kind_of(what)->flags & COLL_KIND_ROOTED;
}

bool shape_has(enum coll_collective what, enum perf_place place)
{
	if (what == COLL_BARRIER)
		return place == OUT_OF_PLACE;
	return place == IN_PLACE || !(coll_kind_of(what)->flags & COLL_KIND_ONE_BUFFER);
}

/* Elements of a buffer. */
static uint64_t length(const struct shape *s, uint8_t part)
{
	return part == COLL_HAS_NONE ? 0 : part == COLL_HAS_OWN ? s->count : s->total;
}

/* Input and output in one buffer, the larger one of both. The other one is a part of it. */
static void put_in_place(struct shape *s, const struct coll_kind *kind, uint32_t rank, bool root)
{
	uint8_t in = root ? kind->root_in : kind->in, out = root ? kind->root_out : kind->out;
	bool rooted = kind->flags & COLL_KIND_ROOTED;

	/* In a rooted collective with two buffers only the root works in place. */
	if (rooted && !root && !(kind->flags & COLL_KIND_ONE_BUFFER))
		return;
	if (rooted && in == COLL_HAS_ALL && out == COLL_HAS_OWN) {
		s->out_send = true;
		s->out_at = rank * s->count;
		return;
	}
	s->in_recv = true;
	if (in == COLL_HAS_OWN && out == COLL_HAS_ALL)
		s->in_at = rank * s->count;
}

void shape_of(struct shape *s, const struct shape_rank *r, uint64_t total, enum perf_place place)
{
	const struct coll_kind *kind = coll_kind_of(r->what);
	bool root = shape_is_rooted(r->what) && r->rank == r->root;

	*s = (struct shape){ .count = total, .total = total };
	if (kind->flags & COLL_KIND_BLOCKS) {
		s->count = total && total < r->size ? 1 : total / r->size;
		s->total = s->count * r->size;
	}
	s->in = length(s, root ? kind->root_in : kind->in);
	s->out = length(s, root ? kind->root_out : kind->out);
	/* The first rank of an exscan has no result. */
	if (r->what == COLL_EXSCAN && !r->rank)
		s->out = 0;
	if (place == IN_PLACE)
		put_in_place(s, kind, r->rank, root);
}

/*
 * The part of the size that the busiest link has to carry in one direction, at least:
 *
 *	allreduce		2 (n - 1) / n	each rank's piece of the result needs n - 1
 *						others' data, and n - 1 others need it
 *	reduce_scatter,		(n - 1) / n	a rank has its own block already
 *	allgather, alltoall,
 *	gather, scatter
 *	broadcast, reduce,	1		the whole vector leaves the root, or gets there
 *	scan, exscan				or, in a scan, gets to the last rank
 *
 * These are the factors of the performance notes of nccl-tests (doc/PERFORMANCE.md) but for
 * scan and exscan, which it does not have. The size is that of all blocks.
 */
double shape_bus_factor(enum coll_collective what, uint32_t size)
{
	double others = (double)(size - 1) / size;

	if (what == COLL_ALLREDUCE)
		return 2 * others;
	return coll_kind_of(what)->flags & COLL_KIND_BLOCKS ? others : 1;
}
