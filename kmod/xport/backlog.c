// SPDX-License-Identifier: GPL-2.0
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../core/limits.h"
#include "../core/user.h"
#include "../pure/wire.h"
#include "backlog.h"

/**
 * struct coll_backlog_chunk - part of a queue
 * @list: in the queue
 * @start: first byte that has not been taken
 * @end: behind the last one
 * @data: the bytes
 */
struct coll_backlog_chunk {
	struct list_head list;
	u32 start;
	u32 end;
	u8 data[SZ_16K - sizeof(struct list_head) - 2 * sizeof(u32)];
};

static_assert(sizeof(struct coll_backlog_chunk) == SZ_16K);
static_assert(sizeof_field(struct coll_backlog_chunk, data) > COLL_WIRE_HDR);

void coll_backlog_init(struct coll_backlog *s, struct coll_early *early, struct mem_cgroup *memcg)
{
	INIT_LIST_HEAD(&s->chunks);
	s->len = 0;
	s->early = early;
	s->memcg = memcg;
}

static struct coll_backlog_chunk *coll_backlog_first(struct coll_backlog *s)
{
	return list_first_entry_or_null(&s->chunks, struct coll_backlog_chunk, list);
}

static void coll_backlog_drop(struct coll_backlog *s, struct coll_backlog_chunk *c)
{
	list_del(&c->list);
	kfree(c);
	coll_early_uncharge(s->early, sizeof(*c));
}

/* The socket is locked, and the bytes can wait in it: so the allocation may fail. */
static struct coll_backlog_chunk *coll_backlog_alloc(struct coll_backlog *s)
{
	struct coll_backlog_chunk *c;
	struct mem_cgroup *memcg;

	if (!coll_early_charge(s->early, sizeof(*c), COLL_USER_EARLY_FRAMES))
		return NULL;
	/* The caller may be a worker, which belongs to no control group of the user. */
	memcg = set_active_memcg(s->memcg);
	c = kmalloc(sizeof(*c), COLL_GFP_MAYFAIL);
	set_active_memcg(memcg);
	if (!c)
		coll_early_uncharge(s->early, sizeof(*c));
	return c;
}

void coll_backlog_free(struct coll_backlog *s)
{
	while (!list_empty(&s->chunks))
		coll_backlog_drop(s, coll_backlog_first(s));
	s->len = 0;
}

static u32 coll_backlog_left(const struct coll_backlog_chunk *c)
{
	return sizeof(c->data) - c->end;
}

void *coll_backlog_room(struct coll_backlog *s, u32 least, u32 *room)
{
	struct coll_backlog_chunk *c;

	if (!list_empty(&s->chunks)) {
		c = list_last_entry(&s->chunks, struct coll_backlog_chunk, list);
		*room = coll_backlog_left(c);
		if (*room >= least)
			return c->data + c->end;
	}
	c = coll_backlog_alloc(s);
	if (!c)
		return NULL;
	c->start = 0;
	c->end = 0;
	list_add_tail(&c->list, &s->chunks);
	*room = coll_backlog_left(c);
	return c->data;
}

void coll_backlog_added(struct coll_backlog *s, u32 n)
{
	list_last_entry(&s->chunks, struct coll_backlog_chunk, list)->end += n;
	s->len += n;
}

const void *coll_backlog_head(struct coll_backlog *s, u32 *len)
{
	const struct coll_backlog_chunk *c = coll_backlog_first(s);

	*len = c ? c->end - c->start : 0;
	return c ? c->data + c->start : NULL;
}

void coll_backlog_took(struct coll_backlog *s, u32 n)
{
	struct coll_backlog_chunk *c = coll_backlog_first(s);

	c->start += n;
	s->len -= n;
	if (c->start == c->end)
		coll_backlog_drop(s, c);
}
