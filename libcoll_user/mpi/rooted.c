// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Collectives with a root that move data: broadcast, gather, scatter. */
#include "forms.h"
#include "sides.h"

static enum reason fill_Bcast(struct call *c, void *buf, int64_t count, MPI_Datatype type, int root)
{
	struct layout l = layout_one(buf, count, type);
	enum reason why;

	if (!layout_is_valid(&l) || !is_rank(c, root))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&l));
	if (why != TAKEN)
		return why;
	set_out(c, &l, c->rank == root);
	c->stores = c->rank != root;
	coll_cmd_broadcast(coll_of(c), &c->cmd, c->out.addr, layout_bytes(&l), COLL_BYTE,
			   (uint32_t)root);
	return TAKEN;
}

#define Bcast_ARGS(C, D)							\
	void *buf, C count, MPI_Datatype type, int root, MPI_Comm comm
ALL_FORMS(Bcast, Ibcast, (buf, count, type, root))

static enum reason fill_Gather(struct call *c, const void *send, int64_t scount,
			       MPI_Datatype stype, void *recv, int64_t rcount, MPI_Datatype rtype,
			       int root)
{
	bool is_root = c->rank == root, in_place = is_root && send == MPI_IN_PLACE;
	struct layout to = layout_one(recv, of_all(c, rcount), rtype);
	struct layout from = in_place ? layout_one(recv, rcount, rtype) :
			     layout_one(send, scount, stype);
	uint64_t bytes;
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&from) || (is_root && !layout_is_valid(&to)))
		return ARGUMENT;
	bytes = layout_bytes(&from);
	why = call_decide(c, bytes * (uint64_t)c->size);
	if (why != TAKEN)
		return why;
	if (!in_place)
		set_in(c, &from);
	if (is_root)
		set_out(c, &to, in_place);
	if (is_root && !in_place)
		check_own_block(c, bytes * (uint64_t)c->size == layout_bytes(&to));
	coll_cmd_gather(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr, bytes, COLL_BYTE,
			(uint32_t)root);
	return TAKEN;
}

#define Gather_ARGS(C, D)							\
	const void *send, C scount, MPI_Datatype stype, void *recv, C rcount,	\
	MPI_Datatype rtype, int root, MPI_Comm comm
ALL_FORMS(Gather, Igather, (send, scount, stype, recv, rcount, rtype, root))

static enum reason fill_Gatherv(struct call *c, const void *send, int64_t scount,
				MPI_Datatype stype, void *recv, const void *rcounts,
				const void *displs, MPI_Datatype rtype, int root)
{
	bool is_root = c->rank == root, in_place = is_root && send == MPI_IN_PLACE;
	struct layout to = layout_v(c, recv, rcounts, displs, rtype);
	struct layout from = layout_one(send, in_place ? 0 : scount, in_place ? MPI_BYTE : stype);
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&from) || (is_root && !layout_is_valid(&to)))
		return ARGUMENT;
	why = call_decide(c, CALL_UNKNOWN);
	if (why != TAKEN)
		return why;
	call_make_arrays(c, 1);
	if (is_root)
		set_out(c, &to, in_place);
	if (!in_place)
		set_in(c, &from);
	if (is_root && !in_place && has_counts(c))
		check_own_block(c, c->out.counts[root] <= layout_bytes(&from));
	coll_cmd_gatherv(coll_of(c), &c->cmd, in_of(c, in_place),
			 in_place && !c->err ? c->out.counts[root] : layout_bytes(&from),
			 c->out.addr, c->out.counts, c->out.displs, COLL_BYTE, (uint32_t)root);
	return TAKEN;
}

#define Gatherv_ARGS(C, D)							\
	const void *send, C scount, MPI_Datatype stype, void *recv,		\
	const C *rcounts, const D *displs, MPI_Datatype rtype, int root,	\
	MPI_Comm comm
ALL_FORMS(Gatherv, Igatherv, (send, scount, stype, recv, rcounts, displs, rtype, root))

static enum reason fill_Scatter(struct call *c, const void *send, int64_t scount,
				MPI_Datatype stype, void *recv, int64_t rcount, MPI_Datatype rtype,
				int root)
{
	bool is_root = c->rank == root, in_place = is_root && recv == MPI_IN_PLACE;
	struct layout from = layout_one(send, of_all(c, scount), stype);
	struct layout to = in_place ? layout_one(send, scount, stype) :
			   layout_one(recv, rcount, rtype);
	uint64_t bytes;
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&to) || (is_root && !layout_is_valid(&from)))
		return ARGUMENT;
	bytes = layout_bytes(&to);
	why = call_decide(c, bytes * (uint64_t)c->size);
	if (why != TAKEN)
		return why;
	if (is_root)
		set_in(c, &from);
	if (!in_place)
		set_out(c, &to, false);
	if (is_root && !in_place)
		check_own_block(c, bytes * (uint64_t)c->size == layout_bytes(&from));
	coll_cmd_scatter(coll_of(c), &c->cmd, c->in.addr,
			 in_place ? (void *)COLL_IN_PLACE : c->out.addr, bytes, COLL_BYTE,
			 (uint32_t)root);
	return TAKEN;
}

#define Scatter_ARGS(C, D)							\
	const void *send, C scount, MPI_Datatype stype, void *recv, C rcount,	\
	MPI_Datatype rtype, int root, MPI_Comm comm
ALL_FORMS(Scatter, Iscatter, (send, scount, stype, recv, rcount, rtype, root))

static enum reason fill_Scatterv(struct call *c, const void *send, const void *scounts,
				 const void *displs, MPI_Datatype stype, void *recv, int64_t rcount,
				 MPI_Datatype rtype, int root)
{
	bool is_root = c->rank == root, in_place = is_root && recv == MPI_IN_PLACE;
	struct layout from = layout_v(c, send, scounts, displs, stype);
	struct layout to = layout_one(recv, in_place ? 0 : rcount, in_place ? MPI_BYTE : rtype);
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&to) || (is_root && !layout_is_valid(&from)))
		return ARGUMENT;
	why = call_decide(c, CALL_UNKNOWN);
	if (why != TAKEN)
		return why;
	call_make_arrays(c, 2);
	c->out.counts = NULL;
	if (is_root)
		set_in(c, &from);
	if (!in_place)
		set_out(c, &to, false);
	if (is_root && !in_place && has_counts(c))
		check_own_block(c, c->in.counts[root] <= layout_bytes(&to));
	coll_cmd_scatterv(coll_of(c), &c->cmd, c->in.addr, c->in.counts, c->in.displs,
			  in_place ? (void *)COLL_IN_PLACE : c->out.addr,
			  in_place && !c->err ? c->in.counts[root] : layout_bytes(&to), COLL_BYTE,
			  (uint32_t)root);
	return TAKEN;
}

#define Scatterv_ARGS(C, D)							\
	const void *send, const C *scounts, const D *displs, MPI_Datatype stype,	\
	void *recv, C rcount, MPI_Datatype rtype, int root, MPI_Comm comm
ALL_FORMS(Scatterv, Iscatterv, (send, scounts, displs, stype, recv, rcount, rtype, root))
