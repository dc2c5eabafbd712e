/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Values: each output is the result that the collective is defined to have. */
#ifndef COLL_PURE_CHECK_VALUES_H
#define COLL_PURE_CHECK_VALUES_H

#include "state.h"

/* Return: 0 or -EINVAL. */
int check_values(struct check *k);

/* Does participant @p have an output for @chunk? */
bool check_has_output(const struct check *k, u32 p, u32 chunk);

#endif /* COLL_PURE_CHECK_VALUES_H */
