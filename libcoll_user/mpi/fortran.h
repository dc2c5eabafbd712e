/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Functions of Fortran, under the names that Open MPI gives them. */
#ifndef LIBCOLL_MPI_FORTRAN_H
#define LIBCOLL_MPI_FORTRAN_H

#include <mpi.h>

typedef MPI_Fint fint;

/* A function with two names: for mpif.h and the module mpi, and for mpi_f08. @... with types */
#define FORTRAN_NAMES(name, ...)						\
	void mpi_##name##_(__VA_ARGS__);					\
	void ompi_##name##_f(__VA_ARGS__)					\
		__attribute__((alias("mpi_" #name "_")));			\
	void mpi_##name##_(__VA_ARGS__)

/* The same for an extension. */
#define FORTRAN_NAMES_X(name, ...)						\
	void mpix_##name##_(__VA_ARGS__);					\
	void ompix_##name##_f(__VA_ARGS__)					\
		__attribute__((alias("mpix_" #name "_")));			\
	void mpix_##name##_(__VA_ARGS__)

#endif
