// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include <linux/coll.h>

#include "name.h"
#include "wire.h"

uint64_t tensor_digest_name(uint64_t digest, const char *name)
{
	size_t len = strnlen(name, COLL_TENSOR_NAME_MAX), k;
	uint64_t word;

	digest = coll_digest(digest, len);
	for (k = 0; k < len; k += sizeof(word)) {
		word = 0;
		memcpy(&word, name + k, len - k < sizeof(word) ? len - k : sizeof(word));
		digest = coll_digest(digest, word);
	}
	return digest;
}
