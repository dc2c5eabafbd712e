/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Which calls of the application went through coll, and why the others did not. */
#ifndef LIBCOLL_MPI_COUNT_H
#define LIBCOLL_MPI_COUNT_H

/* The collectives of MPI that this library looks at. */
#define COUNT_FUNCTIONS(X)							\
	X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Reduce_scatter)		\
	X(Reduce_scatter_block) X(Gather) X(Gatherv) X(Scatter) X(Scatterv)	\
	X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw)	\
	X(Scan) X(Exscan)

#define COUNT_ENUM(name)	FN_##name,
enum function {
	COUNT_FUNCTIONS(COUNT_ENUM)
	NR_FUNCTIONS
};

/** enum form - MPI_X, MPI_IX, and MPI_X_init with MPI_Start */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, NR_FORMS };

/**
 * enum reason - why a call goes to the MPI underneath
 * @TAKEN: it does not: coll does it
 * @ARGUMENT: an argument is wrong; the MPI underneath says what
 * @ALONE: the communicator has one rank
 * @BETWEEN: it is an intercommunicator
 * @UNUSABLE: no communicator of coll could be made for it
 * @EARLY: it does not block, and no blocking collective came before it on the communicator
 * @OPERATOR: coll has no such operator for the type
 * @EMPTY: there are no bytes
 * @SLOWER: coll is slower for so few bytes
 * @LARGE: the communicator is too large for this collective, or there are too many bytes
 * @OUTSIDE: it does not block, and the application or a tool has functions of its own that wait
 * @MANY: the communicator has as many persistent requests as coll does for one, or a rank has no
 *	room for one more
 */
enum reason {
	TAKEN,
	ARGUMENT,
	ALONE,
	BETWEEN,
	UNUSABLE,
	EARLY,
	OPERATOR,
	EMPTY,
	SLOWER,
	LARGE,
	OUTSIDE,
	MANY,
	NR_REASONS
};

/** count_call() - count a call; for the persistent form that is the call of MPI_X_init */
void count_call(enum function fn, enum form form, enum reason why);

/** count_start() - coll does a persistent request once more */
void count_start(void);

/** count_name() - name of a collective, without MPI_ */
const char *count_name(enum function fn);

/** count_print() - with COLL_MPI_STATS=1: a line on stderr for each function that was called */
void count_print(int rank);

#endif
