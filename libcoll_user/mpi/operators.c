// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The MPI underneath calls the operators: it knows the functions, also those of Fortran. */
#include <errno.h>
#include <limits.h>

#include "call.h"
#include "operators.h"
#include "types.h"

static const MPI_Op predefined[] = {
	MPI_OP_NULL, MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND,
	MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP,
};

static bool is_predefined(MPI_Op op)
{
	size_t i;

	for (i = 0; i < sizeof(predefined) / sizeof(predefined[0]); i++)
		if (predefined[i] == op)
			return true;
	return false;
}

bool operators_can(MPI_Op op, MPI_Datatype type)
{
	return !is_predefined(op) && type != MPI_DATATYPE_NULL && types_is_dense(type);
}

/* A coll_user_fn */
static void fold(const void *in, void *inout, uint64_t len, const struct coll_user_type *type,
		 void *arg)
{
	const struct call *c = arg;
	uint64_t at;
	int n;

	for (at = 0; at < len; at += (uint64_t)n) {
		n = len - at < INT_MAX ? (int)(len - at) : INT_MAX;
		PMPI_Reduce_local((const char *)in + at * type->size,
				  (char *)inout + at * type->size, n, c->type, c->op);
	}
}

static int run(struct call *c, coll_op_t op)
{
	const struct coll_cmd *cmd = &c->cmd;
	struct coll_user_type type = coll_type_opaque(types_size(c->type));
	const void *send = cmd->flags & COLL_CMD_INPLACE ? COLL_IN_PLACE :
			   (const void *)(uintptr_t)cmd->send_addr;
	void *recv = (void *)(uintptr_t)cmd->recv_addr;

	switch (cmd->collective) {
	case COLL_ALLREDUCE:
		return coll_user_allreduce(c->coll, send, recv, cmd->count, type, op);
	case COLL_REDUCE:
		return coll_user_reduce(c->coll, send, recv, cmd->count, type, op, cmd->root);
	case COLL_REDUCE_SCATTER:
		return coll_user_reduce_scatter(c->coll, send, recv, c->arrays, type, op);
	case COLL_REDUCE_SCATTER_BLOCK:
		return coll_user_reduce_scatter_block(c->coll, send, recv, cmd->count, type,
						      op);
	case COLL_SCAN:
		return coll_user_scan(c->coll, send, recv, cmd->count, type, op);
	case COLL_EXSCAN:
		return coll_user_exscan(c->coll, send, recv, cmd->count, type, op);
	default:
		return -EINVAL;
	}
}

int operators_run(struct call *c)
{
	int commutes = 0, ret;
	coll_op_t op;

	PMPI_Op_commutative(c->op, &commutes);
	ret = coll_op_create(fold, commutes, c, &op);
	if (ret)
		return ret;
	ret = run(c, op);
	coll_op_free(op);
	return ret;
}
