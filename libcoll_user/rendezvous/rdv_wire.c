// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The messages of a round. */
#include <errno.h>

#include "base/bytes.h"
#include "rdv_wire.h"

#define RDV_MAGIC	0x31565243U	/* "CRV1" */

void rdv_put_head(uint8_t *p, const struct rdv_head *h)
{
	put_le32(p, RDV_MAGIC);
	put_le16(p + 4, h->type);
	put_le16(p + 6, h->round);
	put_le32(p + 8, h->status);
	put_le32(p + 12, h->length);
}

int rdv_get_head(const uint8_t *p, uint16_t type, uint16_t round, struct rdv_head *h)
{
	h->type = get_le16(p + 4);
	h->round = get_le16(p + 6);
	h->status = get_le32(p + 8);
	h->length = get_le32(p + 12);
	if (get_le32(p) != RDV_MAGIC || h->type != type || h->round != round)
		return -EPROTO;
	return h->status < 4096 ? 0 : -EPROTO;
}

int rdv_proof(const uint8_t *session, const uint8_t *head, const uint8_t *digest,
	      uint8_t *out)
{
	const struct auth_part parts[] = {
		{ head, RDV_HDR },
		{ digest, AUTH_LEN },
	};

	return auth_mac(session, "coll rendezvous", parts, 2, out);
}
