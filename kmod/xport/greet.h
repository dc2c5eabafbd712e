/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How two nodes prove to each other that they know the key of a communicator, without
 * sending it. Each node sends HELLO with a nonce of its own. When a node has the peer's HELLO,
 * it sends PROOF: the MAC, under the key, of both HELLOs. Until it has the peer's PROOF, it
 * sends and obeys no other frame of the communicator.
 *
 * There is one handshake for each stream, under the key of the communicator that the sockets
 * were handed over for, and one for each communicator that joins later (a shared channel), on the
 * control stream. wire.rst has the table of states.
 *
 * The MAC is BLAKE2s with a key (RFC 7693), of the kernel's own library. It is computed in
 * process context, with conn->lock held, and never under a spinlock. A HELLO that is
 * accepted leads to one MAC that is sent and one that is verified, and each handshake accepts
 * one HELLO (a shared channel: the same one twice).
 */
#ifndef COLL_XPORT_GREET_H
#define COLL_XPORT_GREET_H

#include <linux/types.h>

#include "../pure/wire.h"

/* How far the handshake is on the peer's side. */
enum coll_greet_state {
	COLL_GREET_NONE,	/* nothing yet: HELLO must come */
	COLL_GREET_HEARD,	/* a correct HELLO: PROOF must come */
	COLL_GREET_PROVEN,	/* a correct PROOF: the peer knows the key */
	COLL_GREET_REFUSED,	/* a wrong frame: no further one is accepted */
};

/**
 * struct coll_greet - one handshake; all of it under conn->lock
 * @state: what the peer has said; COLL_GREET_REFUSED read by anyone
 * @hello_due: our HELLO is to be sent (once more)
 * @proof_due: our PROOF is to be sent, behind HELLO
 * @hellos: number of HELLOs that have come
 * @nonce: ours, constant during the handshake
 * @peer: HELLO of the peer; from COLL_GREET_HEARD on
 */
struct coll_greet {
	enum coll_greet_state state;
	bool hello_due;
	bool proof_due;
	u8 hellos;
	u8 nonce[COLL_WIRE_NONCE];
	struct coll_hello peer;
};

/**
 * coll_greet_name() - the public name of a communicator
 * @key: its key
 * @name: result, COLL_WIRE_NAME bytes; does not reveal the key
 */
void coll_greet_name(const u8 *key, u8 *name);

/**
 * coll_greet_init() - begin: HELLO is due
 * @g: all zeroes
 */
void coll_greet_init(struct coll_greet *g);

/**
 * coll_greet_hello() - HELLO has come
 * @g: handshake
 * @payload: of the frame
 * @mine: ours, with the nonce
 * @most: how often HELLO may come
 *
 * The first HELLO makes our PROOF due. A second one must be identical, and come before PROOF.
 * Return: 0 or -EPROTO.
 */
int coll_greet_hello(struct coll_greet *g, const u8 *payload, const struct coll_hello *mine,
		     u8 most);

/**
 * coll_greet_proof() - PROOF has come
 * @g: handshake
 * @payload: of the frame
 * @mine: our HELLO, with the nonce
 * @key: of the communicator
 * @epoch: of the communicator
 *
 * Return: 0 if the peer knows the key, else -EPROTO.
 */
int coll_greet_proof(struct coll_greet *g, const u8 *payload, const struct coll_hello *mine,
		     const u8 *key, u32 epoch);

/**
 * coll_greet_put_proof() - our PROOF
 * @g: handshake that has heard HELLO
 * @buf: COLL_WIRE_PROOF bytes
 * @mine: our HELLO, with the nonce
 * @key: of the communicator
 * @epoch: of the communicator
 */
void coll_greet_put_proof(struct coll_greet *g, u8 *buf, const struct coll_hello *mine,
			  const u8 *key, u32 epoch);

#endif /* COLL_XPORT_GREET_H */
