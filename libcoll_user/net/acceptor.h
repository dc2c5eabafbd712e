/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A listening socket in a world of strangers.
 *
 * A peer that connects is a stranger until the handshake is complete. Strangers are served
 * together, none waits for another; each has a short deadline, and there are at most @cap of
 * them: if one more comes, the oldest goes, or the oldest of a host that has more than half of the
 * places. A stranger costs one struct and at most one HMAC. With
 * @least_ms the oldest goes only after this time; until then new clients wait in the kernel,
 * without a descriptor.
 */
#ifndef LIBCOLL_ACCEPTOR_H
#define LIBCOLL_ACCEPTOR_H

#include "handshake.h"

struct stranger;

/**
 * struct acceptor_ops - what the owner decides; all called by acceptor_pump()
 * @decide: a client with the right key asks for something: 0 to accept, or
 *	-errno. On 0 exactly one of the next two follows.
 * @taken: the client has got its welcome. The fd is the callee's now. Returns
 *	0 or -errno, which ends acceptor_pump().
 * @lost: the connection broke before that; @decide may say 0 to another one.
 * @refused: may be NULL; called for a client that spoke our protocol and was refused: by
 *	@decide, or for another key (then its request is not proved)
 */
struct acceptor_ops {
	int (*decide)(void *ctx, const struct hs_ask *ask);
	int (*taken)(void *ctx, const struct handshake *hs);
	void (*lost)(void *ctx, const struct hs_ask *ask);
	void (*refused)(void *ctx, const struct handshake *hs, int err);
};

/**
 * struct acceptor - see above
 * @lfd: listening socket, owned
 * @epfd: readable when acceptor_pump() has something to do
 * @oldest: strangers in order of arrival, and so of their deadlines
 * @newest: the other end of the list
 * @nr: number of clients in the list; at most @cap, which is not 0
 * @full: no client is accepted before one of them has gone, or may go
 * @refused: strangers turned away so far, for tests and COLL_DEBUG
 */
struct acceptor {
	int lfd;
	int epfd;
	struct stranger *oldest, *newest;
	unsigned int nr, cap;
	unsigned int stranger_ms;
	unsigned int least_ms;
	bool full;
	unsigned int refused;
	const struct job_secret *secret;
	const uint8_t *job;
	const struct acceptor_ops *ops;
	void *ctx;
};

/* Takes @lfd over, also on error. The other fields are set by the caller first. */
int acceptor_init(struct acceptor *a, int lfd);
void acceptor_destroy(struct acceptor *a);

/* Do what can be done without waiting; 0 or -errno that ends it all. */
int acceptor_pump(struct acceptor *a);

/* @d, or the next stranger's deadline if that is earlier. */
struct deadline acceptor_deadline(const struct acceptor *a, struct deadline d);

#endif
