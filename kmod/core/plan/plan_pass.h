/* SPDX-License-Identifier: GPL-2.0 */
/* With one node: one pass over the vectors of all ranks, instead of a schedule. */
#ifndef COLL_CORE_PLAN_PASS_H
#define COLL_CORE_PLAN_PASS_H

#include <linux/types.h>

struct coll_plan;

/*
 * Can the op be one pass? The reducer is set up. Not if the command, or a table, names an
 * algorithm: then that algorithm runs.
 */
bool coll_pass_fits(const struct coll_plan *p);

/* The vectors of the participants are set: choose those that their steps read and write. */
void coll_pass_vecs(struct coll_plan *p);

/**
 * coll_pass_steps() - make the steps of a pass
 * @p: participants and vectors are there
 *
 * Return: 0; -ENOMEM; -EBADE: ranks do not agree on the length of a block.
 */
int coll_pass_steps(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_PASS_H */
