/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Keyed digests, and what is derived from the job key. */
#ifndef LIBCOLL_AUTH_H
#define LIBCOLL_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTH_LEN	32	/* bytes of a nonce, a proof, a digest */

/**
 * struct job_secret - the job key as everything below uses it
 * @key: SHA-256 of what the user gave
 */
struct job_secret {
	uint8_t key[AUTH_LEN];
};

/* A piece of what is digested. */
struct auth_part {
	const void *data;
	size_t len;
};

int auth_random(void *buf, size_t len);
int auth_secret(struct job_secret *s, const char *key);
void auth_wipe(void *buf, size_t len);

/**
 * auth_mac() - HMAC-SHA256 over a label and parts
 * @key: AUTH_LEN bytes
 * @label: says what the result is good for, so that no proof of one kind is
 *	ever accepted as one of another
 * @parts: @nr pieces of fixed length each: nothing is ambiguous without
 *	lengths among them; 512 bytes in all at most
 * @out: AUTH_LEN bytes
 *
 * Return: 0, -ENOMEM or -EINVAL.
 */
int auth_mac(const uint8_t *key, const char *label, const struct auth_part *parts,
	     size_t nr, uint8_t *out);

int auth_sha256(const void *data, size_t len, uint8_t *out);

/* Compare AUTH_LEN bytes in constant time. */
bool auth_equal(const uint8_t *a, const uint8_t *b);

#endif
