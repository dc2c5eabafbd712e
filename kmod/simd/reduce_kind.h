/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The only reduction, for one kind of elements: included once for each, with KIND
 * defined, hence no guard, and KIND_HAS_NAN if it has one_nan_<kind> for a block with NaN.
 * It uses what is called begin_<kind>, step_<kind> and so on. (A choice by a parameter would
 * be as good, but takes the compiler minutes: all of it is inlined at every level before it
 * is known what is chosen.)
 *
 * The operator and, where it pays, the number of inputs and outputs are constants
 * wherever they are passed, and each specialisation has a loop of its own.
 */
#define K(name)		PASTE(name##_, KIND)
#define PARTS		PASTE(PARTS_, KIND)

/* Vectors of elements in n vectors that are folded. */
#define ELEMENTS(n)	((n) / PARTS)

static coll_always_inline void K(load_block)(u32 op, unsigned int n, struct block *x,
					     const u8 *p, size_t bytes)
{
#if PARTS == 1
	load_block(n, x, p, bytes);
#elif PARTS == 2
	K(widen)(load_some(p, bytes), &x->a, &x->b);
	if (n > 2)
		K(widen)(load(p + VEC_BYTES), &x->c, &x->d);
#else
	vec v = load_some(p, bytes);

	x->a = widen(K(format), byte(v, 0));
	x->b = widen(K(format), byte(v, 1));
	x->c = widen(K(format), byte(v, 2));
	x->d = widen(K(format), byte(v, 3));
#endif
#define BEGIN(v) K(begin)(op, x->v)
	EACH(x, n, BEGIN);
#undef BEGIN
}

static coll_always_inline void K(step_block)(u32 op, unsigned int n, struct block *x,
					     const struct block *y)
{
#define STEP(v) K(step)(op, x->v, y->v)
	EACH(x, n, STEP);
#undef STEP
}

static coll_always_inline void K(scale_block)(unsigned int n, struct block *x, u64 factor)
{
	const vec f = splat64(factor);

#define SCALE(v) K(step)(COLL_OP_PROD, x->v, f)
	EACH(x, n, SCALE);
#undef SCALE
}

static coll_always_inline void K(end_block)(u32 op, unsigned int n, struct block *x,
					    vec divisor)
{
#ifdef KIND_HAS_NAN
#define END(v) K(wide)(op, x->v, divisor)
#define NAN(v) K(one_nan)(x->v)
	EACH(x, n, END);
	if (__builtin_expect(K(may_have_nan)(n, x), 0))
		EACH(x, n, NAN);
#undef NAN
#else
#define END(v) K(end)(op, x->v, divisor)
	EACH(x, n, END);
#endif
#undef END
#if PARTS == 2
	x->a = K(narrow)(x->a, x->b);
	if (n > 2)
		x->b = K(narrow)(x->c, x->d);
#elif PARTS == 4
	x->a = narrow(K(format), x->a) |
	       (vec)((vec_u32)narrow(K(format), x->b) << 8) |
	       (vec)((vec_u32)narrow(K(format), x->c) << 16) |
	       (vec)((vec_u32)narrow(K(format), x->d) << 24);
#endif
}

static coll_always_inline void K(fold_input)(u32 op, unsigned int n, struct block *x,
					     const u8 *p, size_t bytes, unsigned int k,
					     const struct extra *extra)
{
	struct block y;

	K(load_block)(op, n, &y, p, bytes);
	if (op == COLL_OP_PREMULSUM && k >= extra->nr_folded)
		K(scale_block)(n, &y, extra->factor[k - extra->nr_folded]);
	if (k)
		K(step_block)(op, n, x, &y);
	else
		*x = y;
}

/*
 * Fold from byte @i on, @n vectors at a time, as long as @n are left. If these hold only
 * one vector of elements, fold the rest, too. Everything is loaded before anything
 * is stored, because an output may be an input. The first pointers are in registers:
 * the compiler must assume that a store changes the arrays they come from. Returns
 * where it ended.
 *
 * @few: nr_in where that is a constant, 3 at most; else 0
 */
static coll_always_inline size_t K(sweep)(u32 op, unsigned int n, unsigned int few,
					  size_t i, void *const *out, unsigned int nr_out,
					  const void *const *in, unsigned int nr_in,
					  size_t bytes, const struct extra *extra)
{
	const size_t width = ELEMENTS(n) * VEC_BYTES;
	const u8 *in0 = in[0], *in1 = few > 1 ? in[1] : NULL, *in2 = few > 2 ? in[2] : NULL;
	const bool past = extra->stream;
	u8 *out0 = out[0];
	unsigned int k;
	struct block x;

	for (; ELEMENTS(n) == 1 ? i < bytes : bytes - i >= width; i += width) {
		K(fold_input)(op, n, &x, in0 + i, bytes - i, 0, extra);
		if (few > 1)
			K(fold_input)(op, n, &x, in1 + i, bytes - i, 1, extra);
		if (few > 2)
			K(fold_input)(op, n, &x, in2 + i, bytes - i, 2, extra);
		for (k = 1; !few && k < nr_in; k++)
			K(fold_input)(op, n, &x, (const u8 *)in[k] + i, bytes - i, k,
				      extra);
		K(end_block)(op, n, &x, extra->divisor);
		put_block(ELEMENTS(n), &x, out0 + i, bytes - i, past);
		for (k = 1; k < nr_out; k++)
			put_block(ELEMENTS(n), &x, (u8 *)out[k] + i, bytes - i, past);
	}
	return i;
}

/*
 * @n: vectors per iteration. @hot: a common operator, with loops for two inputs (one rank and
 * received bytes) and for three (two ranks and received bytes). Other operators have a loop for two
 * inputs and one output. The last call folds the rest, or all bytes if @n is the minimum.
 */
static coll_always_inline void K(reduce)(u32 op, unsigned int n, bool hot,
					 void *const *out, unsigned int nr_out,
					 const void *const *in, unsigned int nr_in,
					 size_t bytes, const struct extra *extra)
{
	size_t i = 0;

	if (ELEMENTS(n) == 1)
		;
	else if (nr_in == 2 && nr_out == 1)
		i = K(sweep)(op, n, 2, i, out, 1, in, 2, bytes, extra);
	else if (hot && nr_in == 2)
		i = K(sweep)(op, n, 2, i, out, nr_out, in, 2, bytes, extra);
	else if (hot && nr_in == 3 && nr_out == 1)
		i = K(sweep)(op, n, 3, i, out, 1, in, 3, bytes, extra);
	else if (hot && nr_in == 3)
		i = K(sweep)(op, n, 3, i, out, nr_out, in, 3, bytes, extra);
	else
		i = K(sweep)(op, n, 0, i, out, nr_out, in, nr_in, bytes, extra);
	K(sweep)(op, PARTS, 0, i, out, nr_out, in, nr_in, bytes, extra);
}

#undef ELEMENTS
#undef PARTS
#undef K
#undef KIND
#undef KIND_HAS_NAN
