/* SPDX-License-Identifier: GPL-2.0 */
/* Local steps that would only copy what can be read where it is. */
#ifndef COLL_CORE_PLAN_ALIAS_H
#define COLL_CORE_PLAN_ALIAS_H

#include <linux/types.h>

struct coll_plan;

/*
 * Find the local steps that would only copy what can be read where it is: those are idle,
 * as are those without bytes. All steps are placed, pairs not joined.
 */
void coll_plan_aliases(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_ALIAS_H */
