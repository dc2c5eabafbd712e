// SPDX-License-Identifier: GPL-2.0
#include <linux/nospec.h>
#include <linux/string.h>

#include "../../pure/algorithms/table.h"
#include "../../pure/collective.h"
#include "../../pure/optable.h"
#include "../../pure/reduction/wide.h"
#include "../../pure/schedule.h"
#include "../../pure/wire.h"
#include "../group/op_state.h"
#include "../limits.h"
#include "../mem/reduce.h"
#include "../user.h"
#include "support.h"

/* Collectives whose buffers, and algorithms whose steps, the executor can handle. */
#define COLL_EXEC_CAN	(COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_INPUT | \
			 COLL_ALG_RANKS | COLL_ALG_ORDERED | COLL_ALG_EQUAL | \
			 COLL_ALG_DIRECT | COLL_ALG_HAS_RADIX | COLL_ALG_ONE_PLACE)

/*
 * replace and no_op need the order of ranks, and the order of nodes may differ; an allreduce
 * of them is a broadcast. A scan by avg is not supported: it would have no single divisor.
 */
static bool coll_order_fits(const struct coll_algorithm *a, u32 collective, u32 op)
{
	switch (op) {
	case COLL_OP_REPLACE:
	case COLL_OP_NO_OP:
		return collective == COLL_ALLREDUCE ||
		       (coll_kind_of(collective)->flags & COLL_KIND_RANKS &&
			a->flags & COLL_ALG_ORDERED);
	case COLL_OP_AVG:
		return collective != COLL_SCAN && collective != COLL_EXSCAN;
	default:
		return true;
	}
}

/*
 * May this algorithm be used? If it sends inputs without a copy, each participant must have one
 * input, and the other participants must be able to fold this input.
 */
static bool coll_algorithm_fits(const struct coll_algorithm *a, u32 collective, u32 op,
				u32 dtype)
{
	u32 kind = coll_kind_of(collective)->flags;
	bool ranks = kind & COLL_KIND_RANKS;

	if (a->flags & ~COLL_EXEC_CAN || (a->flags & COLL_ALG_RANKS && !ranks))
		return false;
	/* If only two ranks know the length of a block, no other rank can forward it. */
	if (kind & COLL_KIND_PRIVATE && !(a->flags & COLL_ALG_DIRECT))
		return false;
	if (kind & COLL_KIND_COUNTS && a->flags & COLL_ALG_EQUAL)
		return false;
	if (!coll_order_fits(a, collective, op))
		return false;
	if (a->flags & COLL_ALG_INPUT)
		return ranks && op != COLL_OP_PREMULSUM && op != COLL_OP_SUM_EXACT;
	return true;
}

/* A radix belongs to the named algorithm, and is not allowed with COLL_ALG_AUTO. */
static bool coll_radix_fits(const struct coll_algorithm *a, u32 algorithm)
{
	u32 radix = algorithm >> 8;

	return !radix || (algorithm & COLL_ALG_ID_MASK && radix >= 2 &&
			  a->flags & COLL_ALG_HAS_RADIX);
}

/* @algorithm is a number with or without a radix, as in a command; @needs: COLL_ALG_* */
static const struct coll_algorithm *coll_find(u32 collective, u32 op, u32 dtype,
					      u32 algorithm, u32 needs)
{
	u32 id = algorithm & COLL_ALG_ID_MASK;
	const struct coll_algorithm *a;
	u32 i;

	for (i = 0; (a = coll_algorithm_of(collective, i)); i++) {
		if ((id == COLL_ALG_AUTO || a->id == id) && coll_radix_fits(a, algorithm) &&
		    (a->flags & needs) == needs && coll_algorithm_fits(a, collective, op, dtype))
			return a;
	}
	return NULL;
}

/*
 * Operands that are sent to another node are rounded, local operands are not. So all nodes get the
 * same sum only if one participant computes it and the others get a copy.
 */
static u32 coll_wire_needs(const struct coll_cmd *c)
{
	return c->flags & COLL_CMD_WIRE ? COLL_ALG_ONE_PLACE : 0;
}

bool coll_has_algorithm(u32 collective, u32 op, u32 dtype, u32 algorithm)
{
	return coll_find(collective, op, dtype, algorithm, 0);
}

bool coll_supports(u32 collective)
{
	return coll_find(collective, COLL_OP_NONE, COLL_DTYPE_NONE, COLL_ALG_AUTO, 0);
}

const struct coll_algorithm *coll_choose_algorithm(const struct coll_op *op, u32 n)
{
	const struct coll_cmd *c = &op->cmd;
	u32 needs = coll_wire_needs(c);
	const struct coll_algorithm *a;

	if (c->collective == COLL_ALLREDUCE &&
	    (c->op == COLL_OP_REPLACE || c->op == COLL_OP_NO_OP))
		return coll_find(COLL_BROADCAST, COLL_OP_NONE, c->dtype, COLL_ALG_AUTO, 0);
	a = coll_find(c->collective, c->op, c->dtype, c->algorithm ?: op->chosen, needs);
	/* Tables do not depend on operators: the algorithm of the table may not fit this one. */
	return a ?: coll_find(c->collective, c->op, c->dtype, c->algorithm, needs);
}

u32 coll_chosen_radix(const struct coll_op *op, const struct coll_algorithm *a)
{
	u32 asked = op->cmd.algorithm ?: op->chosen;

	return a->flags & COLL_ALG_HAS_RADIX ? asked >> 8 : 0;
}

bool coll_reduces(u32 collective)
{
	return coll_kind_of(collective)->flags & COLL_KIND_REDUCES;
}

bool coll_one_buffer(u32 collective)
{
	return coll_kind_of(collective)->flags & COLL_KIND_ONE_BUFFER;
}

bool coll_out_lies_in(u32 collective)
{
	return coll_plain_collective(collective) == COLL_SCATTER;
}

bool coll_fills_output(u32 collective)
{
	return collective != COLL_EXSCAN &&
	       !(coll_kind_of(collective)->flags & COLL_KIND_COUNTS);
}

bool coll_is_wide(const struct coll_cmd *c)
{
	return coll_reduces(c->collective) && !(c->flags & (COLL_CMD_NARROW | COLL_CMD_WIRE)) &&
	       coll_wide_size(c->op, c->dtype);
}

u32 coll_wire_type(const struct coll_cmd *c)
{
	switch (c->flags & COLL_CMD_WIRE) {
	case COLL_CMD_WIRE_F16:
		return COLL_F16;
	case COLL_CMD_WIRE_BF16:
		return COLL_BF16;
	}
	return COLL_DTYPE_NONE;
}

u32 coll_wire_flag(u64 type)
{
	switch (type) {
	case COLL_F16:
		return COLL_CMD_WIRE_F16;
	case COLL_BF16:
		return COLL_CMD_WIRE_BF16;
	}
	return 0;
}

bool coll_wire_ok(const struct coll_cmd *c)
{
	if (!coll_wire_type(c) || c->collective != COLL_ALLREDUCE || c->dtype != COLL_F32)
		return false;
	switch (c->op) {
	case COLL_OP_SUM: case COLL_OP_AVG: case COLL_OP_MIN: case COLL_OP_MAX:
	case COLL_OP_PREMULSUM:
		return coll_find(c->collective, c->op, c->dtype, c->algorithm,
				 COLL_ALG_ONE_PLACE);
	}
	return false;
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
		if (coll_supports(c) || coll_is_message(c))
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
	v->max_inflight = coll_user_max_commands();
	v->max_steps = COLL_MAX_STEPS;
	strscpy(v->simd, coll_reduce_name(), sizeof(v->simd));
}
