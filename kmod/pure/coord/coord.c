// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The coordinator of a node: what its ranks do, and when a tensor is ready. */
#include "coord.h"
#include "coord_order.h"
#include "coord_params.h"
#include "coord_pending.h"
#include "coord_priv.h"
#include "coord_table.h"

#ifdef COLL_CHECK_RULES
int coll_rule_dropped;
unsigned int coll_visited;
#endif

/* Has every local rank submitted it, or joined? */
bool coll_coord_local_ready(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	u32 k;

	for (k = 0; k < c->nr_words; k++) {
		u32 left = c->nr_local - k * 64;
		u64 all = left >= 64 ? ~0ULL : (1ULL << left) - 1;

		if (((e->ranks[k] | c->joined[k]) & all) != all)
			return false;
	}
	return true;
}

static bool coll_coord_local_joined(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	u32 k;

	for (k = 0; k < c->nr_words; k++)
		if (c->joined[k] & ~e->ranks[k])
			return true;
	return false;
}

/* @rank asks for @p. */
void coll_coord_merge(struct coll_coord_entry *e, const struct coll_coord_params *p, u32 rank)
{
	u32 field;

	if (!e->is_wanted) {
		e->want = *p;
		e->want_rank = rank;
		e->is_wanted = true;
		return;
	}
	field = coll_coord_differ(&e->want, p);
	if (field == COLL_NR_FIELDS || e->bad.cause || coll_dropped(COLL_RULE_MISMATCH))
		return;
	e->bad = (struct coll_coord_bad){
		.cause = COLL_BAD_MISMATCH,
		.field = field,
		.rank = { e->want_rank, rank },
		.value = { e->want.field[field], p->field[field] },
		.group = { e->want.field[COLL_FIELD_GROUP], p->field[COLL_FIELD_GROUP] },
	};
}

/* Move it to the end of @list, from whatever list it is on. */
static void coll_coord_move(struct coll_chain *link, struct coll_chain *list)
{
	coll_chain_del(link);
	coll_chain_add(link, list);
}

u32 coll_coord_with(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	u64 last = e->start.serial > e->end.serial ? e->start.serial : e->end.serial;
	u32 with = c->children_joined, k;

	for (k = 0; with >> k && !coll_dropped(COLL_RULE_GOT); k++)
		if (c->got[k] < last)
			with &= ~(1U << k);
	return with;
}

u64 coll_coord_got(const struct coll_coord *c)
{
	u64 got = c->serial;
	u32 k;

	for (k = 0; c->all_children >> k && !coll_dropped(COLL_RULE_GOT_ALL); k++)
		if (c->all_children >> k & 1 && c->got[k] < got)
			got = c->got[k];
	return got;
}

/* Something about it has changed: if it has become ready, the parent is to be told. */
void coll_coord_look(struct coll_coord *c, struct coll_coord_entry *e)
{
	u32 missing = c->all_children & ~(e->children | coll_coord_with(c, e));

	if (e->said && !coll_dropped(COLL_RULE_ONCE))
		return;
	if (!coll_coord_local_ready(c, e) && !coll_dropped(COLL_RULE_LOCAL))
		return;
	if (missing && !coll_dropped(COLL_RULE_CHILDREN)) {
		c->behind |= !(missing & ~c->children_joined);
		return;
	}
	e->said = true;
	e->with_joined |= coll_coord_local_joined(c, e) || (c->children_joined & ~e->children);
	if (c->is_root)
		coll_coord_complete(c, e);
	else
		coll_coord_move(&e->up, &c->up);
}

/* Tell the parent once all have joined, after the tensors that this has made ready. */
static void coll_coord_say_join(struct coll_coord *c)
{
	if (c->join_said || c->nr_joined < c->nr_local || c->children_joined != c->all_children)
		return;
	if (c->behind && !coll_dropped(COLL_RULE_GOT_JOIN))
		return;
	c->join_said = true;
	if (c->is_root)
		coll_coord_complete_join(c);
	else
		/* Behind READY of the tensors above. */
		coll_coord_move(&c->up_join,
				coll_dropped(COLL_RULE_JOIN_LAST) ? c->up.next : &c->up);
}

bool coll_coord_go_on(struct coll_coord *c)
{
	struct coll_chain *l;
	u32 n = 0;

	if (!c->look)
		return false;
	while (c->look != &c->pending) {
		if (c->looks && n++ == c->looks)
			break;
		l = c->look;
		c->look = l->next;
		coll_visit();
		coll_coord_look(c, coll_chain_entry(l, struct coll_coord_entry, pending));
	}
	if (c->look != &c->pending && !coll_dropped(COLL_RULE_LOOK_ALL))
		return true;
	c->look = NULL;
	coll_coord_say_join(c);
	return false;
}

/* A rank or a child has joined, or received orders: what waits for it may be ready. */
void coll_coord_look_joined(struct coll_coord *c)
{
	c->behind = false;
	c->look = coll_dropped(COLL_RULE_REJOIN) ? &c->pending : c->pending.next;
	coll_coord_go_on(c);
}

/* @rank leaves. If several do, the first one counts. */
void coll_coord_leaves(struct coll_coord *c, u32 rank)
{
	if (c->left || c->leave_said)
		return;
	c->leave_said = true;
	c->left_rank = rank;
	if (c->is_root)
		coll_coord_move(&c->ready_leave, &c->fresh);
	else
		coll_coord_move(&c->up_leave, &c->up);
}

/* Take the error of a round that has ended without this rank. Return: false if there is none. */
static bool coll_coord_take_owed(struct coll_coord *c, struct coll_coord_entry *e, u32 local)
{
	u32 *owed = coll_coord_owed(c, e);

	if (!owed[local])
		return false;
	owed[local]--;
	return true;
}

int coll_coord_post(struct coll_coord *c, u32 local, const void *name, u32 len,
		    const struct coll_coord_params *p, struct coll_coord_entry **spare,
		    struct coll_coord_entry **entry)
{
	struct coll_coord_entry *e;
	int ret;

	if (c->left)
		return -ESHUTDOWN;
	if (coll_bit(c->joined, local))
		return -EBUSY;
	ret = coll_coord_check(p);
	if (!ret)
		ret = coll_coord_find(c, name, len, spare, &e);
	if (ret)
		return ret;
	*entry = e;
	if (coll_bit(e->ranks, local) && !coll_dropped(COLL_RULE_PENDING))
		return -EEXIST;
	if (coll_coord_take_owed(c, e, local))
		return -ECANCELED;
	coll_bit_set(e->ranks, local);
	e->contributors++;
	coll_coord_merge(e, p, c->local[local]);
	coll_coord_submitted(c, e);
	coll_coord_look(c, e);
	return 0;
}

int coll_coord_refuse(struct coll_coord *c, u32 local, const void *name, u32 len, u64 group,
		      struct coll_coord_entry **spare, struct coll_coord_entry **entry)
{
	const struct coll_coord_bad bad = {
		.cause = COLL_BAD_GROUP,
		.rank = { c->local[local] },
		.group = { group },
	};
	struct coll_coord_entry *e;
	int ret;

	*entry = NULL;
	if (c->left)
		return -ESHUTDOWN;
	if (coll_bit(c->joined, local))
		return -EBUSY;
	if (coll_dropped(COLL_RULE_REFUSED))
		return 0;
	ret = coll_coord_find(c, name, len, spare, &e);
	if (ret)
		return ret;
	if (coll_bit(e->ranks, local))
		return -EEXIST;
	if (coll_coord_take_owed(c, e, local))
		return 0;
	*entry = e;
	coll_bit_set(e->ranks, local);
	coll_coord_submitted(c, e);
	coll_coord_fail(c, e, &bad);
	return 0;
}

int coll_coord_join(struct coll_coord *c, u32 local)
{
	if (c->left)
		return -ESHUTDOWN;
	if (coll_bit(c->joined, local))
		return -EBUSY;
	coll_bit_set(c->joined, local);
	c->nr_joined++;
	c->last_joined = c->local[local];
	coll_coord_look_joined(c);
	return 0;
}

void coll_coord_leave(struct coll_coord *c, u32 local)
{
	coll_coord_leaves(c, c->local[local]);
}

void coll_coord_give_up(struct coll_coord *c, struct coll_coord_entry *e, u32 local, u32 cause)
{
	struct coll_coord_bad bad = {
		.cause = cause,
		.rank = { c->local[local] },
	};

	if (!c->left && coll_bit(e->ranks, local))
		coll_coord_fail(c, e, &bad);
}
