// SPDX-License-Identifier: GPL-2.0
/*
 * One rank of select.sh.
 *
 * usage: select_rank right	results are right with what coll_init() has chosen, with
 *				every algorithm fixed, and after measuring again
 *	  select_rank names	rank 0 prints what is taken for 4 bytes and for 64 MiB, and
 *				waits for a line
 *	  select_rank differ	tables that only node 0 has: EBADE everywhere
 *	  select_rank keep FILE	tables are saved and loaded again, and are the same
 *	  select_rank parts	what parts of a communicator have of its tables; rank 0 prints
 *				what the kernel has
 *	  select_rank late	there is less time until the deadline than to tune, and least on
 *				the ranks that begin first
 *	  select_rank piece	the segment of a mesh is the size of its pieces: rank 0 counts
 *				frames
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <coll/coll.h>

#include "pure/algorithms/table.h"

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

/* Settings of the communicator are for the commands of the application. */
static void settings(void)
{
	float one = 1, sum;

	want(coll_comm_set_wire(comm, COLL_F16), 0, "f16 between nodes");
	want(coll_comm_set_narrow(comm, true), 0, "narrow");
	want(coll_comm_tune(comm, 20), 0, "tune with f16 between nodes");
	want(coll_allreduce(comm, &one, &sum, 1, COLL_F32, COLL_OP_SUM), 0, "f16 between nodes");
	if (sum != (float)size)
		die("f16 between nodes", -EBADMSG);
	check_all("tuned with f16 between nodes");
	want(coll_comm_set_wire(comm, COLL_DTYPE_NONE), 0, "f32 between nodes");
	want(coll_comm_set_narrow(comm, false), 0, "wide");
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
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "ring:4"), -EINVAL, "has no radix");
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "knomial:1"), -EINVAL, "radix 1");
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "knomial:4x"), -EINVAL, "no number");
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "knomial:3"), 0, "radix 3");
	check_all("knomial:3");
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
	settings();
}

static void differ(void)
{
	struct coll_select_row row = { .bytes = ~0ULL, .algorithm = COLL_ALG_CHAIN };
	struct coll_select s = { .collective = COLL_ALLREDUCE, .nr = 1, .rows = (uintptr_t)&row };
	struct coll_cmd cmd;
	coll_comm_t *other;

	want(coll_comm_dup(comm, &other), 0, "dup");
	want(coll_barrier(comm), 0, "barrier");
	if (!coll_comm_node(comm) && ioctl(coll_comm_fd(comm), COLL_IOC_SELECT, &s))
		die("COLL_IOC_SELECT", -errno);
	want(coll_broadcast(comm, out, 100, COLL_F64, 0), 0, "broadcast");
	/* A command that names an algorithm does not depend on that. */
	coll_cmd_allreduce(comm, &cmd, in, out, 100, COLL_F64, COLL_OP_SUM);
	cmd.algorithm = COLL_ALG_MESH;
	want(coll_submit(comm, &cmd), 0, "mesh");
	/* The next op fails, and would end the mesh of a slower rank. */
	want(coll_barrier(other), 0, "a barrier of others");
	coll_finalize(other);
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

/* All choices, as one number each. */
#define NR_CHOICES	(COLL_NR_COLLECTIVES * 14)

static void choices(const coll_comm_t *c, uint64_t *v)
{
	struct coll_select_row row;
	uint32_t what, k;

	for (what = 0; what < COLL_NR_COLLECTIVES; what++) {
		for (k = 0; k < 14; k++) {
			*v = 0;
			if (!coll_comm_choice(c, (enum coll_collective)what, 3ULL << 2 * k, &row))
				*v = (uint64_t)row.algorithm << 32 | row.segment;
			v++;
		}
	}
}

/* All ranks of @c choose alike, and the collectives that they leave it to go well. */
static void alike(coll_comm_t *c, const char *what)
{
	uint64_t mine[NR_CHOICES], or[NR_CHOICES], and[NR_CHOICES];
	uint64_t sum, in_all[64], one = coll_comm_rank(c);
	uint32_t i;

	choices(c, mine);
	want(coll_allreduce(c, mine, or, NR_CHOICES, COLL_U64, COLL_OP_BOR), 0, what);
	want(coll_allreduce(c, mine, and, NR_CHOICES, COLL_U64, COLL_OP_BAND), 0, what);
	if (memcmp(mine, or, sizeof(mine)) || memcmp(mine, and, sizeof(mine)))
		die(what, -EBADE);
	want(coll_allgather(c, &one, in_all, 1, COLL_U64), 0, what);
	want(coll_scan(c, &one, &sum, 1, COLL_U64, COLL_OP_SUM), 0, what);
	for (i = 0; i < coll_comm_size(c); i++)
		if (in_all[i] != i || sum != one * (one + 1) / 2)
			die(what, -EBADMSG);
}

static void keep(const char *path)
{
	uint64_t before[NR_CHOICES], after[NR_CHOICES];
	coll_comm_t *dup;
	int ret = 0;

	want(coll_comm_tune(comm, 300), 0, "tune");
	choices(comm, before);
	if (!rank)
		ret = coll_comm_save_tables(comm, path);
	want(coll_broadcast(comm, &ret, 1, COLL_I32, 0), 0, "broadcast");
	want(ret, 0, "save");
	want(coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "ring_naive"), 0, "ring_naive");
	want(coll_comm_set_algorithm(comm, COLL_SCAN, NULL), 0, "none");
	want(coll_comm_load_tables(comm, path), 0, "load");
	choices(comm, after);
	if (memcmp(before, after, sizeof(before)))
		die("not the same tables", -EBADMSG);
	alike(comm, "loaded");
	check_all("loaded");
	want(coll_comm_load_tables(comm, "/nonexistent"), -ENOENT, "no file");
	want(coll_comm_load_tables(comm, "/dev/null"), -EINVAL, "no tables");
	choices(comm, after);
	if (memcmp(before, after, sizeof(before)))
		die("what failed has changed something", -EBADMSG);
	/* A dup is of the same hosts. */
	want(coll_comm_dup(comm, &dup), 0, "dup");
	want(coll_comm_set_algorithm(dup, COLL_ALLREDUCE, "ring_naive"), 0, "ring_naive");
	want(coll_comm_load_tables(dup, path), 0, "load");
	choices(dup, after);
	if (memcmp(before, after, sizeof(before)))
		die("a dup has others", -EBADMSG);
	alike(dup, "dup");
	coll_finalize(dup);
}

static void part(int32_t color, int32_t key, bool same, const char *what)
{
	uint64_t here[NR_CHOICES], there[NR_CHOICES];
	coll_comm_t *c;

	want(coll_comm_split(comm, color, key, &c), 0, what);
	choices(comm, here);
	choices(c, there);
	if (same && memcmp(here, there, sizeof(here)))
		die(what, -EBADMSG);
	alike(c, what);
	coll_finalize(c);
}

static void parts(void)
{
	uint64_t here[NR_CHOICES], there[NR_CHOICES];
	coll_comm_t *dup;

	part(0, 0, true, "all");
	part((int32_t)rank % 2, 0, false, "even and odd");
	part(0, -(int32_t)rank, false, "reversed");
	part(rank == size - 1, 0, false, "one less");
	want(coll_comm_dup(comm, &dup), 0, "dup");
	choices(comm, here);
	choices(dup, there);
	if (memcmp(here, there, sizeof(here)))
		die("dup", -EBADMSG);
	alike(dup, "dup");
	if (!rank && system("\"$COLLCTL\" show"))
		die("collctl", -EIO);
	want(coll_barrier(comm), 0, "barrier");
	coll_finalize(dup);
}

/* Seconds of the deadline, and by how many rank 0 is late. Half of the rest is spare time. */
#define DEADLINE	20
#define LATE		12

static void late(void)
{
	want(coll_comm_set_timeout(comm, DEADLINE * 1000000000ULL), 0, "set_timeout");
	want(coll_barrier(comm), 0, "barrier");
	if (!rank)
		sleep(LATE);
	want(coll_comm_tune(comm, 60000), 0, "tune longer than the deadline");
	check_all("tuned");
}

/* Frames that all links of this kernel have sent. */
static uint64_t frames(void)
{
	FILE *f = popen("\"$COLLCTL\" --json show", "r");
	static char text[1 << 20];
	const char *s = text;
	uint64_t sum = 0;

	if (!f)
		die("collctl", -EIO);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	pclose(f);
	while ((s = strstr(s, "\"tx-frames\": "))) {
		s += strlen("\"tx-frames\": ");
		sum += strtoull(s, NULL, 10);
	}
	return sum;
}

/* Frames of one mesh of 1 MiB between two nodes: half of it there and back, on both. */
static void piece_of(uint64_t segment)
{
	static double a[1 << 17], b[1 << 17];
	uint64_t before = 0, got, least = 4 * (sizeof(a) / 2 / segment);
	struct coll_cmd cmd;

	coll_cmd_allreduce(comm, &cmd, a, b, 1 << 17, COLL_F64, COLL_OP_SUM);
	cmd.algorithm = COLL_ALG_MESH;
	cmd.segment = segment;
	want(coll_barrier(comm), 0, "barrier");
	if (!rank)
		before = frames();
	want(coll_barrier(comm), 0, "barrier");
	want(coll_submit(comm, &cmd), 0, "mesh");
	want(coll_barrier(comm), 0, "barrier");
	if (!rank) {
		got = frames() - before;
		printf("segment %llu: %llu frames\n", (unsigned long long)segment,
		       (unsigned long long)got);
		/* This also counts the frames of two barriers, and the answers to them. */
		if (got < least || got > least + 24)
			die("pieces", -EBADMSG);
	}
	want(coll_barrier(comm), 0, "barrier");
}

int main(int argc, char **argv)
{
	int ret = coll_init(NULL, &comm), i;

	if (ret)
		die("coll_init", ret);
	rank = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (argc != 2 && argc != 3)
		return 2;
	if (!strcmp(argv[1], "right"))
		right();
	else if (!strcmp(argv[1], "names"))
		names();
	else if (!strcmp(argv[1], "keep") && argc == 3)
		keep(argv[2]);
	else if (!strcmp(argv[1], "parts"))
		parts();
	else if (!strcmp(argv[1], "late"))
		late();
	else if (!strcmp(argv[1], "piece"))
		for (i = 0; i < 4; i++)
			piece_of(4096 << 2 * (i % 3));
	else
		differ();
	return coll_finalize(comm) != 0;
}
