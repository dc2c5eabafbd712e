/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Steps that communicate. */
#ifndef LIBCOLL_ITERATE_COMMUNICATE_H
#define LIBCOLL_ITERATE_COMMUNICATE_H

#include "session.h"
#include "vote.h"

/* Run a step that is no compute step; errors are common to all ranks. */
int iter_communicate(struct coll_iter_ctx *ctx, const struct iter_step *step);
/* The first part of each such step: iter_vote() with the errors that steps have noted. */
int iter_settle(struct coll_iter_ctx *ctx, struct iter_vote *v);
/* Add iteration and step to the text, and with @own this rank, whose error it is. */
void iter_place(struct coll_iter_ctx *ctx, bool own);

#endif
