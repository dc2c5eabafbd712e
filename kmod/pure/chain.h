/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Doubly linked lists for pure code, which has no <linux/list.h>. */
#ifndef COLL_PURE_CHAIN_H
#define COLL_PURE_CHAIN_H

#include "env.h"

/* A list head, or the link of an element. A link in no list points at itself. */
struct coll_chain {
	struct coll_chain *next;
	struct coll_chain *prev;
};

#define coll_chain_entry(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline void coll_chain_init(struct coll_chain *c)
{
	c->next = c;
	c->prev = c;
}

static inline bool coll_chain_empty(const struct coll_chain *c)
{
	return c->next == c;
}

/* Put @c before @at; at a list head that is the end of the list. */
static inline void coll_chain_add(struct coll_chain *c, struct coll_chain *at)
{
	c->prev = at->prev;
	c->next = at;
	at->prev->next = c;
	at->prev = c;
}

/* Take @c out of its list, if it is in one. */
static inline void coll_chain_del(struct coll_chain *c)
{
	c->prev->next = c->next;
	c->next->prev = c->prev;
	coll_chain_init(c);
}

/* Put all elements of list @from before @at, and leave @from empty. */
static inline void coll_chain_splice(struct coll_chain *from, struct coll_chain *at)
{
	if (coll_chain_empty(from))
		return;
	from->next->prev = at->prev;
	at->prev->next = from->next;
	from->prev->next = at;
	at->prev = from->prev;
	coll_chain_init(from);
}

#endif /* COLL_PURE_CHAIN_H */
