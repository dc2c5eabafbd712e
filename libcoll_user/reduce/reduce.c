// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Types, and reductions in this process, by the objects that coll.ko is made of: the same bits,
 * wherever they are computed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <coll/coll.h>

#include "base/debug.h"
#include "base/fpstate.h"
#include "optable.h"
#include "reduce.h"
#include "reduction/exact.h"

/**
 * struct set - an instruction set of this library
 * @kernels: its reductions
 * @usable: does this CPU have it, and does the system save its registers?
 */
struct set {
	const struct coll_simd *kernels;
	bool (*usable)(void);
};

static bool always(void)
{
	return true;
}

#ifdef __x86_64__
/* __builtin_cpu_supports() has looked at XCR0, too. */
static bool has_avx2(void)
{
	unsigned int a, b, c, d;

	/* Not every compiler knows the name f16c. */
	return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) &&
	       (c & bit_F16C);
}

static bool has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}
#endif

/* The best first. */
static const struct set sets[] = {
#ifdef __x86_64__
	{ &coll_simd_avx512, has_avx512 },
	{ &coll_simd_avx2, has_avx2 },
	{ &coll_simd_sse2, always },
#endif
#ifdef __aarch64__
	{ &coll_simd_neon, always },
#endif
	{ &coll_simd_scalar, always },
};

#define NR_SETS	(sizeof(sets) / sizeof(sets[0]))

static pthread_once_t chosen_once = PTHREAD_ONCE_INIT;
static const struct coll_simd *chosen;

static const struct coll_simd *by_name(const char *name)
{
	size_t i;

	for (i = 0; i < NR_SETS; i++) {
		if (strcmp(name, sets[i].kernels->name))
			continue;
		if (sets[i].usable())
			return sets[i].kernels;
		coll_debug("COLL_SIMD=%s: not on this CPU", name);
		return NULL;
	}
	coll_debug("COLL_SIMD=%s: no such instruction set", name);
	return NULL;
}

const struct coll_simd *coll_simd_usable(size_t nth)
{
	size_t i;

	for (i = 0; i < NR_SETS; i++)
		if (sets[i].usable() && !nth--)
			return sets[i].kernels;
	return NULL;
}

static void choose(void)
{
	const char *want = getenv("COLL_SIMD");

	if (want && *want)
		chosen = by_name(want);
	if (!chosen)
		chosen = coll_simd_usable(0);
	coll_debug("reductions by %s", chosen->name);
}

const struct coll_simd *coll_simd_chosen(void)
{
	pthread_once(&chosen_once, choose);
	return chosen;
}

static coll_reduce_fn *kernel_of(u32 op, u32 dtype)
{
	coll_reduce_fn *fn;

	if (op == COLL_OP_SUM_EXACT)
		return dtype == COLL_F32 ? coll_exact_sum_f32 : coll_exact_sum_f64;
	fn = coll_simd_chosen()->fn[dtype][op];
	/* If a set has no function of its own, use the reference. */
	return fn ? fn : coll_simd_scalar.fn[dtype][op];
}

size_t coll_dtype_bytes(enum coll_dtype dtype)
{
	return coll_dtype_size((u32)dtype);
}

bool coll_op_supported(enum coll_op_code op, enum coll_dtype dtype)
{
	return coll_op_defined((u32)op, (u32)dtype);
}

/* Two operands in this process have neither ranks to divide by, nor a factor. */
static bool op_is_local(u32 op, u32 dtype)
{
	return coll_op_defined(op, dtype) && op != COLL_OP_AVG && op != COLL_OP_PREMULSUM;
}

int coll_reduce_local(const void *in, void *inout, uint64_t count, enum coll_dtype dtype,
		      enum coll_op_code op)
{
	u32 t = (u32)dtype, o = (u32)op;
	const void *inputs[2] = { in, inout };
	uintptr_t a = (uintptr_t)in, b = (uintptr_t)inout;
	coll_reduce_fn *reduce;
	struct fp_state fp;
	uint64_t bytes;

	if (t == COLL_DTYPE_NONE || t >= COLL_NR_DTYPES || o == COLL_OP_NONE || o >= COLL_NR_OPS)
		return -EINVAL;
	if (!op_is_local(o, t))
		return -EOPNOTSUPP;
	if (!count)
		return 0;
	if (!in || !inout)
		return -EFAULT;
	if (__builtin_mul_overflow(count, coll_dtype_size(t), &bytes) || bytes > SIZE_MAX ||
	    bytes - 1 > UINTPTR_MAX - (a > b ? a : b))
		return -EINVAL;
	/* The same vector may be read and written, a part of it may not. */
	if (a != b && (a > b ? a - b : b - a) < bytes)
		return -EINVAL;
	reduce = kernel_of(o, t);
	fp_enter(&fp, coll_dtype_flags(t) & COLL_DTYPE_X87);
	reduce(&inout, 1, inputs, 2, (size_t)count, NULL);
	fp_leave(&fp);
	return 0;
}
