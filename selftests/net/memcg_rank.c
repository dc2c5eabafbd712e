// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... memcg_rank: joins as a process of one control group and goes on in another. The
 * kernel memory of an op is charged to the first one, also when a worker allocates it. The ranks
 * look at the numbers while the last rank lets them wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coll/coll.h>

#include "rank.h"

#define ROOT		"/sys/fs/cgroup"
#define COUNT		(1 << 20)
/* A part of the scratch of a ring; nothing else of the kernel's is as large here. */
#define LEAST		(2L << 20)
#define LOOKS		100

static void directory(char *dir, size_t len, const char *name)
{
	snprintf(dir, len, ROOT "/coll-%d-%s", getpid(), name);
}

/* Enter a new control group; NULL: the root group. */
static void enter(const char *name)
{
	char dir[64] = ROOT, procs[96];
	FILE *f;

	if (name) {
		directory(dir, sizeof(dir), name);
		must(mkdir(dir, 0755) ? -errno : 0, dir);
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	f = fopen(procs, "w");
	must(!f || fputs("0\n", f) < 0 || fclose(f) ? -errno : 0, procs);
}

static void leave(const char *name)
{
	char dir[64];

	directory(dir, sizeof(dir), name);
	must(rmdir(dir) ? -errno : 0, dir);
}

/* Bytes that the kernel has for @name. */
static long charged(const char *name)
{
	char dir[64], stat[96], line[128];
	long bytes = -1;
	FILE *f;

	directory(dir, sizeof(dir), name);
	snprintf(stat, sizeof(stat), "%s/memory.stat", dir);
	f = fopen(stat, "r");
	must(f ? 0 : -errno, stat);
	while (bytes < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "kernel %ld", &bytes) != 1)
			bytes = -1;
	fclose(f);
	must(bytes < 0 ? -ENODATA : 0, stat);
	return bytes;
}

/* The numbers of memory.stat are up to two seconds old. */
static void look(long before)
{
	long now = before;
	int i;

	for (i = 0; i < LOOKS && now < before + LEAST; i++) {
		usleep(100000);
		now = charged("first");
	}
	printf("rank %u: first %ld -> %ld, second %ld\n", me, before, now, charged("second"));
	fflush(stdout);
	must(now < before + LEAST ? -ERANGE : 0, "it is not charged to who joined");
}

static void wait_for_the_others(coll_comm_t *comm, uint32_t size)
{
	uint32_t word, i;

	for (i = 0; i < size - 1; i++)
		must(coll_recv(comm, &word, 1, COLL_U32, i, 0, NULL), "receive");
}

int main(void)
{
	coll_request_t *req;
	coll_comm_t *comm;
	float *in, *out;
	uint32_t last;
	long before;

	enter("first");
	must(coll_init(NULL, &comm), "init");
	me = coll_comm_rank(comm);
	last = coll_comm_size(comm) - 1;
	must(coll_comm_set_algorithm(comm, COLL_REDUCE_SCATTER_BLOCK, "ring"), "ring");
	enter("second");
	in = calloc((size_t)COUNT * (last + 1), sizeof(*in));
	out = calloc(COUNT, sizeof(*out));
	must(in && out ? 0 : -ENOMEM, "memory");
	before = charged("first");
	if (me == last)
		wait_for_the_others(comm, last + 1);
	must(coll_ireduce_scatter_block(comm, in, out, COUNT, COLL_F32, COLL_OP_SUM, &req),
	     "start");
	if (me != last) {
		look(before);
		must(coll_send(comm, &me, 1, COLL_U32, last, 0), "send");
	}
	must(coll_wait(req), "wait");
	must(coll_finalize(comm), "finalize");
	enter(NULL);
	leave("first");
	leave("second");
	return 0;
}
