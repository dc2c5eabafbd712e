// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "comm/shm.h"
#include "shm_counts.h"
#include "shm_fold.h"
#include "shm_move.h"
#include "shm_plan.h"

/* So many commands are kept. */
#define PLANS	4
/* Counts of a v-form that is kept, or displacements: as many as an alltoallv of 16 ranks has. */
#define NUMBERS	32

/**
 * struct shm_plan - a command that can be done in shared memory, and what follows from it
 * @cmd: copy of the command
 * @limit: limits of the communicator at that time
 * @ranked: the kernel folded in the order of ranks
 * @usable: @move follows from @cmd, @limit, @ranked, @counts and @displs alone
 * @nr_counts: counts of a v-form; 0: this rank has none
 * @nr_displs: displacements; 0: this rank has none
 * @counts: copy of the counts, which are in the caller's memory
 * @displs: copy of the displacements
 * @move: refers to @cmd and @fold, and to the caller's counts and displacements
 * @fold: the operator
 */
struct shm_plan {
	struct coll_cmd cmd;
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

static bool are(const uint64_t *kept, uint64_t addr, uint32_t nr)
{
	return !nr || !memcmp(kept, (const void *)(uintptr_t)addr, nr * sizeof(*kept));
}

/* Is it the same command as last time? The numbers in the caller's memory may be others. */
static bool fits(const struct shm_plan *p, const struct shm *s, const struct coll_cmd *cmd)
{
	return p->usable && !memcmp(p->limit, s->limit, sizeof(p->limit)) &&
	       p->ranked == s->ranked && !memcmp(&p->cmd, cmd, sizeof(*cmd)) &&
	       are(p->counts, cmd->counts_addr, p->nr_counts) &&
	       are(p->displs, cmd->displs_addr, p->nr_displs);
}

/* Copy @nr numbers. Return: how many have been copied. */
static uint32_t keep(uint64_t *to, uint64_t addr, uint32_t nr)
{
	if (!addr)
		return 0;
	memcpy(to, (const void *)(uintptr_t)addr, nr * sizeof(*to));
	return nr;
}

/* Return: false: there are too many. */
static bool keep_numbers(struct shm_plan *p, const struct shm *s)
{
	uint32_t nr = p->cmd.collective == COLL_ALLTOALLV ? 2 * s->n : s->n;

	p->nr_counts = 0;
	p->nr_displs = 0;
	if (!shm_has_counts(p->cmd.collective))
		return true;
	if (nr > NUMBERS)
		return false;
	p->nr_counts = keep(p->counts, p->cmd.counts_addr, nr);
	p->nr_displs = keep(p->displs, p->cmd.displs_addr, nr);
	return true;
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
	p->cmd = *cmd;
	memcpy(p->limit, s->limit, sizeof(p->limit));
	p->ranked = s->ranked;
	p->usable = false;
	if (!shm_move_setup(s, &p->cmd, &p->fold, &p->move))
		return NULL;
	p->usable = keep_numbers(p, s);
	return &p->move;
}
