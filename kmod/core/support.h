/* SPDX-License-Identifier: GPL-2.0 */
/* What this module can do: the questions front asks without knowing schedules. */
#ifndef COLL_CORE_SUPPORT_H
#define COLL_CORE_SUPPORT_H

#include <linux/types.h>
#include <linux/coll.h>

/* Does the collective have any algorithm? Any number may be asked. */
bool coll_supports(u32 collective);
/* Is there this algorithm (or any, for COLL_ALG_AUTO) for the collective? */
bool coll_has_algorithm(u32 collective, u32 algorithm);
/* Bytes of an element, 0 if the type has no size of its own. */
u32 coll_elem_size(u32 dtype);
bool coll_can_reduce(u32 op, u32 dtype);

/**
 * coll_describe() - fill in what COLL_IOC_VERSION says of core
 * @v: zeroed; masks, limits and the instruction set are set
 */
void coll_describe(struct coll_version *v);

#endif /* COLL_CORE_SUPPORT_H */
