// SPDX-License-Identifier: GPL-2.0
#include "pattern.h"

static uint8_t byte_at(size_t i, uint32_t salt)
{
	return (i * 2654435761U >> 13) + salt * 31;
}

void pattern_fill(void *mem, size_t bytes, uint32_t salt)
{
	uint8_t *p = mem;
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = byte_at(i, salt);
}

size_t pattern_wrong(const void *mem, size_t bytes, uint32_t salt)
{
	const uint8_t *p = mem;
	size_t i, n = 0;

	for (i = 0; i < bytes; i++)
		n += p[i] != byte_at(i, salt);
	return n;
}
