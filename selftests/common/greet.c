// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "greet.h"

void greet_mac(const uint8_t *key, const uint8_t *text, size_t len, uint8_t *mac)
{
	EVP_MAC *alg = EVP_MAC_fetch(NULL, "BLAKE2SMAC", NULL);
	EVP_MAC_CTX *ctx = alg ? EVP_MAC_CTX_new(alg) : NULL;
	size_t got = 0;

	if (!ctx || !EVP_MAC_init(ctx, key, COLL_KEY_SIZE, NULL) ||
	    !EVP_MAC_update(ctx, text, len) ||
	    !EVP_MAC_final(ctx, mac, &got, COLL_WIRE_PROOF) || got != COLL_WIRE_PROOF) {
		fprintf(stderr, "OpenSSL has no BLAKE2SMAC\n");
		exit(1);
	}
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(alg);
}

void greet_name(const uint8_t *key, uint8_t *name)
{
	uint8_t text[COLL_WIRE_LABEL], mac[COLL_WIRE_PROOF];

	coll_wire_put_name_text(text);
	greet_mac(key, text, sizeof(text), mac);
	memcpy(name, mac, COLL_WIRE_NAME);
}

void greet_put_proof(const uint8_t *key, const struct coll_hello *from,
		     const struct coll_hello *to, uint8_t *mac)
{
	uint8_t text[COLL_WIRE_PROOF_TEXT];

	coll_wire_put_proof_text(text, 0, from, to);
	greet_mac(key, text, sizeof(text), mac);
}
