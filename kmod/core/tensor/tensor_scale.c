// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>

#include "../../pure/optable.h"
#include "../../pure/reduction/factor.h"
#include "../../pure/reduction/wide.h"
#include "../plan/support.h"
#include "tensor_scale.h"

u64 coll_tensor_factor(u64 f64)
{
	return f64 == COLL_FACTOR_ONE ? 0 : f64;
}

static bool coll_tensor_is_scaled(const struct coll_coord_params *p)
{
	return p->field[COLL_FIELD_PRESCALE] || p->field[COLL_FIELD_POSTSCALE];
}

u32 coll_tensor_op(const struct coll_coord_params *p)
{
	u64 op = p->field[COLL_FIELD_OP];

	/* An average stays an average if only its results are multiplied. */
	if (p->field[COLL_FIELD_PRESCALE] || (op == COLL_OP_SUM && coll_tensor_is_scaled(p)))
		return COLL_OP_PREMULSUM;
	return op;
}

static bool coll_tensor_can_scale(const struct coll_cmd *c)
{
	return coll_dtype_flags(c->dtype) & COLL_DTYPE_FLOAT &&
	       coll_op_defined(COLL_OP_PREMULSUM, c->dtype) &&
	       c->collective == COLL_ALLREDUCE && !(c->flags & COLL_CMD_NARROW) &&
	       (c->op == COLL_OP_SUM || c->op == COLL_OP_AVG);
}

int coll_tensor_scale(struct coll_req *req, const struct coll_coord_params *p)
{
	u64 pre = p->field[COLL_FIELD_PRESCALE], post = p->field[COLL_FIELD_POSTSCALE], unused;
	struct coll_cmd *c = &req->cmd;
	u32 type = coll_wide_dtype(COLL_OP_PREMULSUM, c->dtype);

	if (!coll_tensor_is_scaled(p))
		return 0;
	if (!coll_tensor_can_scale(c) ||
	    !coll_has_algorithm(c->collective, coll_tensor_op(p), c->dtype, c->algorithm))
		return -EOPNOTSUPP;
	if (post && !coll_factor(type, post, &unused))
		return -EINVAL;
	req->scaling.post = post;
	if (coll_tensor_op(p) == c->op)
		return 0;
	/* A rank that has joined gets factor 1, which changes nothing. */
	if (req->absent || !pre)
		pre = COLL_FACTOR_ONE;
	if (!coll_factor(type, pre, &c->scalar))
		return -EINVAL;
	req->scaling.divide = c->op == COLL_OP_AVG;
	req->scaling.wide = type != c->dtype;
	c->op = COLL_OP_PREMULSUM;
	return 0;
}
