/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Numbers of an application, for the 16-bit fields of commands. */
#ifndef LIBCOLL_U16_H
#define LIBCOLL_U16_H

#include <stdint.h>

/* A number that does not fit becomes one that the kernel refuses, and not another valid one. */
static inline uint16_t u16_of(unsigned int value)
{
	return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

#endif
