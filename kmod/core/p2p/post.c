// SPDX-License-Identifier: GPL-2.0
/* Posting of messages. */
#include <linux/lockdep.h>

#include "../group/group.h"
#include "../group/link.h"
#include "../group/member.h"
#include "copy.h"
#include "exchange.h"
#include "handles.h"
#include "mailbox.h"
#include "match.h"
#include "messages.h"
#include "peer.h"
#include "post.h"
#include "probe.h"
#include "ranks.h"
#include "state.h"

/*
 * All others have left, or a node has failed. Can a receive from any rank take a message that has
 * been offered, or that its rank sends to itself with the same command?
 */
static bool coll_recv_has_offer_locked(const struct coll_group *g, const struct coll_msg *msg)
{
	const struct coll_msg *send = &msg->x->send;
	const struct coll_req *req = msg->x->req;

	lockdep_assert_held(&g->lock);
	if (msg->send || msg->note.source != COLL_RANK_ANY)
		return false;
	if (coll_match_offered(&g->msgs->boxes[req->member->local], COLL_RANK_ANY, msg->note.tag))
		return true;
	return send->state == COLL_MSG_POSTED && send->note.dest == req->member->rank &&
	       (msg->note.tag == COLL_TAG_ANY || msg->note.tag == send->note.tag);
}

/* Can the message that a matched probe has taken be received? */
static int coll_msg_check_held_locked(const struct coll_group *g, const struct coll_req *req)
{
	const struct coll_note *n;

	lockdep_assert_held(&g->lock);
	n = coll_match_held(&g->msgs->boxes[req->member->local], req->cmd.matched);
	if (!n)
		return -ENOENT;
	/* The bytes are still in the memory of the sender. */
	return !n->msg && test_bit(n->node, g->msgs->down) ? -EHOSTDOWN : 0;
}

/* Can there ever be a partner for this end? */
static int coll_msg_check_partner_locked(const struct coll_group *g, const struct coll_msg *msg)
{
	const struct coll_req *req = msg->x->req;
	int ret;

	lockdep_assert_held(&g->lock);
	if (msg->state == COLL_MSG_NONE)
		return 0;
	if (req->cmd.collective == COLL_MRECV)
		return coll_msg_check_held_locked(g, req);
	ret = coll_msg_check_rank(g, coll_msg_partner(msg));
	return ret && coll_recv_has_offer_locked(g, msg) ? 0 : ret;
}

/* May @x be posted? Under group->lock. */
static int coll_exchange_admit_locked(const struct coll_group *g, struct coll_exchange *x)
{
	int ret;

	lockdep_assert_held(&g->lock);
	if (g->error)
		return -g->error;
	ret = coll_msg_check_partner_locked(g, &x->recv);
	ret = ret ?: coll_msg_check_partner_locked(g, &x->send);
	return ret ?: coll_req_count(x->req);
}

/*
 * Under group->lock. The receive comes first: a rank may exchange with itself.
 * @lead: result: leads to begin
 * @ending: result: probes that have found what they look for
 * @kept: result: as of coll_msg_offer()
 */
static void coll_exchange_start_locked(struct coll_group *g, struct coll_exchange *x,
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

/* The partner is COLL_RANK_NULL: there is nothing to wait for. */
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
	ret = coll_exchange_admit_locked(g, x);
	if (!ret && !none)
		coll_exchange_start_locked(g, x, lead, &ending, &kept);
	spin_unlock(&g->lock);
	coll_msgs_finish(&ending);
	coll_probes_tell(g, &kept);
	if (ret || none) {
		if (ret == -EHOSTDOWN)
			coll_msg_missed(g, &req->cmd);
		if (!ret)
			coll_req_done(req, 0);
		else
			coll_req_uncount(req);
		coll_exchange_put(x);
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
	coll_exchange_put(x);
	return ret;
}
