/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The vector reductions, for any instruction set: an object defines VEC_BYTES,
 * COLL_SIMD_NAME and COLL_SIMD_TABLE, includes this, and is compiled with the flags
 * of its set.
 */
#ifndef COLL_SIMD_REDUCE_TEMPLATE_H
#define COLL_SIMD_REDUCE_TEMPLATE_H

#include "../pure/reduction/reduce_scalar_rows.h"
#include "reduce_kinds.h"
#include "reduce_wide.h"

#define REDUCE_ARGS								\
	void *const *out, unsigned int nr_out, const void *const *in,		\
	unsigned int nr_in, size_t count, const struct coll_reduce_arg *arg

/* @size: bytes of an element, @used: not padding; @n, @hot: see K(reduce) */
#define REDUCE(name, op, kind, size, used, n, hot)				\
static void name##_##kind(REDUCE_ARGS)						\
{										\
	const struct extra extra = {						\
		.divisor = splat64(0),						\
		.stream = may_stream(arg, out, nr_out),				\
	};									\
										\
	if (nr_in == 1)								\
		copy(out, nr_out, in[0], count * (size), used, arg);		\
	else									\
		reduce_##kind(COLL_OP_##op, n, hot, out, nr_out, in, nr_in,	\
			      count * (size), &extra);				\
}

#define AVG(kind, size, n)							\
static void avg_##kind(REDUCE_ARGS)						\
{										\
	const struct extra extra = {						\
		.divisor = divisor_##kind(arg->divisor),			\
		.stream = may_stream(arg, out, nr_out),				\
	};									\
										\
	reduce_##kind(COLL_OP_AVG, n, false, out, nr_out, in, nr_in,		\
		      count * (size), &extra);					\
}

/*
 * First prepare the factors, one for each input: as wide as what it multiplies, and
 * repeated to fill 64 bits.
 */
#define PREMULSUM(kind, size, n, widened)					\
static void premulsum_##kind(REDUCE_ARGS)					\
{										\
	u64 factor[COLL_SIMD_MAX];						\
	const struct extra extra = {						\
		.divisor = splat64(0),						\
		.stream = may_stream(arg, out, nr_out),				\
		.nr_folded = arg->nr_folded,					\
		.factor = factor,						\
	};									\
	unsigned int k;								\
										\
	for (k = 0; arg->nr_folded + k < nr_in; k++) {				\
		vec v = splat_low(size, arg->scale[k]);				\
										\
		factor[k] = LANE(widened, 0);					\
	}									\
	reduce_##kind(COLL_OP_PREMULSUM, n, false, out, nr_out, in, nr_in,	\
		      count * (size), &extra);					\
}

/* The low @size bytes of @x, over and over. */
static coll_always_inline vec splat_low(size_t size, u64 x)
{
	switch (size) {
	case 1:
		return (vec)SPLAT(vec_u8, (u8)x);
	case 2:
		return (vec)SPLAT(vec_u16, (u16)x);
	case 4:
		return splat32(x);
	default:
		return splat64(x);
	}
}

static coll_always_inline vec low_f16(vec v)
{
	vec a, b;

	widen_f16(v, &a, &b);
	return a;
}

static coll_always_inline vec low_bf16(vec v)
{
	vec a, b;

	widen_bf16(v, &a, &b);
	return a;
}

/* A copy of elements. */
#define COPY(bits, size, used)							\
static void no_op_##bits(REDUCE_ARGS)						\
{										\
	copy(out, nr_out, in[0], count * (size), used, arg);			\
}										\
										\
static void replace_##bits(REDUCE_ARGS)						\
{										\
	copy(out, nr_out, in[nr_in - 1], count * (size), used, arg);		\
}

#define ALL		splat64(~0ULL)

/* Vectors at a time: at least those that one vector of elements becomes. */
#define AT_LEAST(kind, n)	((n) > PARTS_##kind ? (n) : PARTS_##kind)

/* In plain C, the code for f16 is long already. */
#ifdef HAVE_F16
#define N_F16		4
#else
#define N_F16		2
#endif

#define ORDER(kind, size, n, hot)						\
REDUCE(min, MIN, kind, size, ALL, n, hot)					\
REDUCE(max, MAX, kind, size, ALL, n, hot)

#define INT(kind, size, hot)							\
REDUCE(sum, SUM, kind, size, ALL, 4, hot)					\
REDUCE(prod, PROD, kind, size, ALL, 2, false)					\
AVG(kind, size, 1)								\
PREMULSUM(kind, size, 2, v)							\
REDUCE(land, LAND, kind, size, ALL, 1, false)					\
REDUCE(lor, LOR, kind, size, ALL, 1, false)					\
REDUCE(lxor, LXOR, kind, size, ALL, 1, false)

#define FLOAT(kind, size, n, hot_sum, hot_order, widened)			\
REDUCE(sum, SUM, kind, size, ALL, n, hot_sum)					\
REDUCE(prod, PROD, kind, size, ALL, AT_LEAST(kind, 2), false)			\
AVG(kind, size, AT_LEAST(kind, 2))						\
ORDER(kind, size, n, hot_order)							\
PREMULSUM(kind, size, AT_LEAST(kind, 2), widened)

/* Fold the real and the imaginary parts as separate elements. */
#define AS_PARTS(name, kind, part)						\
static void name##_##kind(REDUCE_ARGS)						\
{										\
	name##_##part(out, nr_out, in, nr_in, 2 * count, arg);			\
}

#define COMPLEX(kind, size, part)						\
AS_PARTS(sum, kind, part)							\
AS_PARTS(avg, kind, part)							\
REDUCE(prod, PROD, kind, size, ALL, 2, false)

#define PAIR(kind, size, used)							\
REDUCE(minloc, MINLOC, kind, size, used, 2, false)				\
REDUCE(maxloc, MAXLOC, kind, size, used, 2, false)

INT(u8, 1, false)
INT(u16, 2, false)
INT(u32, 4, true)
INT(u64, 8, true)
ORDER(u8, 1, 2, false)
ORDER(u16, 2, 2, false)
ORDER(u32, 4, 2, false)
ORDER(u64, 8, 2, false)
ORDER(s8, 1, 2, false)
ORDER(s16, 2, 2, false)
ORDER(s32, 4, 4, true)
ORDER(s64, 8, 4, true)
AVG(s8, 1, 1)
AVG(s16, 2, 1)
AVG(s32, 4, 1)
AVG(s64, 8, 1)

/* Bitwise ops ignore element boundaries: fold the bytes as u64. The last u64 may be partial. */
#define BITWISE(name, op)							\
static coll_noinline void name##_bytes(REDUCE_ARGS)			\
{										\
	const struct extra extra = {						\
		.divisor = splat64(0),						\
		.stream = may_stream(arg, out, nr_out),				\
	};									\
										\
	if (nr_in == 1)								\
		copy(out, nr_out, in[0], count, ALL, arg);			\
	else									\
		reduce_u64(COLL_OP_##op, 4, false, out, nr_out, in, nr_in,	\
			   count, &extra);					\
}										\
										\
BITWISE_OF(name, u8, 1)								\
BITWISE_OF(name, u16, 2)							\
BITWISE_OF(name, u32, 4)							\
BITWISE_OF(name, u64, 8)

#define BITWISE_OF(name, kind, size)						\
static void name##_##kind(REDUCE_ARGS)						\
{										\
	name##_bytes(out, nr_out, in, nr_in, count * (size), arg);		\
}

BITWISE(band, BAND)
BITWISE(bor, BOR)
BITWISE(bxor, BXOR)

FLOAT(f16, 2, N_F16, N_F16 > 2, false, low_f16(v))
FLOAT(bf16, 2, 4, true, false, low_bf16(v))
FLOAT(e4m3, 1, 4, false, false, widen(format_e4m3, byte(v, 0)))
FLOAT(e5m2, 1, 4, false, false, widen(format_e5m2, byte(v, 0)))
FLOAT(f32, 4, 4, true, true, v)
FLOAT(f64, 8, 4, true, true, v)
COMPLEX(c32, 8, f32)
PREMULSUM(c32, 8, 2, v)
COMPLEX(c64, 16, f64)

PAIR(f32_i32, 8, ALL)
PAIR(f64_i32, 16, used_b64_b32())
PAIR(i64_i32, 16, used_b64_b32())
PAIR(i32_i32, 8, ALL)
PAIR(i16_i32, 8, used_b16_b32())
PAIR(f32_f32, 8, ALL)
PAIR(f64_f64, 16, ALL)

COPY(b8, 1, ALL)
COPY(b16, 2, ALL)
COPY(b32, 4, ALL)
COPY(b64, 8, ALL)
COPY(b128, 16, ALL)
COPY(b16_b32, 8, used_b16_b32())
COPY(b64_b32, 16, used_b64_b32())

#define FN(op, kind)	op##_##kind

const struct coll_simd COLL_SIMD_TABLE = {
	.name = COLL_SIMD_NAME,
	.fn = { COLL_ROWS },
#ifdef HAVE_WIDE
	.widen = { COLL_ROWS_WIDE(to_wide) },
	.narrow = { COLL_ROWS_WIDE(from_wide) },
#endif
};

#endif /* COLL_SIMD_REDUCE_TEMPLATE_H */
