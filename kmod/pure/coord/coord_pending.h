/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Entries that are pending, and entries that end without being started. */
#ifndef COLL_PURE_COORD_PENDING_H
#define COLL_PURE_COORD_PENDING_H

#include "coord_types.h"

/* A rank or a child has submitted the entry: it goes to the end of what is pending. */
void coll_coord_submitted(struct coll_coord *c, struct coll_coord_entry *e);

/* Take the entry out of what is pending. */
void coll_coord_not_pending(struct coll_coord *c, struct coll_coord_entry *e);

/**
 * coll_coord_fail() - ask for the end of an entry before it is ready
 * @c: coordinator
 * @e: entry
 * @bad: why
 *
 * The root decides: it may have started the entry meanwhile.
 */
void coll_coord_fail(struct coll_coord *c, struct coll_coord_entry *e,
		     const struct coll_coord_bad *bad);

#endif /* COLL_PURE_COORD_PENDING_H */
