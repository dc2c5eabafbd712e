// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "optable.h"

#define BIT_OF(op)	(1U << COLL_OP_##op)
#define ANY		(BIT_OF(REPLACE) | BIT_OF(NO_OP))
#define ADD		(BIT_OF(SUM) | BIT_OF(PROD) | BIT_OF(AVG))
#define ORDER		(BIT_OF(MIN) | BIT_OF(MAX))
#define LOGIC		(BIT_OF(LAND) | BIT_OF(LOR) | BIT_OF(LXOR))
#define BITS		(BIT_OF(BAND) | BIT_OF(BOR) | BIT_OF(BXOR))
#define LOC		(BIT_OF(MINLOC) | BIT_OF(MAXLOC))
/* its factor has to fit into 8 bytes, see struct coll_cmd */
#define SCALED		BIT_OF(PREMULSUM)

/* The groups of the MPI standard (4.1, section 6.9.2), and what goes beyond. */
#define INTEGER		(ADD | ORDER | LOGIC | BITS | SCALED | ANY)
#define LOGICAL		(LOGIC | ANY)
#define BYTES		(BITS | ANY)
#define FLOATING	(ADD | ORDER | SCALED | ANY)
#define COMPLEX		(ADD | ANY)
#define PAIR		(LOC | ANY)

/* The 80-bit type is the x87's: elsewhere long double is something else. */
#if defined(__x86_64__) || defined(__i386__)
#define ON_X87(ops)	(ops)
#else
#define ON_X87(ops)	0
#endif

#define INT		COLL_DTYPE_INTEGER
#define FLOAT		COLL_DTYPE_FLOAT
#define X87		COLL_DTYPE_X87
#define PADDED		COLL_DTYPE_PADDED

struct dtype_row {
	const char *name;
	u16 size;	/* bytes; 0: known, but without a size of its own */
	u32 ops;	/* bit n: enum coll_op_code n is defined */
	u32 flags;	/* of coll_dtype_flags() */
};

/* Sizes of pairs are those of the C struct on x86-64, padding included. */
static const struct dtype_row dtypes[COLL_NR_DTYPES] = {
	[COLL_I8]	   = { "i8",		1, INTEGER, INT },
	[COLL_U8]	   = { "u8",		1, INTEGER, INT },
	[COLL_I16]	   = { "i16",		2, INTEGER, INT },
	[COLL_U16]	   = { "u16",		2, INTEGER, INT },
	[COLL_I32]	   = { "i32",		4, INTEGER, INT },
	[COLL_U32]	   = { "u32",		4, INTEGER, INT },
	[COLL_I64]	   = { "i64",		8, INTEGER, INT },
	[COLL_U64]	   = { "u64",		8, INTEGER, INT },
	[COLL_BOOL]	   = { "bool",		1, LOGICAL, INT },
	[COLL_BYTE]	   = { "byte",		1, BYTES, INT },
	[COLL_F16]	   = { "f16",		2, FLOATING, FLOAT },
	[COLL_BF16]	   = { "bf16",		2, FLOATING, FLOAT },
	[COLL_F8E4M3]	   = { "f8e4m3",	1, FLOATING, FLOAT },
	[COLL_F8E5M2]	   = { "f8e5m2",	1, FLOATING, FLOAT },
	[COLL_F32]	   = { "f32",		4, FLOATING | BIT_OF(SUM_EXACT), FLOAT },
	[COLL_F64]	   = { "f64",		8, FLOATING | BIT_OF(SUM_EXACT), FLOAT },
	[COLL_LDOUBLE]	   = { "ldouble",	16, ON_X87(ADD | ORDER | ANY), FLOAT | X87 | PADDED },
	[COLL_C32]	   = { "c32",		8, COMPLEX | SCALED },
	[COLL_C64]	   = { "c64",		16, COMPLEX },
	[COLL_CLDOUBLE]	   = { "cldouble",	32, ON_X87(COMPLEX), X87 | PADDED },
	[COLL_F32_I32]	   = { "f32_i32",	8, PAIR },
	[COLL_F64_I32]	   = { "f64_i32",	16, PAIR, PADDED },
	[COLL_I64_I32]	   = { "i64_i32",	16, PAIR, PADDED },
	[COLL_I32_I32]	   = { "i32_i32",	8, PAIR },
	[COLL_I16_I32]	   = { "i16_i32",	8, PAIR, PADDED },
	[COLL_LDOUBLE_I32] = { "ldouble_i32",	32, ON_X87(PAIR), X87 | PADDED },
	[COLL_F32_F32]	   = { "f32_f32",	8, PAIR },
	[COLL_F64_F64]	   = { "f64_f64",	16, PAIR },
	[COLL_OPAQUE]	   = { "opaque",	0 },
};

static const char *const op_names[COLL_NR_OPS] = {
	[COLL_OP_NONE]		= "none",
	[COLL_OP_SUM]		= "sum",
	[COLL_OP_PROD]		= "prod",
	[COLL_OP_MIN]		= "min",
	[COLL_OP_MAX]		= "max",
	[COLL_OP_LAND]		= "land",
	[COLL_OP_LOR]		= "lor",
	[COLL_OP_LXOR]		= "lxor",
	[COLL_OP_BAND]		= "band",
	[COLL_OP_BOR]		= "bor",
	[COLL_OP_BXOR]		= "bxor",
	[COLL_OP_MINLOC]	= "minloc",
	[COLL_OP_MAXLOC]	= "maxloc",
	[COLL_OP_AVG]		= "avg",
	[COLL_OP_PREMULSUM]	= "premulsum",
	[COLL_OP_REPLACE]	= "replace",
	[COLL_OP_NO_OP]		= "no_op",
	[COLL_OP_SUM_EXACT]	= "sum_exact",
	[COLL_OP_USER]		= "user",
};

static const char *const collective_names[COLL_NR_COLLECTIVES] = {
	[COLL_BARRIER]			= "barrier",
	[COLL_BROADCAST]		= "broadcast",
	[COLL_REDUCE]			= "reduce",
	[COLL_ALLREDUCE]		= "allreduce",
	[COLL_REDUCE_SCATTER]		= "reduce_scatter",
	[COLL_REDUCE_SCATTER_BLOCK]	= "reduce_scatter_block",
	[COLL_ALLGATHER]		= "allgather",
	[COLL_ALLGATHERV]		= "allgatherv",
	[COLL_GATHER]			= "gather",
	[COLL_GATHERV]			= "gatherv",
	[COLL_SCATTER]			= "scatter",
	[COLL_SCATTERV]			= "scatterv",
	[COLL_ALLTOALL]			= "alltoall",
	[COLL_ALLTOALLV]		= "alltoallv",
	[COLL_SCAN]			= "scan",
	[COLL_EXSCAN]			= "exscan",
	[COLL_SEND]			= "send",
	[COLL_RECV]			= "recv",
	[COLL_SENDRECV]			= "sendrecv",
	[COLL_PROBE]			= "probe",
	[COLL_MPROBE]			= "mprobe",
	[COLL_MRECV]			= "mrecv",
};

u32 coll_dtype_size(u32 dtype)
{
	return dtype < COLL_NR_DTYPES ? dtypes[dtype].size : 0;
}

u32 coll_dtype_flags(u32 dtype)
{
	return dtype < COLL_NR_DTYPES ? dtypes[dtype].flags : 0;
}

bool coll_op_defined(u32 op, u32 dtype)
{
	return op < COLL_NR_OPS && dtype < COLL_NR_DTYPES &&
	       (dtypes[dtype].ops >> op & 1);
}

const char *coll_op_name(u32 op)
{
	return op < COLL_NR_OPS ? op_names[op] : NULL;
}

const char *coll_dtype_name(u32 dtype)
{
	return dtype < COLL_NR_DTYPES ? dtypes[dtype].name : NULL;
}

const char *coll_collective_name(u32 collective)
{
	return collective < COLL_NR_COLLECTIVES ?
	       collective_names[collective] : NULL;
}
