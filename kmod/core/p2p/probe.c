// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: is there a message for this rank, and what is it?
 *
 * A probe that finds an offer at once needs no exchange. A probe that has to wait is a receiving
 * end like that of a receive. So a deadline, a cancel, the failure of the group and the leaving
 * of ranks end it in the same way. It is over as soon as an offer fits it.
 *
 * A matched probe takes the offer out of matching. The mailbox of the rank then holds the offer
 * by its order, which no other note of that mailbox ever has. The sender's end stays as it is,
 * but cannot be cancelled: it is in state COLL_MSG_HELD, or, on another node, no longer among
 * peer->offers. Held offers are dropped with the others when the rank leaves, or the group
 * fails.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../group/account.h"
#include "../group/group.h"
#include "../group/link.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "../limits.h"
#include "../worker.h"
#include "exchange.h"
#include "mailbox.h"
#include "peer.h"
#include "probe.h"
#include "ranks.h"
#include "state.h"

/* Largest number of probes that are completed each time group->lock is taken. */
#define COLL_PROBE_SLICE	64

/* Under group->lock. */
static void coll_probe_hold_locked(struct coll_group *g, struct coll_mailbox *box,
				   struct coll_note *n)
{
	lockdep_assert_held(&g->lock);
	if (n->msg) {
		coll_note_take(n);
		n->msg->state = COLL_MSG_HELD;
	} else {
		coll_msg_take_offer(g, n);
	}
	coll_match_put_held(box, n);
}

/* Tell the probe about the offer; a matched probe takes the offer. Under group->lock. */
static void coll_probe_take_locked(struct coll_group *g, struct coll_req *req, struct coll_note *n)
{
	lockdep_assert_held(&g->lock);
	coll_msg_tell(req, n);
	if (req->cmd.collective != COLL_MPROBE)
		return;
	coll_probe_hold_locked(g, &g->msgs->boxes[req->member->local], n);
	req->got.id = n->order;
}

void coll_probe_found(struct coll_group *g, struct coll_msg *p, struct coll_note *n,
		      struct list_head *ending)
{
	lockdep_assert_held(&g->lock);
	/* Also if the probe is ending already: it must not be found a second time. */
	coll_note_take(&p->note);
	coll_probe_take_locked(g, p->x->req, n);
	coll_msg_give_up(p, 0, ending);
}

void coll_probe_remember(const struct coll_note *n, struct coll_note *kept)
{
	lockdep_assert_held(&n->box->group->lock);
	kept->source = n->source;
	kept->dest = n->dest;
	kept->tag = n->tag;
	kept->dtype = n->dtype;
	kept->bytes = n->bytes;
	kept->order = n->order;
}

/*
 * Complete a slice of probes. A receive may have taken the offer meanwhile. Probes that are older
 * than the offer are told about it nevertheless. Younger probes have looked at the mailbox when
 * they were posted. Return: may there be more?
 */
static bool coll_probes_slice_locked(struct coll_group *g, const struct coll_note *kept,
				     struct list_head *ending)
{
	struct coll_mailbox *box = &g->msgs->boxes[coll_msg_local(g, kept->dest)];
	struct coll_note *n;
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < COLL_PROBE_SLICE; i++) {
		n = coll_match_probe(box, kept);
		if (!n || n->order > kept->order)
			return false;
		coll_note_take(n);
		coll_msg_tell(n->msg->x->req, kept);
		coll_msg_give_up(n->msg, 0, ending);
	}
	return true;
}

/* Return: true: the time is over, and there may be more probes. */
static bool coll_probes_run(struct coll_group *g, const struct coll_note *kept)
{
	unsigned long end = jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1;
	bool more = true;

	while (more && !time_after(jiffies, end)) {
		LIST_HEAD(ending);

		spin_lock(&g->lock);
		more = coll_probes_slice_locked(g, kept, &ending);
		spin_unlock(&g->lock);
		coll_msgs_finish(&ending);
		cond_resched();
	}
	return more;
}

/**
 * struct coll_probes - probes that a work item goes on to complete
 * @work: on the queue of the user; frees this
 * @g: group, referenced
 * @kept: the offer, as of coll_probe_remember()
 */
struct coll_probes {
	struct work_struct work;
	struct coll_group *g;
	struct coll_note kept;
};

static void coll_probes_work(struct work_struct *work)
{
	struct coll_probes *p = container_of(work, struct coll_probes, work);
	struct coll_group *g = p->g;
	struct coll_worker w;
	bool more;

	coll_worker_begin(&w, g->user, &g->error);
	more = coll_probes_run(g, &p->kept);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	if (more) {
		queue_work(g->user->wq, work);
		return;
	}
	kfree(p);
	coll_group_put(g);
}

void coll_probes_tell(struct coll_group *g, const struct coll_note *kept)
{
	struct coll_probes *p;

	/* The caller may hold a connection that others need. Without memory it completes all. */
	while (kept->order && coll_probes_run(g, kept)) {
		p = kmalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
		if (!p)
			continue;
		INIT_WORK(&p->work, coll_probes_work);
		p->kept = *kept;
		p->g = g;
		coll_group_get(g);
		queue_work(g->user->wq, &p->work);
		break;
	}
}

int coll_probe_now(struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);
	const struct coll_cmd *c = &req->cmd;
	struct coll_note *n = NULL;
	int ret;

	spin_lock(&g->lock);
	ret = -g->error;
	if (!ret)
		n = coll_match_offered(&g->msgs->boxes[req->member->local], c->source,
				       c->recv_tag);
	if (n)
		coll_probe_take_locked(g, req, n);
	else if (!ret)
		ret = coll_msg_check_rank(g, c->source);
	spin_unlock(&g->lock);
	if (n) {
		coll_req_done(req, 0);
		return 1;
	}
	if (ret == -EHOSTDOWN)
		coll_msg_missed(g, c);
	if (ret || !(c->flags & COLL_CMD_NOWAIT))
		return ret;
	/* The caller may poll with such probes, and no other thread may look at the links. */
	coll_links_stir(g);
	return -ENOMSG;
}
