// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mpi_loaded OBJECT
 *
 * A program of C loads an object of Fortran, mpi_loaded_f.f90, after it has begun. So no library for
 * Fortran was there when the library that is preloaded was linked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

/* An object of Fortran waits for messages and collectives. Return: 0 if nothing is wrong */
static int calls_of_fortran(void *object)
{
	int (*calls)(void) = (int (*)(void))dlsym(object, "calls_of_fortran");

	return calls ? calls() : 1;
}

static MPI_Fint barrier(void)
{
	MPI_Request request;

	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	return MPI_Request_c2f(request);
}

/* MPI_Wait returns to this program, which depends on no library for Fortran. */
static int wait_by_jump(void *object)
{
	void (*wait)(MPI_Fint *, MPI_Fint *, MPI_Fint *) =
		(void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *))dlsym(object, "wait_by_jump");
	MPI_Fint request = barrier(), status[sizeof(MPI_Status) / sizeof(MPI_Fint)], ierr = 1;

	if (!wait)
		return 1;
	wait(&request, status, &ierr);
	return ierr || request != MPI_Request_c2f(MPI_REQUEST_NULL);
}

/* This program calls a function of Fortran itself: the library for Fortran is global now. */
static int test_from_here(const char *path)
{
	void (*test)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
	MPI_Fint one = 1, request = barrier(), over = 0, ierr = 0;
	MPI_Fint status[sizeof(MPI_Status) / sizeof(MPI_Fint)];

	if (!dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
		return 1;
	test = (void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *))
		dlsym(RTLD_DEFAULT, "mpi_testall_");
	if (!test)
		return 1;
	while (!over && !ierr)
		test(&one, &request, &over, status, &ierr);
	return ierr || request != MPI_Request_c2f(MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
	void *object;
	int wrong = 1, worst = 1, rank = 0;

	MPI_Init(&argc, &argv);
	object = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (object)
		wrong = calls_of_fortran(object) | wait_by_jump(object) << 1 |
			test_from_here(argv[1]) << 2;
	else
		fprintf(stderr, "mpi_loaded: %s\n", dlerror());
	if (wrong)
		fprintf(stderr, "mpi_loaded: wrong %d\n", wrong);
	/* One rank prints: mpiexec may put the lines of several ranks into one. */
	MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank && !worst)
		printf("right\n");
	MPI_Finalize();
	return wrong;
}
