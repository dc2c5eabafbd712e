/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Reductions: the interface of all instruction sets, and the scalar reference.
 *
 * What comes out is the same, bit by bit, for every instruction set:
 *
 * Integers: sum and prod wrap, min and max compare as the type says.
 *
 * Floats: the fold goes strictly from in[0] up, each step rounded to the type
 * (never contracted, never reassociated; denormals are kept). A sum or product
 * that is NaN comes out as the positive quiet NaN without payload (0x7fc00000,
 * 0x7ff8000000000000): whose payload an addition passes on depends on the
 * operand order that the compiler happened to choose, and on the architecture.
 * min and max select and never compute, so the result has the very bits of one
 * of the inputs: the first NaN met, else of equal ones (-0 and +0 are equal) the
 * first.
 */
#ifndef COLL_PURE_REDUCE_H
#define COLL_PURE_REDUCE_H

#include "env.h"

/*
 * Inputs of one sweep at most: 64 ranks and what was received. More are folded
 * in turns by the caller; outputs are not limited.
 */
#define COLL_SIMD_MAX	65

/**
 * typedef coll_reduce_fn - reduce @nr_in vectors elementwise in one sweep
 * @out: @nr_out (at least 1) vectors, each gets the whole result
 * @nr_out: how many
 * @in: @nr_in (at least 1) vectors; folded from in[0] upwards
 * @nr_in: how many; 1 copies
 * @count: elements; 0 touches nothing
 *
 * Any byte alignment. An output may be the very same vector as an input or as
 * another output; other overlap is not allowed. Nothing beyond the vectors is
 * read or written.
 */
typedef void coll_reduce_fn(void *const *out, unsigned int nr_out,
			    const void *const *in, unsigned int nr_in,
			    size_t count);

/**
 * struct coll_simd - the kernels of one instruction set
 * @name: "scalar", "sse2", "avx2"
 * @fn: by dtype and op; NULL where coll_op_defined() says no
 */
struct coll_simd {
	const char *name;
	coll_reduce_fn *fn[COLL_NR_DTYPES][COLL_NR_OPS];
};

/* The reference. It computes with floats too, see simd.h. */
extern const struct coll_simd coll_simd_scalar;

#endif /* COLL_PURE_REDUCE_H */
