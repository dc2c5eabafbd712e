// SPDX-License-Identifier: GPL-2.0
#include <linux/cgroup.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include <linux/coll_nl.h>

#include "../../pure/coord/coord_order.h"
#include "../../pure/coord/coord_pending.h"
#include "../../pure/names.h"
#include "../deadline.h"
#include "../group/failure.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../log.h"
#include "../user.h"
#include "stall.h"
#include "tensor_talk.h"

static unsigned int stall_after = COLL_STALL_SEC;
module_param(stall_after, uint, 0644);
MODULE_PARM_DESC(stall_after, "seconds after which a tensor that some ranks have not posted is reported; 0: never");

static unsigned int stall_end;
module_param(stall_end, uint, 0644);
MODULE_PARM_DESC(stall_end, "seconds after which such a tensor ends on all ranks; 0: never");

static coll_stall_fn *coll_stall_notify;

void coll_stall_set_notify(coll_stall_fn *fn)
{
	coll_stall_notify = fn;
}

/* --- states ----------------------------------------------------------------------- */

static u32 coll_stall_task_state(struct task_struct *p)
{
	const struct signal_struct *sig = p->signal;

	if (!atomic_read(&sig->live) || READ_ONCE(sig->flags) & SIGNAL_GROUP_EXIT)
		return COLL_NL_STALL_STATE_DEAD;
	if (READ_ONCE(sig->flags) & SIGNAL_STOP_STOPPED || task_is_traced(p))
		return COLL_NL_STALL_STATE_STOPPED;
	if (cgroup_task_frozen(p) || READ_ONCE(p->__state) & TASK_FROZEN)
		return COLL_NL_STALL_STATE_FROZEN;
	return COLL_NL_STALL_STATE_RUNNING;
}

static bool coll_stall_has_left(const struct coll_group *g, u32 rank)
{
	u32 i;

	for (i = 0; i < g->nr_left; i++)
		if (g->local_left[i].rank == rank)
			return true;
	return false;
}

/* Describe a rank of this node that has not posted the tensor. Under group->lock. */
static void coll_stall_local_locked(const struct coll_group *g, const struct coll_tensor_name *n,
			     u32 local, struct coll_stall_rank *r)
{
	const struct coll_member *m = g->members[local];

	lockdep_assert_held(&g->lock);
	r->rank = g->local_rank[local];
	r->node = g->node;
	r->known = n->slots[local].posted;
	if (coll_stall_has_left(g, r->rank))
		r->state = COLL_NL_STALL_STATE_LEFT;
	else if (m)
		r->state = coll_stall_task_state(m->owner);
	else
		r->state = COLL_NL_STALL_STATE_ABSENT;
	if (m)
		r->pid = m->tgid;
}

/* --- what is missing ---------------------------------------------------------------- */

static struct coll_tensor_name *coll_stall_name(struct coll_coord_entry *e)
{
	return e->user;
}

static bool coll_stall_misses_local(const struct coll_coord *c, const struct coll_coord_entry *e,
				    u32 local)
{
	return !((e->ranks[local / 64] | c->joined[local / 64]) >> local % 64 & 1);
}

/* Children that have sent neither READY for the tensor nor JOIN. */
static u32 coll_stall_children(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	return c->all_children & ~(e->children | c->children_joined);
}

static bool coll_stall_misses_remote(const struct coll_tensors *ts, u32 children, u32 rank)
{
	u32 child = coll_tensors_below(ts, ts->group->node_of[rank]);

	return child < COLL_COORD_FANOUT && children >> child & 1;
}

/* At the root: have all ranks posted it, and all tensors of its group? Its turn comes then. */
static bool coll_stall_waits_turn(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	bool grouped = e->is_wanted && e->want.field[COLL_FIELD_GROUP];

	return c->is_root && e->said && (!grouped || e->whole);
}

/* All ranks of this node and of the nodes below have posted it. Under group->lock. */
static void coll_stall_nobody_locked(const struct coll_tensors *ts, struct coll_stall_rank *r)
{
	lockdep_assert_held(&ts->group->lock);
	r->rank = COLL_RANK_NONE;
	r->node = ts->coord.is_root ? COLL_RANK_NONE : ts->parent;
	r->state = ts->coord.is_root ? COLL_NL_STALL_STATE_GROUP : COLL_NL_STALL_STATE_POSTED;
}

/*
 * Find a rank that the tensor waits for, from @place on. Under group->lock. Return: the place
 * behind it; 0: there is no more.
 */
static u32 coll_stall_from_locked(const struct coll_tensors *ts, const struct coll_tensor_name *n,
			   u32 place, struct coll_stall_rank *r)
{
	const struct coll_coord *c = &ts->coord;
	const struct coll_group *g = ts->group;
	u32 children = coll_stall_children(c, n->entry);
	u32 k;

	lockdep_assert_held(&g->lock);
	*r = (struct coll_stall_rank){ };
	for (k = place; k < g->nr_local; k++) {
		if (!coll_stall_misses_local(c, n->entry, k))
			continue;
		coll_stall_local_locked(g, n, k, r);
		return k + 1;
	}
	for (k = max(place, g->nr_local) - g->nr_local; children && k < g->size; k++) {
		if (!coll_stall_misses_remote(ts, children, k))
			continue;
		r->rank = k;
		r->node = g->node_of[k];
		r->state = COLL_NL_STALL_STATE_REMOTE;
		return g->nr_local + k + 1;
	}
	if (place || !n->entry->said || coll_stall_waits_turn(c, n->entry))
		return 0;
	coll_stall_nobody_locked(ts, r);
	return g->nr_local + g->size;
}

static void coll_stall_fill(const struct coll_tensor_name *n, struct coll_stall *s)
{
	s->serial = n->serial;
	s->age_ns = ktime_get_ns() - n->since;
	s->name_len = n->entry->name_len;
	memcpy(s->name, n->entry->name, s->name_len);
}

/* --- the dump ------------------------------------------------------------------------ */

static struct coll_tensor_name *coll_stalls_first(struct coll_stalls *st, enum coll_stall_list i)
{
	return list_first_entry_or_null(&st->list[i], struct coll_tensor_name, list);
}

static bool coll_stall_next_of(struct coll_tensors *ts, const struct coll_tensor_name *n,
			       struct coll_stall_cursor *at, struct coll_stall_rank *r)
{
	u32 place = n->serial == at->serial ? at->place : 0;

	if (n->serial < at->serial || n->serial >= at->end)
		return false;
	place = coll_stall_from_locked(ts, n, place, r);
	if (!place)
		return false;
	at->serial = n->serial;
	at->place = place;
	return true;
}

/* Under group->lock. */
static bool coll_stall_next_locked(struct coll_tensors *ts, struct coll_stall_cursor *at,
				   struct coll_stall *s, struct coll_stall_rank *r)
{
	struct coll_tensor_name *n;
	u32 shown = 0;
	int i;

	lockdep_assert_held(&ts->group->lock);
	if (!at->end)
		at->end = ts->stalls.next;
	/* Begin with the oldest names. */
	for (i = COLL_NR_STALL_LISTS - 1; i >= 0; i--) {
		list_for_each_entry(n, &ts->stalls.list[i], list) {
			if (shown++ == COLL_STALL_SHOWN)
				return false;
			if (!coll_stall_next_of(ts, n, at, r))
				continue;
			coll_stall_fill(n, s);
			return true;
		}
	}
	return false;
}

bool coll_stall_next(struct coll_group *g, struct coll_stall_cursor *at, struct coll_stall *s,
		     struct coll_stall_rank *r)
{
	bool found;

	if (!g->tensors)
		return false;
	spin_lock(&g->lock);
	found = !g->error && coll_stall_next_locked(g->tensors, at, s, r);
	spin_unlock(&g->lock);
	return found;
}

u64 coll_stall_looks(struct coll_group *g)
{
	u64 looks;

	if (!g->tensors)
		return 0;
	spin_lock(&g->lock);
	looks = g->tensors->stalls.looks;
	spin_unlock(&g->lock);
	return looks;
}

/* --- the timer ------------------------------------------------------------------------ */

/* Time at which @n is @sec seconds old; 0: never. */
static u64 coll_stall_when(const struct coll_tensor_name *n, unsigned int sec)
{
	return n && sec ? n->since + sec * (u64)NSEC_PER_SEC : 0;
}

/* The oldest tensor that coll_stalls_end_locked() has not ended yet. */
static struct coll_tensor_name *coll_stalls_oldest(struct coll_stalls *st)
{
	return coll_stalls_first(st, COLL_STALL_TOLD) ?: coll_stalls_first(st, COLL_STALL_FRESH);
}

/* Arm the timer for the next report or end, unless it is armed already. Under group->lock. */
static void coll_stalls_arm_locked(struct coll_tensors *ts)
{
	struct coll_stalls *st = &ts->stalls;
	u64 tell = coll_stall_when(coll_stalls_first(st, COLL_STALL_FRESH), READ_ONCE(stall_after));
	u64 end = coll_stall_when(coll_stalls_oldest(st), READ_ONCE(stall_end));
	u64 when = tell && end ? min(tell, end) : tell + end;

	lockdep_assert_held(&ts->group->lock);
	if (when && !delayed_work_pending(&st->work))
		queue_delayed_work(coll_alarm_wq, &st->work, coll_deadline_delay(when));
}

void coll_stalls_pending(struct coll_coord *c, struct coll_coord_entry *e, bool is)
{
	struct coll_tensors *ts = c->user;
	struct coll_tensor_name *n = coll_stall_name(e);
	struct coll_stalls *st = &ts->stalls;

	lockdep_assert_held(&ts->group->lock);
	if (!is) {
		list_del(&n->list);
		return;
	}
	n->entry = e;
	n->since = ktime_get_ns();
	n->serial = st->next++;
	list_add_tail(&n->list, &st->list[COLL_STALL_FRESH]);
	coll_stalls_arm_locked(ts);
}

static bool coll_stall_is_over(const struct coll_tensor_name *n, unsigned int sec)
{
	u64 when = coll_stall_when(n, sec);

	return when && !coll_deadline_delay(when);
}

/* Collect the report about the next tensor that is due. Under group->lock. False: none is. */
static bool coll_stalls_take_locked(struct coll_tensors *ts)
{
	struct coll_stalls *st = &ts->stalls;
	struct coll_tensor_name *n = coll_stalls_first(st, COLL_STALL_FRESH);
	struct coll_stall_rank r;
	u32 place = 0;

	lockdep_assert_held(&ts->group->lock);
	if (ts->group->error || !coll_stall_is_over(n, READ_ONCE(stall_after)))
		return false;
	list_move_tail(&n->list, &st->list[COLL_STALL_TOLD]);
	coll_stall_fill(n, &st->stall);
	st->nr = 0;
	st->more = 0;
	for (;;) {
		place = coll_stall_from_locked(ts, n, place, &r);
		/* Ranks of this node and below have posted it: another node makes the report. */
		if (!place || r.state == COLL_NL_STALL_STATE_POSTED)
			break;
		if (st->nr < COLL_STALL_RANKS)
			st->ranks[st->nr++] = r;
		else
			st->more++;
	}
	return true;
}

static const char *coll_stall_state_text(const struct coll_stall_rank *r)
{
	if (r->state == COLL_NL_STALL_STATE_RUNNING && !r->known)
		return "running, has never posted it";
	return coll_rank_state_name(r->state) ?: "running";
}

static int coll_stall_print(char *buf, size_t size, const struct coll_stall_rank *r)
{
	if (r->state == COLL_NL_STALL_STATE_GROUP)
		return scnprintf(buf, size, "other tensors of its group");
	if (r->state == COLL_NL_STALL_STATE_REMOTE)
		return scnprintf(buf, size, "rank %u on node %u", r->rank, r->node);
	return scnprintf(buf, size, "rank %u (pid %u, %s)", r->rank, r->pid,
			 coll_stall_state_text(r));
}

static void coll_stall_log(struct coll_group *g, struct coll_stalls *st)
{
	u32 nr = min(st->nr, COLL_STALL_LOGGED), more = st->nr - nr + st->more, i;
	size_t len = 0;

	for (i = 0; i < nr; i++) {
		if (i)
			len += scnprintf(st->text + len, sizeof(st->text) - len, ", ");
		len += coll_stall_print(st->text + len, sizeof(st->text) - len, &st->ranks[i]);
	}
	if (more)
		scnprintf(st->text + len, sizeof(st->text) - len, " and %u more", more);
	pr_warn("coll: group %u: tensor \"%*pE\" has waited %llu s for %s\n", g->id,
		(int)st->stall.name_len, st->stall.name,
		div_u64(st->stall.age_ns, NSEC_PER_SEC), st->text);
}

/* Report the tensors that are over the first threshold, up to a maximum per call. */
static void coll_stalls_tell(struct coll_tensors *ts)
{
	struct coll_stalls *st = &ts->stalls;
	struct coll_group *g = ts->group;
	bool any;
	u32 i;

	for (i = 0; i < COLL_STALL_BATCH; i++) {
		spin_lock(&g->lock);
		any = coll_stalls_take_locked(ts);
		spin_unlock(&g->lock);
		if (!any)
			break;
		if (!st->nr)
			continue;
		/* A limit for each user: no user takes all lines of the log. */
		if (coll_log_allowed(&g->user->stall_lines, __func__))
			coll_stall_log(g, st);
		if (coll_log_allowed(&g->user->stall_events, __func__))
			coll_stall_notify(g, &st->stall, st->ranks, st->nr);
	}
}

/* The rank whose time is over: the first one of this node that waits, else any. */
static u32 coll_stall_rank_of(const struct coll_tensors *ts, const struct coll_tensor_name *n)
{
	u32 k;

	for (k = 0; k < ts->group->nr_local; k++)
		if (n->slots[k].waits)
			return ts->group->local_rank[k];
	return n->entry->want_rank;
}

/*
 * End a tensor on all ranks, unless nothing is missing here. In that case the parent ends it if
 * something is missing there; otherwise its turn comes. Under group->lock.
 */
static void coll_stall_end_locked(struct coll_tensors *ts, struct coll_tensor_name *n)
{
	const struct coll_coord_bad bad = {
		.cause = COLL_BAD_TIMEOUT,
		.rank = { coll_stall_rank_of(ts, n) },
	};
	struct coll_coord *c = &ts->coord;

	lockdep_assert_held(&ts->group->lock);
	list_move_tail(&n->list, &ts->stalls.list[COLL_STALL_ENDED]);
	if (n->entry->said && (!c->is_root || coll_stall_waits_turn(c, n->entry)))
		return;
	coll_coord_fail(c, n->entry, &bad);
}

/* End the tensors that are over the second threshold. Under group->lock. Return: was there any? */
static bool coll_stalls_end_locked(struct coll_tensors *ts)
{
	struct coll_tensor_name *n;
	u32 i;

	lockdep_assert_held(&ts->group->lock);
	for (i = 0; i < COLL_STALL_BATCH; i++) {
		n = coll_stalls_oldest(&ts->stalls);
		if (!coll_stall_is_over(n, READ_ONCE(stall_end)))
			break;
		coll_stall_end_locked(ts, n);
	}
	if (i)
		coll_coord_run(&ts->coord);
	return i;
}

/* It takes no lock that a user may hold; see coll_alarm_wq. */
static void coll_stalls_work(struct work_struct *work)
{
	struct coll_tensors *ts = container_of(to_delayed_work(work), struct coll_tensors,
					       stalls.work);
	struct coll_group *g = ts->group;
	bool ended = false;

	coll_stalls_tell(ts);
	spin_lock(&g->lock);
	ts->stalls.looks++;
	if (!g->error) {
		ended = coll_stalls_end_locked(ts);
		coll_stalls_arm_locked(ts);
	}
	spin_unlock(&g->lock);
	if (!ended)
		return;
	queue_work(g->user->wq, &ts->work);
	coll_tensors_call(g);
}

void coll_stalls_init(struct coll_tensors *ts)
{
	int i;

	for (i = 0; i < COLL_NR_STALL_LISTS; i++)
		INIT_LIST_HEAD(&ts->stalls.list[i]);
	INIT_DELAYED_WORK(&ts->stalls.work, coll_stalls_work);
}

void coll_stalls_quiesce(struct coll_tensors *ts)
{
	cancel_delayed_work_sync(&ts->stalls.work);
}
