// SPDX-License-Identifier: GPL-2.0
/* The sets of kernels: which can run here, and what they have to have. */
#include "reduce_test.h"

const struct coll_simd *sets[MAX_SETS];
u32 nr_sets;
u64 nr_checked;

static void add_set(const struct coll_simd *s, bool can_run)
{
	if (can_run)
		sets[nr_sets++] = s;
	else
		tap_skip(s->name, "not on this CPU");
}

void find_sets(void)
{
	add_set(&coll_simd_scalar, true);
#if defined(__x86_64__)
	add_set(&coll_simd_sse2, true);
	add_set(&coll_simd_avx2, __builtin_cpu_supports("avx2") &&
				 __builtin_cpu_supports("f16c"));
	add_set(&coll_simd_avx512, __builtin_cpu_supports("avx512f") &&
				   __builtin_cpu_supports("avx512bw") &&
				   __builtin_cpu_supports("avx512dq") &&
				   __builtin_cpu_supports("avx512vl"));
#elif defined(__aarch64__)
	add_set(&coll_simd_neon, true);
#endif
}

bool have_kernel(u32 op, u32 dtype)
{
	return coll_op_defined(op, dtype) && op != COLL_OP_SUM_EXACT;
}

bool set_complete(const struct coll_simd *s)
{
	u32 dtype, op, missing = 0, beyond = 0;

	for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 0; op < COLL_NR_OPS; op++) {
			if (s->fn[dtype][op] && !have_kernel(op, dtype))
				beyond++;
			if (!s->fn[dtype][op] && have_kernel(op, dtype))
				missing++;
		}
	}
	if (beyond)
		printf("# %s: %u functions where nothing is defined\n", s->name, beyond);
	/* the others may leave work to the scalar set */
	return !beyond && (s != &coll_simd_scalar || !missing);
}

u32 volume(u32 n)
{
	const char *s = getenv("COLL_UNIT_VOLUME");
	u64 part = (u64)n * (s ? strtoul(s, NULL, 0) : 100) / 100;

	return part ? part : 1;
}

void print_checked(const char *what)
{
	printf("# %llu combinations of %s checked\n", (unsigned long long)nr_checked, what);
}
