/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The connections of a node, made by its leader: to every node that a schedule
 * asks for, one stream per stripe. The lower node number connects, the higher
 * accepts; both prove the job key, bound to this job, both nodes and the stripe.
 */
#ifndef LIBCOLL_LINKS_H
#define LIBCOLL_LINKS_H

#include "rendezvous.h"
#include "topology.h"

#define LINKS_STRIPES	2	/* 0 control, 1 data */

/**
 * struct links_config - what links_connect() needs
 * @topo: who we are and whom we need
 * @secret: job key
 * @rdv: tells when another rank has failed
 * @lfd: from links_listen(), or -1 if no lower node will connect; taken over
 * @addrs: addresses of the leaders by rank, RDV_BLOB bytes each, as
 *	links_put_address() wrote them
 * @deadline: for all of it
 * @hand_over: called once for each stream; takes the fd over; 0 or -errno
 * @ctx: for @hand_over
 */
struct links_config {
	const struct topology *topo;
	const struct job_secret *secret;
	struct rendezvous *rdv;
	int lfd;
	const uint8_t *addrs;
	struct deadline deadline;
	int (*hand_over)(void *ctx, uint32_t peer, uint32_t stripe, int fd);
	void *ctx;
};

/*
 * Listen where lower nodes can reach us: address and port go to @blob, for the
 * others. Return: fd, or -1 with a zeroed blob if nobody will connect; or an
 * error below -1.
 */
int links_listen(const struct topology *t, const struct rendezvous *rdv, uint8_t *blob);

/* Return: 0; -ECANCELED another rank has failed; -ETIMEDOUT; other errors. */
int links_connect(const struct links_config *cfg);

#endif
