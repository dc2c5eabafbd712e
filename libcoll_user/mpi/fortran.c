// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Fortran's names of blocking collectives, as Open MPI has them: its functions call PMPI
 * functions, which nothing can stand in for. MPICH's call MPI functions. Nonblocking ones stay
 * Open MPI's: so do the functions of Fortran that wait for them.
 *
 * mpi_X_() is what programs call that use mpif.h or the module mpi, ompi_X_f() what those of
 * mpi_f08 end in.
 */
#include <mpi.h>

#ifdef OPEN_MPI

/* Their addresses are what Fortran passes. */
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));

typedef MPI_Fint fint;

static void *buffer(void *p)
{
	if (p && p == &mpi_fortran_in_place_)
		return MPI_IN_PLACE;
	return p && p == &mpi_fortran_bottom_ ? MPI_BOTTOM : p;
}

#define COMM		PMPI_Comm_f2c(*comm)
#define TYPE(t)		PMPI_Type_f2c(*(t))
#define OP		PMPI_Op_f2c(*op)

/* A function with both names. */
#define FORTRAN(name, args, ...)						\
	void mpi_##name##_(__VA_ARGS__, fint *ierr);				\
	void ompi_##name##_f(__VA_ARGS__, fint *ierr)				\
		__attribute__((alias("mpi_" #name "_")));			\
	void mpi_##name##_(__VA_ARGS__, fint *ierr)				\
	{									\
		int ret_ = args;						\
										\
		if (ierr)							\
			*ierr = ret_;						\
	}

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

FORTRAN(barrier, MPI_Barrier(COMM), fint *comm)
FORTRAN(bcast, MPI_Bcast(buffer(buf), *count, TYPE(type), *root, COMM),
	void *buf, fint *count, fint *type, ROOT)
FORTRAN(allreduce, MPI_Allreduce(THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN(reduce, MPI_Reduce(THE_VECTOR, *root, COMM), VECTOR, ROOT)
FORTRAN(scan, MPI_Scan(THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN(exscan, MPI_Exscan(THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN(reduce_scatter_block, MPI_Reduce_scatter_block(THE_VECTOR, COMM), VECTOR, fint *comm)
FORTRAN(reduce_scatter,
	MPI_Reduce_scatter(buffer(send), buffer(recv), counts, TYPE(type), OP, COMM),
	void *send, void *recv, fint *counts, fint *type, fint *op, fint *comm)
FORTRAN(gather, MPI_Gather(THE_SEND, THE_RECV, *root, COMM), SEND, RECV, ROOT)
FORTRAN(gatherv, MPI_Gatherv(THE_SEND, THE_RECVV, *root, COMM), SEND, RECVV, ROOT)
FORTRAN(scatter, MPI_Scatter(THE_SEND, THE_RECV, *root, COMM), SEND, RECV, ROOT)
FORTRAN(scatterv, MPI_Scatterv(THE_SENDV, THE_RECV, *root, COMM), SENDV, RECV, ROOT)
FORTRAN(allgather, MPI_Allgather(THE_SEND, THE_RECV, COMM), SEND, RECV, fint *comm)
FORTRAN(allgatherv, MPI_Allgatherv(THE_SEND, THE_RECVV, COMM), SEND, RECVV, fint *comm)
FORTRAN(alltoall, MPI_Alltoall(THE_SEND, THE_RECV, COMM), SEND, RECV, fint *comm)
FORTRAN(alltoallv, MPI_Alltoallv(THE_SENDV, THE_RECVV, COMM), SENDV, RECVV, fint *comm)

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
