// SPDX-License-Identifier: GPL-2.0
/* Posting, matching and ending of messages; who leads, see msg.h. */
#include <linux/bitmap.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "../deadline.h"
#include "../group/group.h"
#include "../group/link.h"
#include "../group/member.h"
#include "../limits.h"
#include "../plan/support.h"
#include "../trace.h"
#include "msg_priv.h"

int coll_msgs_init(struct coll_group *g)
{
	struct coll_msgs *ms = kzalloc(sizeof(*ms), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!ms)
		return -ENOMEM;
	g->msgs = ms;
	INIT_LIST_HEAD(&ms->all);
	ms->boxes = kvcalloc(g->nr_local, sizeof(*ms->boxes), GFP_KERNEL_ACCOUNT);
	ms->peers = kvcalloc(g->nr_nodes, sizeof(*ms->peers), GFP_KERNEL_ACCOUNT);
	ms->left = bitmap_zalloc(g->size, GFP_KERNEL_ACCOUNT);
	ms->down = bitmap_zalloc(g->nr_nodes, GFP_KERNEL_ACCOUNT);
	if (!ms->boxes || !ms->peers || !ms->left || !ms->down)
		return -ENOMEM;
	for (i = 0; i < g->nr_local; i++)
		coll_mailbox_init(&ms->boxes[i], g);
	for (i = 0; i < g->nr_nodes; i++) {
		INIT_LIST_HEAD(&ms->peers[i].frames);
		INIT_LIST_HEAD(&ms->peers[i].sends);
		INIT_LIST_HEAD(&ms->peers[i].recvs);
		ms->peers[i].asked = RB_ROOT;
		ms->peers[i].offers = RB_ROOT;
	}
	return 0;
}

void coll_notes_free(struct coll_group *g, struct list_head *notes)
{
	struct coll_note *n, *next;

	list_for_each_entry_safe(n, next, notes, list)
		coll_note_free(g, n);
}

void coll_msgs_free(struct coll_group *g)
{
	struct coll_msgs *ms = g->msgs;
	u32 i;

	if (!ms)
		return;
	/* With no request left, what there is are offers of other nodes. */
	for (i = 0; ms->boxes && i < g->nr_local; i++) {
		if (!ms->boxes[i].held.next)
			continue;
		coll_notes_free(g, &ms->boxes[i].offered);
		coll_notes_free(g, &ms->boxes[i].held);
	}
	for (i = 0; ms->peers && i < g->nr_nodes; i++)
		if (ms->peers[i].frames.next)
			coll_notes_free(g, &ms->peers[i].frames);
	bitmap_free(ms->down);
	bitmap_free(ms->left);
	kvfree(ms->peers);
	kvfree(ms->boxes);
	kfree(ms);
}

const struct coll_msg_counts *coll_msgs_counts(const struct coll_group *g)
{
	return &g->msgs->counts;
}

static void coll_exchange_free(struct kref *ref)
{
	struct coll_exchange *x = container_of(ref, struct coll_exchange, ref);

	coll_group_put(x->g);
	kfree(x);
}

static void coll_exchange_deadline(struct work_struct *work)
{
	struct coll_exchange *x = container_of(to_delayed_work(work),
					       struct coll_exchange, deadline);
	struct coll_group *g = x->g;
	struct coll_cause cause;
	const struct coll_msg *late = NULL;
	unsigned long delay = 0;

	spin_lock(&g->lock);
	if (x->left)
		delay = coll_deadline_delay(x->expires);
	if (delay) {
		kref_get(&x->ref);
		queue_delayed_work(coll_alarm_wq, &x->deadline, delay);
	}
	if (x->left && !delay)
		late = x->recv.state == COLL_MSG_POSTED ||
		       (x->recv.state == COLL_MSG_MATCHED &&
			!coll_msg_waits(&x->send)) ? &x->recv : &x->send;
	if (late)
		coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT,
				 coll_msg_partner(late), 0);
	spin_unlock(&g->lock);
	if (late)
		coll_group_fail(g, &cause);
	kref_put(&x->ref, coll_exchange_free);
}

static void coll_msg_init(struct coll_exchange *x, struct coll_msg *msg)
{
	msg->x = x;
	msg->lead = msg;
	msg->note.msg = msg;
	atomic_set(&msg->users, 1);
	INIT_LIST_HEAD(&msg->note.list);
	INIT_LIST_HEAD(&msg->turn);
}

/* What the request sends and what it wants, from its command. */
static struct coll_exchange *coll_exchange_alloc(struct coll_req *req)
{
	struct coll_exchange *x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	const struct coll_cmd *c = &req->cmd;
	u32 rank = req->member->rank;

	if (!x)
		return NULL;
	kref_init(&x->ref);
	x->g = coll_member_group(req->member);
	coll_group_get(x->g);
	x->req = req;
	INIT_DELAYED_WORK(&x->deadline, coll_exchange_deadline);
	coll_msg_init(x, &x->recv);
	coll_msg_init(x, &x->send);
	x->send.send = true;
	if (coll_msg_sends(c->collective) && c->root != COLL_RANK_NULL) {
		x->send.state = COLL_MSG_POSTED;
		x->send.vec = req->in;
		x->send.note.source = rank;
		x->send.note.dest = c->root;
		x->send.note.tag = c->send_tag;
		x->send.note.dtype = c->dtype;
		x->send.note.bytes = c->count * coll_elem_size(c->dtype);
		x->send.bytes = x->send.note.bytes;
		x->left++;
	}
	if (c->collective != COLL_SEND && c->source != COLL_RANK_NULL) {
		x->recv.state = COLL_MSG_POSTED;
		x->recv.vec = req->out;
		x->recv.note.source = c->source;
		x->recv.note.dest = rank;
		x->recv.note.tag = c->recv_tag;
		x->recv.note.dtype = c->recv_dtype;
		x->recv.note.bytes = c->recv_count * coll_elem_size(c->recv_dtype);
		x->left++;
	}
	return x;
}

static int coll_note_refused(const struct coll_note *wanted, const struct coll_note *offer)
{
	if (offer->bytes > wanted->bytes)
		return -EMSGSIZE;
	if (offer->dtype != wanted->dtype && offer->dtype != COLL_BYTE &&
	    wanted->dtype != COLL_BYTE)
		return -EBADE;
	return 0;
}

void coll_msg_tell(struct coll_req *req, const struct coll_note *n)
{
	lockdep_assert_held(&coll_member_group(req->member)->lock);
	req->got.bytes = n->bytes;
	req->got.source = n->source;
	req->got.tag = n->tag;
	req->got.dtype = n->dtype;
	req->has_got = true;
}

struct coll_msg *coll_msg_match(struct coll_group *g, struct coll_msg *r,
				struct coll_note *n)
{
	struct coll_req *req = r->x->req;
	struct coll_msg *s = n->msg;

	lockdep_assert_held(&g->lock);
	coll_note_take(&r->note);
	r->state = COLL_MSG_MATCHED;
	r->note.error = coll_note_refused(&r->note, n);
	r->note.source = n->source;
	r->note.tag = n->tag;
	r->bytes = n->bytes;
	coll_msg_tell(req, n);
	if (s) {
		coll_note_take(n);
		s->state = COLL_MSG_MATCHED;
		s->lead = r;
		r->from = s;
	} else {
		coll_msg_answer(g, r, n);
	}
	/* It may be ending, because the group is. */
	return coll_msg_use(r) ? r : NULL;
}

/* Local ranks ascend. */
u32 coll_msg_local(const struct coll_group *g, u32 rank)
{
	u32 lo = 0, hi = g->nr_local - 1;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (g->local_rank[mid] < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int coll_msg_check_rank(const struct coll_group *g, u32 rank)
{
	lockdep_assert_held(&g->lock);
	if (rank == COLL_RANK_ANY)
		return coll_msgs_alone(g) ? -EHOSTDOWN : 0;
	if (test_bit(rank, g->msgs->left))
		return -EHOSTDOWN;
	if (g->node_of[rank] != g->node && !coll_link_usable(g, g->node_of[rank], 0))
		return -ENOTCONN;
	return 0;
}

/* Can there ever be a partner for this end? */
static int coll_msg_check_partner(const struct coll_group *g, const struct coll_msg *msg)
{
	const struct coll_req *req = msg->x->req;

	lockdep_assert_held(&g->lock);
	if (msg->state == COLL_MSG_NONE)
		return 0;
	if (req->cmd.collective == COLL_MRECV)
		return coll_match_held(&g->msgs->boxes[req->member->local], req->cmd.matched) ?
		       0 : -ENOENT;
	return coll_msg_check_rank(g, coll_msg_partner(msg));
}

/* May it be posted? Under group->lock. */
static int coll_exchange_admit(const struct coll_group *g, struct coll_exchange *x)
{
	int ret;

	lockdep_assert_held(&g->lock);
	if (g->error)
		return -g->error;
	ret = coll_msg_check_partner(g, &x->recv);
	ret = ret ?: coll_msg_check_partner(g, &x->send);
	return ret ?: coll_req_count(x->req);
}

static void coll_exchange_arm(struct coll_exchange *x, u64 timeout_ns)
{
	if (!timeout_ns)
		return;
	x->expires = coll_deadline(timeout_ns);
	kref_get(&x->ref);
	queue_delayed_work(coll_alarm_wq, &x->deadline, coll_deadline_delay(x->expires));
}

/*
 * Under group->lock. The receive comes first: a rank may exchange with itself.
 * @lead: result: leads to begin
 * @ending: result: probes that have found what they look for
 * @kept: result: as of coll_msg_offer()
 */
static void coll_exchange_start(struct coll_group *g, struct coll_exchange *x,
				struct coll_msg *lead[2], struct list_head *ending,
				struct coll_note *kept)
{
	struct coll_msg *s = &x->send;

	lockdep_assert_held(&g->lock);
	x->req->member->talking++;
	if (!coll_is_probe(x->req->cmd.collective))
		x->req->member->messages++;
	x->req->exchange = x;
	coll_exchange_name(x);
	coll_exchange_arm(x, x->req->cmd.timeout_ns);
	if (x->recv.state == COLL_MSG_POSTED) {
		coll_msgs_add(g, &x->recv);
		lead[0] = coll_msg_want(g, &x->recv, ending);
	}
	if (s->state != COLL_MSG_POSTED)
		return;
	coll_msgs_add(g, s);
	if (g->node_of[s->note.dest] == g->node)
		lead[1] = coll_msg_offer(g, &s->note, ending, kept);
	else
		coll_msg_ask(g, s);
}

void coll_msg_missed(struct coll_group *g)
{
	struct coll_cause cause = { };

	spin_lock(&g->lock);
	if (g->msgs->node_failed)
		cause = g->doom;
	spin_unlock(&g->lock);
	if (cause.kind)
		coll_group_fail(g, &cause);
}

/* Nobody's message: there is nothing to wait for. */
static void coll_msg_tell_null(struct coll_req *req)
{
	req->got.source = COLL_RANK_NULL;
	req->got.tag = COLL_TAG_ANY;
	if (req->cmd.collective == COLL_MPROBE)
		req->got.id = COLL_MESSAGE_NULL;
	req->has_got = true;
}

int coll_msg_post(struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);
	struct coll_msg *lead[2] = { };
	struct coll_note kept = { };
	struct coll_exchange *x;
	u32 dest = COLL_RANK_NULL;
	bool receives = req->cmd.collective != COLL_SEND;
	LIST_HEAD(ending);
	bool none;
	int ret;

	if (receives && req->cmd.source == COLL_RANK_NULL) {
		coll_msg_tell_null(req);
	} else if (coll_is_probe(req->cmd.collective)) {
		ret = coll_probe_now(req);
		if (ret)
			return ret < 0 ? ret : 0;
	}
	x = coll_exchange_alloc(req);
	if (!x)
		return -ENOMEM;
	if (x->send.state == COLL_MSG_POSTED)
		dest = x->send.note.dest;
	none = !x->left;
	kref_get(&x->ref);
	spin_lock(&g->lock);
	ret = coll_exchange_admit(g, x);
	if (!ret && !none)
		coll_exchange_start(g, x, lead, &ending, &kept);
	spin_unlock(&g->lock);
	coll_msgs_finish(&ending);
	coll_probes_tell(g, &kept);
	if (ret || none) {
		if (!ret)
			coll_req_done(req, 0);
		else
			coll_req_uncount(req);
		if (ret == -EHOSTDOWN)
			coll_msg_missed(g);
		kref_put(&x->ref, coll_exchange_free);
	} else {
		/* From here on @req may be gone. */
		if (lead[0])
			coll_msg_begin(lead[0]);
		if (lead[1])
			coll_msg_begin(lead[1]);
		if (dest != COLL_RANK_NULL && g->node_of[dest] != g->node)
			coll_msg_kick(g, g->node_of[dest]);
		if (receives)
			coll_links_stir(g);
	}
	kref_put(&x->ref, coll_exchange_free);
	return ret;
}

bool coll_msg_any(const struct coll_group *g)
{
	return !list_empty_careful(&g->msgs->all);
}

void coll_msg_begin(struct coll_msg *lead)
{
	struct coll_group *g = lead->x->g;

	if (lead->note.error || !lead->bytes)
		coll_msg_finish(lead, lead->note.error);
	else if (lead->from)
		coll_msg_copy(lead);
	if (!lead->from)
		coll_msg_kick(g, g->node_of[lead->note.source]);
	coll_msg_put_use(lead);
}

bool coll_msg_end(struct coll_msg *lead, int result)
{
	if (test_and_set_bit(COLL_MSGF_ENDING, &lead->flags))
		return false;
	lead->result = result;
	return true;
}

void coll_msg_finish(struct coll_msg *lead, int result)
{
	if (coll_msg_end(lead, result))
		coll_msg_put_use(lead);
}

bool coll_msg_ending(const struct coll_msg *msg)
{
	return test_bit(COLL_MSGF_ENDING, &msg->flags);
}

void coll_msg_give_up(struct coll_msg *msg, int result, struct list_head *ending)
{
	lockdep_assert_held(&msg->x->g->lock);
	if (!coll_msg_end(msg, result))
		return;
	coll_note_take(&msg->note);
	coll_msg_forget(msg->x->g, msg);
	list_add_tail(&msg->todo, ending);
}

void coll_msgs_finish(struct list_head *ending)
{
	struct coll_msg *msg, *next;

	list_for_each_entry_safe(msg, next, ending, todo)
		coll_msg_put_use(msg);
}

/* One end is over. Under group->lock. Return: its request, if it is complete. */
static struct coll_exchange *coll_msg_over(struct coll_group *g, struct coll_msg *msg,
					   int result)
{
	struct coll_exchange *x = msg->x;

	lockdep_assert_held(&g->lock);
	msg->state = COLL_MSG_OVER;
	list_del(&msg->all);
	coll_note_take(&msg->note);
	coll_msg_forget(g, msg);
	if (result && (!x->result || !msg->send))
		x->result = result;
	if (msg->send && !result) {
		g->msgs->counts.sent++;
		g->msgs->counts.bytes += msg->note.bytes;
	}
	if (--x->left)
		return NULL;
	/* Only now: sleepers look through their request at it. */
	x->req->exchange = NULL;
	coll_exchange_unname(x);
	x->req->member->talking--;
	return x;
}

static void coll_exchange_done(struct coll_exchange *x)
{
	if (!x)
		return;
	if (cancel_delayed_work(&x->deadline))
		kref_put(&x->ref, coll_exchange_free);
	coll_req_done(x->req, x->result);
	kref_put(&x->ref, coll_exchange_free);
}

void coll_msg_put_use(struct coll_msg *lead)
{
	struct coll_group *g = lead->x->g;
	struct coll_exchange *done[2] = { };

	if (!atomic_dec_and_test(&lead->users))
		return;
	if (!coll_msg_probes(lead))
		trace_coll_message(g->id, lead->note.source, lead->note.dest, lead->note.tag,
				   lead->bytes, lead->result);
	spin_lock(&g->lock);
	if (lead->from)
		done[0] = coll_msg_over(g, lead->from, lead->result);
	done[1] = coll_msg_over(g, lead, lead->result);
	spin_unlock(&g->lock);
	coll_exchange_done(done[0]);
	coll_exchange_done(done[1]);
}

void coll_group_memory(struct coll_group *g, int err)
{
	struct coll_cause cause;

	coll_group_cause(g, &cause, COLL_CAUSE_MEMORY, -err, COLL_RANK_NONE, 0);
	cause.node = g->node;
	coll_group_fail(g, &cause);
}

void coll_msg_failed(struct coll_msg *msg, int err)
{
	if (err != -ESRCH)
		coll_group_memory(msg->x->g, err);
}
