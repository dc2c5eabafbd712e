/* SPDX-License-Identifier: GPL-2.0 */
/* Names of tensors and hosts are bytes. Most are UTF-8, which JSON takes as it is. */
#ifndef COLL_TOOLS_UTF8_H
#define COLL_TOOLS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the character at @s, if it is not one of ASCII; 0: these bytes are no UTF-8 (RFC 3629).
 * @s ends with a NUL.
 */
static inline size_t utf8_len(const char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *c = (const unsigned char *)s;
	size_t len = *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2, i;
	uint32_t v;

	if (*c < 0xc0 || *c >= 0xf8)
		return 0;
	v = *c & (0xffU >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (c[i] & 0x3f);
	}
	return v < least[len] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : len;
}

#endif /* COLL_TOOLS_UTF8_H */
