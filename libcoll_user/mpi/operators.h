/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Operators of the application. */
#ifndef LIBCOLL_MPI_OPERATORS_H
#define LIBCOLL_MPI_OPERATORS_H

#include <mpi.h>

#include <stdbool.h>

struct call;

/**
 * operators_can() - can coll call this operator?
 *
 * It is one of the application, and its elements are bytes without gaps. All ranks of a reduction
 * have the same operator and type, so they get the same answer.
 */
bool operators_can(MPI_Op op, MPI_Datatype type);

/**
 * operators_run() - reduce by @c->op
 * @c: @c->cmd says which collective, and where the data are
 *
 * The operator runs in this thread. Return: 0 or a negative errno.
 */
int operators_run(struct call *c);

#endif
