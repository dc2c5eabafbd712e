// SPDX-License-Identifier: GPL-2.0
#include <crypto/algapi.h>
#include <linux/random.h>
#include <linux/string.h>

#include "../compat.h"
#include "greet.h"

void coll_greet_name(const u8 *key, u8 *name)
{
	u8 text[COLL_WIRE_LABEL], mac[COLL_WIRE_PROOF];

	coll_wire_put_name_text(text);
	coll_blake2s(key, COLL_KEY_SIZE, text, sizeof(text), mac, sizeof(mac));
	memcpy(name, mac, COLL_WIRE_NAME);
}

void coll_greet_init(struct coll_greet *g)
{
	get_random_bytes(g->nonce, sizeof(g->nonce));
	g->hello_due = true;
}

/* Check the communicator, the peer's place in it, and the version of the protocol. */
static int coll_greet_check(const struct coll_hello *h, const struct coll_hello *mine)
{
	if (crypto_memneq(h->name, mine->name, sizeof(h->name)) ||
	    h->size != mine->size || h->nr_nodes != mine->nr_nodes || h->map != mine->map ||
	    h->src_node != mine->dst_node || h->dst_node != mine->src_node ||
	    h->stripe != mine->stripe || h->wire_min > COLL_WIRE_VERSION ||
	    h->wire_max < COLL_WIRE_VERSION)
		return -EPROTO;
	/* Equal nonces are no coincidence: the peer has sent our own HELLO back. */
	return crypto_memneq(h->nonce, mine->nonce, sizeof(h->nonce)) ? 0 : -EPROTO;
}

static int coll_greet_refuse(struct coll_greet *g)
{
	/* Read by coll_ch_settled(). */
	WRITE_ONCE(g->state, COLL_GREET_REFUSED);
	/* Our HELLO may still go: it is not secret, and shows the peer what does not match. */
	g->proof_due = false;
	return -EPROTO;
}

int coll_greet_hello(struct coll_greet *g, const u8 *payload, const struct coll_hello *mine,
		     u8 most)
{
	struct coll_hello h = { };

	if (g->state > COLL_GREET_HEARD || g->hellos >= most ||
	    coll_wire_get_hello(payload, &h) || coll_greet_check(&h, mine))
		return coll_greet_refuse(g);
	g->hellos++;
	if (g->state == COLL_GREET_HEARD)
		return memcmp(&h, &g->peer, sizeof(h)) ? coll_greet_refuse(g) : 0;
	g->peer = h;
	g->proof_due = true;
	g->state = COLL_GREET_HEARD;
	return 0;
}

/* @from and @to are the HELLOs of the sender and of the receiver of PROOF. */
static void coll_greet_mac(const u8 *key, u32 epoch, const struct coll_hello *from,
			   const struct coll_hello *to, u8 *mac)
{
	u8 text[COLL_WIRE_PROOF_TEXT];

	coll_wire_put_proof_text(text, epoch, from, to);
	coll_blake2s(key, COLL_KEY_SIZE, text, sizeof(text), mac, COLL_WIRE_PROOF);
}

int coll_greet_proof(struct coll_greet *g, const u8 *payload, const struct coll_hello *mine,
		     const u8 *key, u32 epoch)
{
	u8 mac[COLL_WIRE_PROOF];
	bool right;

	if (g->state != COLL_GREET_HEARD)
		return coll_greet_refuse(g);
	coll_greet_mac(key, epoch, &g->peer, mine, mac);
	right = !crypto_memneq(mac, payload, sizeof(mac));
	/* The MAC is the PROOF that the peer should have sent: do not leave it on the stack. */
	memzero_explicit(mac, sizeof(mac));
	if (!right)
		return coll_greet_refuse(g);
	g->state = COLL_GREET_PROVEN;
	return 0;
}

void coll_greet_put_proof(struct coll_greet *g, u8 *buf, const struct coll_hello *mine,
			  const u8 *key, u32 epoch)
{
	coll_greet_mac(key, epoch, mine, &g->peer, buf);
	g->proof_due = false;
}
