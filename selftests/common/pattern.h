/* SPDX-License-Identifier: GPL-2.0 */
/* Bytes that are known by their place and a number. */
#ifndef COLL_SELFTESTS_PATTERN_H
#define COLL_SELFTESTS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fill memory with the pattern of @salt. */
void pattern_fill(void *mem, size_t bytes, uint32_t salt);
/* Count the bytes that differ from the pattern of @salt. */
size_t pattern_wrong(const void *mem, size_t bytes, uint32_t salt);

#endif /* COLL_SELFTESTS_PATTERN_H */
