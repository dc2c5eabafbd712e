/* SPDX-License-Identifier: GPL-2.0 */
/* Large sweeps that no step waits for, done by any number of helpers. */
#ifndef COLL_CORE_TEAM_H
#define COLL_CORE_TEAM_H

struct coll_exec;
struct coll_worker;

/**
 * coll_team_start() - open local steps to helpers
 * @x: of an op that starts, with a ref; ->open is set
 *
 * Their number follows from the bytes that are read and written, and is limited to the number of
 * ranks and of CPUs.
 */
void coll_team_start(struct coll_exec *x);

/**
 * coll_team_staff() - queue the workers that an op has not got because ranks helped with it
 * @x: of a running op, with a ref
 */
void coll_team_staff(struct coll_exec *x);

/* Are local steps open to helpers, with slices left? */
bool coll_exec_wants_help(const struct coll_exec *x);

/**
 * coll_exec_help() - take slices of the open local steps while there are any
 * @x: of a running op, with a ref
 * @w: worker that does it, until its time is over; NULL: a caller
 * @done: the caller stops when this is set; NULL: it does not
 *
 * Return: true if the time of the worker is over and there may be more slices.
 */
bool coll_exec_help(struct coll_exec *x, struct coll_worker *w, const bool *done);

#endif /* COLL_CORE_TEAM_H */
