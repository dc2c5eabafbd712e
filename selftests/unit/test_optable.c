// SPDX-License-Identifier: GPL-2.0
/* The table of types and operators, against what a C compiler says. */
#include <string.h>

#include "pure/optable.h"
#include "tap.h"

struct f32_i32 { float v; int i; };
struct f64_i32 { double v; int i; };
struct i64_i32 { int64_t v; int i; };
struct i32_i32 { int v; int i; };
struct i16_i32 { short v; int i; };
struct ldouble_i32 { long double v; int i; };
struct f32_f32 { float v, i; };
struct f64_f64 { double v, i; };

static const struct {
	u32 dtype;
	size_t size;
} sizes[] = {
	{ COLL_I8, 1 }, { COLL_U8, 1 }, { COLL_I16, 2 }, { COLL_U16, 2 },
	{ COLL_I32, 4 }, { COLL_U32, 4 }, { COLL_I64, 8 }, { COLL_U64, 8 },
	{ COLL_BOOL, sizeof(_Bool) }, { COLL_BYTE, 1 }, { COLL_F16, 2 },
	{ COLL_BF16, 2 }, { COLL_F8E4M3, 1 }, { COLL_F8E5M2, 1 },
	{ COLL_F32, sizeof(float) }, { COLL_F64, sizeof(double) },
	{ COLL_LDOUBLE, sizeof(long double) },
	{ COLL_C32, sizeof(_Complex float) }, { COLL_C64, sizeof(_Complex double) },
	{ COLL_CLDOUBLE, sizeof(_Complex long double) },
	{ COLL_F32_I32, sizeof(struct f32_i32) },
	{ COLL_F64_I32, sizeof(struct f64_i32) },
	{ COLL_I64_I32, sizeof(struct i64_i32) },
	{ COLL_I32_I32, sizeof(struct i32_i32) },
	{ COLL_I16_I32, sizeof(struct i16_i32) },
	{ COLL_LDOUBLE_I32, sizeof(struct ldouble_i32) },
	{ COLL_F32_F32, sizeof(struct f32_f32) },
	{ COLL_F64_F64, sizeof(struct f64_f64) },
};

#define NR_SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static bool arith(u32 dtype)
{
	return (dtype >= COLL_I32 && dtype <= COLL_U64) ||
	       dtype == COLL_F32 || dtype == COLL_F64;
}

/* All names are there, and no two are the same. */
static bool names_ok(const char *(*name)(u32), u32 first, u32 end)
{
	u32 i, j;

	for (i = first; i < end; i++) {
		if (!name(i) || !*name(i))
			return false;
		for (j = first; j < i; j++) {
			if (!strcmp(name(i), name(j)))
				return false;
		}
	}
	return !name(end) && !name(~0U) && !name(1U << 31);
}

int main(void)
{
	bool ok = true;
	u32 op, dtype;
	size_t i;

	for (i = 0; i < NR_SIZES; i++)
		ok &= coll_dtype_size(sizes[i].dtype) == sizes[i].size;
	tap_ok(ok, "sizes are those of the C types");
	tap_ok(NR_SIZES + 2 == COLL_NR_DTYPES, "all types but none and opaque were looked at");
	tap_ok(!coll_dtype_size(COLL_DTYPE_NONE) && !coll_dtype_size(COLL_OPAQUE) &&
	       !coll_dtype_size(COLL_NR_DTYPES) && !coll_dtype_size(~0U),
	       "no size for none, opaque, and numbers out of range");

	ok = true;
	for (op = 0; op < COLL_NR_OPS + 40; op++) {
		for (dtype = 0; dtype < COLL_NR_DTYPES + 40; dtype++)
			ok &= coll_op_defined(op, dtype) ==
			      (op >= COLL_OP_SUM && op <= COLL_OP_MAX && arith(dtype));
	}
	ok &= !coll_op_defined(~0U, COLL_F32) && !coll_op_defined(COLL_OP_SUM, ~0U);
	tap_ok(ok, "sum, prod, min, max on 32- and 64-bit types, nothing else");

	tap_ok(names_ok(coll_op_name, COLL_OP_NONE, COLL_NR_OPS), "operator names");
	tap_ok(names_ok(coll_dtype_name, COLL_I8, COLL_NR_DTYPES), "type names");
	tap_ok(names_ok(coll_collective_name, COLL_BARRIER, COLL_NR_COLLECTIVES),
	       "collective names");
	tap_ok(!coll_collective_name(0) && !coll_dtype_name(0), "no names for zero");
	return tap_done();
}
