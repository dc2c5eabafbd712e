// SPDX-License-Identifier: GPL-2.0
/*
 * One rank of select.sh.
 *
 * usage: select_rank right	results are right with what coll_init() has chosen, with
 *				every algorithm fixed, and after measuring again
 *	  select_rank names	rank 0 prints what is taken for 4 bytes and for 64 MiB, and
 *				waits for a line
 *	  select_rank differ	tables that only node 0 has: EBADE everywhere
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <coll/coll.h>

#include "pure/schedule.h"

#define MAX_COUNT	100000

static coll_comm_t *comm;
static uint32_t rank, size;
static double in[MAX_COUNT], out[MAX_COUNT];

static void die(const char *what, int ret)
{
	fprintf(stderr, "rank %u: %s: %s\n", rank, what, coll_strerror(ret));
	exit(1);
}

static void want(int ret, int wanted, const char *what)
{
	if (ret != wanted)
		die(what, ret);
}

/* Sums of whole numbers are exact in any order. */
static void check(uint64_t count, const char *what)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		in[i] = (double)(i + rank);
	want(coll_allreduce(comm, in, out, count, COLL_F64, COLL_OP_SUM), 0, what);
	for (i = 0; i < count; i++)
		if (out[i] != (double)(i * size + size * (size - 1) / 2))
			die(what, -EBADMSG);
	for (i = 0; i < count; i++)
		out[i] = rank == size - 1 ? (double)i : -1;
	want(coll_broadcast(comm, out, count, COLL_F64, size - 1), 0, what);
	for (i = 0; i < count; i++)
		if (out[i] != (double)i)
			die(what, -EBADMSG);
	want(coll_barrier(comm), 0, what);
}

static void check_all(const char *what)
{
	static const uint64_t counts[] = { 0, 1, 7, 130, 3000, MAX_COUNT };
	uint32_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		check(counts[i], what);
}

static void right(void)
{
	const struct coll_select_row rows[] = {
		{ .bytes = 100, .algorithm = COLL_ALG_TREE },
		{ .bytes = ~0ULL, .algorithm = COLL_ALG_CHAIN, .segment = 4096 },
	};
	const struct coll_algorithm *a;
	uint32_t i;

	check_all("as chosen");
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		want(coll_comm_set_algorithm(comm, a->collective, a->name), 0, a->name);
		if (strcmp(coll_comm_algorithm(comm, a->collective, 4), a->name))
			die(a->name, -EBADMSG);
		if (a->collective <= COLL_ALLREDUCE)
			check_all(a->name);
	}
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "nonsense"), -EINVAL, "no such name");
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "binomial"), -EINVAL, "another's");
	want(coll_comm_set_algorithm(comm, COLL_SEND, "ring"), -EINVAL, "no such collective");
	want(coll_comm_set_algorithm(comm, 1000, NULL), -EINVAL, "no number of one");
	if (strcmp(coll_comm_algorithm(comm, COLL_ALLREDUCE, 4), "knomial"))
		die("what was refused has changed something", -EBADMSG);
	want(coll_comm_select(comm, COLL_ALLREDUCE, rows, 2), 0, "rows");
	if (strcmp(coll_comm_algorithm(comm, COLL_ALLREDUCE, 100), "tree") ||
	    strcmp(coll_comm_algorithm(comm, COLL_ALLREDUCE, 101), "chain"))
		die("rows", -EBADMSG);
	check_all("rows");
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, NULL), 0, "none");
	check_all("none");
	want(coll_comm_tune(comm, 20), 0, "tune");
	check_all("tuned");
}

static void differ(void)
{
	struct coll_select_row row = { .bytes = ~0ULL, .algorithm = COLL_ALG_CHAIN };
	struct coll_select s = { .collective = COLL_ALLREDUCE, .nr = 1, .rows = (uintptr_t)&row };
	struct coll_cmd cmd;

	want(coll_barrier(comm), 0, "barrier");
	if (!coll_comm_node(comm) && ioctl(coll_comm_fd(comm), COLL_IOC_SELECT, &s))
		die("COLL_IOC_SELECT", -errno);
	want(coll_broadcast(comm, out, 100, COLL_F64, 0), 0, "broadcast");
	/* Who names one does not care. */
	coll_cmd_allreduce(comm, &cmd, in, out, 100, COLL_F64, COLL_OP_SUM);
	cmd.algorithm = COLL_ALG_MESH;
	want(coll_submit(comm, &cmd), 0, "mesh");
	want(coll_allreduce(comm, in, out, 100, COLL_F64, COLL_OP_SUM), -EBADE, "AUTO");
	want(coll_barrier(comm), -EBADE, "for good");
}

static void names(void)
{
	if (!rank) {
		printf("names %s %s\n", coll_comm_algorithm(comm, COLL_ALLREDUCE, 4),
		       coll_comm_algorithm(comm, COLL_ALLREDUCE, 64 << 20));
		fflush(stdout);
		if (system("\"$COLLCTL\" show && \"$COLLCTL\" --json show"))
			die("collctl", -EIO);
	}
	want(coll_barrier(comm), 0, "barrier");
}

int main(int argc, char **argv)
{
	int ret = coll_init(NULL, &comm);

	if (ret)
		die("coll_init", ret);
	rank = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "right"))
		right();
	else if (!strcmp(argv[1], "names"))
		names();
	else
		differ();
	return coll_finalize(comm) != 0;
}
