/* SPDX-License-Identifier: GPL-2.0 */
/* Groups of named allreduces. */
#ifndef NAMED_GROUPS_H
#define NAMED_GROUPS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define MS	1000000ULL
#define RANKS	4
#define MEMBERS	5
#define GROUPS	3
#define NAMES	(MEMBERS * GROUPS)
#define COUNT	50
#define DIGEST	0x1234567800000001ULL

/**
 * struct world - three groups of all ranks
 * @c: the communicator
 * @lots: state of the random numbers
 * @names: names of the tensors
 * @cmd: commands, by rank and tensor
 * @t: tensors, by rank, in the order in which it posts them
 * @res: results
 * @in: inputs, by rank and tensor
 * @out: sums
 */
struct world {
	struct raw_comm c;
	uint64_t lots;
	char names[NAMES][16];
	struct coll_cmd cmd[RANKS][NAMES];
	struct coll_tensor t[RANKS][NAMES];
	struct coll_tensor_result res[NAMES];
	int32_t in[RANKS][NAMES][COUNT], out[RANKS][NAMES][COUNT];
};

static struct world world;

static inline struct world *start(uint32_t size, uint32_t nodes)
{
	struct world *w = &world;
	uint32_t r, k;

	memset(w, 0, sizeof(*w));
	w->lots = test_seed() | 1;
	if (raw_start_named(&w->c, size, nodes))
		return NULL;
	for (k = 0; k < NAMES; k++)
		snprintf(w->names[k], sizeof(w->names[k]), "g%u.%u", k / MEMBERS, k % MEMBERS);
	for (r = 0; r < size; r++) {
		for (k = 0; k < NAMES; k++) {
			w->in[r][k][COUNT - 1] = r + k;
			raw_allreduce(&w->cmd[r][k], w->in[r][k], w->out[r][k], COUNT, COLL_I32,
				      COLL_OP_SUM);
			raw_tensor(&w->t[r][k], w->names[k], &w->cmd[r][k], k);
			w->t[r][k].group = DIGEST + k / MEMBERS;
			w->t[r][k].members = MEMBERS;
		}
	}
	return w;
}

/* Rank @r gets @n results, each of them @error and @cause. Return: bit k is set for tag k. */
static inline uint32_t results(struct __test_metadata *_metadata, struct world *w,
			       uint32_t r, uint32_t n, int error, uint32_t cause)
{
	uint32_t k, tags = 0;
	int got;

	got = raw_collect(w->c.fd[r], w->res, n, n, 20 * SECOND);
	EXPECT_EQ((int)n, got) {
		TH_LOG("rank %u", r);
	}
	for (k = 0; (int)k < got; k++) {
		EXPECT_EQ(error, -w->res[k].result);
		EXPECT_EQ(cause, w->res[k].cause);
		tags |= 1U << w->res[k].tag;
	}
	return tags;
}

/* The communicator has not failed. */
static inline bool not_failed(struct world *w)
{
	struct coll_status s;

	return !raw_status(w->c.fd[0], &s) && s.state != COLL_STATE_FAILED;
}

#endif /* NAMED_GROUPS_H */
