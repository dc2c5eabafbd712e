/* SPDX-License-Identifier: GPL-2.0 */
/* Channels as core sees them: its links. */
#ifndef COLL_XPORT_CHANNEL_LINK_H
#define COLL_XPORT_CHANNEL_LINK_H

#include <linux/types.h>

struct coll_group;
struct coll_link;
struct socket;

/**
 * coll_ch_add() - COLL_IOC_LINK: a stream for a link of the group's own
 * @g: group
 * @peer: node, in range
 * @stripe: as of COLL_IOC_LINK, in range
 * @sock: checked; taken over on success
 *
 * Return: 0; -ENOMEM; -EMFILE if the user has too many conns; or as coll_conn_add().
 */
int coll_ch_add(struct coll_group *g, u32 peer, u32 stripe, struct socket *sock);

/**
 * coll_ch_share() - COLL_IOC_LINK with COLL_LINK_SHARE: use a link of another group
 * @g: group
 * @peer: node, in range
 * @nr: number of the new link, in range
 * @via: the other group's link; stays while this runs
 *
 * Return: 0; -EEXIST if the group has that link to @peer, or is on that conn already; -ENOTCONN
 * if a stream is missing or has ended; -ENOMEM.
 */
int coll_ch_share(struct coll_group *g, u32 peer, u32 nr, struct coll_link *via);

#endif /* COLL_XPORT_CHANNEL_LINK_H */
