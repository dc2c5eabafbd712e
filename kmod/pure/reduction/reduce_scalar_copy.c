// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * replace and no_op, and every fold of one input: bits are copied, whatever they
 * mean, but padding, which is written as zero.
 */
#include "reduce_scalar.h"

struct b128 {
	u64 low;
	u64 high;
};

struct b16_b32 {
	u16 value;
	u16 pad;
	u32 index;
};

struct b64_b32 {
	u64 value;
	u32 index;
	u32 pad;
};

/* The x87's long double: fraction, then sign and exponent. */
struct b80 {
	u64 fraction;
	u16 exponent;
	u16 pad[3];
};

struct b80_b80 {
	struct b80 re;
	struct b80 im;
};

struct b80_b32 {
	struct b80 value;
	u32 index;
	u32 pad[3];
};

#define CLEAR(field)	__builtin_memset(&(field), 0, sizeof(field))

/* @clear: what is done to the padding of a */
#define COPY(bits, type, clear)							\
static void copy_##bits(void *const *out, unsigned int nr_out, const u8 *in,	\
			size_t count)						\
{										\
	unsigned int k;								\
	size_t i;								\
	type a;									\
										\
	for (i = 0; i < count; i++) {						\
		__builtin_memcpy(&a, in + i * sizeof(a), sizeof(a));		\
		clear;								\
		for (k = 0; k < nr_out; k++)					\
			__builtin_memcpy((u8 *)out[k] + i * sizeof(a), &a,	\
					 sizeof(a));				\
	}									\
}										\
										\
void coll_scalar_no_op_##bits(COLL_FOLD_ARGS)					\
{										\
	copy_##bits(out, nr_out, in[0], count);					\
}										\
										\
void coll_scalar_replace_##bits(COLL_FOLD_ARGS)					\
{										\
	copy_##bits(out, nr_out, in[nr_in - 1], count);				\
}

COPY(b8, u8, (void)0)
COPY(b16, u16, (void)0)
COPY(b32, u32, (void)0)
COPY(b64, u64, (void)0)
COPY(b128, struct b128, (void)0)
COPY(b16_b32, struct b16_b32, CLEAR(a.pad))
COPY(b64_b32, struct b64_b32, CLEAR(a.pad))
COPY(b80, struct b80, CLEAR(a.pad))
COPY(b80_b80, struct b80_b80, CLEAR(a.re.pad); CLEAR(a.im.pad))
COPY(b80_b32, struct b80_b32, CLEAR(a.value.pad); CLEAR(a.pad))
