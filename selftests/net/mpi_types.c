// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_types large|f90|attributes|has-large: types that are not made as others are, in broadcasts of
 * all forms.
 *
 * large: made by functions whose counts may be beyond int. has-large: does the MPI have them?
 *
 * f90: of Fortran, by precision and range. They are predefined, but have no names.
 *
 * attributes: with an attribute of the application, which nobody else copies or deletes.
 */
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define INIT(name)	MPIX_##name##_init
#else
#define INIT(name)	MPI_##name##_init
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD	MPI_COMM_WORLD
#define COUNT	50

static int me;

static void fail(const char *what, int n)
{
	fprintf(stderr, "rank %d: %s, %d\n", me, what, n);
	MPI_Abort(WORLD, 1);
}

static char buf[1 << 14];

static void fill(int n)
{
	size_t i;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = me ? 0 : (char)(i * 7 + (size_t)n);
}

/* Do all bytes of the data differ from those before, and no byte of a gap? */
static void check(MPI_Datatype type, int n, const char *what)
{
	static char want[sizeof(buf)], packed[sizeof(buf)], got[sizeof(buf)];
	int size = 0, pos = 0, i;

	MPI_Type_size(type, &size);
	for (i = 0; i < (int)sizeof(want); i++)
		want[i] = (char)(i * 7 + n);
	MPI_Pack(want, COUNT, type, packed, sizeof(packed), &pos, WORLD);
	pos = 0;
	MPI_Pack(buf, COUNT, type, got, sizeof(got), &pos, WORLD);
	if (!size || pos != COUNT * size || memcmp(got, packed, (size_t)pos))
		fail(what, n);
	if (!me)
		return;
	memset(want, 0, sizeof(want));
	pos = 0;
	MPI_Unpack(packed, COUNT * size, &pos, want, COUNT, type, WORLD);
	if (memcmp(buf, want, sizeof(buf)))
		fail(what, -n);
}

static void broadcast(MPI_Datatype type, int n)
{
	MPI_Request request;
	int round;

	fill(n);
	MPI_Bcast(buf, COUNT, type, 0, WORLD);
	check(type, n, "blocking");
	fill(n + 1);
	MPI_Ibcast(buf, COUNT, type, 0, WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(type, n + 1, "nonblocking");
	INIT(Bcast)(buf, COUNT, type, 0, WORLD, MPI_INFO_NULL, &request);
	for (round = 2; round < 4; round++) {
		fill(n + round);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		check(type, n + round, "persistent");
	}
	MPI_Request_free(&request);
}

/* The type itself, a duplicate, and types that are made of it. */
static void broadcast_all(MPI_Datatype type, int n)
{
	MPI_Datatype made[3];
	int i;

	MPI_Type_dup(type, &made[0]);
	MPI_Type_contiguous(2, type, &made[1]);
	MPI_Type_vector(2, 1, 2, type, &made[2]);
	broadcast(type, n);
	for (i = 0; i < 3; i++) {
		MPI_Type_commit(&made[i]);
		broadcast(made[i], n + 10 * (i + 1));
		MPI_Type_free(&made[i]);
	}
}

static void large(void)
{
#if MPI_VERSION >= 4
	MPI_Count lengths[2] = { 1, 2 }, displs[2] = { 4, 0 };
	MPI_Datatype types[3];
	int i;

	MPI_Type_vector_c(4, 1, 2, MPI_INT, &types[0]);
	MPI_Type_contiguous_c(3, MPI_INT, &types[1]);
	MPI_Type_indexed_c(2, lengths, displs, MPI_SHORT, &types[2]);
	for (i = 0; i < 3; i++) {
		MPI_Type_commit(&types[i]);
		broadcast_all(types[i], 40 * i + 1);
		MPI_Type_free(&types[i]);
	}
#endif
}

static void f90(void)
{
	MPI_Datatype type;

	MPI_Type_create_f90_real(15, 300, &type);
	broadcast_all(type, 1);
	MPI_Type_create_f90_complex(6, 30, &type);
	broadcast_all(type, 41);
	MPI_Type_create_f90_integer(9, &type);
	broadcast_all(type, 81);
}

static int copies, deletes;

/* A copy is refused. */
static int copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
	(void)type, (void)key, (void)extra, (void)in, (void)out;
	copies++;
	*flag = 0;
	return MPI_ERR_OTHER;
}

static int delete(MPI_Datatype type, int key, void *value, void *extra)
{
	(void)type, (void)key, (void)value, (void)extra;
	deletes++;
	return MPI_SUCCESS;
}

static void attributes(void)
{
	int key, value;
	MPI_Datatype type;

	MPI_Type_create_keyval(copy, delete, &key, NULL);
	MPI_Type_vector(2, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Type_set_attr(type, key, &value);
	broadcast(type, 1);
	if (copies || deletes)
		fail("attributes copied or deleted", copies + deletes);
	MPI_Type_free(&type);
	if (deletes != 1)
		fail("attributes deleted", deletes);
	MPI_Type_free_keyval(&key);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "has-large"))
		return MPI_VERSION < 4;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &me);
	if (argc < 2)
		fail("usage", 0);
	if (!strcmp(argv[1], "large"))
		large();
	else if (!strcmp(argv[1], "attributes"))
		attributes();
	else
		f90();
	MPI_Barrier(WORLD);
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
