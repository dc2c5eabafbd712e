/* SPDX-License-Identifier: GPL-2.0 */
/* A step has made progress. */
#ifndef COLL_CORE_KICK_H
#define COLL_CORE_KICK_H

struct coll_exec;
struct coll_exec_step;

/*
 * Steps that wait for @st may go on: wake the helpers, and the links of its block. All transfers of
 * a block use links of one number.
 */
void coll_exec_kick(struct coll_exec *x, const struct coll_exec_step *st);

#endif /* COLL_CORE_KICK_H */
