/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The connections of a node, made by its leader: to every node that a schedule asks for, two
 * streams per link, the stripes 2k and 2k + 1 of link k. topology_dials() says which of two nodes
 * connects; the other one accepts. Both prove the job key, bound to this job, both nodes and the
 * stripe.
 */
#ifndef LIBCOLL_LINKS_H
#define LIBCOLL_LINKS_H

#include "rendezvous/rendezvous.h"
#include "topology.h"

#define LINKS_STRIPES	2	/* of a link: control and data */

/**
 * struct links_config - what links_connect() needs
 * @topo: this node, and the nodes it needs links to
 * @secret: job key
 * @job: nonce of the job, AUTH_LEN bytes
 * @here: address of this rank, as given to links_listen()
 * @rdv: tells when another rank has failed; NULL: the caller finds out otherwise
 * @lfd: from links_listen(), or -1 if no node will connect; taken over
 * @addrs: addresses of the leaders by rank, RDV_BLOB bytes each, as
 *	links_listen() wrote them
 * @first: number of the first link to make
 * @nr: number of links to each node; 0: one
 * @deadline: for all of it
 * @hand_over: called once for each stream; takes the fd over; 0 or -errno
 * @ctx: for @hand_over
 */
struct links_config {
	const struct topology *topo;
	const struct job_secret *secret;
	const uint8_t *job;
	const struct sock_addr *here;
	struct rendezvous *rdv;
	int lfd;
	const uint8_t *addrs;
	uint32_t first;
	uint32_t nr;
	struct deadline deadline;
	int (*hand_over)(void *ctx, uint32_t peer, uint32_t stripe, int fd);
	void *ctx;
};

/*
 * Listen at all addresses of this host, if another node has to connect. @here, the addresses of
 * the interfaces and the port go to @blob, for the other nodes. @here with length 0 is not
 * known: an error if a node has to connect. Return: fd; -1 with a zeroed blob if no node will
 * connect; or an error below -1.
 */
int links_listen(const struct topology *t, const struct sock_addr *here, uint8_t *blob);

/* Return: 0; -ECANCELED if another rank has failed; -ETIMEDOUT; other errors. */
int links_connect(const struct links_config *cfg);

/*
 * The same in pieces, for a caller that does something else between them. @cfg is
 * used until links_close(). If links_open() fails, there is nothing to close, and @cfg->lfd
 * is closed. links_work() returns 0: all are handed over; 1: @until has passed;
 * if @cfg->deadline has passed, the error of the last attempt at a missing link, or
 * -ETIMEDOUT; other errors.
 */
struct links;
int links_open(struct links **l, const struct links_config *cfg);
int links_work(struct links *l, struct deadline until);
void links_close(struct links *l);

#endif
