// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Collectives that move data from all ranks to all ranks. */
#include "forms.h"
#include "sides.h"

static enum reason fill_Allgather(struct call *c, const void *send, int64_t scount,
				  MPI_Datatype stype, void *recv, int64_t rcount,
				  MPI_Datatype rtype)
{
	bool in_place = send == MPI_IN_PLACE;
	struct layout to = layout_one(recv, of_all(c, rcount), rtype);
	struct layout from = layout_one(send, in_place ? rcount : scount,
					in_place ? rtype : stype);
	enum reason why;

	if (!layout_is_valid(&from) || !layout_is_valid(&to))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&to));
	if (why != TAKEN)
		return why;
	if (!in_place)
		set_in(c, &from);
	set_out(c, &to, in_place);
	check_own_block(c, layout_bytes(&from) * (uint64_t)c->size == layout_bytes(&to));
	coll_cmd_allgather(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr,
			   layout_bytes(&from), COLL_BYTE);
	return TAKEN;
}

#define Allgather_ARGS(C, D)							\
	const void *send, C scount, MPI_Datatype stype, void *recv, C rcount,	\
	MPI_Datatype rtype, MPI_Comm comm
ALL_FORMS(Allgather, Iallgather, (send, scount, stype, recv, rcount, rtype))

static enum reason fill_Allgatherv(struct call *c, const void *send, int64_t scount,
				   MPI_Datatype stype, void *recv, const void *rcounts,
				   const void *displs, MPI_Datatype rtype)
{
	bool in_place = send == MPI_IN_PLACE;
	struct layout to = layout_v(c, recv, rcounts, displs, rtype);
	struct layout from = layout_one(send, in_place ? 0 : scount, in_place ? MPI_BYTE : stype);
	enum reason why;

	if (!layout_is_valid(&from) || !layout_is_valid(&to))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&to));
	if (why != TAKEN)
		return why;
	call_make_arrays(c, 1);
	if (!in_place)
		set_in(c, &from);
	set_out(c, &to, in_place);
	if (!in_place && has_counts(c))
		check_own_block(c, c->out.counts[c->rank] <= layout_bytes(&from));
	coll_cmd_allgatherv(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr, c->out.counts,
			    c->out.displs, COLL_BYTE);
	return TAKEN;
}

#define Allgatherv_ARGS(C, D)							\
	const void *send, C scount, MPI_Datatype stype, void *recv,		\
	const C *rcounts, const D *displs, MPI_Datatype rtype, MPI_Comm comm
ALL_FORMS(Allgatherv, Iallgatherv, (send, scount, stype, recv, rcounts, displs, rtype))

static enum reason fill_Alltoall(struct call *c, const void *send, int64_t scount,
				 MPI_Datatype stype, void *recv, int64_t rcount, MPI_Datatype rtype)
{
	bool in_place = send == MPI_IN_PLACE;
	struct layout to = layout_one(recv, of_all(c, rcount), rtype);
	struct layout from = layout_one(send, of_all(c, scount), stype);
	enum reason why;

	if (!layout_is_valid(&to) || (!in_place && !layout_is_valid(&from)))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&to));
	if (why != TAKEN)
		return why;
	if (in_place)
		copy_in(c, &to);
	else
		set_in(c, &from);
	set_out(c, &to, false);
	if (!in_place)
		check_own_block(c, layout_bytes(&from) == layout_bytes(&to));
	coll_cmd_alltoall(coll_of(c), &c->cmd, c->in.addr, c->out.addr,
			  layout_bytes(&to) / (uint64_t)c->size, COLL_BYTE);
	return TAKEN;
}

#define Alltoall_ARGS(C, D)							\
	const void *send, C scount, MPI_Datatype stype, void *recv, C rcount,	\
	MPI_Datatype rtype, MPI_Comm comm
ALL_FORMS(Alltoall, Ialltoall, (send, scount, stype, recv, rcount, rtype))

/* Alltoallv and alltoallw: blocks of any size, which only their two ranks know. */
static enum reason exchange(struct call *c, const struct layout *from, const struct layout *to,
			    bool in_place)
{
	enum reason why;

	if (!layout_is_valid(to) || (!in_place && !layout_is_valid(from)))
		return ARGUMENT;
	why = call_decide(c, CALL_UNKNOWN);
	if (why != TAKEN)
		return why;
	call_make_arrays(c, 2);
	if (in_place)
		copy_in(c, to);
	else
		set_in(c, from);
	set_out(c, to, false);
	coll_cmd_alltoallv(coll_of(c), &c->cmd, c->in.addr, c->out.addr, c->arrays,
			   c->arrays ? c->in.displs : NULL, COLL_BYTE);
	return TAKEN;
}

static enum reason fill_Alltoallv(struct call *c, const void *send, const void *scounts,
				  const void *sdispls, MPI_Datatype stype, void *recv,
				  const void *rcounts, const void *rdispls, MPI_Datatype rtype)
{
	struct layout from = layout_v(c, send, scounts, sdispls, stype);
	struct layout to = layout_v(c, recv, rcounts, rdispls, rtype);

	return exchange(c, &from, &to, send == MPI_IN_PLACE);
}

#define Alltoallv_ARGS(C, D)							\
	const void *send, const C *scounts, const D *sdispls, MPI_Datatype stype,	\
	void *recv, const C *rcounts, const D *rdispls, MPI_Datatype rtype,	\
	MPI_Comm comm
ALL_FORMS(Alltoallv, Ialltoallv, (send, scounts, sdispls, stype, recv, rcounts, rdispls, rtype))

static enum reason fill_Alltoallw(struct call *c, const void *send, const void *scounts,
				  const void *sdispls, const MPI_Datatype *stypes, void *recv,
				  const void *rcounts, const void *rdispls,
				  const MPI_Datatype *rtypes)
{
	struct layout from = { .base = (void *)send, .n = c->size, .counts = scounts,
			       .displs = sdispls, .wide = c->wide, .types = stypes };
	struct layout to = { .base = recv, .n = c->size, .counts = rcounts,
			     .displs = rdispls, .wide = c->wide, .types = rtypes };

	return exchange(c, &from, &to, send == MPI_IN_PLACE);
}

#define Alltoallw_ARGS(C, D)							\
	const void *send, const C *scounts, const D *sdispls,			\
	const MPI_Datatype *stypes, void *recv, const C *rcounts,		\
	const D *rdispls, const MPI_Datatype *rtypes, MPI_Comm comm

/* No nonblocking form: the application may free the types before the call is over. */
MOST_FORMS(Alltoallw, (send, scounts, sdispls, stypes, recv, rcounts, rdispls, rtypes))
