/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Makes tables from the model and from measurements. */
#ifndef LIBCOLL_SELECT_FILL_H
#define LIBCOLL_SELECT_FILL_H

#include "select_env.h"
#include "select_measure.h"

/**
 * select_fill() - rank 0: make tables
 * @b: calibrated, or with a model from elsewhere
 * @plan: how long to time algorithms; 0: not at all
 */
int select_fill(struct select_bench *b, const struct select_plan *plan,
		struct select_tables *out);

/*
 * Do two algorithms of one collective have the same schedule, except for the order of operands?
 * With two participants many do.
 */
bool select_same_schedule(const struct coll_algorithm *a, const struct coll_algorithm *b,
			  uint32_t n);

#endif
