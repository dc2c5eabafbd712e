/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The few types and macros that pure and simd code needs. They are the same in the kernel and
 * in user space. Pure code includes nothing but this file, uapi/linux/coll.h and its own headers.
 */
#ifndef COLL_PURE_ENV_H
#define COLL_PURE_ENV_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#endif

#include <linux/coll.h>

#endif /* COLL_PURE_ENV_H */
