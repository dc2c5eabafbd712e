/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Between elements and the wider type of their partial results, in the order of the
 * elements: a vector of the wider type has a half or a quarter of a vector of elements.
 */
#ifndef COLL_SIMD_REDUCE_WIDE_H
#define COLL_SIMD_REDUCE_WIDE_H

#include "reduce_small.h"

/* sparse knows no vectors, and old compilers do not convert them: the scalar set does. */
#if !defined(__CHECKER__) && defined(__has_builtin)
#if __has_builtin(__builtin_convertvector)
#define HAVE_WIDE
#endif
#endif

#ifdef HAVE_WIDE
#define WIDE_PART(type, bytes)	type __attribute__((vector_size(bytes)))

typedef WIDE_PART(u8, VEC_BYTES / 4) quarter_u8;
typedef WIDE_PART(s8, VEC_BYTES / 4) quarter_s8;
typedef WIDE_PART(u16, VEC_BYTES / 2) half_u16;
typedef WIDE_PART(s16, VEC_BYTES / 2) half_s16;
typedef WIDE_PART(u32, VEC_BYTES / 2) half_u32;
typedef WIDE_PART(s32, VEC_BYTES / 2) half_s32;

/* Lanes of 32 bits have an element in their low bits, and zeroes above. */
static coll_always_inline vec wide_of_bf16(vec v)
{
	return (vec)((vec_u32)v << 16);
}

/* See round_bf16(); but what came over a link may be a NaN with any payload. */
static coll_always_inline vec narrow_of_bf16(vec a)
{
	vec is_nan = (vec)((vec_s32)(a & splat32(0x7fffffff)) > (vec_s32)splat32(0x7f800000));

	return select(is_nan, splat32(0x7fc0), (vec)((vec_u32)round_bf16(a) >> 16));
}

#ifdef HAVE_F16
static coll_always_inline vec wide_of_f16(vec v)
{
	return (vec)WIDEN_F16(__builtin_convertvector((vec_u32)v, half_f16));
}

static coll_always_inline vec narrow_of_f16(vec a)
{
	vec is_nan = (vec)((vec_s32)(a & splat32(0x7fffffff)) > (vec_s32)splat32(0x7f800000));
	half_u16 h = (half_u16)NARROW_F16((vec_f32)a);

	return select(is_nan, splat32(0x7e00), (vec)__builtin_convertvector(h, vec_u32));
}
#else
#define wide_of_f16(v)		widen(format_f16, v)
#define narrow_of_f16(v)	narrow(format_f16, v)
#endif

#define wide_of_e4m3(v)		widen(format_e4m3, v)
#define wide_of_e5m2(v)		widen(format_e5m2, v)
#define narrow_of_e4m3(v)	narrow(format_e4m3, v)
#define narrow_of_e5m2(v)	narrow(format_e5m2, v)
#define AS_IT_IS(v)		(v)

/*
 * @part: as many elements as a vector of the wider type has, @lanes: that vector; @to,
 * @back: what is done to the lanes besides
 */
#define CONVERT(kind, part, lanes, to, back)					\
static void to_wide_##kind(void *const *out, unsigned int nr_out, const void *const *in,	\
			 unsigned int nr_in, size_t count,			\
			 const struct coll_reduce_arg *arg)			\
{										\
	const size_t step = sizeof(part), times = VEC_BYTES / step;		\
	const size_t bytes = count * (sizeof(((lanes){})[0]) / times);		\
	const u8 *from = in[0];							\
	unsigned int k;								\
	part p;									\
	size_t i;								\
	vec v;									\
										\
	for (i = 0; i < bytes; i += step) {					\
		if (bytes - i >= step) {					\
			__builtin_memcpy(&p, from + i, step);			\
		} else {							\
			v = load_part(from + i, bytes - i);			\
			__builtin_memcpy(&p, &v, step);				\
		}								\
		v = to((vec)__builtin_convertvector(p, lanes));			\
		for (k = 0; k < nr_out; k++)					\
			store_some((u8 *)out[k] + i * times, v, (bytes - i) * times);	\
	}									\
}										\
										\
static void from_wide_##kind(void *const *out, unsigned int nr_out, const void *const *in,	\
			  unsigned int nr_in, size_t count,			\
			  const struct coll_reduce_arg *arg)			\
{										\
	const size_t step = sizeof(part), times = VEC_BYTES / step;		\
	const size_t bytes = count * (sizeof(((lanes){})[0]) / times);		\
	const u8 *from = in[0];							\
	unsigned int k;								\
	part p;									\
	size_t i;								\
	vec v;									\
										\
	for (i = 0; i < bytes; i += step) {					\
		v = back(load_some(from + i * times, (bytes - i) * times));	\
		p = __builtin_convertvector((lanes)v, part);			\
		for (k = 0; k < nr_out; k++) {					\
			if (bytes - i >= step) {				\
				__builtin_memcpy((u8 *)out[k] + i, &p, step);	\
			} else {						\
				__builtin_memcpy(&v, &p, step);			\
				store_part((u8 *)out[k] + i, v, bytes - i);	\
			}							\
		}								\
	}									\
}

CONVERT(u8, quarter_u8, vec_u32, AS_IT_IS, AS_IT_IS)
CONVERT(s8, quarter_s8, vec_s32, AS_IT_IS, AS_IT_IS)
CONVERT(u16, half_u16, vec_u32, AS_IT_IS, AS_IT_IS)
CONVERT(s16, half_s16, vec_s32, AS_IT_IS, AS_IT_IS)
CONVERT(u32, half_u32, vec_u64, AS_IT_IS, AS_IT_IS)
CONVERT(s32, half_s32, vec_s64, AS_IT_IS, AS_IT_IS)
CONVERT(f16, half_u16, vec_u32, wide_of_f16, narrow_of_f16)
CONVERT(bf16, half_u16, vec_u32, wide_of_bf16, narrow_of_bf16)
CONVERT(e4m3, quarter_u8, vec_u32, wide_of_e4m3, narrow_of_e4m3)
CONVERT(e5m2, quarter_u8, vec_u32, wide_of_e5m2, narrow_of_e5m2)
#endif /* HAVE_WIDE */

#endif /* COLL_SIMD_REDUCE_WIDE_H */
