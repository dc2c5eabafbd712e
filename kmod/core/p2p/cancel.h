/* SPDX-License-Identifier: GPL-2.0 */
/* Cancels messages. */
#ifndef COLL_CORE_CANCEL_H
#define COLL_CORE_CANCEL_H

#include <linux/types.h>

struct coll_member;

/**
 * coll_msg_cancel() - cancel a message that has no partner yet
 * @m: member that has posted it, with a group
 * @handle: of its command; if several have it, the one posted first is cancelled
 *
 * If it has been cancelled, it completes with -ECANCELED, else with its own result. The answer
 * of another node may be needed for that. Process context, no locks.
 *
 * Return: 0; -ENOENT if no such message is in flight; -EALREADY if it has a partner, so that it
 * will complete by itself; -EINVAL if it sends and receives.
 */
int coll_msg_cancel(struct coll_member *m, u64 handle);

/**
 * coll_msg_cancel_receives() - cancel all receives that have no partner yet
 * @m: member with a group
 *
 * Cancels probes, too, and receives of commands that also send: such a command ends with
 * -ECANCELED when its send is over. Process context, no locks. Return: number of receives.
 */
u64 coll_msg_cancel_receives(struct coll_member *m);

#endif /* COLL_CORE_CANCEL_H */
