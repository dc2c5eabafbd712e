/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Ranges of ports, and where this process listens if COLL_RENDEZVOUS does not say it. */
#ifndef LIBCOLL_PORTS_H
#define LIBCOLL_PORTS_H

#include <stdbool.h>
#include <stdint.h>

/* Read "port" or "first-last", all of @s. Return: false: it is neither. */
bool ports_parse(const char *s, uint16_t *first, uint16_t *last);

/**
 * ports_listen() - listen at all addresses of this host
 *
 * At the first free port of COLL_PORTS ("port" or "first-last"), or at any port. Return: a socket;
 * -EINVAL: COLL_PORTS is not well-formed; -EADDRINUSE: it has no free port; or another negative
 * errno, but never -1.
 */
int ports_listen(void);

#endif
