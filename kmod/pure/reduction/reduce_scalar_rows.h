/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which function serves which operator on which type, the same for all instruction sets. An
 * operation that does not depend on the sign uses the function for unsigned integers. One that
 * only moves bits uses the function for the size.
 *
 * The file that includes this defines FN(op, kind): the name of the function.
 */
#ifndef COLL_PURE_REDUCE_SCALAR_ROWS_H
#define COLL_PURE_REDUCE_SCALAR_ROWS_H

#define COLL_ROW_ANY(bits)				\
	[COLL_OP_REPLACE]	= FN(replace, bits),	\
	[COLL_OP_NO_OP]		= FN(no_op, bits)

/* @wrap: the type whose sums and products have the same bits */
#define COLL_ROW_ADD(type, wrap)			\
	[COLL_OP_SUM]		= FN(sum, wrap),	\
	[COLL_OP_PROD]		= FN(prod, wrap),	\
	[COLL_OP_AVG]		= FN(avg, type)

#define COLL_ROW_ORDER(type)				\
	[COLL_OP_MIN]		= FN(min, type),	\
	[COLL_OP_MAX]		= FN(max, type)

#define COLL_ROW_LOGIC(type)				\
	[COLL_OP_LAND]		= FN(land, type),	\
	[COLL_OP_LOR]		= FN(lor, type),	\
	[COLL_OP_LXOR]		= FN(lxor, type)

#define COLL_ROW_BITS(type)				\
	[COLL_OP_BAND]		= FN(band, type),	\
	[COLL_OP_BOR]		= FN(bor, type),	\
	[COLL_OP_BXOR]		= FN(bxor, type)

#define COLL_ROW_SCALED(type)				\
	[COLL_OP_PREMULSUM]	= FN(premulsum, type)

#define COLL_ROW_INT(type, wrap, bits) {		\
	COLL_ROW_ADD(type, wrap), COLL_ROW_ORDER(type),	\
	COLL_ROW_LOGIC(wrap), COLL_ROW_BITS(wrap),	\
	COLL_ROW_SCALED(wrap), COLL_ROW_ANY(bits),	\
}

#define COLL_ROW_FLOAT(type, bits) {			\
	COLL_ROW_ADD(type, type), COLL_ROW_ORDER(type),	\
	COLL_ROW_SCALED(type), COLL_ROW_ANY(bits),	\
}

#define COLL_ROW_PAIR(type, bits) {			\
	[COLL_OP_MINLOC]	= FN(minloc, type),	\
	[COLL_OP_MAXLOC]	= FN(maxloc, type),	\
	COLL_ROW_ANY(bits),				\
}

#define COLL_ROWS					\
	[COLL_I8]	= COLL_ROW_INT(s8, u8, b8),	\
	[COLL_U8]	= COLL_ROW_INT(u8, u8, b8),	\
	[COLL_I16]	= COLL_ROW_INT(s16, u16, b16),	\
	[COLL_U16]	= COLL_ROW_INT(u16, u16, b16),	\
	[COLL_I32]	= COLL_ROW_INT(s32, u32, b32),	\
	[COLL_U32]	= COLL_ROW_INT(u32, u32, b32),	\
	[COLL_I64]	= COLL_ROW_INT(s64, u64, b64),	\
	[COLL_U64]	= COLL_ROW_INT(u64, u64, b64),	\
	[COLL_BOOL]	= { COLL_ROW_LOGIC(u8), COLL_ROW_ANY(b8) },	\
	[COLL_BYTE]	= { COLL_ROW_BITS(u8), COLL_ROW_ANY(b8) },	\
	[COLL_F16]	= COLL_ROW_FLOAT(f16, b16),	\
	[COLL_BF16]	= COLL_ROW_FLOAT(bf16, b16),	\
	[COLL_F8E4M3]	= COLL_ROW_FLOAT(e4m3, b8),	\
	[COLL_F8E5M2]	= COLL_ROW_FLOAT(e5m2, b8),	\
	[COLL_F32]	= COLL_ROW_FLOAT(f32, b32),	\
	[COLL_F64]	= COLL_ROW_FLOAT(f64, b64),	\
	[COLL_C32]	= { COLL_ROW_ADD(c32, c32), COLL_ROW_SCALED(c32),	\
			    COLL_ROW_ANY(b64) },	\
	[COLL_C64]	= { COLL_ROW_ADD(c64, c64), COLL_ROW_ANY(b128) },	\
	[COLL_F32_I32]	= COLL_ROW_PAIR(f32_i32, b64),	\
	[COLL_F64_I32]	= COLL_ROW_PAIR(f64_i32, b64_b32),	\
	[COLL_I64_I32]	= COLL_ROW_PAIR(i64_i32, b64_b32),	\
	[COLL_I32_I32]	= COLL_ROW_PAIR(i32_i32, b64),	\
	[COLL_I16_I32]	= COLL_ROW_PAIR(i16_i32, b16_b32),	\
	[COLL_F32_F32]	= COLL_ROW_PAIR(f32_f32, b64),	\
	[COLL_F64_F64]	= COLL_ROW_PAIR(f64_f64, b128)

/* @way: to_wide or from_wide; see struct coll_simd */
#define COLL_ROWS_WIDE(way)				\
	[COLL_I8]	= FN(way, s8),			\
	[COLL_U8]	= FN(way, u8),			\
	[COLL_I16]	= FN(way, s16),			\
	[COLL_U16]	= FN(way, u16),			\
	[COLL_I32]	= FN(way, s32),			\
	[COLL_U32]	= FN(way, u32),			\
	[COLL_F16]	= FN(way, f16),			\
	[COLL_BF16]	= FN(way, bf16),		\
	[COLL_F8E4M3]	= FN(way, e4m3),		\
	[COLL_F8E5M2]	= FN(way, e5m2)

/* Where long double is that of the x87. */
#define COLL_ROWS_X87					\
	[COLL_LDOUBLE]	= { COLL_ROW_ADD(ldouble, ldouble), COLL_ROW_ORDER(ldouble),	\
			    COLL_ROW_ANY(b80) },	\
	[COLL_CLDOUBLE]	= { COLL_ROW_ADD(cldouble, cldouble), COLL_ROW_ANY(b80_b80) },	\
	[COLL_LDOUBLE_I32] = COLL_ROW_PAIR(ldouble_i32, b80_b32)

#endif /* COLL_PURE_REDUCE_SCALAR_ROWS_H */
