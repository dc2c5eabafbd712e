// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The names of a coordinator. They stay as long as the coordinator: an id keeps its meaning. */
#include "../wire.h"
#include "coord_priv.h"
#include "coord_table.h"

void coll_coord_init(struct coll_coord *c)
{
	u32 k;

	c->nr_words = coll_coord_words(c->nr_local);
	coll_chain_init(&c->pending);
	coll_chain_init(&c->up);
	coll_chain_init(&c->up_join);
	coll_chain_init(&c->up_leave);
	coll_chain_init(&c->up_got);
	coll_chain_init(&c->fresh);
	coll_chain_init(&c->ready);
	coll_chain_init(&c->failed);
	coll_chain_init(&c->ready_join);
	coll_chain_init(&c->ready_leave);
	coll_chain_init(&c->held);
	coll_chain_init(&c->fusion);
	c->go = &c->fusion;
	coll_chain_init(&c->others);
	coll_chain_init(&c->log);
	coll_chain_init(&c->join_order.link);
	coll_chain_init(&c->left_order.link);
	for (k = 0; k < c->nr_groups; k++)
		coll_chain_init(&c->groups[k]);
	for (k = 0; k < COLL_COORD_FANOUT; k++)
		c->cursor[k] = &c->log;
}

static void coll_coord_link(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_entry **b = &c->names[e->hash & (c->nr_buckets - 1)];

	e->by_name = *b;
	*b = e;
}

/* The seed is random: a root that lies cannot choose ids that fall into one bucket. */
static struct coll_coord_entry **coll_coord_id_bucket(struct coll_coord *c, u32 id)
{
	return &c->ids[coll_digest(c->seed, id) & (c->nr_buckets - 1)];
}

static void coll_coord_link_id(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_entry **b = coll_coord_id_bucket(c, e->id);

	e->by_id = *b;
	*b = e;
}

static struct coll_coord_entry *coll_coord_by_name(const struct coll_coord *c, u64 hash,
						   const void *name, u32 len)
{
	struct coll_coord_entry *e;

	for (e = c->names[hash & (c->nr_buckets - 1)]; e; e = e->by_name)
		if (e->hash == hash && e->name_len == len && !memcmp(e->name, name, len))
			break;
	return e;
}

bool coll_coord_is_pending(const struct coll_coord *c, u32 local, const void *name, u32 len)
{
	struct coll_coord_entry *e = coll_coord_by_name(c, c->ops->hash(c, name, len), name, len);

	return e && coll_bit(e->ranks, local);
}

/*
 * The entry of a name, made of the spare one if there is none. Return: 0; -EINVAL if
 * this is no name; -ENOMEM if a spare one is needed; -ENOSPC for too many names.
 */
int coll_coord_find(struct coll_coord *c, const void *name, u32 len,
		    struct coll_coord_entry **spare, struct coll_coord_entry **entry)
{
	struct coll_coord_entry *e;
	u64 hash;

	if (!len || len > COLL_COORD_NAME_MAX || memchr(name, 0, len))
		return -EINVAL;
	hash = c->ops->hash(c, name, len);
	e = coll_coord_by_name(c, hash, name, len);
	*entry = e;
	if (e)
		return 0;
	if (c->nr_names >= c->max_names)
		return -ENOSPC;
	if (!*spare)
		return -ENOMEM;
	e = *spare;
	*spare = NULL;
	*entry = e;
	e->hash = hash;
	e->name_len = len;
	memcpy(e->name, name, len);
	e->forgiven = c->forgiven;
	coll_chain_init(&e->pending);
	coll_chain_init(&e->by_group);
	e->edge = NULL;
	e->opens = false;
	coll_chain_init(&e->up);
	coll_chain_init(&e->ready);
	coll_chain_init(&e->members);
	coll_chain_init(&e->start.link);
	coll_chain_init(&e->end.link);
	c->nr_names++;
	coll_coord_link(c, e);
	return 0;
}

struct coll_coord_entry *coll_coord_by_id(struct coll_coord *c, u32 id)
{
	struct coll_coord_entry *e = id ? *coll_coord_id_bucket(c, id) : NULL;

	while (e && e->id != id)
		e = e->by_id;
	return e;
}

void coll_coord_set_id(struct coll_coord *c, struct coll_coord_entry *e, u32 id)
{
	e->id = id;
	coll_coord_link_id(c, e);
}

void coll_coord_rehash(struct coll_coord *c, struct coll_coord_entry **names,
		       struct coll_coord_entry **ids, u32 nr_buckets)
{
	struct coll_coord_entry **old = c->names, *e, *next;
	u32 nr_old = c->nr_buckets, k;

	c->names = names;
	c->ids = ids;
	c->nr_buckets = nr_buckets;
	for (k = 0; k < nr_old; k++) {
		for (e = old[k]; e; e = next) {
			next = e->by_name;
			coll_coord_link(c, e);
			if (e->id)
				coll_coord_link_id(c, e);
		}
	}
}

struct coll_coord_entry *coll_coord_take(struct coll_coord *c)
{
	struct coll_coord_entry *e;
	u32 k;

	for (k = 0; k < c->nr_buckets; k++) {
		e = c->names[k];
		if (!e)
			continue;
		c->names[k] = e->by_name;
		c->nr_names--;
		return e;
	}
	return NULL;
}
