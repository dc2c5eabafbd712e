/* SPDX-License-Identifier: GPL-2.0 */
/* The loops, for VEC_BYTES, VEC_STREAM(p, v) and LOOPS, the name of the object. */
#include <linux/linkage.h>

#include "limit.h"

typedef float vec __attribute__((vector_size(VEC_BYTES)));
typedef float vec_any __attribute__((vector_size(VEC_BYTES), aligned(1)));

#define UNROLL	4

static __always_inline void sum(void *const *out, const void *const *in,
				const void *const *next, unsigned int n, size_t bytes,
				bool past, bool ahead)
{
	vec a[UNROLL];
	unsigned int r, k;
	size_t at;

	for (at = 0; at + sizeof(a) <= bytes; at += sizeof(a)) {
		for (k = 0; k < UNROLL; k++)
			a[k] = ((const vec *)(in[0] + at))[k];
		for (r = 1; r < n; r++)
			for (k = 0; k < UNROLL; k++)
				a[k] += ((const vec *)(in[r] + at))[k];
		for (r = 0; ahead && r < n; r++)
			for (k = 0; k < sizeof(a); k += 64)
				__builtin_prefetch(next[r] + at + k, 0, 2);
		for (r = 0; r < n; r++) {
			for (k = 0; k < UNROLL; k++) {
				vec *p = (vec *)(out[r] + at) + k;

				if (past)
					VEC_STREAM((float *)p, a[k]);
				else
					*p = a[k];
			}
		}
	}
	if (past)
		__builtin_ia32_sfence();
}

static void sum_plain(void *const *out, const void *const *in, const void *const *next,
		      unsigned int n, size_t bytes)
{
	sum(out, in, next, n, bytes, false, false);
}

static void sum_past(void *const *out, const void *const *in, const void *const *next,
		     unsigned int n, size_t bytes)
{
	sum(out, in, next, n, bytes, true, false);
}

static void sum_ahead(void *const *out, const void *const *in, const void *const *next,
		      unsigned int n, size_t bytes)
{
	sum(out, in, next, n, bytes, true, true);
}

static void add(void *out, const void *in, size_t bytes)
{
	typedef float one __attribute__((aligned(1)));

	for (; bytes >= VEC_BYTES; bytes -= VEC_BYTES, out += VEC_BYTES, in += VEC_BYTES)
		*(vec_any *)out += *(const vec_any *)in;
	for (; bytes >= sizeof(one); bytes -= sizeof(one), out += sizeof(one), in += sizeof(one))
		*(one *)out += *(const one *)in;
}

const struct limit_loops LOOPS = {
	.name = LOOPS_NAME,
	.plain = sum_plain,
	.past = sum_past,
	.ahead = sum_ahead,
	.add = add,
};
