// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The agent puts what is ready in order; every node applies the orders and keeps a log. */
#include "../reduction/identity.h"
#include "coord_group.h"
#include "coord_order.h"
#include "coord_params.h"
#include "coord_pending.h"
#include "coord_priv.h"
#include "coord_table.h"

/* --- the log ------------------------------------------------------------------ */

static void coll_coord_unlog(struct coll_coord *c, struct coll_coord_order *o)
{
	u32 k;

	for (k = 0; k < COLL_COORD_FANOUT; k++)
		if (c->cursor[k] == &o->link)
			c->cursor[k] = o->link.next;
	coll_chain_del(&o->link);
}

/* Put @o at the end of the log. If @o is in the log already, its new content replaces the old. */
static void coll_coord_log(struct coll_coord *c, struct coll_coord_order *o)
{
	u32 k;

	if (!coll_chain_empty(&o->link))
		coll_coord_unlog(c, o);
	if (c->is_root)
		c->serial++;
	o->serial = c->serial;
	o->waiting = c->all_children;
	if (coll_dropped(COLL_RULE_FORWARD))
		o->waiting &= o->waiting - 1;
	if (!o->waiting)
		return;
	coll_chain_add(&o->link, &c->log);
	for (k = 0; k < COLL_COORD_FANOUT; k++)
		if (c->cursor[k] == &c->log)
			c->cursor[k] = &o->link;
}

static struct coll_coord_order *coll_coord_logged(struct coll_chain *link)
{
	return coll_chain_entry(link, struct coll_coord_order, link);
}

static void coll_coord_fill(const struct coll_coord_order *o, struct coll_coord_rec *r)
{
	const struct coll_coord_entry *e = o->entry;

	*r = (struct coll_coord_rec){
		.kind = o->kind,
		.last = o->last,
		.id = e ? e->id : 0,
		.round = o->round,
		.serial = (u32)o->serial,
		.rank = o->rank,
		.contributors = o->contributors,
		.bad = o->bad,
	};
	if (!o->full)
		return;
	r->name = e->name;
	r->name_len = e->name_len;
	r->has_params = o->kind == COLL_ORDER_START;
	if (r->has_params)
		r->params = e->known;
}

bool coll_coord_to_child(struct coll_coord *c, u32 child, struct coll_coord_rec *r)
{
	struct coll_chain *l = c->cursor[child];
	struct coll_coord_order *o;

	while (l != &c->log && !(coll_coord_logged(l)->waiting >> child & 1))
		l = l->next;
	c->cursor[child] = l;
	if (l == &c->log)
		return false;
	o = coll_coord_logged(l);
	coll_coord_fill(o, r);
	c->cursor[child] = l->next;
	o->waiting &= ~(1U << child);
	if (!o->waiting)
		coll_coord_unlog(c, o);
	return true;
}

bool coll_coord_has_applied(const struct coll_coord *c, u32 serial)
{
	return (s32)((u32)c->serial - serial) >= 0 && c->counted >= c->serial;
}

/* --- orders are applied -------------------------------------------------------- */

/* Round @round has ended: reset the entry for the next round. */
static void coll_coord_clear(struct coll_coord *c, struct coll_coord_entry *e, u32 round)
{
	u32 k;

	for (k = 0; k < c->nr_words; k++)
		e->ranks[k] = 0;
	if (!coll_dropped(COLL_RULE_CLEAR))
		e->children = 0;
	e->contributors = 0;
	e->is_wanted = false;
	e->said = false;
	e->with_joined = false;
	e->bad.cause = COLL_BAD_NONE;
	e->failing.cause = COLL_BAD_NONE;
	e->nr_members = 0;
	e->whole = false;
	e->going = false;
	e->starting = false;
	if (c->ops->pending && !coll_chain_empty(&e->pending))
		c->ops->pending(c, e, false);
	coll_coord_not_pending(c, e);
	coll_coord_group_del(c, e);
	coll_chain_del(&e->up);
	coll_chain_del(&e->ready);
	coll_chain_del(&e->members);
	if (!coll_dropped(COLL_RULE_ROUND))
		e->round = round + 1;
}

/* @e->known is what is started. */
void coll_coord_start(struct coll_coord *c, struct coll_coord_entry *e, u32 contributors,
		      bool last, bool full)
{
	e->start.entry = e;
	e->start.kind = COLL_ORDER_START;
	e->start.last = last;
	e->start.full = full;
	e->start.round = e->round;
	e->start.contributors = contributors;
	coll_coord_log(c, &e->start);
	c->counted++;
	c->ops->start(c, e, contributors, last);
	coll_coord_clear(c, e, e->round);
}

/*
 * @nr rounds have ended. A local rank that did not submit the name in such a round gets the error
 * of that round with a later submission: on all ranks the n-th submission belongs to round n.
 */
static void coll_coord_owe(struct coll_coord *c, struct coll_coord_entry *e, u32 nr)
{
	u32 *owed = coll_coord_owed(c, e), k;

	for (k = 0; k < c->nr_local; k++)
		if (!coll_bit(c->joined, k))
			owed[k] += nr - coll_bit(e->ranks, k);
}

/*
 * Ask for the end of pending members of a group; 0: of none. A group may be large. Each member that
 * ends asks for the end of others in turn, and nothing is started meanwhile, because at the root
 * those that fail come first. Return: number of members.
 */
static u32 coll_coord_end_group(struct coll_coord *c, u64 group, const struct coll_coord_bad *bad)
{
	struct coll_coord_entry *e = group ? coll_coord_group_next(c, group, NULL) : NULL, *next;
	u32 n = 0;

	for (; e && !(c->looks && n == c->looks); e = next, n++) {
		next = coll_coord_group_next(c, group, e);
		coll_coord_fail(c, e, bad);
	}
	return n;
}

/* The same for the groups in @bad, and for the group @own. */
static u32 coll_coord_end_groups(struct coll_coord *c, const struct coll_coord_bad *bad, u64 own)
{
	u32 n;

	if (coll_dropped(COLL_RULE_GROUP_END))
		return 0;
	n = coll_coord_end_group(c, bad->group[0], bad);
	if (bad->group[1] != bad->group[0])
		n += coll_coord_end_group(c, bad->group[1], bad);
	if (own != bad->group[0] && own != bad->group[1])
		n += coll_coord_end_group(c, own, bad);
	return n;
}

static bool coll_coord_any_local(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	u32 k;

	for (k = 0; k < c->nr_words; k++)
		if (e->ranks[k])
			return true;
	return false;
}

/* @round and all before it are over. */
u32 coll_coord_end(struct coll_coord *c, struct coll_coord_entry *e, u32 round,
		    const struct coll_coord_bad *bad, bool full)
{
	/* Ranks here may have it in another group than those that ended it. */
	u64 own = coll_coord_group(e);

	/* An earlier BAD may be the first order of the name, and not be sent to all yet. */
	full |= !coll_chain_empty(&e->end.link) && e->end.full;
	e->end.entry = e;
	e->end.kind = COLL_ORDER_BAD;
	e->end.full = full;
	e->end.round = round;
	e->end.bad = *bad;
	coll_coord_log(c, &e->end);
	c->counted += round - e->round + 1;
	if (!coll_dropped(COLL_RULE_OWED))
		coll_coord_owe(c, e, round - e->round + 1);
	if (coll_coord_any_local(c, e))
		c->ops->end(c, e, &e->end.bad);
	coll_coord_clear(c, e, round);
	return coll_coord_end_groups(c, &e->end.bad, own);
}

void coll_coord_all_joined(struct coll_coord *c, u32 rank)
{
	u32 k;

	c->join_order.kind = COLL_ORDER_JOINED;
	c->join_order.rank = rank;
	coll_coord_log(c, &c->join_order);
	c->counted++;
	c->join_said = false;
	if (!coll_dropped(COLL_RULE_UNJOIN))
		c->children_joined = 0;
	c->nr_joined = 0;
	for (k = 0; k < c->nr_words; k++)
		c->joined[k] = 0;
	if (!coll_dropped(COLL_RULE_FORGIVE))
		c->forgiven++;
	c->ops->joined(c, rank);
}

void coll_coord_all_left(struct coll_coord *c, u32 rank)
{
	struct coll_coord_bad bad = { .cause = COLL_BAD_LEFT, .rank = { rank } };
	struct coll_coord_entry *e;

	if (c->left)
		return;
	c->left = true;
	c->left_rank = rank;
	c->left_order.kind = COLL_ORDER_LEFT;
	c->left_order.rank = rank;
	coll_coord_log(c, &c->left_order);
	c->counted++;
	while (!coll_chain_empty(&c->pending) && !coll_dropped(COLL_RULE_LEFT)) {
		e = coll_chain_entry(c->pending.next, struct coll_coord_entry, pending);
		if (coll_coord_any_local(c, e))
			c->ops->end(c, e, &bad);
		coll_coord_clear(c, e, e->round);
	}
	c->ops->left(c, rank);
}

/* --- the root ------------------------------------------------------------------ */

/* Can ranks that have joined be left out? An allreduce uses the operator's identity for them. */
static bool coll_coord_joinable(const struct coll_coord_entry *e)
{
	const u64 *f = e->want.field;
	u8 one[COLL_IDENTITY_MAX];

	return f[COLL_FIELD_COLLECTIVE] == COLL_BARRIER ||
	       (f[COLL_FIELD_COLLECTIVE] == COLL_ALLREDUCE &&
		coll_identity(f[COLL_FIELD_OP], f[COLL_FIELD_DTYPE], one));
}

static struct coll_coord_entry *coll_coord_of_ready(struct coll_chain *link)
{
	return coll_chain_entry(link, struct coll_coord_entry, ready);
}

/* What is left of a group goes before all others. */
static u64 coll_coord_priority(struct coll_chain *link)
{
	const struct coll_coord_entry *e = coll_coord_of_ready(link);

	return e->want.field[COLL_FIELD_PRIORITY] +
	       (e->going ? COLL_COORD_PRIORITY_MAX + 1ULL : 0);
}

/* Is it an entry? All entries in coll_coord.ready are to be started. */
static bool coll_coord_startable(const struct coll_coord *c, struct coll_chain *link)
{
	return link != &c->ready && link != &c->ready_join && link != &c->ready_leave;
}

/* Is it to be started, even if there is no room for it? */
static bool coll_coord_is_urgent(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	return coll_coord_bytes(&e->want) <= c->urgent &&
	       e->want.field[COLL_FIELD_PRIORITY] > c->flying_most;
}

/* From now on this entry may be ordered. */
static void coll_coord_admit(struct coll_coord *c, struct coll_coord_entry *e)
{
	e->whole = coll_coord_group(e) && !coll_dropped(COLL_RULE_GROUP);
	if (c->urgent)
		c->rush |= coll_coord_is_urgent(c, e);
	if (coll_coord_startable(c, c->ready.prev) &&
	    coll_coord_priority(c->ready.prev) < coll_coord_priority(&e->ready))
		c->sorted = 0;
	coll_chain_add(&e->ready, &c->ready);
}

/* Move entries from @c->fresh to @c->ready, as many as one call may. Return: there are more. */
static bool coll_coord_admit_some(struct coll_coord *c)
{
	struct coll_chain *l;
	u32 n = 0;

	while (!coll_chain_empty(&c->fresh)) {
		if (c->looks && n++ == c->looks)
			return !coll_dropped(COLL_RULE_GROUP_ADMIT);
		l = c->fresh.next;
		coll_chain_del(l);
		coll_visit();
		if (l == &c->ready_join || l == &c->ready_leave)
			coll_chain_add(l, &c->ready);
		else
			coll_coord_admit(c, coll_coord_of_ready(l));
	}
	return false;
}

static void coll_coord_make_ready(struct coll_coord *c, struct coll_coord_entry *e)
{
	coll_chain_del(&e->ready);
	coll_chain_add(&e->ready, &c->fresh);
}

/* The first member of a group that is ready. */
static void coll_coord_lead(struct coll_coord *c, struct coll_coord_entry *e)
{
	coll_chain_add(&e->ready, &c->held);
	coll_coord_group_lead(c, e);
}

/* A member of a group waits for the others. */
static void coll_coord_hold(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_entry *leader = coll_coord_group_leader(c, coll_coord_group(e));

	coll_chain_del(&e->ready);
	if (leader)
		coll_chain_add(&e->ready, &leader->members);
	else
		coll_coord_lead(c, e);
	leader = leader ?: e;
	if (++leader->nr_members < e->want.field[COLL_FIELD_MEMBERS])
		return;
	coll_coord_group_unlead(c, leader);
	coll_coord_make_ready(c, leader);
	coll_chain_splice(&leader->members, &c->fresh);
}

void coll_coord_complete(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_bad joined = { .cause = COLL_BAD_JOINED };

	if (e->bad.cause)
		coll_coord_fail(c, e, &e->bad);
	else if (e->with_joined && !coll_coord_joinable(e) && !coll_dropped(COLL_RULE_JOINABLE))
		coll_coord_fail(c, e, &joined);
	else if (e->failing.cause)
		return;		/* in coll_coord.failed, to be ended */
	else if (coll_coord_group(e) && !coll_dropped(COLL_RULE_GROUP))
		coll_coord_hold(c, e);
	else
		coll_coord_make_ready(c, e);
}

void coll_coord_complete_join(struct coll_coord *c)
{
	coll_chain_del(&c->ready_join);
	coll_chain_add(&c->ready_join,
		       coll_dropped(COLL_RULE_JOIN_LAST) ? c->ready.next : &c->fresh);
}

/*
 * All ranks have joined: groups of which some members are missing will not be whole any more. Ask
 * for the end of as many members as one call may. Return: there are more.
 */
static bool coll_coord_end_held(struct coll_coord *c)
{
	struct coll_coord_bad joined = { .cause = COLL_BAD_JOINED };
	struct coll_chain *l;
	u32 n = 0;

	while (c->join_said && !coll_chain_empty(&c->held) && !coll_dropped(COLL_RULE_HELD)) {
		if (c->looks && n++ == c->looks)
			return true;
		l = coll_coord_of_ready(c->held.next)->members.next;
		if (l == &coll_coord_of_ready(c->held.next)->members)
			l = c->held.next;
		coll_coord_fail(c, coll_coord_of_ready(l), &joined);
	}
	return false;
}

/* Merge run @b into run @a; of equal priority those of @a come first. */
static void coll_coord_merge_runs(struct coll_chain *a, struct coll_chain *b)
{
	struct coll_chain *at = a->next, *l;
	u64 priority;

	while (!coll_chain_empty(b)) {
		l = b->next;
		priority = coll_coord_priority(l);
		while (at != a && coll_coord_priority(at) >= priority)
			at = at->next;
		coll_chain_del(l);
		coll_chain_add(l, at);
	}
}

/* Run k holds at least 2^k merged runs, so 32 are enough for any number of entries. */
#define COLL_COORD_RUNS	32

/* Move the first run of @list to @run: no priority is above the one before. */
static void coll_coord_take_run(struct coll_chain *list, struct coll_chain *run)
{
	u64 priority = ~0ULL, next;
	struct coll_chain *l;

	for (l = list->next; l != list; l = list->next) {
		next = coll_coord_priority(l);
		if (next > priority)
			break;
		priority = next;
		coll_chain_del(l);
		coll_chain_add(l, run);
	}
}

/*
 * Higher priorities first, otherwise in the order in which they became ready. Bottom-up merge
 * sort. runs[k] holds older entries than runs[k - 1], so entries of equal priority keep their
 * order. Input that is already sorted is a single run.
 */
static void coll_coord_sort(struct coll_chain *list)
{
	struct coll_chain runs[COLL_COORD_RUNS];
	u32 k, top = COLL_COORD_RUNS - 1;

	for (k = 0; k < COLL_COORD_RUNS; k++)
		coll_chain_init(&runs[k]);
	while (!coll_chain_empty(list)) {
		struct coll_chain one;

		coll_chain_init(&one);
		coll_coord_take_run(list, &one);
		for (k = 0; k < top && !coll_chain_empty(&runs[k]); k++) {
			coll_coord_merge_runs(&runs[k], &one);
			coll_chain_splice(&runs[k], &one);
		}
		coll_coord_merge_runs(&runs[k], &one);
	}
	for (k = top; k-- > 0; )
		coll_coord_merge_runs(&runs[top], &runs[k]);
	coll_chain_splice(&runs[top], list);
}

/*
 * Sort what can be started at the front of coll_coord.ready, as much as one call may. What is
 * behind has its turn when that has been started.
 */
static void coll_coord_sort_ready(struct coll_coord *c)
{
	struct coll_chain list;

	coll_chain_init(&list);
	while (coll_coord_startable(c, c->ready.next) && (!c->sorts || c->sorted < c->sorts)) {
		struct coll_chain *l = c->ready.next;

		coll_chain_del(l);
		coll_chain_add(l, &list);
		c->sorted++;
	}
	coll_coord_sort(&list);
	coll_chain_splice(&list, c->ready.next);
}

/* Has every rank submitted it? Else do not fuse it: the other tensors may have other ranks. */
static bool coll_coord_of_all(const struct coll_coord_entry *e)
{
	return !e->with_joined || coll_dropped(COLL_RULE_FUSE_ALL);
}

/* May @e be in a fusion that begins with @first? */
static bool coll_coord_fits(struct coll_coord *c, const struct coll_coord_entry *first,
			    const struct coll_coord_entry *e)
{
	if (!coll_coord_of_all(e))
		return false;
	if (!coll_coord_fuse(&first->want, &e->want) && !coll_dropped(COLL_RULE_FUSE_ALIKE))
		return false;
	return !c->ops->fits || c->ops->fits(c, first, e);
}

/*
 * Move entries that can be started with @first to @fusion: also entries behind one that does not
 * fit, but none behind one of another priority.
 */
static void coll_coord_gather(struct coll_coord *c, struct coll_coord_entry *first, u64 threshold,
			      struct coll_chain *fusion)
{
	u64 bytes = coll_coord_bytes(&first->want), more;
	struct coll_chain *l = c->ready.next, *next;
	struct coll_coord_entry *e;
	u32 nr = 1, passed = 0;

	for (; bytes < threshold && coll_coord_startable(c, l); l = next) {
		next = l->next;
		e = coll_coord_of_ready(l);
		if (e->want.field[COLL_FIELD_PRIORITY] != first->want.field[COLL_FIELD_PRIORITY] ||
		    nr == c->most)
			break;
		more = coll_coord_bytes(&e->want);
		if (more > threshold - bytes || !coll_coord_fits(c, first, e)) {
			if (++passed == c->ahead)
				break;
			continue;
		}
		bytes += more;
		nr++;
		coll_chain_del(l);
		coll_chain_add(l, fusion);
	}
}

/* The root gives a name its id with the first order about it. Return: the first one. */
static bool coll_coord_name(struct coll_coord *c, struct coll_coord_entry *e)
{
	if (e->id)
		return false;
	coll_coord_set_id(c, e, ++c->last_id);
	return true;
}

static void coll_coord_start_one(struct coll_coord *c, struct coll_coord_entry *e, bool last)
{
	bool full = coll_coord_name(c, e) || !e->is_known ||
		    coll_coord_differ(&e->known, &e->want) < COLL_NR_FIELDS;

	e->known = e->want;
	e->is_known = true;
	coll_coord_start(c, e, e->contributors, last, full);
}

/* All members of this group are marked. Move those that are not in the fusion to the front. */
static void coll_coord_group_gone(struct coll_coord *c)
{
	/* Too many to sort in one call: coll_coord_sort_ready() sorts them in slices. */
	if (c->sorts && c->nr_others > c->sorts)
		c->sorted = 0;
	else
		coll_coord_sort(&c->others);
	coll_chain_splice(&c->others, c->ready.next);
	c->nr_others = 0;
	c->go = c->go->next;
}

/*
 * A member of a group starts: so do the others, whatever happens to them meanwhile. Visit the next
 * entry of this group. A group may be large.
 */
static void coll_coord_group_go(struct coll_coord *c)
{
	struct coll_coord_entry *e;

	e = coll_coord_group_walk_next(c);
	if (!e) {
		coll_coord_group_gone(c);
		return;
	}
	coll_visit();
	if (!e->whole)
		return;
	e->going = true;
	coll_coord_group_del(c, e);
	if (e->starting)
		return;
	coll_chain_del(&e->ready);
	coll_chain_add(&e->ready, &c->others);
	c->nr_others++;
}

/* All in @c->fusion are about to start: mark their groups. Return: entries visited, up to @most. */
static u32 coll_coord_groups_go(struct coll_coord *c, u32 most)
{
	struct coll_coord_entry *e;
	u32 n = 0;

	while (c->go != &c->fusion && n < most) {
		e = coll_coord_of_ready(c->go);
		if (c->go_at) {
			coll_coord_group_go(c);
			n++;
		} else if (e->whole && !e->going && !coll_dropped(COLL_RULE_GROUP_GOING)) {
			coll_coord_group_walk(c, e);
		} else {
			c->go = c->go->next;
		}
	}
	return n;
}

/* One op may always be started, however large it is. */
static bool coll_coord_has_room(const struct coll_coord *c)
{
	if (!c->flying || coll_dropped(COLL_RULE_WINDOW))
		return true;
	return (!c->window || c->flying_bytes < c->window) &&
	       (!c->window_ops || c->flying < c->window_ops);
}

/* Choose what starts next, with @first. */
static void coll_coord_choose(struct coll_coord *c, struct coll_coord_entry *first)
{
	u64 priority = first->want.field[COLL_FIELD_PRIORITY], threshold = c->threshold;
	struct coll_chain *l;
	u64 most;

	most = c->ops->fits_bytes ? c->ops->fits_bytes(c, first) : threshold;
	if (threshold > most)
		threshold = most;
	/* The window is full, so this op is an urgent one: limit its fusion to c->urgent bytes. */
	if (!coll_coord_has_room(c) && threshold > c->urgent)
		threshold = c->urgent;
	if (!c->flying || priority > c->flying_most)
		c->flying_most = priority;
	c->flying++;
	coll_chain_add(&first->ready, &c->fusion);
	if (coll_coord_fits(c, first, first))
		coll_coord_gather(c, first, threshold, &c->fusion);
	for (l = c->fusion.next; l != &c->fusion; l = l->next)
		coll_coord_of_ready(l)->starting = true;
	c->go = c->fusion.next;
}

/* Return: number of tensors. */
static u32 coll_coord_start_fusion(struct coll_coord *c)
{
	struct coll_coord_entry *e;
	u32 n = 0;

	for (; !coll_chain_empty(&c->fusion); n++) {
		e = coll_coord_of_ready(c->fusion.next);
		coll_chain_del(&e->ready);
		coll_visit();
		c->sorted -= !!c->sorted;
		c->flying_bytes += coll_coord_bytes(&e->want);
		coll_coord_start_one(c, e, coll_chain_empty(&c->fusion));
	}
	return n;
}

/* Start what has been chosen, once its groups are marked. Return: entries visited. */
static u32 coll_coord_go(struct coll_coord *c, u32 most)
{
	u32 n = coll_coord_groups_go(c, most);

	return c->go == &c->fusion ? n + coll_coord_start_fusion(c) : n;
}

/* Return: entries visited. */
static u32 coll_coord_end_one(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_bad bad = e->failing;
	bool full = coll_coord_name(c, e);

	coll_visit();
	return 1 + coll_coord_end(c, e, e->round, &bad, full);
}

/* The entry that is ordered next; NULL: there is none, or no room for it. */
static struct coll_chain *coll_coord_first(struct coll_coord *c)
{
	if (!coll_chain_empty(&c->failed))
		return c->failed.next;
	if (coll_chain_empty(&c->ready))
		return NULL;
	if (!coll_coord_startable(c, c->ready.next)) {
		c->sorted = 0;
		return c->ready.next;
	}
	if (!coll_coord_has_room(c) && !(c->rush && c->flying < c->urgent_ops))
		return NULL;
	if (!c->sorted)
		coll_coord_sort_ready(c);
	if (coll_coord_has_room(c) || coll_coord_is_urgent(c, coll_coord_of_ready(c->ready.next)))
		return c->ready.next;
	c->rush = false;
	return NULL;
}

/* Return: entries visited. What is chosen to start is counted by coll_coord_go(). */
static u32 coll_coord_order(struct coll_coord *c, struct coll_chain *l)
{
	u32 n = 0;

	coll_chain_del(l);
	if (l == &c->ready_join)
		coll_coord_all_joined(c, c->last_joined);
	else if (l == &c->ready_leave)
		coll_coord_all_left(c, c->left_rank);
	else if (coll_coord_of_ready(l)->failing.cause)
		n = coll_coord_end_one(c, coll_coord_of_ready(l));
	else
		coll_coord_choose(c, coll_coord_of_ready(l));
	return n;
}

/* Order as much as one call may. Return: there is more. */
static bool coll_coord_order_some(struct coll_coord *c)
{
	u32 most = c->orders ? c->orders : ~0U, n = 0;
	struct coll_chain *l;

	while (!c->left) {
		l = NULL;
		if (coll_chain_empty(&c->fusion)) {
			l = coll_coord_first(c);
			if (!l)
				break;
		}
		if (n >= most)
			return true;
		n += l ? coll_coord_order(c, l) : coll_coord_go(c, most - n);
	}
	return false;
}

void coll_coord_run(struct coll_coord *c)
{
	c->more = c->is_root && !c->left &&
		  (coll_coord_admit_some(c) || coll_coord_end_held(c) || coll_coord_order_some(c));
}

void coll_coord_over(struct coll_coord *c, u64 bytes)
{
	if (!c->is_root)
		return;
	c->flying--;
	c->flying_bytes -= bytes;
	if (!coll_dropped(COLL_RULE_OVER))
		coll_coord_run(c);
}
