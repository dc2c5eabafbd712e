// SPDX-License-Identifier: GPL-2.0
/* The table of types and operators, against what a C compiler and MPI say. */
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

#define VALUE_OF_LDOUBLE	10	/* bytes of the x87's format */

/* @padding: bytes of an element that are no part of its value */
static const struct {
	u32 dtype;
	size_t size;
	size_t padding;
} sizes[] = {
	{ COLL_I8, 1 }, { COLL_U8, 1 }, { COLL_I16, 2 }, { COLL_U16, 2 },
	{ COLL_I32, 4 }, { COLL_U32, 4 }, { COLL_I64, 8 }, { COLL_U64, 8 },
	{ COLL_BOOL, sizeof(_Bool) }, { COLL_BYTE, 1 }, { COLL_F16, 2 },
	{ COLL_BF16, 2 }, { COLL_F8E4M3, 1 }, { COLL_F8E5M2, 1 },
	{ COLL_F32, sizeof(float) }, { COLL_F64, sizeof(double) },
	{ COLL_LDOUBLE, sizeof(long double), sizeof(long double) - VALUE_OF_LDOUBLE },
	{ COLL_C32, sizeof(_Complex float) }, { COLL_C64, sizeof(_Complex double) },
	{ COLL_CLDOUBLE, sizeof(_Complex long double),
	  sizeof(_Complex long double) - 2 * VALUE_OF_LDOUBLE },
	{ COLL_F32_I32, sizeof(struct f32_i32),
	  sizeof(struct f32_i32) - sizeof(float) - sizeof(int) },
	{ COLL_F64_I32, sizeof(struct f64_i32),
	  sizeof(struct f64_i32) - sizeof(double) - sizeof(int) },
	{ COLL_I64_I32, sizeof(struct i64_i32),
	  sizeof(struct i64_i32) - sizeof(int64_t) - sizeof(int) },
	{ COLL_I32_I32, sizeof(struct i32_i32),
	  sizeof(struct i32_i32) - sizeof(int) - sizeof(int) },
	{ COLL_I16_I32, sizeof(struct i16_i32),
	  sizeof(struct i16_i32) - sizeof(short) - sizeof(int) },
	{ COLL_LDOUBLE_I32, sizeof(struct ldouble_i32),
	  sizeof(struct ldouble_i32) - VALUE_OF_LDOUBLE - sizeof(int) },
	{ COLL_F32_F32, sizeof(struct f32_f32) },
	{ COLL_F64_F64, sizeof(struct f64_f64) },
};

#define NR_SIZES	(sizeof(sizes) / sizeof(sizes[0]))

/*
 * The table the other way round: by operator, the groups of types that it is for, as
 * the MPI standard (4.1, section 6.9.2) lists them, and our extensions. Groups:
 *
 *	i integers		l logical		b byte
 *	f f32 and f64		s smaller floats	x long double
 *	c complex of f32	d of f64		e of long double
 *	p pairs			q pairs with long double
 */
static const struct {
	u32 op;
	const char *groups;
} groups_of[] = {
	{ COLL_OP_MAX,		"i" "fsx" },
	{ COLL_OP_MIN,		"i" "fsx" },
	{ COLL_OP_SUM,		"i" "fsx" "cde" },
	{ COLL_OP_PROD,		"i" "fsx" "cde" },
	{ COLL_OP_LAND,		"i" "l" },
	{ COLL_OP_LOR,		"i" "l" },
	{ COLL_OP_LXOR,		"i" "l" },
	{ COLL_OP_BAND,		"i" "b" },
	{ COLL_OP_BOR,		"i" "b" },
	{ COLL_OP_BXOR,		"i" "b" },
	{ COLL_OP_MAXLOC,	"pq" },
	{ COLL_OP_MINLOC,	"pq" },
	/* section 12.3.4: every predefined type */
	{ COLL_OP_REPLACE,	"i" "l" "b" "fsx" "cde" "pq" },
	{ COLL_OP_NO_OP,	"i" "l" "b" "fsx" "cde" "pq" },
	/* NCCL has these; a factor has 8 bytes at most */
	{ COLL_OP_AVG,		"i" "fsx" "cde" },
	{ COLL_OP_PREMULSUM,	"i" "fs" "c" },
	{ COLL_OP_SUM_EXACT,	"f" },
};

static char group_of(u32 dtype)
{
	switch (dtype) {
	case COLL_I8: case COLL_I16: case COLL_I32: case COLL_I64:
	case COLL_U8: case COLL_U16: case COLL_U32: case COLL_U64:
		return 'i';
	case COLL_BOOL:
		return 'l';
	case COLL_BYTE:
		return 'b';
	case COLL_F16: case COLL_BF16: case COLL_F8E4M3: case COLL_F8E5M2:
		return 's';
	case COLL_F32: case COLL_F64:
		return 'f';
	case COLL_C32:
		return 'c';
	case COLL_C64:
		return 'd';
	case COLL_F32_I32: case COLL_F64_I32: case COLL_I64_I32: case COLL_I32_I32:
	case COLL_I16_I32: case COLL_F32_F32: case COLL_F64_F64:
		return 'p';
#if defined(__x86_64__) || defined(__i386__)
	case COLL_LDOUBLE:
		return 'x';
	case COLL_CLDOUBLE:
		return 'e';
	case COLL_LDOUBLE_I32:
		return 'q';
#endif
	}
	return 0;	/* of no operator */
}

static bool allowed(u32 op, u32 dtype)
{
	char group = group_of(dtype);
	size_t i;

	for (i = 0; i < sizeof(groups_of) / sizeof(groups_of[0]); i++) {
		if (groups_of[i].op == op)
			return group && strchr(groups_of[i].groups, group);
	}
	return false;
}

/* The properties of a type, by its group and by what the compiler does. */
static u32 flags_of(u32 dtype, size_t padding)
{
	char group = group_of(dtype);
	u32 flags = padding ? COLL_DTYPE_PADDED : 0;

	if (!group)
		return 0;
	if (strchr("ilb", group))
		flags |= COLL_DTYPE_INTEGER;
	if (strchr("fsx", group))
		flags |= COLL_DTYPE_FLOAT;
	if (strchr("xeq", group))
		flags |= COLL_DTYPE_X87;
	return flags;
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
	u32 op, dtype, pairs = 0;
	size_t i;

	for (i = 0; i < NR_SIZES; i++)
		ok &= coll_dtype_size(sizes[i].dtype) == sizes[i].size;
	tap_ok(ok, "sizes are those of the C types");
	tap_ok(NR_SIZES + 2 == COLL_NR_DTYPES, "all types but none and opaque were looked at");
	tap_ok(!coll_dtype_size(COLL_DTYPE_NONE) && !coll_dtype_size(COLL_OPAQUE) &&
	       !coll_dtype_size(COLL_NR_DTYPES) && !coll_dtype_size(~0U),
	       "no size for none, opaque, and numbers out of range");

	ok = !coll_dtype_flags(COLL_DTYPE_NONE) && !coll_dtype_flags(COLL_OPAQUE) &&
	     !coll_dtype_flags(COLL_NR_DTYPES) && !coll_dtype_flags(~0U);
	for (i = 0; i < NR_SIZES; i++)
		ok &= coll_dtype_flags(sizes[i].dtype) ==
		      flags_of(sizes[i].dtype, sizes[i].padding);
	tap_ok(ok, "integers, floats, the x87 and padding are those of the C types");

	ok = true;
	for (op = 0; op < COLL_NR_OPS + 40; op++) {
		for (dtype = 0; dtype < COLL_NR_DTYPES + 40; dtype++) {
			ok &= coll_op_defined(op, dtype) == allowed(op, dtype);
			pairs += coll_op_defined(op, dtype);
		}
	}
	ok &= !coll_op_defined(~0U, COLL_F32) && !coll_op_defined(COLL_OP_SUM, ~0U);
	tap_ok(ok, "operators are defined where MPI has them, and on what goes beyond");
	printf("# %u combinations of operator and type\n", pairs);

	tap_ok(names_ok(coll_op_name, COLL_OP_NONE, COLL_NR_OPS), "operator names");
	tap_ok(names_ok(coll_dtype_name, COLL_I8, COLL_NR_DTYPES), "type names");
	tap_ok(names_ok(coll_collective_name, COLL_BARRIER, COLL_NR_COLLECTIVES),
	       "collective names");
	tap_ok(!coll_collective_name(0) && !coll_dtype_name(0), "no names for zero");
	return tap_done();
}
