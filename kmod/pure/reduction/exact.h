/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * COLL_OP_SUM_EXACT: the sum of all inputs as if computed with unlimited precision,
 * rounded once, to nearest even. So it is the same whatever the order, the number
 * of ranks, their placement and the algorithm. Integer arithmetic only: no FPU.
 *
 * While it travels, a sum is an accumulator: a fixed-point number wide enough for
 * every finite float and 2^13 (f64) or 2^42 (f32) of the largest ones, as U. Kulisch
 * has it ("Computer Arithmetic and Validity", 2008); R. Neal, "Fast exact summation
 * using small and large superaccumulators" (arXiv:1505.05571, 2015) surveys the art.
 *
 * An accumulator, on the wire too, is a run of little-endian u64:
 *
 *	f32	5 words of the number, in units of 2^-149, and 1 of flags
 *	f64	33 words of the number, in units of 2^-1074, and 1 of flags
 *
 * The number is in two's complement, least significant word first. Flags: bit 0
 * a NaN was among the inputs, bit 1 +inf, bit 2 -inf, bit 3 something other than
 * -0; the others are ignored. Every pattern of bits is a valid accumulator.
 *
 * The result is NaN (the one of reduce.h, of a single input too, so that it is the same
 * however inputs are grouped) if a NaN or both infinities were there; an
 * infinity if one was; -0 if all inputs were -0; an exact zero otherwise is +0. A sum
 * that rounds beyond the largest finite number is infinite.
 */
#ifndef COLL_PURE_EXACT_H
#define COLL_PURE_EXACT_H

#include "reduce.h"

#define COLL_EXACT_WORDS_F32	6
#define COLL_EXACT_WORDS_F64	34
/* Bytes of the largest accumulator. */
#define COLL_EXACT_MAX		(COLL_EXACT_WORDS_F64 * 8)

/**
 * coll_exact_size() - bytes of an accumulator
 * @dtype: enum coll_dtype, any number
 *
 * Return: 0 where sum_exact is not defined.
 */
u32 coll_exact_size(u32 dtype);

/*
 * Kernels, as coll_reduce_fn says. The first arg->nr_folded inputs are vectors of
 * accumulators, the others of floats; @arg NULL: none are accumulators. The result is
 * rounded into floats, or, by the part functions, left in accumulators. There may be
 * up to 2^32 - 1 inputs in one call.
 */
coll_reduce_fn coll_exact_sum_f32;
coll_reduce_fn coll_exact_sum_f64;
coll_reduce_fn coll_exact_part_f32;
coll_reduce_fn coll_exact_part_f64;

#endif /* COLL_PURE_EXACT_H */
