/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The MACs of HELLO and PROOF, by OpenSSL: a second implementation beside the kernel's.
 * PROOF is of no use without the key, which is what the tests are about.
 */
#ifndef COLL_SELFTESTS_GREET_H
#define COLL_SELFTESTS_GREET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/wire.h"

/* BLAKE2s with a key, 32 bytes. Exits if OpenSSL cannot do it. */
void greet_mac(const uint8_t *key, const uint8_t *text, size_t len, uint8_t *mac);

/* The public name of the communicator that has @key. */
void greet_name(const uint8_t *key, uint8_t *name);

/**
 * greet_put_proof() - payload of PROOF
 * @key: of the communicator; its epoch is 0
 * @from: HELLO of the sender of PROOF
 * @to: HELLO of the receiver of PROOF
 * @mac: COLL_WIRE_PROOF bytes
 */
void greet_put_proof(const uint8_t *key, const struct coll_hello *from,
		     const struct coll_hello *to, uint8_t *mac);

#endif /* COLL_SELFTESTS_GREET_H */
