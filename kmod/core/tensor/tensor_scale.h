/* SPDX-License-Identifier: GPL-2.0 */
/* Factors of named collectives: a sum with factors is a premulsum with one factor on all ranks. */
#ifndef COLL_CORE_TENSOR_SCALE_H
#define COLL_CORE_TENSOR_SCALE_H

#include "../../pure/coord/coord_types.h"
#include "../group/req.h"

/**
 * coll_tensor_factor() - the form of a factor in which it is compared
 * @f64: bits, from a user
 *
 * Return: 0 for the factor 1, which equals no factor.
 */
u64 coll_tensor_factor(u64 f64);

/* The operator that the ops of a tensor have. */
u32 coll_tensor_op(const struct coll_coord_params *p);

/**
 * coll_tensor_scale() - give a request the factors of its tensor
 * @req: decoded; its operator becomes that of coll_tensor_op()
 * @p: parameters, from a user or a peer
 *
 * Return: 0; -EOPNOTSUPP not for this collective, operator or type; -EINVAL a factor is wrong.
 */
int coll_tensor_scale(struct coll_req *req, const struct coll_coord_params *p);

#endif /* COLL_CORE_TENSOR_SCALE_H */
