// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>
#include <string.h>

#include "comm/shm.h"
#include "shm_fold.h"
#include "shm_move.h"
#include "shm_plan.h"

/* Number of commands that are kept. */
#define PLANS	4
/* Counts of a v-form that is kept, or displacements: as many as an alltoallv of 16 ranks has. */
#define NUMBERS	32

/**
 * struct shm_plan - a command that can be done in shared memory, and what follows from it
 * @asked: the caller's command
 * @cmd: a copy of it; its counts and displacements are @counts and @displs
 * @limit: limits of the communicator at that time
 * @ranked: the kernel folded in the order of ranks
 * @usable: @move follows from @cmd, @limit and @ranked alone
 * @nr_counts: counts of a v-form; 0: this rank has none
 * @nr_displs: displacements; 0: this rank has none
 * @counts: copy of the counts
 * @displs: copy of the displacements
 * @move: refers to @cmd, @counts, @displs and @fold
 * @fold: the operator
 */
struct shm_plan {
	struct coll_cmd asked, cmd;
	size_t limit[SHM_KINDS];
	bool ranked, usable;
	uint32_t nr_counts, nr_displs;
	uint64_t counts[NUMBERS], displs[NUMBERS];
	struct shm_move move;
	struct shm_fold fold;
};

static struct shm_plan *plan_of(struct shm *s, const struct coll_cmd *cmd)
{
	uint64_t hash = (cmd->recv_addr ^ cmd->collective) * 0x9e3779b97f4a7c15ULL;

	if (!s->plans)
		s->plans = calloc(PLANS, sizeof(*s->plans));
	return s->plans ? &s->plans[(hash >> 32) % PLANS] : NULL;
}

static bool same_numbers(const uint64_t *kept, uint64_t addr, uint32_t nr)
{
	return !nr || !memcmp(kept, (const void *)(uintptr_t)addr, nr * sizeof(*kept));
}

/* Is it the same command as last time? The counts in the caller's memory may have changed. */
static bool fits(const struct shm_plan *p, const struct shm *s, const struct coll_cmd *cmd)
{
	return p->usable && !memcmp(p->limit, s->limit, sizeof(p->limit)) &&
	       p->ranked == s->ranked && !memcmp(&p->asked, cmd, sizeof(*cmd)) &&
	       same_numbers(p->counts, cmd->counts_addr, p->nr_counts) &&
	       same_numbers(p->displs, cmd->displs_addr, p->nr_displs);
}

/* Copy @nr numbers, if there are any, and use the copy. Return: how many have been copied. */
static uint32_t keep(uint64_t *to, __u64 *addr, uint32_t nr)
{
	if (!*addr)
		return 0;
	memcpy(to, (const void *)(uintptr_t)*addr, nr * sizeof(*to));
	*addr = (uintptr_t)to;
	return nr;
}

/*
 * Keep the command, which shm_move_setup() has accepted. So its counts can be read. Check the copy of
 * them again: another thread may have changed them. Return: false: the command is for the kernel.
 */
static bool make_usable(struct shm_plan *p, const struct shm *s)
{
	uint32_t nr = p->cmd.collective == COLL_ALLTOALLV ? 2 * s->n : s->n;

	p->nr_counts = 0;
	p->nr_displs = 0;
	p->usable = !p->move.counts;
	if (p->usable || nr > NUMBERS)
		return true;
	p->nr_counts = keep(p->counts, &p->cmd.counts_addr, nr);
	p->nr_displs = keep(p->displs, &p->cmd.displs_addr, nr);
	p->usable = shm_move_setup(s, &p->cmd, &p->fold, &p->move);
	return p->usable;
}

const struct shm_move *shm_plan(struct shm *s, const struct coll_cmd *cmd)
{
	struct shm_plan *p;

	/* The most common commands for the kernel take no plan away. */
	if (cmd->count > shm_most(s) || cmd->flags & COLL_CMD_SLEEP)
		return NULL;
	p = plan_of(s, cmd);
	if (!p)
		return NULL;
	if (fits(p, s, cmd))
		return &p->move;
	p->asked = *cmd;
	p->cmd = *cmd;
	memcpy(p->limit, s->limit, sizeof(p->limit));
	p->ranked = s->ranked;
	p->usable = false;
	if (!shm_move_setup(s, &p->cmd, &p->fold, &p->move) || !make_usable(p, s))
		return NULL;
	return &p->move;
}
