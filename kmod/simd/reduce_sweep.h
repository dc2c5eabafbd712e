/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Common to all kinds: how much is folded at a time, and the copy. */
#ifndef COLL_SIMD_REDUCE_SWEEP_H
#define COLL_SIMD_REDUCE_SWEEP_H

#include "reduce_vec.h"

/*
 * @n vectors, 1, 2 or 4, are in use; the others are undefined. A vector of elements takes one of
 * them. One of small floats takes two or four: then a holds the lowest element of each lane.
 */
struct block {
	vec a, b, c, d;
};

/* Other arguments of a sweep: see struct coll_reduce_arg. */
struct extra {
	vec divisor;
	bool stream;		/* past the caches; outputs are aligned */
	unsigned int nr_folded;
	const u64 *factor;	/* of input k at k - nr_folded, replicated */
};

#define PASTE_(a, b)	a##b
#define PASTE(a, b)	PASTE_(a, b)

#define EACH(x, n, do_it) do {				\
	(x)->a = do_it(a);				\
	if ((n) > 1)					\
		(x)->b = do_it(b);			\
	if ((n) > 2) {					\
		(x)->c = do_it(c);			\
		(x)->d = do_it(d);			\
	}						\
} while (0)

/* @nr: vectors, 1, 2 or 4; @bytes: how many are left, see load_some() */
static coll_always_inline void load_block(unsigned int nr, struct block *x,
					  const u8 *p, size_t bytes)
{
	if (nr == 1) {
		x->a = load_some(p, bytes);
		return;
	}
	x->a = load(p);
	x->b = load(p + VEC_BYTES);
	if (nr > 2) {
		x->c = load(p + 2 * VEC_BYTES);
		x->d = load(p + 3 * VEC_BYTES);
	}
}

static coll_always_inline void store_block(unsigned int nr, const struct block *x,
					   u8 *p, size_t bytes)
{
	if (nr == 1) {
		store_some(p, x->a, bytes);
		return;
	}
	store(p, x->a);
	store(p + VEC_BYTES, x->b);
	if (nr > 2) {
		store(p + 2 * VEC_BYTES, x->c);
		store(p + 3 * VEC_BYTES, x->d);
	}
}

/* The same, but past the caches if @past is set and there is more than one vector. */
static coll_always_inline void put_block(unsigned int nr, const struct block *x,
					 u8 *p, size_t bytes, bool past)
{
	if (nr == 1 || !past) {
		store_block(nr, x, p, bytes);
		return;
	}
	stream(p, x->a);
	stream(p + VEC_BYTES, x->b);
	if (nr > 2) {
		stream(p + 2 * VEC_BYTES, x->c);
		stream(p + 3 * VEC_BYTES, x->d);
	}
}

/* May all outputs be stored past the caches? */
static coll_always_inline bool may_stream(const struct coll_reduce_arg *arg,
					  void *const *out, unsigned int nr_out)
{
	unsigned long bits = 0;
	unsigned int k;

	if (!arg || !arg->stream)
		return false;
	for (k = 0; k < nr_out; k++)
		bits |= (unsigned long)out[k];
	return !(bits % VEC_BYTES);
}

/* Copy one input to all outputs. Bits that are not in @mask become zero. */
static coll_noinline void copy(void *const *out, unsigned int nr_out,
					   const u8 *in, size_t bytes, vec mask,
					   const struct coll_reduce_arg *arg)
{
	const bool past = may_stream(arg, out, nr_out);
	const size_t width = 4 * VEC_BYTES;
	u8 *out0 = out[0];
	struct block x;
	unsigned int k;
	size_t i = 0;

	for (; bytes - i >= width; i += width) {
		load_block(4, &x, in + i, width);
		x.a &= mask;
		x.b &= mask;
		x.c &= mask;
		x.d &= mask;
		put_block(4, &x, out0 + i, width, past);
		for (k = 1; k < nr_out; k++)
			put_block(4, &x, (u8 *)out[k] + i, width, past);
	}
	for (; i < bytes; i += VEC_BYTES) {
		x.a = load_some(in + i, bytes - i) & mask;
		for (k = 0; k < nr_out; k++)
			store_some((u8 *)out[k] + i, x.a, bytes - i);
	}
}

#endif /* COLL_SIMD_REDUCE_SWEEP_H */
