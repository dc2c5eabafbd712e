/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The rendezvous: rank 0 listens, the others connect and prove the key, then
 * all take part in rounds. A round is an allgather of one small blob and one
 * status per rank through rank 0. If a rank has a status other than 0, or goes
 * away, the round ends with this error on all ranks. So no rank waits for one
 * that will not come.
 *
 * The rendezvous does not use /dev/coll, so it can be tested alone.
 */
#ifndef LIBCOLL_RENDEZVOUS_H
#define LIBCOLL_RENDEZVOUS_H

#include "base/deadline.h"
#include "net/auth.h"
#include "net/sock.h"

#define RDV_BLOB	72	/* bytes each rank gives to a round */

struct rendezvous;

/**
 * struct rdv_config - what rdv_open() needs
 * @rank: 0 listens
 * @size: 2 or more
 * @spec: "host:port" or "host:first-last"; NULL: see @lfd and @addrs
 * @lfd: without @spec, rank 0: a listening socket; it is duplicated, and stops listening when
 *	the rendezvous is closed
 * @addrs: without @spec, the others: @nr_addrs addresses of rank 0; must outlive the rendezvous
 * @secret: job key; must outlive the rendezvous
 * @deadline: of all calls until rdv_close()
 * @stranger_ms: how long a connection may take to prove itself; 0: 5000
 * @max_strangers: number of connections that may be proving themselves at a time; 0: 64 + @size
 */
struct rdv_config {
	uint32_t rank;
	uint32_t size;
	const char *spec;
	int lfd;
	const struct sock_addr *addrs;
	int nr_addrs;
	const struct job_secret *secret;
	struct deadline deadline;
	unsigned int stranger_ms;
	unsigned int max_strangers;
};

/**
 * rdv_open() - listen (rank 0) or connect and be welcomed (others)
 *
 * Rank 0 returns at once. The others connect during its first rdv_round(), and try
 * again until the deadline, since rank 0 may start later.
 * Errors: EINVAL, EHOSTUNREACH, EADDRINUSE, EKEYREJECTED, EEXIST, EPROTO,
 * EPROTONOSUPPORT, ETIMEDOUT; ECONNREFUSED if rank 0 did not listen until the deadline.
 */
int rdv_open(struct rendezvous **rdv, const struct rdv_config *cfg);

/**
 * rdv_round() - exchange: every rank sends its message, and gets those of all ranks
 * @status: 0, or the error of this rank (negative errno)
 * @in: RDV_BLOB bytes
 * @out: NULL, or room for size * RDV_BLOB bytes; NULL on all ranks or on none
 *
 * Return: 0 on all ranks, or on all ranks the same error. A rank that loses
 * rank 0 itself gets -EHOSTDOWN. After an error there are no more rounds.
 */
int rdv_round(struct rendezvous *rdv, int status, const uint8_t *in, uint8_t *out);

/*
 * Between rounds: rdv_fd() polls readable when rdv_check() has something to
 * do. rdv_check() returns -ECANCELED if the next round will fail; that round returns
 * the reason. Strangers are served only in these calls. rdv_fd() is -1 if there is no
 * connection between rounds, because rank 0 has too few descriptors.
 */
int rdv_fd(const struct rendezvous *rdv);
int rdv_check(struct rendezvous *rdv);

/* The nonce that rank 0 drew for this job; valid after the first round. */
const uint8_t *rdv_job(const struct rendezvous *rdv);

/* Own address of a connection to another rank, port 0; -EADDRNOTAVAIL if there was none. */
int rdv_local_address(const struct rendezvous *rdv, struct sock_addr *a);

void rdv_close(struct rendezvous *rdv);

#endif
