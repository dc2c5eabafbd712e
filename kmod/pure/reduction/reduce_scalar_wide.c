// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Extended floats, see wide.h: one after the other, for elements whose sum is beyond the
 * range of the type, or is no number.
 */
#include "reduce_scalar.h"
#include "wide.h"

/*
 * @SHIFT: numbers beyond the range are folded times 2^-SHIFT. Nothing of them is lost by
 * that, and what gets lost of an addend is far below their last place.
 */
#define SHIFT	32

/*
 * @word: unsigned integer of the type's size, @fraction: bits of its fraction,
 * @bias: of its exponent
 */
#define EXTENDED(type, word, fraction, bias)				\
struct ext_##type {								\
	type v;		/* if big: times 2^-SHIFT */				\
	bool big;								\
};										\
										\
static inline type power_##type(int e)						\
{										\
	word bits = (word)(e + (bias)) << (fraction);				\
	type v;									\
										\
	__builtin_memcpy(&v, &bits, sizeof(v));					\
	return v;								\
}										\
										\
static inline bool finite_##type(type v)					\
{										\
	return v - v == 0;							\
}										\
										\
static struct ext_##type get_ext_##type(const void *p, size_t i, bool folded)	\
{										\
	const word one = 1, exponent = (word)(2 * (bias) + 1) << (fraction);	\
	const word g_mask = (one << ((fraction) - 4)) - 1;			\
	struct ext_##type x = { 0, false };					\
	word bits, t;								\
										\
	__builtin_memcpy(&bits, (const u8 *)p + i * sizeof(bits), sizeof(bits));\
	t = bits >> ((fraction) - 4) & 15;					\
	if (folded && (bits & exponent) == exponent && t) {			\
		word sign = bits >> (8 * sizeof(bits) - 1) << (8 * sizeof(bits) - 1);\
		word e = (word)(2 * (bias) + t - SHIFT) << (fraction);		\
										\
		x.big = true;							\
		bits = sign | e | (bits & g_mask) << 4;				\
	}									\
	__builtin_memcpy(&x.v, &bits, sizeof(bits));				\
	return x;								\
}										\
										\
static struct ext_##type add_##type(struct ext_##type a, struct ext_##type b)	\
{										\
	const type down = power_##type(-SHIFT), up = power_##type(SHIFT);	\
	struct ext_##type s = { a.v + b.v, false };				\
										\
	if (!finite_##type(a.v) || !finite_##type(b.v) ||			\
	    (!a.big && !b.big && finite_##type(s.v)))				\
		return s;							\
	s.v = (a.big ? a.v : a.v * down) + (b.big ? b.v : b.v * down);		\
	s.big = !finite_##type(s.v * up);					\
	if (!s.big)								\
		s.v *= up;							\
	return s;								\
}										\
										\
static struct ext_##type sum_##type(const void *const *in, unsigned int nr_in,	\
				    size_t i, const struct coll_reduce_arg *arg)\
{										\
	struct ext_##type s = get_ext_##type(in[0], i, arg->nr_folded > 0);	\
	unsigned int k;								\
										\
	for (k = 1; k < nr_in; k++)						\
		s = add_##type(s, get_ext_##type(in[k], i, k < arg->nr_folded));\
	return s;								\
}										\
										\
/* A sum that does not fit is cut off: more than 2^14 of the largest number give 2^14 of it. */	\
static word code_##type(struct ext_##type s)					\
{										\
	const word one = 1, exponent = (word)(2 * (bias) + 1) << (fraction);	\
	const word g_mask = (one << ((fraction) - 4)) - 1;			\
	word bits, sign, t;							\
										\
	if (s.v != s.v)								\
		return exponent | 1;						\
	__builtin_memcpy(&bits, &s.v, sizeof(bits));				\
	if (!s.big || !finite_##type(s.v))					\
		return bits;							\
	sign = bits >> (8 * sizeof(bits) - 1) << (8 * sizeof(bits) - 1);	\
	bits ^= sign;								\
	t = (bits >> (fraction)) + SHIFT - 2 * (bias);				\
	if (t > 15)								\
		return sign | exponent | (word)15 << ((fraction) - 4) | g_mask;	\
	return sign | exponent | t << ((fraction) - 4) | (bits >> 4 & g_mask);	\
}										\
										\
/* An element; what is still beyond the range is infinite. */			\
static type value_##type(struct ext_##type s)					\
{										\
	if (s.v != s.v)								\
		return __builtin_nan("");					\
	return s.big ? s.v * power_##type(SHIFT) : s.v;				\
}										\
										\
static void put_ext_##type(void *const *out, unsigned int nr_out, size_t i, type v)	\
{										\
	unsigned int k;								\
										\
	for (k = 0; k < nr_out; k++)						\
		__builtin_memcpy((u8 *)out[k] + i * sizeof(v), &v, sizeof(v));	\
}										\
										\
void coll_scalar_ext_part_##type(COLL_FOLD_ARGS)				\
{										\
	unsigned int k;								\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		const word code = code_##type(sum_##type(in, nr_in, i, arg));	\
										\
		for (k = 0; k < nr_out; k++)					\
			__builtin_memcpy((u8 *)out[k] + i * sizeof(code), &code,\
					 sizeof(code));				\
	}									\
}										\
										\
void coll_scalar_ext_avg_##type(COLL_FOLD_ARGS)					\
{										\
	struct ext_##type s;							\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		s = sum_##type(in, nr_in, i, arg);				\
		s.v /= (type)arg->divisor;					\
		put_ext_##type(out, nr_out, i, value_##type(s));		\
	}									\
}

EXTENDED(f32, u32, 23, 127)
EXTENDED(f64, u64, 52, 1023)

void coll_scalar_ext_sum_f32(COLL_FOLD_ARGS)
{
	size_t i;

	for (i = 0; i < count; i++)
		put_ext_f32(out, nr_out, i,
			       value_f32(sum_f32(in, nr_in, i, arg)));
}
