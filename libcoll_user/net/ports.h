/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The ports at which this process listens for other ranks, except that of COLL_RENDEZVOUS. */
#ifndef LIBCOLL_PORTS_H
#define LIBCOLL_PORTS_H

/**
 * ports_listen() - listen at all addresses of this host
 *
 * At the first free port of COLL_PORTS ("port" or "first-last"), or at any port. Return: a socket;
 * -EINVAL: COLL_PORTS is not well-formed; -EADDRINUSE: it has no free port; or another negative
 * errno, but never -1.
 */
int ports_listen(void);

#endif
