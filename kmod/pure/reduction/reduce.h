/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Reductions: the interface of all instruction sets, and the scalar reference.
 *
 * The result is the same, bit by bit, for every instruction set. The fold goes strictly from
 * in[0] up. A fold of one input is that input, bit by bit, except for padding, and for avg,
 * premulsum and sum_exact, which compute with it.
 *
 * Integers: sum, prod, premulsum wrap; min and max compare as the type says. land,
 * lor, lxor take every value but 0 as true and give 1 or 0, in bool too. avg: the sum,
 * wrapped, divided and truncated towards zero. (Collectives do not let it wrap: wide.h builds
 * that, and folds over several calls, from these kernels.)
 *
 * f32, f64, long double, and the parts of complex numbers: each step is rounded to
 * the type, to nearest even (never contracted, never reassociated; denormals are
 * kept). A product of complex numbers is (ac - bd) + (ad + bc)i, each of the four
 * products and both sums rounded; infinities are not repaired as C's annex G does.
 * avg divides once, at the end.
 *
 * f16, bf16, f8e4m3, f8e5m2: all inputs of one call are folded in f32 as above, and
 * rounded once, at the end, to nearest even. f16 and bf16 overflow to infinity.
 * f8e4m3, which has none, saturates: to +-448, infinite folds too. f8e5m2 saturates
 * finite folds to +-57344; an infinite fold stays infinite.
 *
 * A sum, product, average, minimum or maximum that is NaN is the positive quiet NaN
 * without payload (0x7fc00000, 0x7ff8000000000000, 0x7e00, 0x7fc0, 0x7f for e4m3,
 * 0x7e for e5m2, 0x7fff c000000000000000 for long double). An addition would pass on the
 * payload of one operand, and the compiler chooses which operand comes first.
 * min and max are IEEE 754-2019 minimum and maximum: NaN if any input is, and -0
 * is less than +0. So their result does not depend on the order.
 *
 * Pairs: minloc and maxloc take the pair with the smaller (larger) value, of equal
 * values the one with the smaller index, of equal pairs the first. -0 equals +0.
 * A NaN counts as smaller (larger) than every number, and equal to any NaN; a result
 * that is NaN is the one above. Indices that are floats are compared with <.
 *
 * replace gives the last input, no_op the first.
 *
 * Padding, in pairs and in long double, is never looked at and written as zero.
 *
 * sum_exact: the exact sum of all inputs, rounded once; see exact.h.
 */
#ifndef COLL_PURE_REDUCE_H
#define COLL_PURE_REDUCE_H

#include "../env.h"

/*
 * Inputs of one sweep at most: 64 ranks and what was received. The caller folds more of them in
 * several passes; outputs are not limited.
 */
#define COLL_SIMD_MAX	65

/**
 * struct coll_reduce_arg - what some operators need to know besides
 * @nr_folded: leading inputs that are partial results of this very operator
 *	already. premulsum does not multiply them; those of sum_exact are
 *	accumulators, see exact.h. Others do not care.
 * @divisor: avg: what the sum is divided by, 1 .. 2^20
 * @scale: premulsum: factors of the inputs behind @nr_folded, one each, each an
 *	element of the type in the low bytes
 * @stream: outputs, none of which is an input, are not read again soon: store them past the
 *	caches where that pays. Then a release does not make them visible to another CPU: a
 *	store fence must follow. A hint, which changes no result.
 */
struct coll_reduce_arg {
	unsigned int nr_folded;
	u32 divisor;
	const u64 *scale;
	bool stream;
};

/**
 * typedef coll_reduce_fn - reduce @nr_in vectors elementwise in one sweep
 * @out: @nr_out (at least 1) vectors, each gets the whole result
 * @nr_out: number of @out
 * @in: @nr_in (at least 1) vectors; folded from in[0] upwards
 * @nr_in: number of @in, COLL_SIMD_MAX at most
 * @count: elements; 0 touches nothing
 * @arg: may be NULL but for avg, premulsum and sum_exact
 *
 * Any byte alignment. An output may be the very same vector as an input or as
 * another output; other overlap is not allowed. Nothing beyond the vectors is
 * read or written.
 */
typedef void coll_reduce_fn(void *const *out, unsigned int nr_out,
			    const void *const *in, unsigned int nr_in,
			    size_t count, const struct coll_reduce_arg *arg);

/**
 * struct coll_simd - the kernels of one instruction set
 * @name: "scalar", "sse2", "avx2", "avx512", "neon"
 * @fn: by dtype and op. That of coll_simd_scalar has all that coll_op_defined()
 *	allows but sum_exact; others may have NULL where they have nothing better.
 * @widen: by dtype: the only input, in the wider type of coll_wide_dtype(); exact. NULL:
 *	there is no such type, or this set has nothing better than the scalar one.
 * @narrow: by dtype: back from the wider type; floats are rounded as said above, of
 *	integers the low bits are left
 */
struct coll_simd {
	const char *name;
	coll_reduce_fn *fn[COLL_NR_DTYPES][COLL_NR_OPS];
	coll_reduce_fn *widen[COLL_NR_DTYPES];
	coll_reduce_fn *narrow[COLL_NR_DTYPES];
};

/* The reference. It uses the FPU as well: see simd.h. */
extern const struct coll_simd coll_simd_scalar;

#endif /* COLL_PURE_REDUCE_H */
