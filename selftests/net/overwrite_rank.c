// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... overwrite_rank OPS COLLCTL: one rank of a test of buffers that are used again at
 * once. When a call has returned its buffers are the caller's: whatever it writes there
 * must not reach anybody. One rank in turn looks at each result, the others
 * write over it, and all write over their input, before they do anything else. In the end
 * rank 0 shows what COLLCTL says of links.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#define MOST	(512 << 10)	/* elements */
#define JUNK	0xa5

static coll_comm_t *comm;
static uint32_t me, size;
static int bad;

/* Element @i of rank @rank in op @n. */
static uint32_t element(uint32_t n, uint32_t rank, uint32_t i)
{
	return (n * 2654435761U) ^ (i * 40503U + rank * 977U);
}

static uint32_t expected(uint32_t n, uint32_t i, int root)
{
	uint32_t r, sum = 0;

	if (root >= 0)
		return element(n, root, i);
	for (r = 0; r < size; r++)
		sum += element(n, r, i);
	return sum;
}

static void look(uint32_t n, const uint32_t *out, uint32_t count, int root)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (out[i] == expected(n, i, root))
			continue;
		fprintf(stderr, "rank %u, op %u, %u elements: element %u is wrong%s\n",
			me, n, count, i,
			out[i] == JUNK * 0x01010101U ? ": junk" : "");
		bad = 1;
		return;
	}
}

static int run(uint32_t n, uint32_t *in, uint32_t *out, uint64_t count, int root)
{
	static const uint16_t algorithms[] = {
		COLL_ALG_AUTO, COLL_ALG_RING, COLL_ALG_MESH, COLL_ALG_RECURSIVE_DOUBLING,
		COLL_ALG_RABENSEIFNER, COLL_ALG_DOUBLE_TREE,
	};
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE,
		.op = COLL_OP_SUM,
		.dtype = COLL_U32,
		.count = count,
		.algorithm = algorithms[n % (sizeof(algorithms) / sizeof(algorithms[0]))],
		.send_addr = (uintptr_t)in,
		.recv_addr = (uintptr_t)out,
	};

	if (root >= 0)
		return coll_broadcast(comm, out, count, COLL_U32, root);
	if (n % 3 == 1) {
		memcpy(out, in, count * sizeof(*in));
		cmd.flags = COLL_CMD_INPLACE;
		cmd.send_addr = 0;
	}
	return coll_submit(comm, &cmd);
}

static int one(uint32_t n, uint32_t *in, uint32_t *out)
{
	uint32_t count = n * 7919U % MOST + 1;
	int root = n % 4 == 3 ? (int)(n / 4 % size) : -1;
	uint32_t i;
	int ret;

	/* mostly of a few pages, where others are slow to see what is written here */
	if (n % 5)
		count = count % (MOST / 16) + 1;
	for (i = 0; i < count; i++)
		in[i] = element(n, me, i);
	if (root == (int)me)
		memcpy(out, in, count * sizeof(*in));
	ret = run(n, in, out, count, root);
	memset(in, JUNK, count * sizeof(*in));
	if (n % size != me)
		memset(out, JUNK, count * sizeof(*out));
	else if (!ret)
		look(n, out, count, root);
	return ret;
}

static void show_links(const char *collctl)
{
	char cmd[4096];

	snprintf(cmd, sizeof(cmd), "'%s' show --json", collctl);
	fflush(stdout);
	if (system(cmd)) {
		fprintf(stderr, "%s failed\n", cmd);
		bad = 1;
	}
}

int main(int argc, char **argv)
{
	uint32_t ops = argc > 1 ? strtoul(argv[1], NULL, 0) : 100;
	uint32_t *in = calloc(MOST + 1, sizeof(*in)), *out = calloc(MOST + 1, sizeof(*out));
	uint32_t n;
	int ret = coll_init(NULL, &comm);

	if (!in || !out || ret) {
		fprintf(stderr, "coll_init: %s\n", coll_strerror(ret));
		return 1;
	}
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	for (n = 0; n < ops && !ret; n++)
		ret = one(n, in, out);
	if (ret)
		fprintf(stderr, "rank %u: op %u: %s\n", me, n, coll_strerror(ret));
	else if (!me && argc > 2)
		show_links(argv[2]);
	coll_finalize(comm);
	free(in);
	free(out);
	return bad || ret;
}
