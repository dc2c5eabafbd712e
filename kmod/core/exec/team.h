/* SPDX-License-Identifier: GPL-2.0 */
/* Large sweeps that wait for nothing, done by everyone who helps. */
#ifndef COLL_CORE_TEAM_H
#define COLL_CORE_TEAM_H

struct coll_exec;
struct coll_worker;

/**
 * coll_team_start() - open local steps to everyone who helps
 * @x: of an op that starts, with a ref; ->open is set
 *
 * As many help as what is read and written is worth, no more than there are ranks.
 */
void coll_team_start(struct coll_exec *x);

/* Are local steps open to helpers, with slices left? */
bool coll_exec_wants_help(const struct coll_exec *x);

/**
 * coll_exec_help() - take slices of the open local steps while there are any
 * @x: of a running op, with a ref
 * @w: worker that does it, until it is over; NULL: a caller
 * @done: the caller stops when it is set; NULL: it does not
 *
 * Return: the worker is over, and there may be more slices.
 */
bool coll_exec_help(struct coll_exec *x, struct coll_worker *w, const bool *done);

#endif /* COLL_CORE_TEAM_H */
