/* SPDX-License-Identifier: GPL-2.0 */
/* Ops in which all ranks of this node have joined (COLL_TENSOR_JOIN): none has a vector. */
#ifndef COLL_CORE_ABSENT_H
#define COLL_CORE_ABSENT_H

struct coll_op;

/**
 * coll_absent_fill() - give one rank the identity of the operator as its vector
 * @op: about to be prepared
 *
 * Does nothing if any local rank has a vector. Another node chooses how long the vector is, so one
 * call makes COLL_WORK_BUDGET bytes of it.
 * Return: 0; -EINPROGRESS: to be called again; -ENOMEM; -EBADE if the operator has no identity.
 */
int coll_absent_fill(struct coll_op *op);

#endif /* COLL_CORE_ABSENT_H */
