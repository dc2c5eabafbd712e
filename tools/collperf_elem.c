// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers into elements of every type. Floats are put together bit by bit, so that
 * nothing here depends on what the compiler or the CPU can compute with.
 */
#include <string.h>

#include "collperf_data.h"
#include "optable.h"

#define LIMIT	((int64_t)1 << 24)

static const struct format s8_format = { 1, 0, true, false };
static const struct format u8_format = { 1, 0, false, false };
static const struct format s16_format = { 2, 0, true, false };
static const struct format u16_format = { 2, 0, false, false };
static const struct format s32_format = { 4, 0, true, false };
static const struct format u32_format = { 4, 0, false, false };
static const struct format s64_format = { 8, 0, true, false };
static const struct format u64_format = { 8, 0, false, false };
static const struct format e4m3_format = { 1, 3, true, false };
static const struct format e5m2_format = { 1, 2, true, false };
static const struct format f16_format = { 2, 10, true, false };
static const struct format bf16_format = { 2, 7, true, false };
static const struct format f32_format = { 4, 23, true, false };
static const struct format f64_format = { 8, 52, true, false };
static const struct format x87_format = { 10, 63, true, true };

static const struct elem_type types[COLL_NR_DTYPES] = {
	[COLL_I8]	   = { { &s8_format } },
	[COLL_U8]	   = { { &u8_format } },
	[COLL_I16]	   = { { &s16_format } },
	[COLL_U16]	   = { { &u16_format } },
	[COLL_I32]	   = { { &s32_format } },
	[COLL_U32]	   = { { &u32_format } },
	[COLL_I64]	   = { { &s64_format } },
	[COLL_U64]	   = { { &u64_format } },
	[COLL_BOOL]	   = { { &u8_format } },
	[COLL_BYTE]	   = { { &u8_format } },
	[COLL_F16]	   = { { &f16_format } },
	[COLL_BF16]	   = { { &bf16_format } },
	[COLL_F8E4M3]	   = { { &e4m3_format } },
	[COLL_F8E5M2]	   = { { &e5m2_format } },
	[COLL_F32]	   = { { &f32_format } },
	[COLL_F64]	   = { { &f64_format } },
	[COLL_LDOUBLE]	   = { { &x87_format } },
	[COLL_C32]	   = { { &f32_format, &f32_format }, 4, false },
	[COLL_C64]	   = { { &f64_format, &f64_format }, 8, false },
	[COLL_CLDOUBLE]	   = { { &x87_format, &x87_format }, 16, false },
	[COLL_F32_I32]	   = { { &f32_format, &s32_format }, 4, true },
	[COLL_F64_I32]	   = { { &f64_format, &s32_format }, 8, true },
	[COLL_I64_I32]	   = { { &s64_format, &s32_format }, 8, true },
	[COLL_I32_I32]	   = { { &s32_format, &s32_format }, 4, true },
	[COLL_I16_I32]	   = { { &s16_format, &s32_format }, 4, true },
	[COLL_LDOUBLE_I32] = { { &x87_format, &s32_format }, 16, true },
	[COLL_F32_F32]	   = { { &f32_format, &f32_format }, 4, true },
	[COLL_F64_F64]	   = { { &f64_format, &f64_format }, 8, true },
};

const struct elem_type *elem_type(enum coll_dtype dtype)
{
	return &types[dtype];
}

int64_t format_limit(const struct format *f)
{
	int bits = f->mant ? f->mant + 1 : 8 * f->bytes - f->is_signed;

	if (bits >= 24)
		return LIMIT;
	/* 2^n itself is stored exactly by a float, not by an integer. */
	return ((int64_t)1 << bits) - !f->mant;
}

int64_t format_wrap(const struct format *f, int64_t v)
{
	int unused = 64 - 8 * f->bytes;

	if (f->mant)
		return v;
	v = (int64_t)((uint64_t)v << unused);
	return f->is_signed ? v >> unused : (int64_t)((uint64_t)v >> unused);
}

/* The host is little-endian, as the ABI and the wire are. */
static void put_float(const struct format *f, int64_t v, uint8_t *to)
{
	uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
	int exponent_bits = 8 * f->bytes - 1 - f->mant;
	uint64_t bits, exponent, significand;
	uint16_t head;
	int top;

	memset(to, 0, f->bytes);
	if (!v)
		return;
	top = 63 - __builtin_clzll(magnitude);
	significand = magnitude << (63 - top);
	if (f->x87) {
		head = (uint16_t)((v < 0) << 15 | (16383 + top));
		memcpy(to, &significand, 8);
		memcpy(to + 8, &head, 2);
		return;
	}
	exponent = (1ULL << (exponent_bits - 1)) - 1 + (uint64_t)top;
	bits = (uint64_t)(v < 0) << (8 * f->bytes - 1) | exponent << f->mant |
	       significand << 1 >> (64 - f->mant);
	memcpy(to, &bits, f->bytes);
}

void elem_put(enum coll_dtype dtype, const struct value *v, uint8_t fill, void *elem)
{
	const struct elem_type *t = &types[dtype];
	int i;

	memset(elem, fill, coll_dtype_size(dtype));
	for (i = 0; i < 2 && t->part[i]; i++) {
		uint8_t *to = (uint8_t *)elem + i * t->offset;

		if (t->part[i]->mant)
			put_float(t->part[i], v->part[i], to);
		else
			memcpy(to, &v->part[i], t->part[i]->bytes);
	}
}

void elem_clear(enum coll_dtype dtype, uint8_t fill, void *elem)
{
	const struct elem_type *t = &types[dtype];
	uint8_t was[LARGEST_ELEM];
	int i;

	memcpy(was, elem, coll_dtype_size(dtype));
	memset(elem, fill, coll_dtype_size(dtype));
	for (i = 0; i < 2 && t->part[i]; i++)
		memcpy((uint8_t *)elem + i * t->offset, was + i * t->offset, t->part[i]->bytes);
}
