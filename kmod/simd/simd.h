/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Reduction kernels, one object per instruction set; pure/reduction/reduce.h says what they
 * compute. The only header of simd for others.
 *
 * The functions may run in any context in which the FPU may be used. In the kernel the caller
 * brackets each call with kernel_fpu_begin() and kernel_fpu_end(), also for the scalar objects:
 * x86-64 computes floats in SSE registers. MXCSR, and for long double the x87 control word, have
 * to be as the ABI has them (KFPU_MXCSR, KFPU_387).
 */
#ifndef COLL_SIMD_H
#define COLL_SIMD_H

#include "../pure/reduction/reduce.h"

#if defined(__x86_64__)
extern const struct coll_simd coll_simd_sse2;
extern const struct coll_simd coll_simd_avx2;	/* and F16C */
extern const struct coll_simd coll_simd_avx512;	/* F, BW, DQ, VL */
#elif defined(__aarch64__)
extern const struct coll_simd coll_simd_neon;
#endif

#endif /* COLL_SIMD_H */
