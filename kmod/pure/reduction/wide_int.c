// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Averages of integers of 64 bits: sums have 128. No FPU. */
#include "wide.h"

struct sum {
	u64 low;
	u64 high;
};

static struct sum add(struct sum a, struct sum b)
{
	struct sum s = { a.low + b.low, a.high + b.high };

	s.high += s.low < a.low;
	return s;
}

static struct sum negate(struct sum a)
{
	return add((struct sum){ ~a.low, ~a.high }, (struct sum){ 1, 0 });
}

static struct sum get(const void *v, size_t i, bool folded, bool is_signed)
{
	struct sum a = { 0, 0 };

	if (folded) {
		__builtin_memcpy(&a, (const u8 *)v + i * sizeof(a), sizeof(a));
		return a;
	}
	__builtin_memcpy(&a.low, (const u8 *)v + i * sizeof(u64), sizeof(u64));
	if (is_signed && a.low >> 63)
		a.high = ~(u64)0;
	return a;
}

static struct sum fold(const void *const *in, unsigned int nr_in, size_t i,
		       unsigned int nr_folded, bool is_signed)
{
	struct sum s = { 0, 0 };
	unsigned int k;

	for (k = 0; k < nr_in; k++)
		s = add(s, get(in[k], i, k < nr_folded, is_signed));
	return s;
}

/* The low 64 bits of the quotient: an average has no more. */
static u64 divide(struct sum a, u32 n)
{
	u64 rest = a.high % n, q;

	rest = rest << 32 | a.low >> 32;
	q = rest / n << 32;
	rest = rest % n << 32 | (u32)a.low;
	return q | rest / n;
}

static u64 average(struct sum a, u32 n, bool is_signed)
{
	if (is_signed && a.high >> 63)
		return -divide(negate(a), n);
	return divide(a, n);
}

#define WIDE_INT(type, is_signed)						\
void coll_wide_part_##type(void *const *out, unsigned int nr_out,		\
			   const void *const *in, unsigned int nr_in,		\
			   size_t count, const struct coll_reduce_arg *arg)	\
{										\
	unsigned int k;								\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		const struct sum s = fold(in, nr_in, i, arg->nr_folded, is_signed);\
										\
		for (k = 0; k < nr_out; k++)					\
			__builtin_memcpy((u8 *)out[k] + i * sizeof(s), &s, sizeof(s));\
	}									\
}										\
										\
void coll_wide_avg_##type(void *const *out, unsigned int nr_out,		\
			  const void *const *in, unsigned int nr_in,		\
			  size_t count, const struct coll_reduce_arg *arg)	\
{										\
	unsigned int k;								\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		const u64 a = average(fold(in, nr_in, i, arg->nr_folded, is_signed),\
				      arg->divisor, is_signed);			\
										\
		for (k = 0; k < nr_out; k++)					\
			__builtin_memcpy((u8 *)out[k] + i * sizeof(a), &a, sizeof(a));\
	}									\
}

WIDE_INT(i64, true)
WIDE_INT(u64, false)
