/* SPDX-License-Identifier: GPL-2.0 */
/* Commands in flight by their handle. */
#ifndef COLL_CORE_HANDLES_H
#define COLL_CORE_HANDLES_H

#include <linux/types.h>

struct coll_exchange;
struct coll_member;

/* The command of @x can be cancelled by its handle from now on; under group->lock. */
void coll_exchange_name(struct coll_exchange *x);

/*
 * The command of a member with this handle; of several the one posted first. Under
 * group->lock. NULL: there is none.
 */
struct coll_exchange *coll_exchange_by_handle(struct coll_member *m, u64 handle);

/* The command of @x is complete: forget its handle; under group->lock. */
void coll_exchange_unname(struct coll_exchange *x);

#endif /* COLL_CORE_HANDLES_H */
