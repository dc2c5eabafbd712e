// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mpi_loaded OBJECT
 *
 * A program of C loads an object of Fortran, mpi_loaded_f.f90, after it has begun. So no library for
 * Fortran was there when the library that is preloaded was linked.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *object;
	int (*calls)(void);
	int wrong = 2, worst = 2, rank = 0;

	MPI_Init(&argc, &argv);
	object = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	calls = object ? (int (*)(void))dlsym(object, "calls_of_fortran") : NULL;
	if (calls)
		wrong = calls();
	else
		fprintf(stderr, "mpi_loaded: %s\n", dlerror());
	/* One rank prints: mpiexec may put the lines of several ranks into one. */
	MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank && !worst)
		printf("right\n");
	MPI_Finalize();
	return wrong;
}
