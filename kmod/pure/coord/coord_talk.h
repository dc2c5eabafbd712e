/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Records of the parent and of children, and those for the parent. */
#ifndef COLL_PURE_COORD_TALK_H
#define COLL_PURE_COORD_TALK_H

#include "coord_types.h"

/**
 * coll_coord_from_child() - a record has come from a child
 * @c: coordinator
 * @child: its number
 * @r: the record
 * @spare: see coll_coord_post()
 *
 * Return: 0; -ENOMEM: call again with a spare entry; -ENOSPC for too many names; -EPROTO if the
 * record is not possible.
 */
int coll_coord_from_child(struct coll_coord *c, u32 child, const struct coll_coord_rec *r,
			  struct coll_coord_entry **spare);

/* The same for a record from the parent. */
int coll_coord_from_parent(struct coll_coord *c, const struct coll_coord_rec *r,
			   struct coll_coord_entry **spare);

/* The next record for the parent. Return: false if there is none. It counts as sent. */
bool coll_coord_to_parent(struct coll_coord *c, struct coll_coord_rec *r);

#endif /* COLL_PURE_COORD_TALK_H */
