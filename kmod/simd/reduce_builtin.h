/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Instructions that the compiler does not find by itself, and plain C where there is none: the
 * smaller of two lanes, and f16 to f32 and back.
 */
#ifndef COLL_SIMD_REDUCE_BUILTIN_H
#define COLL_SIMD_REDUCE_BUILTIN_H

#include "reduce_vec.h"

/*
 * The smaller lane, but the second where they are equal (zeros of either sign) or
 * not ordered.
 */
#if defined(__CHECKER__) || defined(__clang__)
#define MIN_PLAIN
#elif defined(__AVX512F__) && VEC_BYTES == 64
#define MIN_F32(a, b)	__builtin_ia32_minps512_mask(a, b, a, -1, 4)
#define MIN_F64(a, b)	__builtin_ia32_minpd512_mask(a, b, a, -1, 4)
#elif defined(__AVX__) && VEC_BYTES == 32
#define MIN_F32(a, b)	__builtin_ia32_minps256(a, b)
#define MIN_F64(a, b)	__builtin_ia32_minpd256(a, b)
#elif defined(__SSE2__) && VEC_BYTES == 16
#define MIN_F32(a, b)	__builtin_ia32_minps(a, b)
#define MIN_F64(a, b)	__builtin_ia32_minpd(a, b)
#else
#define MIN_PLAIN
#endif

#ifdef MIN_PLAIN
#define MIN_F32(a, b)	select((vec)((a) < (b)), (vec)(a), (vec)(b))
#define MIN_F64(a, b)	select((vec)((a) < (b)), (vec)(a), (vec)(b))
#endif

/*
 * Lanes where one of the two is a NaN, in whatever form ANY() takes; two of these can be
 * joined by |. HAVE_UNORDERED tells that there is an instruction.
 */
#if defined(__CHECKER__) || defined(__clang__)
/* nothing */
#elif defined(__AVX512F__) && VEC_BYTES == 64
#define HAVE_UNORDERED
#define UNORDERED_f32(a, b)	__builtin_ia32_cmpps512_mask((vec_f32)(a), (vec_f32)(b), 3, -1, 4)
#define UNORDERED_f64(a, b)	__builtin_ia32_cmppd512_mask((vec_f64)(a), (vec_f64)(b), 3, -1, 4)
#define ANY(lanes)		((lanes) != 0)
#elif defined(__AVX__) && VEC_BYTES == 32
#define HAVE_UNORDERED
#define UNORDERED_f32(a, b)	((vec)__builtin_ia32_cmpps256((vec_f32)(a), (vec_f32)(b), 3))
#define UNORDERED_f64(a, b)	((vec)__builtin_ia32_cmppd256((vec_f64)(a), (vec_f64)(b), 3))
#define ANY(lanes)		(__builtin_ia32_movmskps256((vec_f32)(lanes)) != 0)
#elif defined(__SSE2__) && VEC_BYTES == 16
#define HAVE_UNORDERED
#define UNORDERED_f32(a, b)	((vec)__builtin_ia32_cmpunordps((vec_f32)(a), (vec_f32)(b)))
#define UNORDERED_f64(a, b)	((vec)__builtin_ia32_cmpunordpd((vec_f64)(a), (vec_f64)(b)))
#define ANY(lanes)		(__builtin_ia32_movmskps((vec_f32)(lanes)) != 0)
#endif

/*
 * Lanes of integers of type vec_@t. For vectors of 64 bytes gcc 12 compiles select() to a
 * comparison into a mask and two moves; for others it finds the one instruction.
 */
#if defined(__AVX512BW__) && VEC_BYTES == 64 && !defined(__CHECKER__) && !defined(__clang__)
#define PICK(which, kind, a, b)							\
	((vec)__builtin_ia32_p##which##512_mask((kind)(a), (kind)(b), (kind)(a), -1))
#define MIN_vec_s8(a, b)	PICK(minsb, vec_c8, a, b)
#define MIN_vec_u8(a, b)	PICK(minub, vec_c8, a, b)
#define MIN_vec_s16(a, b)	PICK(minsw, vec_s16, a, b)
#define MIN_vec_u16(a, b)	PICK(minuw, vec_s16, a, b)
#define MIN_vec_s32(a, b)	PICK(minsd, vec_s32, a, b)
#define MIN_vec_u32(a, b)	PICK(minud, vec_s32, a, b)
#define MIN_vec_s64(a, b)	PICK(minsq, vec_l64, a, b)
#define MIN_vec_u64(a, b)	PICK(minuq, vec_l64, a, b)
#define MAX_vec_s8(a, b)	PICK(maxsb, vec_c8, a, b)
#define MAX_vec_u8(a, b)	PICK(maxub, vec_c8, a, b)
#define MAX_vec_s16(a, b)	PICK(maxsw, vec_s16, a, b)
#define MAX_vec_u16(a, b)	PICK(maxuw, vec_s16, a, b)
#define MAX_vec_s32(a, b)	PICK(maxsd, vec_s32, a, b)
#define MAX_vec_u32(a, b)	PICK(maxud, vec_s32, a, b)
#define MAX_vec_s64(a, b)	PICK(maxsq, vec_l64, a, b)
#define MAX_vec_u64(a, b)	PICK(maxuq, vec_l64, a, b)
/* as the builtins have them: char, and long long */
typedef char vec_c8 __attribute__((vector_size(VEC_BYTES)));
typedef long long vec_l64 __attribute__((vector_size(VEC_BYTES)));
#define MIN_OF(t, a, b)		MIN_##t(a, b)
#define MAX_OF(t, a, b)		MAX_##t(a, b)
#else
#define MIN_OF(t, a, b)		select((vec)((t)(b) < (t)(a)), b, a)
#define MAX_OF(t, a, b)		select((vec)((t)(b) > (t)(a)), b, a)
#endif

/*
 * IEEE 754-2019 minimum. MIN_F32() returns its second operand if both are zero or one is a NaN. So
 * compute both orders and OR the bits: the sign of -0 survives, and a NaN stays a NaN.
 */
static coll_always_inline vec least_f32(vec a, vec b)
{
	return (vec)MIN_F32((vec_f32)a, (vec_f32)b) | (vec)MIN_F32((vec_f32)b, (vec_f32)a);
}

static coll_always_inline vec least_f64(vec a, vec b)
{
	return (vec)MIN_F64((vec_f64)a, (vec_f64)b) | (vec)MIN_F64((vec_f64)b, (vec_f64)a);
}

/*
 * f16: half a vector of them is a vector of f32. HAVE_F16 tells that there are
 * instructions.
 */
#if defined(__CHECKER__) || !defined(__has_builtin)
/* in plain C, see reduce_small.h */
#elif !__has_builtin(__builtin_shufflevector) || defined(__clang__)
/* in plain C, see reduce_small.h */
#elif defined(__AVX512F__) && VEC_BYTES == 64
#define HAVE_F16
typedef u64 half_vec __attribute__((vector_size(32)));
typedef short half_f16 __attribute__((vector_size(32)));
#define LOW_HALF	0, 1, 2, 3
#define HIGH_HALF	4, 5, 6, 7
#define WIDEN_F16(h)	__builtin_ia32_vcvtph2ps512_mask(h, (vec_f32){}, -1, 4)
#define NARROW_F16(f)	__builtin_ia32_vcvtps2ph512_mask(f, 0, (half_f16){}, -1)
#elif defined(__F16C__) && VEC_BYTES == 32
#define HAVE_F16
typedef u64 half_vec __attribute__((vector_size(16)));
typedef short half_f16 __attribute__((vector_size(16)));
#define LOW_HALF	0, 1
#define HIGH_HALF	2, 3
#define WIDEN_F16(h)	__builtin_ia32_vcvtph2ps256(h)
#define NARROW_F16(f)	__builtin_ia32_vcvtps2ph256(f, 0)
#endif

#ifdef HAVE_F16
static coll_always_inline void widen_f16(vec v, vec *a, vec *b)
{
	*a = (vec)WIDEN_F16((half_f16)__builtin_shufflevector(v, v, LOW_HALF));
	*b = (vec)WIDEN_F16((half_f16)__builtin_shufflevector(v, v, HIGH_HALF));
}

/* NARROW_F16() rounds to nearest even, whatever MXCSR says: this is its argument 0. */
static coll_always_inline vec narrow_halves(vec a, vec b)
{
	half_vec low = (half_vec)NARROW_F16((vec_f32)a);
	half_vec high = (half_vec)NARROW_F16((vec_f32)b);

	return __builtin_shufflevector(low, high, LOW_HALF, HIGH_HALF);
}
#endif /* HAVE_F16 */

#endif /* COLL_SIMD_REDUCE_BUILTIN_H */
