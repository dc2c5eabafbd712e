// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth.h"

#define MAC_INPUT_MAX	512

int auth_random(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int auth_sha256(const void *data, size_t len, uint8_t *out)
{
	unsigned int n = AUTH_LEN;

	return EVP_Digest(data, len, out, &n, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
}

int auth_secret(struct job_secret *s, const char *key)
{
	return auth_sha256(key, strlen(key), s->key);
}

void auth_wipe(void *buf, size_t len)
{
	OPENSSL_cleanse(buf, len);
}

int auth_mac(const uint8_t *key, const char *label, const struct auth_part *parts,
	     size_t nr, uint8_t *out)
{
	uint8_t input[MAC_INPUT_MAX];
	unsigned int outlen = AUTH_LEN;
	size_t len = strlen(label) + 1;	/* the NUL ends the label */
	size_t i;

	if (len > sizeof(input))
		return -EINVAL;
	memcpy(input, label, len);
	for (i = 0; i < nr; i++) {
		if (parts[i].len > sizeof(input) - len)
			return -EINVAL;
		memcpy(input + len, parts[i].data, parts[i].len);
		len += parts[i].len;
	}
	if (!HMAC(EVP_sha256(), key, AUTH_LEN, input, len, out, &outlen))
		return -ENOMEM;
	return 0;
}

bool auth_equal(const uint8_t *a, const uint8_t *b)
{
	return !CRYPTO_memcmp(a, b, AUTH_LEN);
}
