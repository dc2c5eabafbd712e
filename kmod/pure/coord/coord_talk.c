// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Records between a node of the coordinator and its parent and children. */
#include "coord.h"
#include "coord_order.h"
#include "coord_params.h"
#include "coord_pending.h"
#include "coord_priv.h"
#include "coord_table.h"
#include "coord_talk.h"

/* The most ranks of all nodes together that a peer may report. */
#define COLL_COORD_RANKS_MAX	(1U << 30)

/* The entry that a record is about. Return: 0, or see coll_coord_find(); -EPROTO. */
static int coll_coord_of_rec(struct coll_coord *c, const struct coll_coord_rec *r,
			     struct coll_coord_entry **spare, struct coll_coord_entry **entry)
{
	struct coll_coord_entry *e = coll_coord_by_id(c, r->id);
	int ret;

	if (r->id && !r->name_len) {
		*entry = e;
		return e ? 0 : -EPROTO;
	}
	ret = coll_coord_find(c, r->name, r->name_len, spare, entry);
	if (ret)
		return ret == -EINVAL ? -EPROTO : ret;
	/* The id belongs to another name, or the name has another id. */
	if (r->id && (e ? e != *entry : (*entry)->id != 0))
		return -EPROTO;
	return 0;
}

/* Is the record about a round that is over? */
static bool coll_coord_is_stale(const struct coll_coord_entry *e, const struct coll_coord_rec *r)
{
	return (s32)(r->round - e->round) < 0 && !coll_dropped(COLL_RULE_STALE);
}

static bool coll_coord_bad_is_valid(const struct coll_coord_bad *bad)
{
	return bad->cause < COLL_NR_BAD && bad->field < COLL_NR_FIELDS;
}

/* --- from a child ------------------------------------------------------------- */

/* Tell the parent, once it knows that this subtree has joined, which orders have been received. */
static void coll_coord_say_got(struct coll_coord *c)
{
	if (c->is_root || !c->join_said || !coll_chain_empty(&c->up_join) ||
	    coll_coord_got(c) == c->got_said)
		return;
	coll_chain_del(&c->up_got);
	coll_chain_add(&c->up_got, &c->up);
}

/*
 * The nodes below a child have received the orders up to r->serial, of which 32 bits are sent. Far
 * fewer orders than 2^32 are on their way to the child, but it may have said this long ago.
 */
static int coll_coord_child_got(struct coll_coord *c, u32 child, const struct coll_coord_rec *r)
{
	u32 missing = (u32)c->serial - r->serial;

	if (missing > c->serial - c->got[child])
		return -EPROTO;
	c->got[child] = c->serial - missing;
	return 0;
}

static int coll_coord_child_goes_on(struct coll_coord *c, u32 child,
				    const struct coll_coord_rec *r)
{
	int ret = coll_coord_child_got(c, child, r);

	if (ret)
		return ret;
	if (c->behind && !coll_dropped(COLL_RULE_GOT_LOOK))
		coll_coord_look_joined(c);
	coll_coord_say_got(c);
	return 0;
}

static int coll_coord_child_join(struct coll_coord *c, u32 child, const struct coll_coord_rec *r)
{
	int ret;

	if (c->children_joined >> child & 1)
		return -EPROTO;
	ret = coll_coord_child_got(c, child, r);
	if (ret)
		return ret;
	c->children_joined |= 1U << child;
	c->last_joined = r->rank;
	coll_coord_look_joined(c);
	return 0;
}

static int coll_coord_child_ready(struct coll_coord *c, u32 child,
				  const struct coll_coord_rec *r, struct coll_coord_entry *e)
{
	u32 bit = 1U << child;

	if ((e->children | c->children_joined) & bit || !r->contributors ||
	    r->contributors > COLL_COORD_RANKS_MAX - e->contributors)
		return -EPROTO;
	if (r->has_params ? coll_coord_check(&r->params) : !e->is_known)
		return -EPROTO;
	coll_coord_merge(e, r->has_params ? &r->params : &e->known, r->rank);
	if (r->bad.cause && !e->bad.cause)
		e->bad = r->bad;
	e->contributors += r->contributors;
	e->with_joined |= r->with_joined;
	e->children |= bit;
	coll_coord_submitted(c, e);
	coll_coord_look(c, e);
	return 0;
}

static int coll_coord_child_entry(struct coll_coord *c, u32 child,
				  const struct coll_coord_rec *r, struct coll_coord_entry **spare)
{
	struct coll_coord_entry *e;
	int ret;

	/* A child says the name only as long as it knows no id. */
	ret = r->id && r->name_len ? -EPROTO : coll_coord_of_rec(c, r, spare, &e);
	if (ret)
		return ret;
	if (coll_coord_is_stale(e, r))
		return 0;
	if (r->round != e->round && !coll_dropped(COLL_RULE_STALE))
		return -EPROTO;
	if (r->kind == COLL_READY)
		return coll_coord_child_ready(c, child, r, e);
	if (!r->bad.cause)
		return -EPROTO;
	coll_coord_fail(c, e, &r->bad);
	return 0;
}

int coll_coord_from_child(struct coll_coord *c, u32 child, const struct coll_coord_rec *r,
			  struct coll_coord_entry **spare)
{
	if (child >= COLL_COORD_FANOUT || !(c->all_children >> child & 1) ||
	    !coll_coord_bad_is_valid(&r->bad))
		return -EPROTO;
	if (c->left)
		return 0;
	switch (r->kind) {
	case COLL_READY:
	case COLL_FAIL:
		return coll_coord_child_entry(c, child, r, spare);
	case COLL_JOIN:
		return coll_coord_child_join(c, child, r);
	case COLL_GOT:
		return coll_coord_child_goes_on(c, child, r);
	case COLL_LEAVE:
		coll_coord_leaves(c, r->rank);
		return 0;
	}
	return -EPROTO;
}

/* --- from the parent ----------------------------------------------------------- */

/* Orders are numbered. Some numbers are missing: a BAD may replace one that has not been sent. */
static int coll_coord_parent_serial(struct coll_coord *c, const struct coll_coord_rec *r)
{
	u32 more = r->serial - (u32)c->serial;

	if ((s32)more <= 0)
		return -EPROTO;
	c->serial += more;
	return 0;
}

static int coll_coord_parent_start(struct coll_coord *c, const struct coll_coord_rec *r,
				   struct coll_coord_entry *e)
{
	u32 ready = e->children | coll_coord_with(c, e);

	/*
	 * The entry is ready everywhere, so also here. Each child has reported its part after it
	 * received the orders before, so these are not in the log.
	 */
	if (r->round != e->round || !coll_coord_local_ready(c, e) || ready != c->all_children ||
	    !coll_chain_empty(&e->start.link) || !coll_chain_empty(&e->end.link))
		return -EPROTO;
	if (r->has_params ? coll_coord_check(&r->params) : !e->is_known)
		return -EPROTO;
	if (r->has_params)
		e->known = r->params;
	e->is_known = true;
	coll_coord_start(c, e, r->contributors, r->last || coll_dropped(COLL_RULE_FUSE_LAST),
			 r->has_params);
	return 0;
}

static int coll_coord_parent_entry(struct coll_coord *c, const struct coll_coord_rec *r,
				   struct coll_coord_entry **spare)
{
	struct coll_coord_entry *e;
	int ret = r->id ? coll_coord_of_rec(c, r, spare, &e) : -EPROTO;

	if (!ret)
		ret = coll_coord_parent_serial(c, r);
	if (ret)
		return ret;
	if (!e->id)
		coll_coord_set_id(c, e, r->id);
	if (r->kind == COLL_ORDER_START)
		return coll_coord_parent_start(c, r, e);
	if (!r->bad.cause || (s32)(r->round - e->round) < 0)
		return -EPROTO;
	coll_coord_end(c, e, r->round, &r->bad, r->name_len);
	return 0;
}

int coll_coord_from_parent(struct coll_coord *c, const struct coll_coord_rec *r,
			   struct coll_coord_entry **spare)
{
	int ret;

	if (c->is_root || !coll_coord_bad_is_valid(&r->bad))
		return -EPROTO;
	if (c->left)
		return 0;
	switch (r->kind) {
	case COLL_ORDER_START:
	case COLL_ORDER_BAD:
		ret = coll_coord_parent_entry(c, r, spare);
		coll_coord_say_got(c);
		return ret;
	case COLL_ORDER_JOINED:
		ret = c->join_said ? coll_coord_parent_serial(c, r) : -EPROTO;
		if (!ret)
			coll_coord_all_joined(c, r->rank);
		return ret;
	case COLL_ORDER_LEFT:
		ret = coll_coord_parent_serial(c, r);
		if (!ret)
			coll_coord_all_left(c, r->rank);
		return ret;
	}
	return -EPROTO;
}

/* --- to the parent -------------------------------------------------------------- */

static void coll_coord_say(const struct coll_coord_entry *e, struct coll_coord_rec *r)
{
	*r = (struct coll_coord_rec){
		.kind = e->failing.cause ? COLL_FAIL : COLL_READY,
		.id = e->id,
		.round = e->round,
		.bad = e->failing.cause ? e->failing : e->bad,
	};
	if (!e->id) {
		r->name = e->name;
		r->name_len = e->name_len;
	}
	if (r->kind == COLL_FAIL)
		return;
	r->rank = e->want_rank;
	r->contributors = e->contributors;
	r->with_joined = e->with_joined;
	r->has_params = !e->is_known || coll_coord_differ(&e->known, &e->want) < COLL_NR_FIELDS;
	if (r->has_params)
		r->params = e->want;
}

static void coll_coord_tell_got(struct coll_coord *c, u8 kind, struct coll_coord_rec *r)
{
	c->got_said = coll_coord_got(c);
	*r = (struct coll_coord_rec){
		.kind = kind,
		.serial = (u32)c->got_said,
		.rank = kind == COLL_JOIN ? c->last_joined : 0,
	};
}

bool coll_coord_to_parent(struct coll_coord *c, struct coll_coord_rec *r)
{
	struct coll_chain *l = c->up.next;

	if (l == &c->up || c->left)
		return false;
	coll_chain_del(l);
	if (l == &c->up_join)
		coll_coord_tell_got(c, COLL_JOIN, r);
	else if (l == &c->up_got)
		coll_coord_tell_got(c, COLL_GOT, r);
	else if (l == &c->up_leave)
		*r = (struct coll_coord_rec){ .kind = COLL_LEAVE, .rank = c->left_rank };
	else
		coll_coord_say(coll_chain_entry(l, struct coll_coord_entry, up), r);
	return true;
}
