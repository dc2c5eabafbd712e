/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The table of names. */
#ifndef COLL_PURE_COORD_TABLE_H
#define COLL_PURE_COORD_TABLE_H

#include "coord_types.h"

/**
 * coll_coord_init() - a coordinator without names
 * @c: zeroed, with @ops, @names, @ids, @nr_buckets, @groups, @nr_groups, @seed, @max_names,
 *	@nr_local, @local, @is_root, @all_children, @joined and @threshold
 *	set; the tables are zeroed
 */
void coll_coord_init(struct coll_coord *c);

/**
 * coll_coord_rehash() - larger tables
 * @c: coordinator
 * @names: zeroed, of @nr_buckets
 * @ids: zeroed, of @nr_buckets
 * @nr_buckets: a power of two
 *
 * The old tables belong to the caller again.
 */
void coll_coord_rehash(struct coll_coord *c, struct coll_coord_entry **names,
		       struct coll_coord_entry **ids, u32 nr_buckets);

/* Any entry, taken out of the tables, for the caller to free; NULL: there is none left. */
struct coll_coord_entry *coll_coord_take(struct coll_coord *c);

/**
 * coll_coord_find() - the entry of a name
 * @c: coordinator
 * @name: name
 * @len: its bytes
 * @spare: see coll_coord_post()
 * @entry: result
 *
 * Return: 0; -EINVAL if this is no name; -ENOMEM: call again with a spare entry; -ENOSPC for too
 * many names.
 */
int coll_coord_find(struct coll_coord *c, const void *name, u32 len,
		    struct coll_coord_entry **spare, struct coll_coord_entry **entry);

/* Has local rank @local posted this name, and the round has not ended? */
bool coll_coord_is_pending(const struct coll_coord *c, u32 local, const void *name, u32 len);

/* The entry with an id, or NULL. */
struct coll_coord_entry *coll_coord_by_id(struct coll_coord *c, u32 id);

/* Give an entry its id. */
void coll_coord_set_id(struct coll_coord *c, struct coll_coord_entry *e, u32 id);

#endif /* COLL_PURE_COORD_TABLE_H */
