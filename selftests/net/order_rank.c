// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... order_rank "NUMBERS" | near | no: one rank of a test of COLL_ORDER.
 *
 * NUMBERS: the node numbers of all ranks, as they must be. near: the nodes of ranks 0 and 2 must
 * stand side by side, and so must those of 1 and 3. no: coll_init() must fail with EINVAL.
 * Then ranks must still have their numbers: what depends on them is computed, by every
 * algorithm, by a part of the communicator, too, and by messages.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#define COUNT	5000

static coll_comm_t *comm;
static uint32_t me, size;

static void die(const char *what, int err)
{
	fprintf(stderr, "rank %u: %s: %s\n", me, what, coll_strerror(err));
	exit(1);
}

static void must(const char *what, int ret)
{
	if (ret)
		die(what, ret);
}

static void as_wanted(const char *numbers)
{
	char *end = (char *)numbers;
	uint32_t r;

	for (r = 0; r < size; r++)
		if (coll_comm_node_of(comm, r) != strtoul(end, &end, 10))
			die("not the number of a node that was asked for", -EBADMSG);
	if (coll_comm_node(comm) != coll_comm_node_of(comm, me))
		die("two numbers of my node", -EBADMSG);
}

static bool side_by_side(uint32_t a, uint32_t b)
{
	uint32_t n = coll_comm_nodes(comm), x = coll_comm_node_of(comm, a),
		 y = coll_comm_node_of(comm, b);

	return (x + 1) % n == y || (y + 1) % n == x;
}

/* Every rank's number, in its place, folded and passed on by one algorithm. */
static void check_one(enum coll_collective what, uint32_t algorithm, uint32_t root)
{
	static uint32_t in[COUNT], out[COUNT];
	uint32_t i, want, last = what == COLL_SCAN ? me + 1 : size;
	struct coll_cmd cmd;
	int ret;

	for (i = 0; i < COUNT; i++) {
		in[i] = (me + 1) * (i + 1);
		out[i] = what == COLL_BROADCAST && me == root ? 77 + root + i : 0;
	}
	if (what == COLL_BROADCAST)
		coll_cmd_broadcast(comm, &cmd, out, COUNT, COLL_U32, root);
	else if (what == COLL_REDUCE)
		coll_cmd_reduce(comm, &cmd, in, out, COUNT, COLL_U32, COLL_OP_SUM, root);
	else if (what == COLL_SCAN)
		coll_cmd_scan(comm, &cmd, in, out, COUNT, COLL_U32, COLL_OP_SUM);
	else
		coll_cmd_allreduce(comm, &cmd, in, out, COUNT, COLL_U32, COLL_OP_SUM);
	cmd.algorithm = (uint16_t)algorithm;
	ret = coll_submit(comm, &cmd);
	if (ret == -EINVAL && algorithm)
		return;		/* not one of these */
	must("a collective", ret);
	for (i = 0; i < COUNT; i++) {
		want = what == COLL_BROADCAST ? 77 + root + i : last * (last + 1) / 2 * (i + 1);
		if (what == COLL_REDUCE && me != root)
			want = 0;
		if (out[i] != want)
			die("wrong result", -EBADMSG);
	}
}

static void check_collectives(void)
{
	static const enum coll_collective what[] = {
		COLL_BROADCAST, COLL_REDUCE, COLL_ALLREDUCE, COLL_SCAN,
	};
	uint32_t i, alg, root;

	for (i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		for (alg = 0; alg < COLL_NR_ALGS; alg++)
			for (root = 0; root < (what[i] <= COLL_REDUCE ? size : 1); root++)
				check_one(what[i], alg, root);
	must("a barrier", coll_barrier(comm));
}

/* Neighbours by rank are still neighbours. */
static void check_messages(void)
{
	uint32_t mine = me, got = ~0U;

	must("sendrecv", coll_sendrecv(comm, &mine, 1, COLL_U32, (me + 1) % size, 0, &got, 1,
				       COLL_U32, (me + size - 1) % size, 0, NULL));
	if (got != (me + size - 1) % size)
		die("a message of another rank", -EBADMSG);
}

/* Nodes of a part stand in the order they have here. */
static void check_part(void)
{
	uint32_t a, b, sum = 1, part_size;
	coll_comm_t *part;

	must("split", coll_comm_split(comm, me % 2, -(int32_t)me, &part));
	part_size = coll_comm_size(part);
	for (a = 0; a < part_size; a++)
		for (b = 0; b < part_size; b++) {
			uint32_t ra = (part_size - 1 - a) * 2 + me % 2;
			uint32_t rb = (part_size - 1 - b) * 2 + me % 2;

			if ((coll_comm_node_of(part, a) < coll_comm_node_of(part, b)) !=
			    (coll_comm_node_of(comm, ra) < coll_comm_node_of(comm, rb)))
				die("nodes of a part stand in another order", -EBADMSG);
		}
	must("allreduce of a part", coll_allreduce(part, COLL_IN_PLACE, &sum, 1, COLL_U32,
						   COLL_OP_SUM));
	if (sum != part_size)
		die("a part has other ranks", -EBADMSG);
	must("finalize", coll_finalize(part));
}

int main(int argc, char **argv)
{
	int ret = coll_init(NULL, &comm);

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "no"))
		return ret != -EINVAL;
	must("coll_init", ret);
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (strcmp(argv[1], "near"))
		as_wanted(argv[1]);
	else if (!side_by_side(0, 2) || !side_by_side(1, 3))
		die("those who are near are far apart", -EBADMSG);
	check_collectives();
	check_messages();
	check_part();
	must("coll_finalize", coll_finalize(comm));
	return 0;
}
