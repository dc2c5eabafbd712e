// SPDX-License-Identifier: GPL-2.0
/* Types and operators by the names that nccl-tests have for them, beside our own. */
#include <string.h>

#include "collperf.h"
#include "optable.h"

struct alias {
	const char *name;
	uint32_t value;
};

static const struct alias dtypes[] = {
	{ "int8",	COLL_I8 },
	{ "char",	COLL_I8 },
	{ "uint8",	COLL_U8 },
	{ "int16",	COLL_I16 },
	{ "uint16",	COLL_U16 },
	{ "int32",	COLL_I32 },
	{ "int",	COLL_I32 },
	{ "uint32",	COLL_U32 },
	{ "int64",	COLL_I64 },
	{ "uint64",	COLL_U64 },
	{ "half",	COLL_F16 },
	{ "float16",	COLL_F16 },
	{ "bfloat16",	COLL_BF16 },
	{ "float",	COLL_F32 },
	{ "float32",	COLL_F32 },
	{ "double",	COLL_F64 },
	{ "float64",	COLL_F64 },
	{ "fp8_e4m3",	COLL_F8E4M3 },
	{ "fp8_e5m2",	COLL_F8E5M2 },
};

static const struct alias ops[] = {
	{ "mulsum",	COLL_OP_PREMULSUM },
};

static uint32_t by_alias(const char *s, const struct alias *a, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(a[i].name, s))
			return a[i].value;
	return 0;
}

static uint32_t by_name(const char *s, const char *(*name)(uint32_t), uint32_t nr)
{
	uint32_t i;

	for (i = 1; i < nr; i++)
		if (name(i) && !strcmp(name(i), s))
			return i;
	return 0;
}

uint32_t name_dtype(const char *s)
{
	uint32_t n = by_name(s, coll_dtype_name, COLL_NR_DTYPES);

	return n ? n : by_alias(s, dtypes, sizeof(dtypes) / sizeof(*dtypes));
}

uint32_t name_op(const char *s)
{
	uint32_t n = by_name(s, coll_op_name, COLL_NR_OPS);

	return n ? n : by_alias(s, ops, sizeof(ops) / sizeof(*ops));
}

uint32_t name_collective(const char *s)
{
	return by_name(s, coll_collective_name, COLL_NR_COLLECTIVES);
}
