/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Reduction kernels, one object per instruction set; pure/reduction/reduce.h says what they
 * compute. The only header of simd for others.
 *
 * Callers in the kernel bracket calls with kernel_fpu_begin/end, also those of
 * the scalar objects (x86-64 has no other floats); the functions themselves
 * neither know nor care where they run. MXCSR, and for long double the x87's control
 * word, have to be as the ABI has them (KFPU_MXCSR, KFPU_387).
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
