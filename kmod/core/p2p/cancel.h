/* SPDX-License-Identifier: GPL-2.0 */
/* Messages are taken back. */
#ifndef COLL_CORE_CANCEL_H
#define COLL_CORE_CANCEL_H

#include <linux/types.h>

struct coll_member;

/**
 * coll_msg_cancel() - cancel a message that has no partner yet
 * @m: member that has posted it, with a group
 * @handle: of its command; if several have it, the one posted first is cancelled
 *
 * Whether it is really cancelled shows when it completes: with -ECANCELED or with its own
 * result. The answer of another node may be needed for that. Process context, no locks.
 *
 * Return: 0; -ENOENT if no such message is in flight; -EALREADY if it has a partner, so that it
 * will complete by itself; -EINVAL if it sends and receives.
 */
int coll_msg_cancel(struct coll_member *m, u64 handle);

/**
 * coll_msg_cancel_receives() - take back all receives that have no partner yet
 * @m: member with a group
 *
 * Also probes, and those of commands that send as well: these end with -ECANCELED when their
 * other half is over. Process context, no locks. Return: how many receives.
 */
u64 coll_msg_cancel_receives(struct coll_member *m);

#endif /* COLL_CORE_CANCEL_H */
