/* SPDX-License-Identifier: GPL-2.0 */
/* 200 named collectives of six kinds, and the results that they must have. */
#ifndef NAMED_JOB_H
#define NAMED_JOB_H

#include <stdint.h>
#include <string.h>

#include "raw.h"
#include "util.h"

#define NAMES	200
#define RANKS	6
/* Elements of the longest buffer of a tensor */
#define ROOM	(900 * RANKS)

enum { ALLREDUCE, BROADCAST, ALLGATHER, REDUCE_SCATTER, ALLTOALL, BARRIER, NR_FORMS };

/**
 * struct job - the tensors of all ranks
 * @c: the communicator
 * @seed: seed of the test
 * @lots: state of the random numbers
 * @round: how often all tensors have been posted
 * @names: names of the tensors
 * @order: the order in which each rank posts its tensors
 * @next: how many tensors each rank has posted in this round
 * @cmds: commands, by rank and tensor
 * @tensors: what each rank posts, in its order
 * @in: inputs, by rank and tensor
 * @out: results, by rank and tensor
 */
struct job {
	struct raw_comm c;
	uint64_t seed, lots;
	uint32_t round;
	char names[NAMES][24];
	uint32_t order[RANKS][NAMES];
	uint32_t next[RANKS];
	struct coll_cmd cmds[RANKS][NAMES];
	struct coll_tensor tensors[RANKS][NAMES];
	int32_t in[RANKS][NAMES][ROOM];
	int32_t out[RANKS][NAMES][ROOM];
};

static inline uint64_t count_of(const struct job *j, uint32_t k)
{
	return 1 + (k * 7919ULL + j->round * 13) % (k % 3 ? 50 : 900);
}

static inline int32_t value(const struct job *j, uint32_t rank, uint32_t k, uint64_t i)
{
	return test_value(rank, i + 31 * k + j->round);
}

static inline int32_t sum(const struct job *j, uint32_t k, uint64_t i)
{
	uint32_t r, all = 0;

	for (r = 0; r < j->c.size; r++)
		all += (uint32_t)value(j, r, k, i);
	return all;
}

static inline void make_cmd(struct job *j, uint32_t r, uint32_t k)
{
	static const uint16_t collectives[] = {
		COLL_ALLREDUCE, COLL_BROADCAST, COLL_ALLGATHER, COLL_REDUCE_SCATTER_BLOCK,
		COLL_ALLTOALL, COLL_BARRIER,
	};
	uint32_t form = k % NR_FORMS;
	struct coll_cmd *cmd = &j->cmds[r][k];

	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = collectives[form];
	if (form == BARRIER)
		return;
	cmd->dtype = COLL_I32;
	cmd->count = count_of(j, k);
	cmd->op = form == ALLREDUCE || form == REDUCE_SCATTER ? COLL_OP_SUM : COLL_OP_NONE;
	cmd->recv_addr = (uintptr_t)j->out[r][k];
	if (form == BROADCAST)
		cmd->root = k % j->c.size;
	else
		cmd->send_addr = (uintptr_t)j->in[r][k];
}

static inline int32_t wanted(const struct job *j, uint32_t r, uint32_t k, uint64_t i)
{
	uint64_t count = count_of(j, k);

	switch (k % NR_FORMS) {
	case ALLREDUCE:
		return sum(j, k, i);
	case BROADCAST:
		return value(j, k % j->c.size, k, i);
	case ALLGATHER:
		return value(j, i / count, k, i % count);
	case REDUCE_SCATTER:
		return sum(j, k, r * count + i);
	default:
		return value(j, i / count, k, r * count + i % count);
	}
}

static inline uint64_t results_of(const struct job *j, uint32_t k)
{
	switch (k % NR_FORMS) {
	case BARRIER:
		return 0;
	case ALLGATHER:
	case ALLTOALL:
		return count_of(j, k) * j->c.size;
	default:
		return count_of(j, k);
	}
}

#endif /* NAMED_JOB_H */
