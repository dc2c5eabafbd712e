/* SPDX-License-Identifier: GPL-2.0 */
/* Links over TCP sockets that user space has connected and handed over. */
#ifndef COLL_XPORT_TCP_H
#define COLL_XPORT_TCP_H

#include "../core/group/link.h"

extern const struct coll_transport coll_tcp_transport;

#endif /* COLL_XPORT_TCP_H */
