/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Both ends of a fresh connection prove that they know the job key.
 *
 *	server				client
 *	GREETING {nonce s}	-->
 *				<--	HELLO {purpose, a, b, c, nonce c, proof}
 *	WELCOME {status, job nonce, proof}	-->
 *
 * Each proof is an HMAC over all that went before in either direction. The
 * client proves first: a program that only connects learns a random number. Nothing
 * is ever read past the last byte of the handshake, since the bytes after it
 * may belong to the kernel.
 *
 * A struct handshake is one end, driven by readiness; it never blocks.
 */
#ifndef LIBCOLL_HANDSHAKE_H
#define LIBCOLL_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "auth.h"
#include "base/deadline.h"

#define HS_PURPOSE_RANK	1	/* to the rendezvous: a rank, b size, c token or 0 */
#define HS_PURPOSE_LINK	2	/* to a node: a source, b destination, c stripe */
#define HS_PURPOSE_BACK	3	/* to the rendezvous, once more: as RANK */

#define HS_GREETING	40	/* magic, version, 0, nonce */
#define HS_HELLO_BODY	52	/* magic, version, purpose, a, b, c, nonce */
#define HS_HELLO	(HS_HELLO_BODY + AUTH_LEN)
#define HS_WELCOME_BODY	44	/* magic, version, 0, status, job nonce */
#define HS_WELCOME	(HS_WELCOME_BODY + AUTH_LEN)

/* The result of a step; errors are negative. */
enum hs_result {
	HS_AGAIN	= 0,	/* wait for hs_events() */
	HS_ASKED	= 1,	/* server: a proved HELLO is there, hs_answer() it */
	HS_DONE		= 2,	/* both sides have proved and agreed */
};

enum hs_state {
	HS_SEND_GREETING,	/* server: the GREETING is being sent */
	HS_RECV_HELLO,		/* server: the HELLO is being received */
	HS_DECIDE,		/* server: the caller has not answered yet */
	HS_SEND_WELCOME,	/* server: the WELCOME is being sent */
	HS_RECV_GREETING,	/* client: the GREETING is being received */
	HS_SEND_HELLO,		/* client: the HELLO is being sent */
	HS_RECV_WELCOME,	/* client: the WELCOME is being received */
	HS_OVER,		/* agreed, or refused: @status */
};

/* The identity that the client claims, and its request. */
struct hs_ask {
	uint16_t purpose;
	uint32_t a, b, c;
};

/**
 * struct handshake - one end of a connection that is proving itself
 * @fd: owned by the caller
 * @state: enum hs_state
 * @status: what was answered, a positive errno or 0; client: proved, too
 * @want: bytes of the message that is being sent or received
 * @have: number of these bytes that have been sent or received
 * @secret: job key; must outlive the handshake
 * @ask: client: set at start; server: valid from HS_ASKED on
 * @job: nonce of the job. Purpose RANK: the server's, told to the client.
 *	Other purposes: known to both before, and part of the client's proof.
 * @session: key for what follows on this connection, valid at HS_DONE
 */
struct handshake {
	int fd;
	enum hs_state state;
	int status;
	size_t want;
	size_t have;
	const struct job_secret *secret;
	struct hs_ask ask;
	uint8_t job[AUTH_LEN];
	uint8_t session[AUTH_LEN];
	uint8_t greeting[HS_GREETING];
	uint8_t hello[HS_HELLO];
	uint8_t welcome[HS_WELCOME];
};

int hs_start_server(struct handshake *hs, int fd, const struct job_secret *secret,
		    const uint8_t *job);
/* @job: NULL for purpose RANK */
void hs_start_client(struct handshake *hs, int fd, const struct job_secret *secret,
		     const struct hs_ask *ask, const uint8_t *job);

/**
 * hs_step() - go on as far as the socket allows
 *
 * Return: enum hs_result, or an error: -EKEYREJECTED: an end has a wrong key; -EPROTO: this is
 * not our protocol; -EPROTONOSUPPORT: another version of it; -ENODATA: end of stream; the status
 * of a refusal that is proved; other errors of the socket.
 */
int hs_step(struct handshake *hs);

/* Events to wait for with poll or epoll (the bits are the same). */
short hs_events(const struct handshake *hs);

/* Server, after HS_ASKED: accept (0) or refuse (positive errno), then hs_step(). */
int hs_answer(struct handshake *hs, int status);

/* Client: hs_step() until it is over or @d has passed. */
int hs_run(struct handshake *hs, struct deadline d);

#endif
