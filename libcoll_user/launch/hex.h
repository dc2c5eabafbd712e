/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Bytes as text: values of PMI are lines without spaces. */
#ifndef LIBCOLL_HEX_H
#define LIBCOLL_HEX_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* @text has 2 * @len + 1 bytes. */
static inline void hex_put(char *text, const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		text[2 * i] = digits[p[i] >> 4];
		text[2 * i + 1] = digits[p[i] & 15];
	}
	text[2 * len] = '\0';
}

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly @len bytes, or -EPROTO. */
static inline int hex_get(const char *text, uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return -EPROTO;
		p[i] = (uint8_t)(high << 4 | low);
	}
	return text[2 * len] ? -EPROTO : 0;
}

#endif
