/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The floating-point state of the calling thread belongs to the application: it may round
 * another way, flush denormals to zero, or trap. The results of this library must not depend on
 * that state, and it must not change the state.
 *
 * Every entry point that computes with floats brackets that with fp_enter() and
 * fp_leave(). In between all exceptions are masked, rounding is to nearest even,
 * denormals are kept, and the x87 has 64 bits of fraction. fp_leave() puts back
 * everything, also the flags of exceptions that were raised before.
 */
#ifndef LIBCOLL_FPSTATE_H
#define LIBCOLL_FPSTATE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__

#define FP_MXCSR	0x1f80U		/* all masked, to nearest, no FTZ, no DAZ */
#define FP_CONTROL	0x037fU		/* all masked, to nearest, 64 bits */

/**
 * struct fp_state - what fp_enter() has found
 * @mxcsr: of SSE and wider
 * @x87: is @env filled in?
 * @env: of the x87, as FNSTENV stores it: control word, flags, the stack's tags
 */
struct fp_state {
	uint32_t mxcsr;
	bool x87;
	uint32_t env[7];
};

/*
 * @x87: long double will be used. To store and load the x87's environment takes about 100
 * cycles, so it is left alone otherwise.
 *
 * The memory clobbers keep the compiler from moving loads, stores and calls across.
 */
static inline void fp_enter(struct fp_state *s, bool x87)
{
	const uint32_t mxcsr = FP_MXCSR;
	const uint16_t control = FP_CONTROL;

	s->x87 = x87;
	__asm__ volatile("stmxcsr %0" : "=m"(s->mxcsr) :: "memory");
	__asm__ volatile("ldmxcsr %0" :: "m"(mxcsr) : "memory");
	if (!x87)
		return;
	__asm__ volatile("fnstenv %0" : "=m"(s->env) :: "memory");
	/* FNSTENV has masked all exceptions: a pending one does not trap here. */
	__asm__ volatile("fldcw %0" :: "m"(control) : "memory");
}

static inline void fp_leave(const struct fp_state *s)
{
	if (s->x87)
		__asm__ volatile("fldenv %0" :: "m"(s->env) : "memory");
	__asm__ volatile("ldmxcsr %0" :: "m"(s->mxcsr) : "memory");
}

#elif defined(__aarch64__)

/**
 * struct fp_state - what fp_enter() has found
 * @control: FPCR: rounding, flushing, traps
 * @status: FPSR: flags of exceptions
 */
struct fp_state {
	uint64_t control;
	uint64_t status;
};

static inline void fp_enter(struct fp_state *s, bool x87)
{
	(void)x87;
	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
			 : "=r"(s->control), "=r"(s->status) :: "memory");
	__asm__ volatile("msr fpcr, xzr" ::: "memory");
}

static inline void fp_leave(const struct fp_state *s)
{
	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
			 :: "r"(s->control), "r"(s->status) : "memory");
}

#else
#error "fpstate.h: say how the floating-point state of this architecture is kept"
#endif

#endif
