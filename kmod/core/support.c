// SPDX-License-Identifier: GPL-2.0
#include <linux/nospec.h>
#include <linux/string.h>

#include "../pure/optable.h"
#include "../pure/schedule.h"
#include "../pure/wire.h"
#include "limits.h"
#include "reduce.h"
#include "support.h"

bool coll_has_algorithm(u32 collective, u32 algorithm)
{
	return coll_algorithm_find(collective, algorithm);
}

bool coll_supports(u32 collective)
{
	return coll_has_algorithm(collective, COLL_ALG_AUTO);
}

u32 coll_elem_size(u32 dtype)
{
	if (dtype >= COLL_NR_DTYPES)
		return 0;
	return coll_dtype_size(array_index_nospec(dtype, COLL_NR_DTYPES));
}

bool coll_can_reduce(u32 op, u32 dtype)
{
	if (op >= COLL_NR_OPS || dtype >= COLL_NR_DTYPES)
		return false;
	return coll_op_defined(array_index_nospec(op, COLL_NR_OPS),
			       array_index_nospec(dtype, COLL_NR_DTYPES));
}

void coll_describe(struct coll_version *v)
{
	u32 c, op, dtype;

	v->abi = COLL_ABI;
	v->wire = COLL_WIRE_VERSION;
	for (c = 1; c < COLL_NR_COLLECTIVES; c++)
		if (coll_supports(c))
			v->collectives |= 1ULL << c;
	for (op = 1; op < COLL_NR_OPS; op++) {
		for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++) {
			if (coll_op_defined(op, dtype)) {
				v->ops |= 1ULL << op;
				v->dtypes |= 1ULL << dtype;
			}
		}
	}
	v->max_size = COLL_MAX_SIZE;
	v->max_inflight = COLL_MAX_INFLIGHT;
	strscpy(v->simd, coll_reduce_name(), sizeof(v->simd));
}
