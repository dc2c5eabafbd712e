// SPDX-License-Identifier: GPL-2.0
/*
 * Test data whose exact result is known without any communication, different for
 * every rank, iteration and element. Inputs are integers; the result is the fold of
 * all ranks' inputs in int64_t; only then is either made an element of the type. So
 * inputs are such that no order of folding rounds or overflows:
 *
 *	sum, premulsum	integers wrap; of small floats four ranks, which move from
 *			element to element, have anything but 0
 *	avg		integers as sum: what is left over is cut off; floats: the
 *			sum is a multiple of the number of ranks
 *	sum_exact	two ranks have +-2^60, beside which a sum forgets the others
 *	prod		one rank has 2 to 7, or such a number + 1i to 6i, the others units
 *	minloc, maxloc	few values and so many ties
 *	land, lor	one rank in some elements decides
 *
 * A scan folds the first ranks only: there rank 0 has what only one rank has, and sum_exact
 * is a sum.
 */
#include <string.h>

#include "collperf_data.h"
#include "optable.h"

#define LARGE	((int64_t)1 << 60)

static uint64_t hash(uint64_t rank, uint64_t s, uint64_t salt)
{
	uint64_t x = (rank << 32 | s) * 0x9e3779b97f4a7c15ULL + salt * 0xd1342543de82ef95ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* Does a rank's result leave out the ranks behind it? */
static bool is_scan(const struct data_spec *d)
{
	return d->what == COLL_SCAN || d->what == COLL_EXSCAN;
}

/* Anything that @f can store, but large floats. */
static int64_t any(const struct format *f, uint32_t r, uint32_t s, int part)
{
	uint64_t h = hash(r, s, (uint64_t)part);
	int64_t limit = format_limit(f);

	if (!f->mant)
		return format_wrap(f, (int64_t)h);
	return (int64_t)(h % (uint64_t)(2 * limit + 1)) - limit;
}

/* Integers that may wrap, and floats with room for 1024 ranks. */
static bool is_wide(const struct format *f)
{
	return !f->mant || f->mant >= 23;
}

/* A term of a sum. @share: 2: the terms may use only half of the room that a sum has, else 1. */
static int64_t addend(const struct data_spec *d, const struct format *f, uint32_t r,
		      uint32_t s, int part, int share)
{
	int64_t m = format_limit(f) / 8 / share;

	/* 1024 ranks that each multiply by 2 + i stay below 2^24. */
	if (is_wide(f))
		return (int64_t)(hash(r, s, (uint64_t)part) & 4095) - 2048 * f->is_signed;
	s += (uint32_t)part * 5;
	r = (r + s) % d->size;
	m = m ? m : 1;
	return r < 4 ? (int64_t)(hash(r, s, 0) % (uint64_t)(2 * m + 1)) - m : 0;
}

static int64_t average(const struct data_spec *d, const struct format *f, uint32_t r,
		       uint32_t s, int part)
{
	uint64_t half = (uint64_t)format_limit(f) / 2, most = half / d->size;
	uint32_t n = d->size, nth = (r + n - s % n) % n;
	int64_t w = (int64_t)(hash(0, s, 3) % (half + 1));

	if (!f->mant)
		return format_wrap(f, addend(d, f, r, s, 0, 1));
	if (nth == 0)
		return ((int64_t)(hash(0, s, (uint64_t)part) % (2 * most + 1)) - (int64_t)most) * n;
	if (n < 3 || nth > 2)
		return 0;
	return nth == 1 ? w : -w;
}

static struct value factor(const struct elem_type *t, uint32_t r)
{
	static const struct value of_complex[3] = { { { 2, 1 } }, { { -1, 2 } }, { { 1, -1 } } };
	static const struct value of_real[3] = { { { 2 } }, { { -1 } }, { { 1 } } };

	return t->part[1] ? of_complex[r % 3] : of_real[r % 3];
}

static struct value product_input(const struct data_spec *d, const struct elem_type *t,
				  uint32_t r, uint32_t s)
{
	/* A product of units may have a part -0. Times 2 + i or the like, no part of it is 0. */
	static const struct value unit[4] = { { { 1, 0 } }, { { 0, 1 } }, { { -1, 0 } }, { { 0, -1 } } };
	bool other = r != (is_scan(d) ? 0 : s % d->size);
	uint64_t h = hash(r, s, 0);

	if (!other)
		return (struct value){ { 2 + (int64_t)(h % 6),
					 t->part[1] ? 1 + (int64_t)(h / 6 % 6) : 0 } };
	if (t->part[1])
		return unit[h & 3];
	return unit[t->part[0]->is_signed && (h & 1) ? 2 : 0];
}

/* Bits and truth values; all that follow are stored as integers. */
static int64_t bits_input(const struct data_spec *d, uint32_t r, uint32_t s)
{
	uint64_t h = hash(r, s, 0), common = hash(0, s, 1);
	bool decides = r == s % d->size && !(hash(0, s, 2) & 1);

	switch (d->op) {
	case COLL_OP_LAND:
		return decides ? 0 : (int64_t)(h | 1);
	case COLL_OP_LOR:
		return decides ? (int64_t)(h | 1) : 0;
	case COLL_OP_LXOR:
		return h >> 63 ? (int64_t)(h | 1) : 0;
	case COLL_OP_BAND:
		return (int64_t)(h | common);
	case COLL_OP_BOR:
		return (int64_t)(h & common);
	default:
		return (int64_t)h;
	}
}

static struct value sum_input(const struct data_spec *d, const struct elem_type *t,
			      uint32_t r, uint32_t s)
{
	uint32_t nth = (r + d->size - s % d->size) % d->size;
	struct value v = { { 0, 0 } };
	int i;

	for (i = 0; i < 2 && t->part[i]; i++) {
		if (d->op == COLL_OP_AVG)
			v.part[i] = average(d, t->part[i], r, s, i);
		else
			v.part[i] = addend(d, t->part[i], r, s, i, 1 + (d->op == COLL_OP_PREMULSUM));
		/* An even number may be 0, and a product with 0 may be -0: so use odd numbers. */
		if (t->part[1] && d->op == COLL_OP_PREMULSUM)
			v.part[i] |= 1;
	}
	if (d->op == COLL_OP_SUM_EXACT && d->size > 2 && nth < 2 && !is_scan(d))
		v.part[0] = nth ? -LARGE : LARGE;
	return v;
}

/* Element @s of the period of rank @r. */
struct value value_input(const struct data_spec *d, uint32_t r, uint32_t s)
{
	const struct elem_type *t = elem_type(d->dtype);
	struct value v = { { 0, 0 } };
	int i;

	switch (d->op) {
	case COLL_OP_SUM: case COLL_OP_AVG: case COLL_OP_PREMULSUM: case COLL_OP_SUM_EXACT:
		return sum_input(d, t, r, s);
	case COLL_OP_PROD:
		return product_input(d, t, r, s);
	case COLL_OP_LAND: case COLL_OP_LOR: case COLL_OP_LXOR:
	case COLL_OP_BAND: case COLL_OP_BOR: case COLL_OP_BXOR:
		v.part[0] = format_wrap(t->part[0], bits_input(d, r, s));
		return v;
	case COLL_OP_MINLOC: case COLL_OP_MAXLOC:
		v.part[0] = (int64_t)(hash(r, s, 0) % 5) - 2;
		v.part[1] = (int64_t)(hash(r, s, 1) % 100) - 20;
		return v;
	default:
		for (i = 0; i < 2 && t->part[i]; i++)
			v.part[i] = any(t->part[i], r, s, i);
		return v;
	}
}

static struct value multiply(struct value x, struct value y)
{
	return (struct value){ {
		x.part[0] * y.part[0] - x.part[1] * y.part[1],
		x.part[0] * y.part[1] + x.part[1] * y.part[0],
	} };
}

/* u64 needs a comparison of its own. */
static bool below(const struct format *f, int64_t x, int64_t y)
{
	return f->is_signed ? x < y : (uint64_t)x < (uint64_t)y;
}

static struct value locate(bool min, struct value x, struct value y)
{
	if (x.part[0] != y.part[0])
		return (x.part[0] < y.part[0]) == min ? x : y;
	return y.part[1] < x.part[1] ? y : x;
}

/* @x op @y, where @y is of a higher rank. */
static struct value fold(const struct data_spec *d, struct value x, struct value y)
{
	const struct format *f = elem_type(d->dtype)->part[0];
	int64_t a = x.part[0], b = y.part[0];

	switch (d->op) {
	case COLL_OP_PROD:	return multiply(x, y);
	case COLL_OP_MIN:	return below(f, b, a) ? y : x;
	case COLL_OP_MAX:	return below(f, a, b) ? y : x;
	case COLL_OP_LAND:	return (struct value){ { a && b } };
	case COLL_OP_LOR:	return (struct value){ { a || b } };
	case COLL_OP_LXOR:	return (struct value){ { !a != !b } };
	case COLL_OP_BAND:	return (struct value){ { a & b } };
	case COLL_OP_BOR:	return (struct value){ { a | b } };
	case COLL_OP_BXOR:	return (struct value){ { a ^ b } };
	case COLL_OP_MINLOC:	return locate(true, x, y);
	case COLL_OP_MAXLOC:	return locate(false, x, y);
	case COLL_OP_REPLACE:	return y;
	case COLL_OP_NO_OP:	return x;
	default:		return (struct value){ { a + b, x.part[1] + y.part[1] } };
	}
}

/* The sum's average, as the kernel divides it. */
static struct value divide(const struct data_spec *d, const struct elem_type *t, struct value v)
{
	int i;

	for (i = 0; i < 2 && t->part[i]; i++) {
		if (d->narrow)
			v.part[i] = format_wrap(t->part[i], v.part[i]);
		v.part[i] /= (int64_t)d->size;
	}
	return v;
}

/* How many ranks are folded for this one. */
static uint32_t folded(const struct data_spec *d)
{
	return d->what == COLL_SCAN ? d->rank + 1 : d->what == COLL_EXSCAN ? d->rank : d->size;
}

struct value value_result(const struct data_spec *d, uint32_t s)
{
	const struct elem_type *t = elem_type(d->dtype);
	struct value v = { { 0, 0 } }, x;
	uint32_t r;

	for (r = 0; r < folded(d); r++) {
		x = value_input(d, r, s);
		if (d->op == COLL_OP_PREMULSUM)
			x = multiply(x, factor(t, r));
		v = r ? fold(d, v, x) : x;
	}
	return d->op == COLL_OP_AVG ? divide(d, t, v) : v;
}

uint64_t data_scalar(const struct data_spec *spec)
{
	const struct elem_type *t = elem_type(spec->dtype);
	struct value v = factor(t, spec->rank);
	uint8_t elem[LARGEST_ELEM];
	uint64_t scalar = 0;

	elem_put(spec->dtype, &v, 0, elem);
	memcpy(&scalar, elem, coll_dtype_size(spec->dtype) < 8 ? coll_dtype_size(spec->dtype) : 8);
	return scalar;
}
