/* SPDX-License-Identifier: GPL-2.0 */
/* Generic-netlink family "coll": dumps of groups, members, links, tables and stalled tensors. */
#ifndef COLL_FRONT_NETLINK_H
#define COLL_FRONT_NETLINK_H

int coll_netlink_init(void);
void coll_netlink_exit(void);

#endif /* COLL_FRONT_NETLINK_H */
