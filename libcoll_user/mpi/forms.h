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
 * The functions MPI_X, MPI_IX and MPI_X_init, which <mpi.h> declares, and those with _c, whose
 * counts and displacements have 64 bits. fill_X() has their arguments without the communicator: counts as
 * int64_t, and arrays of numbers as const void *, whose type struct call.wide tells.
 *
 * X_ARGS(C, D) are the parameters, with C as type of counts and D as type of displacements.
 */
#define EXPAND(...)	__VA_ARGS__

#define BLOCKING_FORM(name, suffix, is_wide, args, ...)			\
	int MPI_##name##suffix(__VA_ARGS__)					\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, BLOCKING, comm);	\
										\
		c.wide = is_wide;						\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, BLOCKING, why);				\
		return why == TAKEN ? call_run(&c) :				\
		       PMPI_##name##suffix(EXPAND args, comm);			\
	}

#define NONBLOCKING_FORM(name, iname, suffix, is_wide, args, ...)		\
	int MPI_##iname##suffix(__VA_ARGS__, MPI_Request *request)		\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, NONBLOCKING, comm);	\
										\
		c.wide = is_wide;						\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, NONBLOCKING, why);			\
		return why == TAKEN ? requests_start(&c, request) :		\
		       PMPI_##iname##suffix(EXPAND args, comm, request);	\
	}

/*
 * Each start has the arguments of the init call, and looks at the buffers again: it calls
 * again_X().
 */
#ifdef PERSISTENT_NAME
#define SAVE(arg)	.arg = arg,
#define SAVED(arg)	, saved->arg

#define AGAIN(name, args)							\
	static enum reason again_##name(struct call *c, const struct arguments *saved) \
	{									\
		c->wide = saved->wide;						\
		return fill_##name(c EACH(SAVED, EXPAND args));			\
	}

#define PERSISTENT_FORM(name, suffix, is_wide, args, ...)			\
	int PERSISTENT_NAME(MPI, name, suffix)(__VA_ARGS__, MPI_Info info,	\
					       MPI_Request *request)		\
	{									\
		const struct arguments saved = { .wide = is_wide, EACH(SAVE, EXPAND args) }; \
		enum reason why;						\
		struct call c;							\
		int ret = MPI_SUCCESS;						\
										\
		why = persistent_init(&c, FN_##name, again_##name, &saved, comm, request, &ret); \
		return why == TAKEN ? ret :					\
		       PERSISTENT_NAME(PMPI, name, suffix)(EXPAND args, comm, info, request); \
	}
#else
#define AGAIN(name, args)
#define PERSISTENT_FORM(name, suffix, is_wide, args, ...)
#endif

#define FORMS_THAT_WAIT(name, suffix, is_wide, args, ...)			\
	BLOCKING_FORM(name, suffix, is_wide, args, __VA_ARGS__)			\
	PERSISTENT_FORM(name, suffix, is_wide, args, __VA_ARGS__)

#if MPI_VERSION >= 4
#define LARGE(form)	form
#else
#define LARGE(form)
#endif

/* Without the nonblocking form */
#define MOST_FORMS(name, args)							\
	AGAIN(name, args)							\
	FORMS_THAT_WAIT(name, , false, args, name##_ARGS(int, int))		\
	LARGE(FORMS_THAT_WAIT(name, _c, true, args, name##_ARGS(MPI_Count, MPI_Aint)))

#define ALL_FORMS(name, iname, args)						\
	MOST_FORMS(name, args)							\
	NONBLOCKING_FORM(name, iname, , false, args, name##_ARGS(int, int))	\
	LARGE(NONBLOCKING_FORM(name, iname, _c, true, args, name##_ARGS(MPI_Count, MPI_Aint)))

/* Is @root a rank of the communicator? */
static inline bool is_rank(const struct call *c, int root)
{
	return root >= 0 && root < c->size;
}

/* Number of elements in the blocks of all ranks; negative: @count is, or there are too many. */
static inline int64_t of_all(const struct call *c, int64_t count)
{
	return count < 0 || count > INT64_MAX / c->size ? -1 : count * c->size;
}

static inline coll_comm_t *coll_of(const struct call *c)
{
	return c->coll;
}

#endif
