/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * MPI's collectives, as an application calls them. Each function looks at its arguments and fills
 * in a command of coll; a call that is not for coll goes to the function of the MPI underneath.
 *
 * Ranks must get the same answer without asking each other. So they may look only at facts that
 * MPI makes equal on all ranks: the communicator, the collective, the bytes of the type
 * signature where every rank knows them, and the operator with its type. Data that are only moved
 * are bytes for coll; a rank whose type has gaps copies. See Documentation/mpi.rst.
 */
#ifndef LIBCOLL_MPI_FORMS_H
#define LIBCOLL_MPI_FORMS_H

#include "call.h"
#include "each.h"
#include "persistent.h"
#include "requests.h"

/*
 * The functions MPI_X, MPI_IX and MPI_X_init, which <mpi.h> declares; fill_X() has their arguments
 * without the communicator.
 */
#define EXPAND(...)	__VA_ARGS__

#define BLOCKING_FORM(name, args, ...)						\
	int MPI_##name(__VA_ARGS__)						\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, BLOCKING, comm);	\
										\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, BLOCKING, why);				\
		return why == TAKEN ? call_run(&c) : PMPI_##name(EXPAND args, comm); \
	}

#define NONBLOCKING_FORM(name, iname, args, ...)				\
	int MPI_##iname(__VA_ARGS__, MPI_Request *request)			\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, NONBLOCKING, comm);	\
										\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, NONBLOCKING, why);			\
		return why == TAKEN ? requests_start(&c, request) :		\
		       PMPI_##iname(EXPAND args, comm, request);		\
	}

/*
 * Each start has the arguments of the init call, and looks at the buffers again: it calls
 * again_X().
 */
#ifdef PERSISTENT_NAME
#define SAVE(arg)	.arg = arg,
#define SAVED(arg)	, saved->arg

#define PERSISTENT_FORM(name, args, ...)					\
	static enum reason again_##name(struct call *c, const struct arguments *saved) \
	{									\
		return fill_##name(c EACH(SAVED, EXPAND args));			\
	}									\
										\
	int PERSISTENT_NAME(MPI, name)(__VA_ARGS__, MPI_Info info, MPI_Request *request) \
	{									\
		const struct arguments saved = { EACH(SAVE, EXPAND args) };	\
		enum reason why;						\
		struct call c;							\
		int ret = MPI_SUCCESS;						\
										\
		why = persistent_init(&c, FN_##name, again_##name, &saved, comm, request, &ret); \
		return why == TAKEN ? ret :					\
		       PERSISTENT_NAME(PMPI, name)(EXPAND args, comm, info, request); \
	}
#else
#define PERSISTENT_FORM(name, args, ...)
#endif

#define ALL_FORMS(name, iname, args, ...)					\
	BLOCKING_FORM(name, args, __VA_ARGS__)					\
	NONBLOCKING_FORM(name, iname, args, __VA_ARGS__)			\
	PERSISTENT_FORM(name, args, __VA_ARGS__)

/* Is @root a rank of the communicator? */
static inline bool is_rank(const struct call *c, int root)
{
	return root >= 0 && root < c->size;
}

static inline coll_comm_t *coll_of(const struct call *c)
{
	return c->coll;
}

#endif
