/* SPDX-License-Identifier: GPL-2.0 */
/* Plans: a plan is the schedule of an op, laid out over its buffers. */
#ifndef COLL_CORE_PLAN_H
#define COLL_CORE_PLAN_H

#include <linux/types.h>

struct coll_exec;
struct coll_group_part;
struct coll_op;

/* @room of an op that starts alone: it has no bound. */
#define COLL_ROOM_ALONE		U64_MAX

/**
 * coll_plan_prepare() - lay out the schedule of an op that all local ranks have posted
 * @op: about to start; op->exec is set on success
 * @room: bytes of memory that the op may use while it runs; if it needs more: -ENOMEM.
 *	COLL_ROOM_ALONE: its memory does not count in group->running_memory
 *
 * Return: 0, -ENOMEM, -ENOTCONN a link is missing, -EINVAL, -EBADE local ranks do
 * not agree on the length of a transfer.
 */
int coll_plan_prepare(struct coll_op *op, u64 room);

#endif /* COLL_CORE_PLAN_H */
