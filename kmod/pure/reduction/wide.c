// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Folds with wider partial results, made of plain kernels. A stretch of elements stays in the
 * first cache: it is widened there, folded in the wider type, and the result is narrowed.
 */
#include "../optable.h"
#include "wide.h"

/* Inputs of one call of a kernel at most; they are on the stack. */
#define LIST	COLL_SIMD_MAX
/* The most of these inputs that are widened: each takes a slot. */
#define WIDENED	2

u32 coll_wide_dtype(u32 op, u32 dtype)
{
	switch (dtype) {
	case COLL_F16: case COLL_BF16: case COLL_F8E4M3: case COLL_F8E5M2:
		return op == COLL_OP_SUM || op == COLL_OP_PROD || op == COLL_OP_AVG ||
		       op == COLL_OP_PREMULSUM ? COLL_F32 : dtype;
	case COLL_I8: case COLL_I16:
		return op == COLL_OP_AVG ? COLL_I32 : dtype;
	case COLL_U8: case COLL_U16:
		return op == COLL_OP_AVG ? COLL_U32 : dtype;
	case COLL_I32:
		return op == COLL_OP_AVG ? COLL_I64 : dtype;
	case COLL_U32:
		return op == COLL_OP_AVG ? COLL_U64 : dtype;
	default:
		return dtype;
	}
}

/* Are partial results extended floats? */
static bool is_extended(u32 op, u32 dtype)
{
	switch (dtype) {
	case COLL_BF16:
		return op == COLL_OP_AVG || op == COLL_OP_SUM;
	case COLL_F32: case COLL_F64: case COLL_C32: case COLL_C64:
		return op == COLL_OP_AVG;
	default:
		return false;
	}
}

u32 coll_wide_size(u32 op, u32 dtype)
{
	u32 wide = coll_wide_dtype(op, dtype);

	if (op == COLL_OP_AVG && (dtype == COLL_I64 || dtype == COLL_U64))
		return 16;
	return wide != dtype || is_extended(op, dtype) ? coll_dtype_size(wide) : 0;
}

static coll_reduce_fn *kernel(const struct coll_simd *set, u32 op, u32 dtype)
{
	return set->fn[dtype][op] ? set->fn[dtype][op] : coll_simd_scalar.fn[dtype][op];
}

static void setup_extended(struct coll_wide *w, u32 op, u32 wide)
{
	if (wide == COLL_F64 || wide == COLL_C64) {
		w->part_ext = coll_scalar_ext_part_f64;
		w->end_ext = coll_scalar_ext_avg_f64;
	} else {
		w->part_ext = coll_scalar_ext_part_f32;
		w->end_ext = op == COLL_OP_AVG ? coll_scalar_ext_avg_f32 : coll_scalar_ext_sum_f32;
	}
}

bool coll_wide_setup(struct coll_wide *w, const struct coll_simd *set, u32 op, u32 dtype)
{
	u32 wide = coll_wide_dtype(op, dtype);

	*w = (struct coll_wide){
		.elem = coll_dtype_size(dtype),
		.partial = coll_wide_size(op, dtype),
		.parts = 1,
	};
	if (!w->partial)
		return false;
	if (w->partial == 16 && w->elem == 8) {
		w->part = dtype == COLL_I64 ? coll_wide_part_i64 : coll_wide_part_u64;
		w->end = dtype == COLL_I64 ? coll_wide_avg_i64 : coll_wide_avg_u64;
		return true;
	}
	/* Complex numbers are added and divided as twice as many real ones. */
	if (wide == COLL_C32 || wide == COLL_C64) {
		w->parts = 2;
		w->elem /= 2;
		w->partial /= 2;
		wide = wide == COLL_C32 ? COLL_F32 : COLL_F64;
	}
	/* An average is a sum until the very end. */
	w->part = kernel(set, op == COLL_OP_AVG ? COLL_OP_SUM : op, wide);
	w->end = kernel(set, op, wide);
	w->copy = kernel(set, COLL_OP_NO_OP, COLL_U8);
	if (is_extended(op, dtype))
		setup_extended(w, op, wide);
	if (wide != dtype && w->parts == 1) {
		w->widen = set->widen[dtype] ? set->widen[dtype] : coll_simd_scalar.widen[dtype];
		w->narrow = set->narrow[dtype] ? set->narrow[dtype] :
						 coll_simd_scalar.narrow[dtype];
	}
	return true;
}

bool coll_wide_is_plain(const struct coll_wide *w, u32 dtype)
{
	bool small = dtype == COLL_F16 || dtype == COLL_BF16 || dtype == COLL_F8E4M3 ||
		     dtype == COLL_F8E5M2;

	/* It folds in f32, too. */
	return small && !w->part_ext;
}

u32 coll_wide_most(const struct coll_wide *w)
{
	return COLL_WIDE_SLOT / (w->partial * w->parts);
}

/**
 * struct fold - one call of a kernel
 * @list: inputs
 * @nr: number of @list
 * @arg: for these
 * @factor: premulsum: of those that are no partial results
 */
struct fold {
	const void *list[LIST];
	unsigned int nr;
	struct coll_reduce_arg arg;
	u64 factor[WIDENED];
};

static void *slot(const struct coll_wide_job *j, unsigned int i)
{
	return (u8 *)j->room + i * COLL_WIDE_SLOT;
}

static u64 load64(const u8 *p)
{
	u64 x;

	__builtin_memcpy(&x, p, sizeof(x));
	return x;
}

static u32 load32(const u8 *p)
{
	u32 x;

	__builtin_memcpy(&x, p, sizeof(x));
	return x;
}

/* Is the exponent that of infinities and NaNs? */
static bool is_special(const struct coll_wide *w, const u8 *p)
{
	if (w->partial == sizeof(u32))
		return (load32(p) & 0x7f800000) == 0x7f800000;
	return (load64(p) & 0x7ff0000000000000ULL) == 0x7ff0000000000000ULL;
}

/*
 * Has any element the largest exponent? Adding 1 makes such an exponent overflow. @bytes end in
 * zeroes up to a multiple of 8.
 */
static bool any_special(const struct coll_wide *w, const u8 *p, size_t bytes)
{
	bool single = w->partial == sizeof(u32);
	const u64 exponent = single ? 0x7f8000007f800000ULL : 0x7ff0000000000000ULL;
	const u64 one = single ? 0x0080000000800000ULL : 0x0010000000000000ULL;
	u64 all = 0;
	size_t i;

	for (i = 0; i < bytes; i += sizeof(u64))
		all |= (load64(p + i) & exponent) + one;
	return all & (single ? 0x8000000080000000ULL : 0x8000000000000000ULL);
}

/* Fold once more the elements whose sum in @v is special. */
static void again(const struct coll_wide *w, coll_reduce_fn *fn, const struct fold *f, u8 *v,
		  size_t bytes)
{
	const void *in[LIST];
	unsigned int k;
	void *to;
	size_t i;

	for (i = 0; i < bytes; i += w->partial) {
		if (!is_special(w, v + i))
			continue;
		for (k = 0; k < f->nr; k++)
			in[k] = (const u8 *)f->list[k] + i;
		to = v + i;
		fn(&to, 1, in, f->nr, 1, &f->arg);
	}
}

/*
 * The plain kernel is right where its result is finite. After an overflow, or with an extended
 * number among the inputs, its result is infinite or a NaN; these elements are done again.
 * Outputs may be inputs, so the results go to scratch first.
 */
static void run_extended(const struct coll_wide_job *j, const struct fold *f, bool end,
			 void *const *out, unsigned int nr_out, size_t n)
{
	const struct coll_wide *w = j->w;
	const struct coll_reduce_arg past = { .stream = f->arg.stream };
	struct coll_reduce_arg arg = f->arg;
	size_t bytes = n * w->partial;
	void *scratch = slot(j, WIDENED);
	const void *sum = scratch;

	arg.stream = false;
	__builtin_memset((u8 *)scratch + bytes / 8 * 8, 0, 8);
	(end ? w->end : w->part)(&scratch, 1, f->list, f->nr, n, &arg);
	if (any_special(w, scratch, bytes))
		again(w, end ? w->end_ext : w->part_ext, f, scratch, bytes);
	w->copy(out, nr_out, &sum, 1, bytes, &past);
}

static void run_kernel(const struct coll_wide_job *j, const struct fold *f, bool end,
		       void *const *out, unsigned int nr_out, size_t n)
{
	coll_reduce_fn *fn = end ? j->w->end : j->w->part;

	if (j->w->part_ext)
		run_extended(j, f, end, out, nr_out, n);
	else
		fn(out, nr_out, f->list, f->nr, n, &f->arg);
}

/* An input that is an element is made wider, and so is its factor. */
static void take_element(const struct coll_wide_job *j, struct fold *f, unsigned int k,
			 unsigned int used, size_t n)
{
	const void *from = j->in[k];
	void *to = slot(j, used);

	if (!j->w->widen) {
		f->list[f->nr++] = from;
		return;
	}
	j->w->widen(&to, 1, &from, 1, n, NULL);
	f->list[f->nr] = to;
	if (j->arg->scale) {
		to = &f->factor[f->nr - f->arg.nr_folded];
		from = &j->arg->scale[k - j->arg->nr_folded];
		if (j->w->wide_factors)
			__builtin_memcpy(to, from, sizeof(u64));
		else
			j->w->widen(&to, 1, &from, 1, 1, NULL);
	}
	f->nr++;
}

/* Take inputs from the @k-th on, as many as there is room for. Return: the next one. */
static unsigned int take(const struct coll_wide_job *j, struct fold *f, unsigned int k, size_t n)
{
	unsigned int used = f->nr;	/* the first slot has what was folded before, if anything */

	for (; k < j->nr_in && f->nr < LIST; k++) {
		if (k < j->arg->nr_folded) {
			f->list[f->nr++] = j->in[k];
			f->arg.nr_folded++;
			continue;
		}
		if (j->w->widen && used == WIDENED)
			break;
		take_element(j, f, k, used++, n);
	}
	return k;
}

void coll_wide_run(const struct coll_wide_job *j, size_t count)
{
	const struct coll_wide *w = j->w;
	const size_t n = count * w->parts;
	void *sum = slot(j, 0);
	unsigned int k = 0;
	struct fold f;

	if (!count)
		return;
	f.nr = 0;
	for (;;) {
		f.arg = (struct coll_reduce_arg){
			.nr_folded = f.nr, .divisor = j->arg->divisor, .scale = f.factor,
		};
		k = take(j, &f, k, n);
		if (k == j->nr_in)
			break;
		run_kernel(j, &f, false, &sum, 1, n);
		f.list[0] = sum;
		f.nr = 1;
	}
	if (j->final && w->narrow) {
		run_kernel(j, &f, true, &sum, 1, n);
		if (j->after)
			coll_after_run(j->after, &sum, 1, n);
		f.list[0] = sum;
		w->narrow(j->out, j->nr_out, f.list, 1, n, NULL);
		return;
	}
	f.arg.stream = j->arg->stream;
	run_kernel(j, &f, j->final, j->out, j->nr_out, n);
	if (j->final && j->after)
		coll_after_run(j->after, j->out, j->nr_out, n);
}
