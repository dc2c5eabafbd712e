/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Vectors of f32 and f64, and of complex numbers of them: how they are folded. */
#ifndef COLL_SIMD_REDUCE_FLOAT_H
#define COLL_SIMD_REDUCE_FLOAT_H

#include "reduce_builtin.h"
#include "reduce_sweep.h"

/* The maximum is folded as the minimum of the numbers with the other sign. */
#define STEP_FLOAT(name, type, min)						\
static coll_always_inline vec name(u32 op, vec a, vec b)			\
{										\
	switch (op) {								\
	case COLL_OP_PROD:							\
		return (vec)((type)a * (type)b);				\
	case COLL_OP_MIN:							\
	case COLL_OP_MAX:							\
		return min(a, b);						\
	default:								\
		return (vec)((type)a + (type)b);				\
	}									\
}

STEP_FLOAT(step_f32, vec_f32, least_f32)
STEP_FLOAT(step_f64, vec_f64, least_f64)

/* Complex: re ac - bd, im ad + bc, from (ac, ad) and (bd, bc). */
static coll_always_inline vec product_c32(vec x, vec y)
{
	vec ac_ad = (vec)((vec_f32)EVEN32(x) * (vec_f32)y);
	vec bd_bc = (vec)((vec_f32)ODD32(x) * (vec_f32)SWAP32(y));

	/* what is added with the other sign is subtracted */
	bd_bc ^= splat64(0x80000000);
	return (vec)((vec_f32)ac_ad + (vec_f32)bd_bc);
}

static coll_always_inline vec product_c64(vec x, vec y)
{
	vec ac_ad = (vec)((vec_f64)EVEN64(x) * (vec_f64)y);
	vec bd_bc = (vec)((vec_f64)ODD64(x) * (vec_f64)SWAP64(y));

	bd_bc ^= low64() & splat64(1ULL << 63);
	return (vec)((vec_f64)ac_ad + (vec_f64)bd_bc);
}

static coll_always_inline vec sign_f32(void)
{
	return splat32(0x80000000);
}

static coll_always_inline vec sign_f64(void)
{
	return splat64(1ULL << 63);
}

/* A NaN becomes the one NaN. */
static coll_always_inline vec one_nan_f32(vec a)
{
	return select((vec)((vec_f32)a == (vec_f32)a), a, splat32(0x7fc00000));
}

static coll_always_inline vec one_nan_f64(vec a)
{
	return select((vec)((vec_f64)a == (vec_f64)a), a, splat64(0x7ff8000000000000ULL));
}

/*
 * A NaN is rare, and a test for one takes less time than replacing possible NaNs. Without the
 * instruction there is no test, and the answer is always that there may be one.
 */
#ifdef HAVE_UNORDERED
#define MAY_HAVE_NAN(kind)							\
static coll_always_inline bool may_have_nan_##kind(unsigned int n, const struct block *x) \
{										\
	if (n == 1)								\
		return ANY(UNORDERED_##kind(x->a, x->a));			\
	if (n == 2)								\
		return ANY(UNORDERED_##kind(x->a, x->b));			\
	return ANY(UNORDERED_##kind(x->a, x->b) | UNORDERED_##kind(x->c, x->d)); \
}
#else
#define MAY_HAVE_NAN(kind)							\
static coll_always_inline bool may_have_nan_##kind(unsigned int n, const struct block *x) \
{										\
	return true;								\
}
#endif

MAY_HAVE_NAN(f32)
MAY_HAVE_NAN(f64)

/* See KIND_INT(). wide_ does what end_ does there, but leaves NaN to one_nan_. */
#define KIND_FLOAT(kind, type)							\
static coll_always_inline vec begin_##kind(u32 op, vec v)			\
{										\
	return op == COLL_OP_MAX ? v ^ sign_##kind() : v;			\
}										\
										\
static coll_always_inline vec wide_##kind(u32 op, vec v, vec d)			\
{										\
	if (op == COLL_OP_MAX)							\
		return v ^ sign_##kind();					\
	return op == COLL_OP_AVG ? (vec)((type)v / (type)d) : v;		\
}

KIND_FLOAT(f32, vec_f32)
KIND_FLOAT(f64, vec_f64)

static coll_always_inline vec step_c32(u32 op, vec a, vec b)
{
	return op == COLL_OP_PROD ? product_c32(a, b) : step_f32(op, a, b);
}

static coll_always_inline vec step_c64(u32 op, vec a, vec b)
{
	return op == COLL_OP_PROD ? product_c64(a, b) : step_f64(op, a, b);
}

#define divisor_f32	splat_f32
#define divisor_f64	splat_f64
#define begin_c32	begin_f32
#define begin_c64	begin_f64
#define wide_c32	wide_f32
#define wide_c64	wide_f64
#define one_nan_c32	one_nan_f32
#define one_nan_c64	one_nan_f64
#define may_have_nan_c32	may_have_nan_f32
#define may_have_nan_c64	may_have_nan_f64

#endif /* COLL_SIMD_REDUCE_FLOAT_H */
