// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "identity.h"
#include "../optable.h"

/**
 * struct coll_numbers - some numbers of a type, as bits
 * @bytes: of a number
 * @minus_zero: what changes nothing when it is added
 * @one: 1
 * @most: not less than any number, infinity where there is one
 * @least: not more than any number
 */
struct coll_numbers {
	u32 bytes;
	u64 minus_zero;
	u64 one;
	u64 most;
	u64 least;
};

static const struct coll_numbers numbers[COLL_NR_DTYPES] = {
	[COLL_I8]	= { 1, 0, 1, 0x7f, 0x80 },
	[COLL_U8]	= { 1, 0, 1, 0xff, 0 },
	[COLL_I16]	= { 2, 0, 1, 0x7fff, 0x8000 },
	[COLL_U16]	= { 2, 0, 1, 0xffff, 0 },
	[COLL_I32]	= { 4, 0, 1, 0x7fffffff, 0x80000000 },
	[COLL_U32]	= { 4, 0, 1, 0xffffffff, 0 },
	[COLL_I64]	= { 8, 0, 1, ~0ULL >> 1, 1ULL << 63 },
	[COLL_U64]	= { 8, 0, 1, ~0ULL, 0 },
	[COLL_BOOL]	= { 1, 0, 1, 1, 0 },
	[COLL_BYTE]	= { 1, 0, 1, 0xff, 0 },
	[COLL_F16]	= { 2, 0x8000, 0x3c00, 0x7c00, 0xfc00 },
	[COLL_BF16]	= { 2, 0x8000, 0x3f80, 0x7f80, 0xff80 },
	[COLL_F8E4M3]	= { 1, 0x80, 0x38, 0x7e, 0xfe },
	[COLL_F8E5M2]	= { 1, 0x80, 0x3c, 0x7c, 0xfc },
	[COLL_F32]	= { 4, 1ULL << 31, 0x3f800000, 0x7f800000, 0xff800000 },
	[COLL_F64]	= { 8, 1ULL << 63, 0x3ff0000000000000, 0x7ff0000000000000,
			    0xfff0000000000000 },
};

/* x87 numbers: sign and exponent stand behind the 64 bits of the mantissa. */
static void put_x87(u8 *to, u16 head, u64 mantissa)
{
	memcpy(to, &mantissa, sizeof(mantissa));
	memcpy(to + sizeof(mantissa), &head, sizeof(head));
}

/* The type of the value of a pair, or of the parts of a complex number; else the type. */
static u32 part_of(u32 dtype)
{
	switch (dtype) {
	case COLL_C32:
	case COLL_F32_I32:
	case COLL_F32_F32:
		return COLL_F32;
	case COLL_C64:
	case COLL_F64_I32:
	case COLL_F64_F64:
		return COLL_F64;
	case COLL_CLDOUBLE:
	case COLL_LDOUBLE_I32:
		return COLL_LDOUBLE;
	case COLL_I64_I32:
		return COLL_I64;
	case COLL_I32_I32:
		return COLL_I32;
	case COLL_I16_I32:
		return COLL_I16;
	}
	return dtype;
}

static bool is_complex(u32 dtype)
{
	return dtype == COLL_C32 || dtype == COLL_C64 || dtype == COLL_CLDOUBLE;
}

enum which { ZERO, ONE, MOST, LEAST, ONES };

static void put(u8 *to, u32 dtype, enum which which)
{
	const struct coll_numbers *n = &numbers[dtype];
	u64 x = which == ZERO ? n->minus_zero : which == ONE ? n->one :
		which == MOST ? n->most : which == LEAST ? n->least : ~0ULL;

	if (dtype != COLL_LDOUBLE)
		memcpy(to, &x, n->bytes);
	else if (which == ZERO)
		put_x87(to, 0x8000, 0);
	else
		put_x87(to, which == ONE ? 0x3fff : which == MOST ? 0x7fff : 0xffff, 1ULL << 63);
}

/* If values are equal the smaller index counts: the identity has the largest. */
static void put_index(u8 *elem, u32 dtype)
{
	u32 size = coll_dtype_size(dtype), part = part_of(dtype);

	if (dtype == COLL_F32_F32 || dtype == COLL_F64_F64)
		put(elem + size / 2, part, MOST);
	else
		put(elem + (size == 8 ? 4 : size / 2), COLL_I32, MOST);
}

bool coll_identity(u32 op, u32 dtype, u8 elem[COLL_IDENTITY_MAX])
{
	u32 part = part_of(dtype);

	memset(elem, 0, COLL_IDENTITY_MAX);
	if (!coll_op_defined(op, dtype))
		return false;
	switch (op) {
	case COLL_OP_SUM:
	case COLL_OP_AVG:
	case COLL_OP_PREMULSUM:
	case COLL_OP_SUM_EXACT:
		put(elem, part, ZERO);
		if (is_complex(dtype))
			put(elem + coll_dtype_size(dtype) / 2, part, ZERO);
		return true;
	case COLL_OP_PROD:
	case COLL_OP_LAND:
		put(elem, part, ONE);
		return true;
	case COLL_OP_MIN:
	case COLL_OP_MINLOC:
		put(elem, part, MOST);
		break;
	case COLL_OP_MAX:
	case COLL_OP_MAXLOC:
		put(elem, part, LEAST);
		break;
	case COLL_OP_BAND:
		put(elem, part, ONES);
		return true;
	case COLL_OP_LOR:
	case COLL_OP_LXOR:
	case COLL_OP_BOR:
	case COLL_OP_BXOR:
		return true;
	default:
		return false;
	}
	if (op == COLL_OP_MINLOC || op == COLL_OP_MAXLOC)
		put_index(elem, dtype);
	return true;
}

u64 coll_identity_factor(u32 dtype)
{
	u32 part = dtype < COLL_NR_DTYPES ? part_of(dtype) : 0;

	return numbers[part].one;
}
