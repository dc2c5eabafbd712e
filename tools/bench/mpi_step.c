// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mpirun -n RANKS mpi_step ITERATIONS fused|apart; built with the mpicc of each MPI.
 *
 * Does what Horovod does for a step, without its clock, threads and bookkeeping. A set whose
 * names are known: an allreduce of the bits that say which tensors are ready, then all tensors
 * copied to one buffer, an allreduce of it, and all copied back (fused), or an allreduce for
 * each tensor (apart). A new name: requests gathered at rank 0, and its response broadcast.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "step.h"

static float *buffer;
static size_t buffer_len;
static int apart;

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void collect(double *v, int n, int largest)
{
	MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, largest ? MPI_MAX : MPI_SUM,
		      MPI_COMM_WORLD);
}

static void allreduce(const float *in, float *out, size_t count)
{
	MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* Which tensors are ready everywhere. All are, and one more bit is for states. */
static void agree(int n)
{
	unsigned long long bits[STEP_MOST / 64 + 1];

	memset(bits, 0xff, sizeof(bits));
	MPI_Allreduce(MPI_IN_PLACE, bits, n / 64 + 1, MPI_UNSIGNED_LONG_LONG, MPI_BAND,
		      MPI_COMM_WORLD);
}

static void run(const struct step_set *s)
{
	size_t at = 0;
	int i;

	agree(s->n);
	if (apart || s->n == 1) {
		for (i = 0; i < s->n; i++)
			allreduce(s->in + s->at[i], s->out + s->at[i], s->count[i]);
		return;
	}
	for (i = 0; i < s->n; at += s->count[i++])
		memcpy(buffer + at, s->in + s->at[i], s->count[i] * sizeof(float));
	MPI_Allreduce(MPI_IN_PLACE, buffer, (int)at, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	for (at = 0, i = 0; i < s->n; at += s->count[i++])
		memcpy(s->out + s->at[i], buffer + at, s->count[i] * sizeof(float));
}

/* The size of a request and of a response, about. */
#define REQUEST	64

static void fresh(int serial, float *in, float *out, size_t count)
{
	static int lens[1024], starts[1024];
	static char requests[1024 * REQUEST];
	char request[REQUEST] = { 0 };
	int len = REQUEST, rank, ranks, i;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(request, sizeof(request), "new.%d", serial);
	agree(1);
	MPI_Gather(&len, 1, MPI_INT, lens, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (i = 0; i < ranks; i++)
		starts[i] = i * REQUEST;
	MPI_Gatherv(request, len, MPI_BYTE, requests, lens, starts, MPI_BYTE, 0, MPI_COMM_WORLD);
	MPI_Bcast(&len, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Bcast(request, len, MPI_BYTE, 0, MPI_COMM_WORLD);
	allreduce(in, out, count);
}

static void prepare(struct step_set *s)
{
	if (s->total <= buffer_len)
		return;
	buffer_len = s->total;
	buffer = (float *)bench_buffer(buffer_len * sizeof(float));
}

int main(int argc, char **argv)
{
	struct step_peer p = {
		.prepare = prepare, .run = run, .fresh = fresh, .barrier = barrier,
		.collect = collect,
	};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
	if (p.ranks > 1024)
		return 2;
	apart = argc > 2 && !strcmp(argv[2], "apart");
	step_all(&p, argc > 1 ? atoi(argv[1]) : 50);
	MPI_Finalize();
	return 0;
}
