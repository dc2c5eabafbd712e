// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The scalar reference: integers. Arithmetic is unsigned, because it wraps; small
 * types are promoted to int, hence u32 in products.
 */
#include "reduce_scalar.h"

#define ORDER(type, bits)							\
COLL_FOLD_NATIVE(type, type)							\
COLL_FOLD(min, type, bits, b < a ? b : a, a)					\
COLL_FOLD(max, type, bits, b > a ? b : a, a)

#define INT(type, bits, wide)							\
ORDER(type, bits)								\
COLL_FOLD(sum, type, bits, a + b, a)						\
COLL_FOLD(prod, type, bits, (wide)a * b, a)					\
COLL_FOLD(land, type, bits, a && b, a)						\
COLL_FOLD(lor, type, bits, a || b, a)						\
COLL_FOLD(lxor, type, bits, !a != !b, a)					\
COLL_FOLD(band, type, bits, a & b, a)						\
COLL_FOLD(bor, type, bits, a | b, a)						\
COLL_FOLD(bxor, type, bits, a ^ b, a)						\
COLL_FOLD_AVG(type, a + b, a / n)						\
COLL_FOLD_SCALED(type, (wide)b * s, a + b, a)

/* @unsign: the unsigned type; the sum has wrapped before it is divided */
#define SIGNED(type, bits, unsign)						\
ORDER(type, bits)								\
COLL_FOLD_AVG(type, (type)((unsign)a + (unsign)b), a / (s64)n)

INT(u8, b8, u32)
INT(u16, b16, u32)
INT(u32, b32, u32)
INT(u64, b64, u64)
SIGNED(s8, b8, u8)
SIGNED(s16, b16, u16)
SIGNED(s32, b32, u32)
SIGNED(s64, b64, u64)

COLL_CONVERT(u8, u32)
COLL_CONVERT(s8, s32)
COLL_CONVERT(u16, u32)
COLL_CONVERT(s16, s32)
COLL_CONVERT(u32, u64)
COLL_CONVERT(s32, s64)
