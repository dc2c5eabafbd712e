// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... many_rank WHAT COUNT: one rank of many that move COUNT elements from each to
 * rank 0 (gather), from rank 0 to each (scatter), or from each to each (bruck).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "rank.h"

static coll_comm_t *comm;
static uint32_t size;
static uint64_t count;

/* Element @i of what @from has for @to. */
static uint32_t element(uint32_t from, uint32_t to, uint64_t i)
{
	return (uint32_t)i * 2654435761U + from * 40503U + to * 7919U;
}

static uint32_t *vector(uint32_t blocks)
{
	uint32_t *v = calloc(blocks * count + 1, sizeof(*v));

	must(v ? 0 : -ENOMEM, "memory");
	return v;
}

static void check(const uint32_t *v, uint32_t from, uint32_t to)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		if (v[i] == element(from, to, i))
			continue;
		fprintf(stderr, "rank %u: element %llu of rank %u is wrong\n", me,
			(unsigned long long)i, from);
		exit(1);
	}
}

static void fill(uint32_t *v, uint32_t to)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		v[i] = element(me, to, i);
}

static void gather(void)
{
	uint32_t *in = vector(1), *out = vector(me ? 0 : size), r;

	fill(in, 0);
	must(coll_gather(comm, in, out, count, COLL_U32, 0), "gather");
	for (r = 0; !me && r < size; r++)
		check(out + r * count, r, 0);
}

static void scatter(void)
{
	uint32_t *in = vector(me ? 0 : size), *out = vector(1), r;

	for (r = 0; !me && r < size; r++)
		fill(in + r * count, r);
	must(coll_scatter(comm, in, out, count, COLL_U32, 0), "scatter");
	check(out, 0, me);
}

static void bruck(void)
{
	uint32_t *in = vector(size), *out = vector(size), r;
	struct coll_cmd cmd;

	for (r = 0; r < size; r++)
		fill(in + r * count, r);
	coll_cmd_alltoall(comm, &cmd, in, out, count, COLL_U32);
	cmd.algorithm = COLL_ALG_BRUCK;
	must(coll_submit(comm, &cmd), "alltoall");
	for (r = 0; r < size; r++)
		check(out + r * count, r, me);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	count = strtoull(argv[2], NULL, 0);
	must(coll_init(NULL, &comm), "init");
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (!strcmp(argv[1], "gather"))
		gather();
	else if (!strcmp(argv[1], "scatter"))
		scatter();
	else
		bruck();
	must(coll_finalize(comm), "finalize");
	return 0;
}
