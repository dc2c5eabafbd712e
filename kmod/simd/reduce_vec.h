/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Vectors of VEC_BYTES, for any instruction set: types, and what is done to them
 * as bits. Little endian, as all of this module.
 */
#ifndef COLL_SIMD_REDUCE_VEC_H
#define COLL_SIMD_REDUCE_VEC_H

#include "simd.h"

#define coll_always_inline	inline __attribute__((always_inline))
#define coll_noinline		__attribute__((__noinline__))

/* sparse knows no vectors: to it these are scalars, and that type-checks too. */
#ifdef __CHECKER__
#define VECTOR(type)		type
#define SPLAT(type, x)		((type)(x))
#define SHUFFLE32(v, a, b, c, d)	((void)((a) + (b) + (c) + (d)), (v))
#define LANE(v, i)		((void)(i), (v))
#else
#define VECTOR(type)		type __attribute__((vector_size(VEC_BYTES)))
/* minus zero, not plus: -0.0 + 0.0 would be +0.0 */
#define SPLAT(type, x)		((x) - (type){})
#define LANE(v, i)		((v)[i])
/* The same exchange of 32-bit lanes in each 16 bytes. */
#if VEC_BYTES == 16
#define LANES32(a, b, c, d)	a, b, c, d
#elif VEC_BYTES == 32
#define LANES32(a, b, c, d)	a, b, c, d, a + 4, b + 4, c + 4, d + 4
#else
#define LANES32(a, b, c, d)	a, b, c, d, a + 4, b + 4, c + 4, d + 4,	\
				a + 8, b + 8, c + 8, d + 8,		\
				a + 12, b + 12, c + 12, d + 12
#endif
#ifdef __clang__
#define SHUFFLE32(v, a, b, c, d)	\
	((vec)__builtin_shufflevector((vec_u32)(v), (vec_u32)(v), LANES32(a, b, c, d)))
#else
#define SHUFFLE32(v, a, b, c, d)	\
	((vec)__builtin_shuffle((vec_u32)(v), (vec_u32){ LANES32(a, b, c, d) }))
#endif
#endif

typedef VECTOR(u64) vec;	/* the bits, of whatever type */
typedef VECTOR(u8) vec_u8;
typedef VECTOR(s8) vec_s8;
typedef VECTOR(u16) vec_u16;
typedef VECTOR(s16) vec_s16;
typedef VECTOR(u32) vec_u32;
typedef VECTOR(s32) vec_s32;
typedef VECTOR(u64) vec_u64;
typedef VECTOR(s64) vec_s64;
typedef VECTOR(float) vec_f32;
typedef VECTOR(double) vec_f64;

/* The even (odd) lanes, each twice; and each two lanes exchanged. */
#define EVEN32(v)	SHUFFLE32(v, 0, 0, 2, 2)
#define ODD32(v)	SHUFFLE32(v, 1, 1, 3, 3)
#define SWAP32(v)	SHUFFLE32(v, 1, 0, 3, 2)
#define EVEN64(v)	SHUFFLE32(v, 0, 1, 0, 1)
#define ODD64(v)	SHUFFLE32(v, 2, 3, 2, 3)
#define SWAP64(v)	SHUFFLE32(v, 2, 3, 0, 1)

static coll_always_inline vec splat32(u32 x)
{
	return (vec)SPLAT(vec_u32, x);
}

static coll_always_inline vec splat64(u64 x)
{
	return SPLAT(vec, x);
}

static coll_always_inline vec splat_f32(u32 n)
{
	return (vec)SPLAT(vec_f32, (float)n);
}

static coll_always_inline vec splat_f64(u32 n)
{
	return (vec)SPLAT(vec_f64, (double)n);
}

/* All ones in the first half of each 16 bytes. */
static coll_always_inline vec low64(void)
{
#ifdef __CHECKER__
	return ~0ULL;
#elif VEC_BYTES == 16
	return (vec){ ~0ULL, 0 };
#elif VEC_BYTES == 32
	return (vec){ ~0ULL, 0, ~0ULL, 0 };
#else
	return (vec){ ~0ULL, 0, ~0ULL, 0, ~0ULL, 0, ~0ULL, 0 };
#endif
}

/* A comparison of vectors gives all ones where it holds, so it can select. */
static coll_always_inline vec select(vec mask, vec yes, vec no)
{
	return (yes & mask) | (no & ~mask);
}

static coll_always_inline vec load(const u8 *p)
{
	vec v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static coll_always_inline void store(u8 *p, vec v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

/*
 * A store past the caches, of a whole vector to an address that is a multiple of its
 * size. Without such an instruction, a plain store.
 */
static coll_always_inline void stream(u8 *p, vec v)
{
#if defined(__CHECKER__)
	store(p, v);
#elif defined(__clang__)
	__builtin_nontemporal_store(v, (vec *)p);
#elif defined(__AVX512F__) && VEC_BYTES == 64
	typedef long long vec_di __attribute__((vector_size(64)));

	__builtin_ia32_movntdq512((vec_di *)p, (vec_di)v);
#elif defined(__AVX__) && VEC_BYTES == 32
	typedef long long vec_di __attribute__((vector_size(32)));

	__builtin_ia32_movntdq256((vec_di *)p, (vec_di)v);
#elif defined(__SSE2__) && VEC_BYTES == 16
	typedef long long vec_di __attribute__((vector_size(16)));

	__builtin_ia32_movntdq((vec_di *)p, (vec_di)v);
#else
	store(p, v);
#endif
}

#define COPY_PART(to, from, size) do {		\
	__builtin_memcpy(to, from, size);	\
	to += size;				\
	from += size;				\
} while (0)

static coll_always_inline void copy_part(u8 *to, const u8 *from, size_t bytes)
{
	for (; bytes >= 8; bytes -= 8)
		COPY_PART(to, from, 8);
	if (bytes & 4)
		COPY_PART(to, from, 4);
	if (bytes & 2)
		COPY_PART(to, from, 2);
	if (bytes & 1)
		*to = *from;
}

/* The last bytes, fewer than a vector: nothing beyond them is touched. */
static coll_noinline vec load_part(const u8 *p, size_t bytes)
{
	vec v = splat64(0);

	copy_part((u8 *)&v, p, bytes);
	return v;
}

static coll_noinline void store_part(u8 *p, vec v, size_t bytes)
{
	copy_part(p, (const u8 *)&v, bytes);
}

/* Load the bytes that there are, up to a vector. */
static coll_always_inline vec load_some(const u8 *p, size_t bytes)
{
	return bytes >= VEC_BYTES ? load(p) : load_part(p, bytes);
}

static coll_always_inline void store_some(u8 *p, vec v, size_t bytes)
{
	if (bytes >= VEC_BYTES)
		store(p, v);
	else
		store_part(p, v, bytes);
}

#endif /* COLL_SIMD_REDUCE_VEC_H */
