/* SPDX-License-Identifier: GPL-2.0 */
/* A step has made progress. */
#ifndef COLL_CORE_KICK_H
#define COLL_CORE_KICK_H

struct coll_exec;
struct coll_exec_step;

/*
 * Something that waits for @st may go on: let the links of its block, which has a link to
 * itself, and helpers look.
 */
void coll_exec_kick(struct coll_exec *x, const struct coll_exec_step *st);

#endif /* COLL_CORE_KICK_H */
