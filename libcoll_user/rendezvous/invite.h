/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * How ranks meet if they have coll_config.exchange instead of rendezvous and key: rank 0
 * listens, draws a key, and sends its addresses and the key to the others by one exchange.
 */
#ifndef LIBCOLL_INVITE_H
#define LIBCOLL_INVITE_H

#include <coll/coll.h>

#include "base/deadline.h"
#include "net/auth.h"
#include "net/sock.h"

#define INVITE_ADDRS	16

/**
 * struct invitation - where rank 0 listens
 * @lfd: rank 0: the listening socket; -1: none
 * @addrs: the others: @nr addresses of rank 0
 */
struct invitation {
	int lfd;
	int nr;
	struct sock_addr addrs[INVITE_ADDRS];
};

/**
 * invite() - exchange where rank 0 listens, and the secret of the job
 * @secret: result: drawn by rank 0, unless @cfg has a key
 *
 * Return: 0 or a negative errno. An error of rank 0 is the same on all ranks.
 */
int invite(const struct coll_config *cfg, struct deadline d, struct invitation *inv,
	   struct job_secret *secret);

#endif
