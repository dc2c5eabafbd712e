// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Fortran's names of collectives, as Open MPI has them: its own functions call PMPI functions,
 * which no library can replace. Most functions of MPICH call MPI functions. Waits are in
 * fortran_requests.c.
 *
 * Programs that use mpif.h or the module mpi call mpi_X_(). Calls of programs that use mpi_f08
 * end in ompi_X_f().
 */
#include <stdlib.h>

#include "fortran.h"
#include "persistent.h"

#ifdef OPEN_MPI

/* Fortran passes the addresses of these. */
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));

static void *buffer(void *p)
{
	if (p && p == &mpi_fortran_in_place_)
		return MPI_IN_PLACE;
	return p && p == &mpi_fortran_bottom_ ? MPI_BOTTOM : p;
}

#define COMM		PMPI_Comm_f2c(*comm)
#define TYPE(t)		PMPI_Type_f2c(*(t))
#define OP		PMPI_Op_f2c(*op)

#define FORTRAN(name, args, ...)						\
	FORTRAN_NAMES(name, __VA_ARGS__, fint *ierr)				\
	{									\
		int ret_ = args;						\
										\
		if (ierr)							\
			*ierr = ret_;						\
	}

/* A nonblocking function; @args end in &req. */
#define IFORTRAN(name, args, ...)						\
	FORTRAN_NAMES(name, __VA_ARGS__, fint *request, fint *ierr)		\
	{									\
		MPI_Request req;						\
		int ret_ = args;						\
										\
		if (!ret_)							\
			*request = PMPI_Request_c2f(req);			\
		if (ierr)							\
			*ierr = ret_;						\
	}

/* A persistent function; @args end in info and &req. */
#ifdef PERSISTENT_NAME
#define PFORTRAN(name, args, ...)						\
	FORTRAN_NAMES_X(name##_init, __VA_ARGS__, fint *info, fint *request, fint *ierr) \
	{									\
		MPI_Request req;						\
		int ret_ = args;						\
										\
		if (!ret_)							\
			*request = PMPI_Request_c2f(req);			\
		if (ierr)							\
			*ierr = ret_;						\
	}
#else
#define PFORTRAN(name, args, ...)
#endif

/* All three functions, with the same arguments */
#define FORTRAN_ALL(name, cname, icname, args, ...)				\
	FORTRAN(name, MPI_##cname args, __VA_ARGS__)				\
	IFORTRAN(i##name, MPI_##icname EXPAND_WITH_REQUEST args, __VA_ARGS__)	\
	PFORTRAN(name, PERSISTENT_NAME(MPI, cname, ) EXPAND_WITH_INFO args, __VA_ARGS__)

#define EXPAND_WITH_REQUEST(...)	(__VA_ARGS__, &req)
#define EXPAND_WITH_INFO(...)		(__VA_ARGS__, PMPI_Info_f2c(*info), &req)

#define SEND		void *send, fint *scount, fint *stype
#define RECV		void *recv, fint *rcount, fint *rtype
#define SENDV		void *send, fint *scounts, fint *sdispls, fint *stype
#define RECVV		void *recv, fint *rcounts, fint *rdispls, fint *rtype
#define ROOT		fint *root, fint *comm
#define VECTOR		void *send, void *recv, fint *count, fint *type, fint *op
#define THE_SEND	buffer(send), *scount, TYPE(stype)
#define THE_RECV	buffer(recv), *rcount, TYPE(rtype)
#define THE_SENDV	buffer(send), scounts, sdispls, TYPE(stype)
#define THE_RECVV	buffer(recv), rcounts, rdispls, TYPE(rtype)
#define THE_VECTOR	buffer(send), buffer(recv), *count, TYPE(type), OP

FORTRAN_ALL(barrier, Barrier, Ibarrier, (COMM), fint *comm)
FORTRAN_ALL(bcast, Bcast, Ibcast, (buffer(buf), *count, TYPE(type), *root, COMM),
	     void *buf, fint *count, fint *type, ROOT)
FORTRAN_ALL(allreduce, Allreduce, Iallreduce, (THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN_ALL(reduce, Reduce, Ireduce, (THE_VECTOR, *root, COMM), VECTOR, ROOT)
FORTRAN_ALL(scan, Scan, Iscan, (THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN_ALL(exscan, Exscan, Iexscan, (THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN_ALL(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block,
	     (THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN_ALL(reduce_scatter, Reduce_scatter, Ireduce_scatter,
	     (buffer(send), buffer(recv), counts, TYPE(type), OP, COMM),
	     void *send, void *recv, fint *counts, fint *type, fint *op, fint *comm)
FORTRAN_ALL(gather, Gather, Igather, (THE_SEND, THE_RECV, *root, COMM), SEND, RECV, ROOT)
FORTRAN_ALL(gatherv, Gatherv, Igatherv, (THE_SEND, THE_RECVV, *root, COMM), SEND, RECVV, ROOT)
FORTRAN_ALL(scatter, Scatter, Iscatter, (THE_SEND, THE_RECV, *root, COMM), SEND, RECV, ROOT)
FORTRAN_ALL(scatterv, Scatterv, Iscatterv, (THE_SENDV, THE_RECV, *root, COMM), SENDV, RECV, ROOT)
FORTRAN_ALL(allgather, Allgather, Iallgather, (THE_SEND, THE_RECV, COMM), SEND, RECV, fint *comm)
FORTRAN_ALL(allgatherv, Allgatherv, Iallgatherv, (THE_SEND, THE_RECVV, COMM), SEND, RECVV,
	     fint *comm)
FORTRAN_ALL(alltoall, Alltoall, Ialltoall, (THE_SEND, THE_RECV, COMM), SEND, RECV, fint *comm)
FORTRAN_ALL(alltoallv, Alltoallv, Ialltoallv, (THE_SENDV, THE_RECVV, COMM), SENDV, RECVV,
	     fint *comm)

/* Convert types for each rank of @comm; of an intercommunicator, for those of the other group. */
static int convert_types(MPI_Comm comm, const fint *from, MPI_Datatype **types)
{
	int between = 0, n = 0, i;

	*types = NULL;
	PMPI_Comm_test_inter(comm, &between);
	if (between)
		PMPI_Comm_remote_size(comm, &n);
	else
		PMPI_Comm_size(comm, &n);
	*types = malloc((size_t)n * sizeof(**types) + 1);
	if (!*types)
		return MPI_ERR_NO_MEM;
	for (i = 0; i < n; i++)
		(*types)[i] = PMPI_Type_f2c(from[i]);
	return MPI_SUCCESS;
}

/* The nonblocking form of alltoallw is the MPI's own, as in C. */
static int alltoallw(void *send, fint *scounts, fint *sdispls, fint *stypes, void *recv,
		     fint *rcounts, fint *rdispls, fint *rtypes, MPI_Comm comm)
{
	MPI_Datatype *from = NULL, *to = NULL;
	int ret = MPI_SUCCESS;

	/* In place these types may be anything. */
	if (send != MPI_IN_PLACE)
		ret = convert_types(comm, stypes, &from);
	if (!ret)
		ret = convert_types(comm, rtypes, &to);
	if (!ret)
		ret = MPI_Alltoallw(send, scounts, sdispls, from, recv, rcounts, rdispls, to, comm);
	free(from);
	free(to);
	return ret;
}

FORTRAN(alltoallw, alltoallw(buffer(send), scounts, sdispls, stypes, buffer(recv), rcounts, rdispls,
			     rtypes, COMM),
	void *send, fint *scounts, fint *sdispls, fint *stypes, void *recv, fint *rcounts,
	fint *rdispls, fint *rtypes, fint *comm)

#ifdef PERSISTENT_NAME
/* The converted types are needed only until the call returns. */
static int alltoallw_init(void *send, fint *scounts, fint *sdispls, fint *stypes, void *recv,
			  fint *rcounts, fint *rdispls, fint *rtypes, MPI_Comm comm,
			  MPI_Info info, MPI_Request *req)
{
	MPI_Datatype *from = NULL, *to = NULL;
	int ret = MPI_SUCCESS;

	if (send != MPI_IN_PLACE)
		ret = convert_types(comm, stypes, &from);
	if (!ret)
		ret = convert_types(comm, rtypes, &to);
	if (!ret)
		ret = PERSISTENT_NAME(MPI, Alltoallw, )(send, scounts, sdispls, from, recv, rcounts,
							rdispls, to, comm, info, req);
	free(from);
	free(to);
	return ret;
}
#endif

PFORTRAN(alltoallw, alltoallw_init(buffer(send), scounts, sdispls, stypes, buffer(recv), rcounts,
				   rdispls, rtypes, COMM, PMPI_Info_f2c(*info), &req),
	 void *send, fint *scounts, fint *sdispls, fint *stypes, void *recv, fint *rcounts,
	 fint *rdispls, fint *rtypes, fint *comm)

void mpi_init_(fint *ierr);
void ompi_init_f(fint *ierr) __attribute__((alias("mpi_init_")));
void mpi_init_(fint *ierr)
{
	int ret = MPI_Init(NULL, NULL);

	if (ierr)
		*ierr = ret;
}

FORTRAN(init_thread, MPI_Init_thread(NULL, NULL, *required, provided), fint *required,
	fint *provided)

void mpi_finalize_(fint *ierr);
void ompi_finalize_f(fint *ierr) __attribute__((alias("mpi_finalize_")));
void mpi_finalize_(fint *ierr)
{
	int ret = MPI_Finalize();

	if (ierr)
		*ierr = ret;
}

#endif

/*
 * MPICH's mpi_f08 calls PMPI functions where no buffer is an argument. Its handles are numbers, in C as
 * in Fortran.
 */
#ifdef MPICH_VERSION

void mpi_init_f08_(fint *ierr);
void mpi_init_f08_(fint *ierr)
{
	int ret = MPI_Init(NULL, NULL);

	if (ierr)
		*ierr = ret;
}

void mpi_init_thread_f08_(fint *required, fint *provided, fint *ierr);
void mpi_init_thread_f08_(fint *required, fint *provided, fint *ierr)
{
	int ret = MPI_Init_thread(NULL, NULL, *required, provided);

	if (ierr)
		*ierr = ret;
}

void mpi_finalize_f08_(fint *ierr);
void mpi_finalize_f08_(fint *ierr)
{
	int ret = MPI_Finalize();

	if (ierr)
		*ierr = ret;
}

void mpi_barrier_f08_(MPI_Comm *comm, fint *ierr);
void mpi_barrier_f08_(MPI_Comm *comm, fint *ierr)
{
	int ret = MPI_Barrier(*comm);

	if (ierr)
		*ierr = ret;
}

void mpi_ibarrier_f08_(MPI_Comm *comm, MPI_Request *request, fint *ierr);
void mpi_ibarrier_f08_(MPI_Comm *comm, MPI_Request *request, fint *ierr)
{
	int ret = MPI_Ibarrier(*comm, request);

	if (ierr)
		*ierr = ret;
}

void mpi_barrier_init_f08_(MPI_Comm *comm, MPI_Info *info, MPI_Request *request, fint *ierr);
void mpi_barrier_init_f08_(MPI_Comm *comm, MPI_Info *info, MPI_Request *request, fint *ierr)
{
	int ret = MPI_Barrier_init(*comm, *info, request);

	if (ierr)
		*ierr = ret;
}

#endif
