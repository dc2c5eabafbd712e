/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * MPI's collectives: what an application calls. Each function looks at its arguments and fills
 * in a command of coll; what is not for coll goes to the function of the MPI underneath.
 *
 * Ranks must come to the same answer without asking each other. So they may look only at what
 * MPI makes equal on all ranks: the communicator, the collective, the bytes of the type
 * signature where every rank knows them, and the operator with its type. Data that move only
 * are bytes for coll; a rank whose type has gaps copies. See Documentation/mpi.rst.
 */
#ifndef LIBCOLL_MPI_FORMS_H
#define LIBCOLL_MPI_FORMS_H

#include "call.h"
#include "requests.h"

/*
 * The functions MPI_X and MPI_IX, which <mpi.h> declares; fill_X() has their arguments without the
 * communicator.
 */
#define EXPAND(...)	__VA_ARGS__

#define BLOCKING(name, args, ...)						\
	int MPI_##name(__VA_ARGS__)						\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, true, comm);		\
										\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, true, why);				\
		return why == TAKEN ? call_run(&c) : PMPI_##name(EXPAND args, comm); \
	}

#define NONBLOCKING(name, iname, args, ...)					\
	int MPI_##iname(__VA_ARGS__, MPI_Request *request)			\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, false, comm);	\
										\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, false, why);				\
		return why == TAKEN ? requests_start(&c, request) :		\
		       PMPI_##iname(EXPAND args, comm, request);		\
	}

#define BOTH(name, iname, args, ...)						\
	BLOCKING(name, args, __VA_ARGS__)					\
	NONBLOCKING(name, iname, args, __VA_ARGS__)

/* Is there such a rank? */
static inline bool is_rank(const struct call *c, int root)
{
	return root >= 0 && root < c->size;
}

static inline coll_comm_t *coll_of(const struct call *c)
{
	return c->mc->coll;
}

#endif
