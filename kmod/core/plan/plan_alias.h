/* SPDX-License-Identifier: GPL-2.0 */
/* Finds local steps that only copy data which can be read at its source. */
#ifndef COLL_CORE_PLAN_ALIAS_H
#define COLL_CORE_PLAN_ALIAS_H

#include <linux/types.h>

struct coll_plan;

/*
 * Mark local steps as idle if they only copy data which can be read at its source, or if they have
 * no bytes. All steps have been placed, and pairs have not been joined yet.
 */
void coll_plan_aliases(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_ALIAS_H */
