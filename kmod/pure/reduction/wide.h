/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Partial results that have more room than the type of the elements, so that a result that
 * fits the type does not overflow on the way.
 *
 *	elements		operators			partial results
 *	f16, f8e4m3, f8e5m2	sum, prod, avg, premulsum	f32
 *	bf16			prod, premulsum			f32
 *	bf16			sum, avg			extended f32
 *	i8, i16, u8, u16	avg				i32, u32
 *	i32, u32		avg				i64, u64
 *	i64, u64		avg				128 bits, two's complement
 *	f32, c32		avg				extended f32 (of each part)
 *	f64, c64		avg				extended f64 (of each part)
 *
 * All others have partial results in the type of the elements.
 *
 * An extended f32 is an f32, but patterns of bits whose exponent is 255 also stand for numbers
 * that an f32 cannot hold: let t be the upper four bits of the fraction field, and g the 19
 * below. A fraction of 0 is an infinity; t = 0 is a NaN; any other t is (1 + g / 2^19) * 2^(127
 * + t). For f64 the exponent is 2047, g has 48 bits, and the number is (1 + g / 2^48) * 2^(1023
 * + t). So 2^14 of the largest numbers can be added. A sum that does not fit into g is cut off,
 * so that an average does not become too large. Inside of one fold (of COLL_SIMD_MAX inputs; of
 * bf16, of two) nothing is cut off: each step is rounded to the precision of the type, as if
 * the exponent had no upper limit.
 *
 * So averages of finite numbers are finite. Where a sum does not overflow all bits are
 * those of the plain operator on the partial type.
 */
#ifndef COLL_PURE_WIDE_H
#define COLL_PURE_WIDE_H

#include "factor.h"
#include "reduce.h"

/* Bytes of a stretch of partial results, and of the room that coll_wide_run() works in. */
#define COLL_WIDE_SLOT		2048
#define COLL_WIDE_ROOM		(3 * COLL_WIDE_SLOT + 8)

/**
 * coll_wide_dtype() - the type that partial results of an operator have
 * @op: enum coll_op_code, any number
 * @dtype: enum coll_dtype, any number
 *
 * Return: that type, or @dtype itself where partial results are elements, extended ones
 * included, or where there is no such type (i64, u64).
 */
u32 coll_wide_dtype(u32 op, u32 dtype);

/**
 * coll_wide_size() - bytes of a partial result that has more room
 * @op: enum coll_op_code, any number
 * @dtype: enum coll_dtype, any number
 *
 * Return: 0 where partial results are plain elements.
 */
u32 coll_wide_size(u32 op, u32 dtype);

/**
 * struct coll_wide - an operator on a type whose partial results have more room
 * @part: plain kernel that folds partial results
 * @end: plain kernel that folds partial results for the last time
 * @part_ext: @part for extended numbers, one by one; NULL: they are not extended
 * @end_ext: @end for extended numbers; NULL: they are not extended
 * @widen: makes an element a partial result; NULL: it is one already
 * @narrow: and back, rounded
 * @copy: of bytes
 * @elem: bytes of an element
 * @partial: bytes of a partial result
 * @parts: numbers that an element has
 * @wide_factors: premulsum: factors have the wider type
 */
struct coll_wide {
	coll_reduce_fn *part;
	coll_reduce_fn *end;
	coll_reduce_fn *part_ext;
	coll_reduce_fn *end_ext;
	coll_reduce_fn *widen;
	coll_reduce_fn *narrow;
	coll_reduce_fn *copy;
	u32 elem;
	u32 partial;
	u32 parts;
	bool wide_factors;
};

/**
 * coll_wide_setup() - the kernels of one instruction set
 * @w: result
 * @set: instruction set; what it does not have is taken from the scalar one
 * @op: operator
 * @dtype: type
 *
 * Return: false where coll_wide_size() is 0.
 */
bool coll_wide_setup(struct coll_wide *w, const struct coll_simd *set, u32 op, u32 dtype);

/* Does the plain kernel of this type and operator fold elements up to the result, too? */
bool coll_wide_is_plain(const struct coll_wide *w, u32 dtype);

/* Elements of one coll_wide_run() at most. */
u32 coll_wide_most(const struct coll_wide *w);

/**
 * struct coll_wide_job - a fold
 * @w: the operator
 * @final: outputs are results, else partial results
 * @after: done to results, before they are rounded to a smaller type; NULL: nothing
 * @out: as coll_reduce_fn says
 * @nr_out: number of @out
 * @in: as coll_reduce_fn says; any number, of which the first arg->nr_folded are partial results
 * @nr_in: number of @in
 * @arg: as coll_reduce_fn says, not NULL
 * @room: COLL_WIDE_ROOM bytes, aligned to 8, none of the vectors
 *
 * An output may be an input if the elements of both have the same size.
 */
struct coll_wide_job {
	const struct coll_wide *w;
	bool final;
	const struct coll_after *after;
	void *const *out;
	unsigned int nr_out;
	const void *const *in;
	unsigned int nr_in;
	const struct coll_reduce_arg *arg;
	void *room;
};

/* Do it, to @count elements; see coll_wide_most(). */
void coll_wide_run(const struct coll_wide_job *j, size_t count);

/* reduce_scalar_wide.c: extended numbers, the first arg->nr_folded inputs being such */
coll_reduce_fn coll_scalar_ext_part_f32;
coll_reduce_fn coll_scalar_ext_part_f64;
coll_reduce_fn coll_scalar_ext_sum_f32;
coll_reduce_fn coll_scalar_ext_avg_f32;
coll_reduce_fn coll_scalar_ext_avg_f64;

/* wide_int.c: sums of 128 bits; the first arg->nr_folded inputs are such */
coll_reduce_fn coll_wide_part_i64;
coll_reduce_fn coll_wide_part_u64;
coll_reduce_fn coll_wide_avg_i64;
coll_reduce_fn coll_wide_avg_u64;

#endif /* COLL_PURE_WIDE_H */
