/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The messages of a round, which both sides of a rendezvous share.
 *
 *	0	magic (u32)
 *	4	type (u16): RDV_GIVE, ...
 *	6	round (u16), from 1
 *	8	status (u32): 0 or a positive errno
 *	12	length of the payload (u32)
 *	16	payload; of a result with a status: a line of text for people, or none
 *	+	proof: HMAC under the session key over type, header and SHA-256 of
 *		the payload
 */
#ifndef LIBCOLL_RDV_WIRE_H
#define LIBCOLL_RDV_WIRE_H

#include "rendezvous.h"

#define RDV_HDR		16
#define RDV_GIVE	1	/* rank to rank 0: RDV_BLOB bytes; with a status, text */
#define RDV_RESULT	2	/* rank 0 to rank: size * RDV_BLOB bytes, none, or text */
#define RDV_LATER	3	/* rank 0 to a rank whose message is in: leave, come back for the
				 * result; milliseconds until then (u32) */
#define RDV_RESULT_LEAVE 4	/* as RDV_RESULT; then leave, come back with the next message */
#define RDV_LATER_LEN	4
#define RDV_PAUSE_MAX	3000	/* the most milliseconds of RDV_LATER */
#define RDV_GIVE_LEN	(RDV_HDR + RDV_BLOB + AUTH_LEN)
#define RDV_STRANGER_MS	5000
#define RDV_TEXT	256	/* the most bytes of a text */

struct rdv_head {
	uint16_t type;
	uint16_t round;
	uint32_t status;
	uint32_t length;
};

void rdv_put_head(uint8_t *p, const struct rdv_head *h);

/* Return: 0; -EPROTO if this is not a header of @type and @round, or a length is invalid. */
int rdv_get_head(const uint8_t *p, uint16_t type, uint16_t round, struct rdv_head *h);

/* @digest: SHA-256 of the payload */
int rdv_proof(const uint8_t *session, const uint8_t *head, const uint8_t *digest,
	      uint8_t *out);

#endif
