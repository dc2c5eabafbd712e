// SPDX-License-Identifier: GPL-2.0
/*
 * The speed that the memory allows: loops with the traffic of a reduction of two inputs into
 * one output, which compute next to nothing, for each width of register. They are compiled
 * without vectorisation, so that the narrow ones stay narrow.
 */
#include "ops.h"

#define VECTOR(n)	__attribute__((vector_size(n), aligned(1), may_alias))

typedef u64 word __attribute__((aligned(1), may_alias));
typedef u64 vec16 VECTOR(16);
typedef u64 vec32 VECTOR(32);
typedef u64 vec64 VECTOR(64);

/* Elements are bytes here. Four at a time, as the reductions do. */
#define REFERENCE(name, type, attributes)					\
attributes static void name(void *const *out, unsigned int nr_out,		\
			    const void *const *in, unsigned int nr_in,		\
			    size_t count, const struct coll_reduce_arg *arg)	\
{										\
	const type *a = in[0], *b = in[1];					\
	type *o = out[0];							\
	size_t i, n = count / sizeof(type);					\
										\
	(void)nr_out;								\
	(void)nr_in;								\
	(void)arg;								\
	for (i = 0; i + 4 <= n; i += 4) {					\
		o[i] = a[i] ^ b[i];						\
		o[i + 1] = a[i + 1] ^ b[i + 1];					\
		o[i + 2] = a[i + 2] ^ b[i + 2];					\
		o[i + 3] = a[i + 3] ^ b[i + 3];					\
	}									\
	for (; i < n; i++)							\
		o[i] = a[i] ^ b[i];						\
}

REFERENCE(by_8, word, )
REFERENCE(by_16, vec16, )
#ifdef __x86_64__
REFERENCE(by_32, vec32, __attribute__((target("avx2"))))
REFERENCE(by_64, vec64, __attribute__((target("avx512f"))))
#endif

static const struct reference all[] = {
	{ "8 bytes", by_8 },
	{ "16 bytes", by_16 },
#ifdef __x86_64__
	{ "32 bytes", by_32 },
	{ "64 bytes", by_64 },
#endif
};

int references(const struct reference **list)
{
	*list = all;
#ifdef __x86_64__
	if (!__builtin_cpu_supports("avx2"))
		return 2;
	return __builtin_cpu_supports("avx512f") ? 4 : 3;
#else
	return 2;
#endif
}

int references_of(const char *simd)
{
	if (!__builtin_strcmp(simd, "scalar"))
		return 1;
	if (!__builtin_strcmp(simd, "avx2"))
		return 3;
	return __builtin_strcmp(simd, "avx512") ? 2 : 4;
}
