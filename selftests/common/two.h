/* SPDX-License-Identifier: GPL-2.0 */
/* The peer node of two communicators that share their streams. */
#ifndef TWO_H
#define TWO_H

#include "peer.h"
#include "raw.h"

#define TWO_SECOND	1000000000ULL
#define TWO_MS		10000	/* patience with frames that come */
#define TWO_QUIET	100	/* patience with frames that must not come */
#define TWO_SILENCE	3000	/* when nothing comes for so long, all has been sent */

/**
 * struct two - a real rank in two communicators
 * @a: made the streams
 * @b: came later
 */
struct two {
	struct peer a, b;
};

/* Both exist, and @a has done its handshakes. Return: 0 or -errno. */
int two_start(struct two *t);

/* Attach @b to the streams of @a. Return: 0 or -errno. */
int two_attach(struct two *t);

/* Attach @b, and do its handshake; nothing is left to read. Return: 0 or -errno. */
int two_establish(struct two *t);

void two_stop(struct two *t);

/* Send HELLO, or PROOF, of @p. */
bool two_hello(struct two *t, struct peer *p);
bool two_proof(struct two *t, struct peer *p);

/* Is the frame of this type, and of @p? */
bool two_is(const struct coll_frame *f, const struct peer *p, uint8_t type);

/* The error that @p has failed with; 0: it has not failed. */
uint32_t two_error(const struct peer *p);

/* Wait for that error, ten seconds at most. Does it come? */
bool two_fails(const struct peer *p, uint32_t error);

/* Run an op of @p from beginning to end. Return: 0, -errno, 1: wrong. */
int two_works(struct peer *p, enum peer_kind kind);

#endif
