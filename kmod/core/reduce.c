// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/string.h>

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif

#include "../compat.h"
#include "limits.h"
#include "reduce.h"

/* Set once at load, read only after. */
static const struct coll_simd *coll_isa = &coll_simd_scalar;

static bool coll_cpu_has(const struct coll_simd *isa)
{
#ifdef CONFIG_X86_64
	/* User-mode Linux knows its host's CPU by name, not by OSXSAVE. */
	if (isa == &coll_simd_avx2)
		return boot_cpu_has(X86_FEATURE_AVX2) &&
		       (IS_ENABLED(CONFIG_UML) ||
			boot_cpu_has(X86_FEATURE_OSXSAVE));
#endif
	return true;
}

int coll_reduce_init(const char *want)
{
	static const struct coll_simd *const best_first[] = {
#ifdef CONFIG_X86_64
		&coll_simd_avx2,
		&coll_simd_sse2,
#endif
		&coll_simd_scalar,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(best_first); i++) {
		if (*want && strcmp(want, best_first[i]->name))
			continue;
		if (!coll_cpu_has(best_first[i]))
			continue;
		coll_isa = best_first[i];
		return 0;
	}
	return -EINVAL;
}

const char *coll_reduce_name(void)
{
	return coll_isa->name;
}

coll_reduce_fn *coll_reduce_fn_for(u32 op, u32 dtype)
{
	if (op >= COLL_NR_OPS || dtype >= COLL_NR_DTYPES)
		return NULL;
	return coll_isa->fn[dtype][op];
}

void coll_reduce_run(coll_reduce_fn *fn, u32 size, void **out,
		     unsigned int nr_out, const void **in, unsigned int nr_in,
		     size_t count)
{
	size_t most = max_t(size_t, COLL_FPU_BYTES / (nr_in + nr_out) / size, 1);
	unsigned int i;

	while (count) {
		size_t n = min(count, most);

		/* The floats of the scalar reference need the FPU as well. */
		kernel_fpu_begin();
		fn((void *const *)out, nr_out, (const void *const *)in, nr_in, n);
		kernel_fpu_end();

		for (i = 0; i < nr_out; i++)
			out[i] += n * size;
		for (i = 0; i < nr_in; i++)
			in[i] += n * size;
		count -= n;
	}
}
