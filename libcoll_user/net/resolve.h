/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Addresses of "host:port" or "host:first-last". The caller limits the time of the look-up. */
#ifndef LIBCOLL_RESOLVE_H
#define LIBCOLL_RESOLVE_H

#include <stdbool.h>

#include "sock.h"

#define RESOLVE_HOSTS	32	/* addresses of one name that are looked at */
#define RESOLVE_PORTS	32	/* ports of a range */
#define RESOLVE_MAX	256	/* addresses with their ports */

/**
 * struct ports - of "host:port" or "host:first-last", either with "[v6]"
 * @local: the host is this host, by its loopback interface only: a number such as 127.0.0.1
 *	or ::1, or the name localhost
 */
struct ports {
	uint16_t first;
	uint16_t last;
	bool local;
};

/* Find the ports that @spec names. Return: 0; -EINVAL: it is not well-formed; -ENOMEM. */
int resolve_ports(const char *spec, struct ports *ports);

/**
 * struct lookup - a name that is being looked up
 *
 * getaddrinfo() may block for a minute and cannot be cancelled, so it runs in a thread
 * of its own. A caller that gives up leaves the thread alone; it frees everything when it ends.
 */
struct lookup;

/* Begin; a number is resolved at once, without a thread. Return: 0, -EINVAL, -ENOMEM. */
int lookup_begin(struct lookup **l, const char *spec);

/**
 * lookup_wait() - wait for the addresses until @d
 *
 * Return: number of addresses; -EAGAIN: not yet, call again; -EHOSTUNREACH: there is no such name
 * now; -ENOMEM. Unless it is -EAGAIN the lookup is over, and *@l is NULL. After an error @addrs is
 * as before.
 */
int lookup_wait(struct lookup **l, struct deadline d, struct sock_addr *addrs, int max);

/* Give up. *@l may be NULL, and is NULL then. */
void lookup_drop(struct lookup **l);

/* Begin and wait in one call: as lookup_wait(), but -ETIMEDOUT at @d. */
int resolve_until(const char *spec, struct deadline d, struct sock_addr *addrs, int max);

#endif
