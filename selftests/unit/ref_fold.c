// SPDX-License-Identifier: GPL-2.0
/* Folds of one element, as pure/reduction/reduce.h has them. */
#include <stdlib.h>

#include "ref.h"

#define SIMPLE(kind, size)	[kind] = { size, 1, { kind }, { 0 } }
#define TWO(dtype, size, a, b, offset) [dtype] = { size, 2, { a, b }, { 0, offset } }

static const struct ref_type types[COLL_NR_DTYPES] = {
	SIMPLE(COLL_I8, 1), SIMPLE(COLL_U8, 1), SIMPLE(COLL_I16, 2), SIMPLE(COLL_U16, 2),
	SIMPLE(COLL_I32, 4), SIMPLE(COLL_U32, 4), SIMPLE(COLL_I64, 8), SIMPLE(COLL_U64, 8),
	SIMPLE(COLL_BOOL, 1), SIMPLE(COLL_BYTE, 1),
	SIMPLE(COLL_F16, 2), SIMPLE(COLL_BF16, 2),
	SIMPLE(COLL_F8E4M3, 1), SIMPLE(COLL_F8E5M2, 1),
	SIMPLE(COLL_F32, 4), SIMPLE(COLL_F64, 8), SIMPLE(COLL_LDOUBLE, 16),
	TWO(COLL_C32, 8, COLL_F32, COLL_F32, 4),
	TWO(COLL_C64, 16, COLL_F64, COLL_F64, 8),
	TWO(COLL_CLDOUBLE, 32, COLL_LDOUBLE, COLL_LDOUBLE, 16),
	TWO(COLL_F32_I32, 8, COLL_F32, COLL_I32, 4),
	TWO(COLL_F64_I32, 16, COLL_F64, COLL_I32, 8),
	TWO(COLL_I64_I32, 16, COLL_I64, COLL_I32, 8),
	TWO(COLL_I32_I32, 8, COLL_I32, COLL_I32, 4),
	TWO(COLL_I16_I32, 8, COLL_I16, COLL_I32, 4),
	TWO(COLL_LDOUBLE_I32, 32, COLL_LDOUBLE, COLL_I32, 16),
	TWO(COLL_F32_F32, 8, COLL_F32, COLL_F32, 4),
	TWO(COLL_F64_F64, 16, COLL_F64, COLL_F64, 8),
};

const struct ref_type *ref_type(u32 dtype)
{
	return &types[dtype];
}

u32 ref_kind_bytes(u32 kind)
{
	return kind == COLL_LDOUBLE ? 10 : types[kind].size;
}

bool ref_kind_is_float(u32 kind)
{
	return kind >= COLL_F16 && kind <= COLL_LDOUBLE;
}

bool ref_kind_is_signed(u32 kind)
{
	return kind == COLL_I8 || kind == COLL_I16 || kind == COLL_I32 || kind == COLL_I64;
}

static void copy_element(const struct ref_type *t, const u8 *from, u8 *out)
{
	u32 i;

	memset(out, 0, t->size);
	for (i = 0; i < t->nr; i++)
		memcpy(out + t->offset[i], from + t->offset[i], ref_kind_bytes(t->kind[i]));
}

/* --- integers ----------------------------------------------------------------- */

static __int128 decode_int(u32 kind, const u8 *p)
{
	u32 bits = 8 * types[kind].size;
	u64 v = 0;

	memcpy(&v, p, bits / 8);
	if (ref_kind_is_signed(kind) && (v >> (bits - 1) & 1))
		return (__int128)v - ((__int128)1 << bits);
	return v;
}

/* The same number modulo 2^bits that the type has. */
static __int128 wrap(u32 kind, __int128 v)
{
	u64 low = (u128)v;

	return decode_int(kind, (u8 *)&low);
}

static __int128 int_step(u32 op, __int128 a, __int128 b)
{
	switch (op) {
	case COLL_OP_SUM:
	case COLL_OP_AVG:
	case COLL_OP_PREMULSUM:
		return a + b;
	case COLL_OP_PROD:
		return (u128)a * (u128)b;	/* modulo 2^128 is modulo 2^64 too */
	case COLL_OP_MIN:
		return b < a ? b : a;
	case COLL_OP_MAX:
		return b > a ? b : a;
	case COLL_OP_LAND:
		return a != 0 && b != 0;
	case COLL_OP_LOR:
		return a != 0 || b != 0;
	case COLL_OP_LXOR:
		return (a != 0) != (b != 0);
	case COLL_OP_BAND:
		return a & b;
	case COLL_OP_BOR:
		return a | b;
	case COLL_OP_BXOR:
		return a ^ b;
	}
	abort();
}

static __int128 int_input(u32 kind, u32 op, const u8 *const *elem, u32 k,
			  const struct coll_reduce_arg *arg)
{
	__int128 v = decode_int(kind, elem[k]);

	if (op == COLL_OP_PREMULSUM && k >= arg->nr_folded)
		v = int_step(COLL_OP_PROD, v,
			     decode_int(kind, (const u8 *)&arg->scale[k - arg->nr_folded]));
	return wrap(kind, v);
}

static void fold_int(u32 kind, u32 op, const u8 *const *elem, u32 nr,
		     const struct coll_reduce_arg *arg, u8 *out)
{
	__int128 v = int_input(kind, op, elem, 0, arg);
	u64 low;
	u32 k;

	for (k = 1; k < nr; k++)
		v = wrap(kind, int_step(op, v, int_input(kind, op, elem, k, arg)));
	if (op == COLL_OP_AVG)
		v /= arg->divisor;	/* C truncates towards zero */
	low = (u128)v;
	memcpy(out, &low, types[kind].size);
}

/* --- floats ------------------------------------------------------------------- */

static bool less(struct ref_num a, struct ref_num b)
{
	int c = ref_compare(a, b);

	if (!c && !a.m && !a.inf)
		return a.neg && !b.neg;
	return c < 0;
}

/* The result of min or max is a copy of an input, so that its bits stay. A NaN is made anew. */
static void fold_order(u32 kind, u32 op, const u8 *const *elem, u32 nr, u8 *out)
{
	struct ref_num x, best = {};
	u32 k, found = 0;

	for (k = 0; k < nr; k++) {
		x = ref_decode(kind, elem[k]);
		if (x.nan) {
			ref_encode(kind, x, out);
			return;
		}
		if (!k || (op == COLL_OP_MIN ? less(x, best) : less(best, x))) {
			best = x;
			found = k;
		}
	}
	memcpy(out, elem[found], ref_kind_bytes(kind));
}

static const struct ref_format *computed_in(u32 kind)
{
	bool small = ref_kind_bytes(kind) < 4;

	return ref_format(small ? COLL_F32 : kind);
}

static struct ref_num float_input(u32 kind, u32 op, const u8 *const *elem, u32 k,
				  const struct coll_reduce_arg *arg)
{
	struct ref_num x = ref_decode(kind, elem[k]);

	if (op == COLL_OP_PREMULSUM && k >= arg->nr_folded)
		x = ref_mul(computed_in(kind), x,
			    ref_decode(kind, (const u8 *)&arg->scale[k - arg->nr_folded]));
	return x;
}

static void fold_float(u32 kind, u32 op, const u8 *const *elem, u32 nr,
		       const struct coll_reduce_arg *arg, u8 *out)
{
	const struct ref_format *f = computed_in(kind);
	struct ref_num x, y;
	u32 k;

	if (op == COLL_OP_MIN || op == COLL_OP_MAX) {
		fold_order(kind, op, elem, nr, out);
		return;
	}
	x = float_input(kind, op, elem, 0, arg);
	for (k = 1; k < nr; k++) {
		y = float_input(kind, op, elem, k, arg);
		x = op == COLL_OP_PROD ? ref_mul(f, x, y) : ref_add(f, x, y);
	}
	if (op == COLL_OP_AVG)
		x = ref_div(f, x, arg->divisor);
	ref_encode(kind, x, out);
}

/* --- complex numbers ---------------------------------------------------------- */

struct ref_complex {
	struct ref_num re, im;
};

static struct ref_complex decode_complex(const struct ref_type *t, const u8 *p)
{
	return (struct ref_complex){
		ref_decode(t->kind[0], p), ref_decode(t->kind[0], p + t->offset[1]),
	};
}

/* (a + bi) (c + di), each of six steps rounded */
static struct ref_complex mul_complex(const struct ref_format *f, struct ref_complex x,
				      struct ref_complex y)
{
	struct ref_num ac = ref_mul(f, x.re, y.re), bd = ref_mul(f, x.im, y.im);
	struct ref_num ad = ref_mul(f, x.re, y.im), bc = ref_mul(f, x.im, y.re);

	bd.neg = !bd.neg;
	return (struct ref_complex){ ref_add(f, ac, bd), ref_add(f, ad, bc) };
}

static struct ref_complex complex_input(const struct ref_type *t, u32 op,
					const u8 *const *elem, u32 k,
					const struct coll_reduce_arg *arg)
{
	struct ref_complex x = decode_complex(t, elem[k]);

	if (op == COLL_OP_PREMULSUM && k >= arg->nr_folded)
		x = mul_complex(ref_format(t->kind[0]), x,
				decode_complex(t, (const u8 *)&arg->scale[k - arg->nr_folded]));
	return x;
}

static void fold_complex(const struct ref_type *t, u32 op, const u8 *const *elem, u32 nr,
			 const struct coll_reduce_arg *arg, u8 *out)
{
	const struct ref_format *f = ref_format(t->kind[0]);
	struct ref_complex x = complex_input(t, op, elem, 0, arg), y;
	u32 k;

	for (k = 1; k < nr; k++) {
		y = complex_input(t, op, elem, k, arg);
		if (op == COLL_OP_PROD) {
			x = mul_complex(f, x, y);
		} else {
			x.re = ref_add(f, x.re, y.re);
			x.im = ref_add(f, x.im, y.im);
		}
	}
	if (op == COLL_OP_AVG) {
		x.re = ref_div(f, x.re, arg->divisor);
		x.im = ref_div(f, x.im, arg->divisor);
	}
	memset(out, 0, t->size);
	ref_encode(t->kind[0], x.re, out);
	ref_encode(t->kind[0], x.im, out + t->offset[1]);
}

/* --- pairs -------------------------------------------------------------------- */

/* NaN stands before every number in minloc, behind every number in maxloc. */
static int compare_value(u32 kind, u32 op, const u8 *p, const u8 *q)
{
	struct ref_num a, b;
	__int128 x, y;

	if (!ref_kind_is_float(kind)) {
		x = decode_int(kind, p);
		y = decode_int(kind, q);
		return (x > y) - (x < y);
	}
	a = ref_decode(kind, p);
	b = ref_decode(kind, q);
	if (a.nan || b.nan)
		return op == COLL_OP_MINLOC ? b.nan - a.nan : a.nan - b.nan;
	return ref_compare(a, b);
}

static bool index_less(u32 kind, const u8 *p, const u8 *q)
{
	struct ref_num a, b;

	if (!ref_kind_is_float(kind))
		return decode_int(kind, p) < decode_int(kind, q);
	a = ref_decode(kind, p);
	b = ref_decode(kind, q);
	return !a.nan && !b.nan && ref_compare(a, b) < 0;
}

static void fold_pair(const struct ref_type *t, u32 op, const u8 *const *elem, u32 nr,
		      u8 *out)
{
	const u8 *best = elem[0];
	int c;
	u32 k;

	for (k = 1; k < nr; k++) {
		c = compare_value(t->kind[0], op, elem[k], best);
		if (op == COLL_OP_MAXLOC)
			c = -c;
		if (c < 0 || (!c && index_less(t->kind[1], elem[k] + t->offset[1],
					       best + t->offset[1])))
			best = elem[k];
	}
	copy_element(t, best, out);
	if (ref_kind_is_float(t->kind[0]) && ref_decode(t->kind[0], best).nan)
		ref_encode(t->kind[0], ref_decode(t->kind[0], best), out);
}

void ref_fold(u32 dtype, u32 op, const u8 *const *elem, u32 nr,
	      const struct coll_reduce_arg *arg, u8 *out)
{
	const struct ref_type *t = &types[dtype];

	if (op == COLL_OP_REPLACE || op == COLL_OP_NO_OP ||
	    (nr == 1 && op != COLL_OP_AVG && op != COLL_OP_PREMULSUM)) {
		copy_element(t, elem[op == COLL_OP_REPLACE ? nr - 1 : 0], out);
		return;
	}
	memset(out, 0, t->size);
	if (op == COLL_OP_MINLOC || op == COLL_OP_MAXLOC)
		fold_pair(t, op, elem, nr, out);
	else if (t->nr == 2)
		fold_complex(t, op, elem, nr, arg, out);
	else if (ref_kind_is_float(t->kind[0]))
		fold_float(t->kind[0], op, elem, nr, arg, out);
	else
		fold_int(t->kind[0], op, elem, nr, arg, out);
}
