// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stddef.h>

#include "algorithms/table.h"
#include "schedule.h"
#include "wire_type.h"

uint32_t wire_type_flag(uint32_t dtype)
{
	if (dtype == COLL_F16)
		return COLL_CMD_WIRE_F16;
	return dtype == COLL_BF16 ? COLL_CMD_WIRE_BF16 : 0;
}

const char *wire_type_refusal(const struct coll_cmd *cmd)
{
	const struct coll_algorithm *a = coll_algorithm_find(cmd->collective,
							     cmd->algorithm & COLL_ALG_ID_MASK);

	if (cmd->collective != COLL_ALLREDUCE)
		return "only allreduce has another type between nodes";
	if (cmd->dtype != COLL_F32)
		return "only f32 has another type between nodes";
	switch (cmd->op) {
	case COLL_OP_SUM: case COLL_OP_AVG: case COLL_OP_MIN: case COLL_OP_MAX:
	case COLL_OP_PREMULSUM:
		break;
	default:
		return "only sum, avg, min, max and premulsum have another type between nodes";
	}
	if (cmd->algorithm && (!a || !(a->flags & COLL_ALG_ONE_PLACE)))
		return "this algorithm does not sum up each element in one place: no other type between nodes";
	return NULL;
}
