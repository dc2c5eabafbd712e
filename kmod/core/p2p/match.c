// SPDX-License-Identifier: GPL-2.0
/* A send and a receive find each other. */
#include <linux/lockdep.h>

#include "../group/group.h"
#include "../group/member.h"
#include "exchange.h"
#include "mailbox.h"
#include "match.h"
#include "peer.h"
#include "probe.h"
#include "ranks.h"
#include "state.h"

static int coll_note_refused(const struct coll_note *wanted, const struct coll_note *offer)
{
	if (offer->bytes > wanted->bytes)
		return -EMSGSIZE;
	if (offer->dtype != wanted->dtype && offer->dtype != COLL_BYTE &&
	    wanted->dtype != COLL_BYTE)
		return -EBADE;
	return 0;
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
	/* The receive may be ending, because the group has failed. */
	return coll_msg_tryget(r) ? r : NULL;
}

struct coll_msg *coll_msg_offer(struct coll_group *g, struct coll_note *n,
				struct list_head *ending, struct coll_note *kept)
{
	struct coll_mailbox *box = &g->msgs->boxes[coll_msg_local(g, n->dest)];
	struct coll_note *wanted;

	lockdep_assert_held(&g->lock);
	wanted = coll_match_receive(box, n);
	if (wanted && coll_msg_probes(wanted->msg)) {
		coll_probe_found(g, wanted->msg, n, ending);
		return NULL;
	}
	if (wanted)
		return coll_msg_match(g, wanted->msg, n);
	coll_match_put_offer(box, n);
	if (!n->msg)
		coll_msg_keep_offer(g, n);
	if (coll_match_probe(box, n))
		coll_probe_remember(n, kept);
	return NULL;
}

struct coll_msg *coll_msg_want(struct coll_group *g, struct coll_msg *r,
			       struct list_head *ending)
{
	const struct coll_req *req = r->x->req;
	struct coll_mailbox *box = &g->msgs->boxes[req->member->local];
	struct coll_note *n;

	lockdep_assert_held(&g->lock);
	n = req->cmd.collective == COLL_MRECV ? coll_match_held(box, req->cmd.matched) :
	    coll_match_offered(box, r->note.source, r->note.tag);
	if (n && coll_msg_probes(r))
		coll_probe_found(g, r, n, ending);
	else if (n)
		return coll_msg_match(g, r, n);
	else if (req->cmd.collective == COLL_PROBE)
		coll_match_put_probe(box, &r->note);
	else
		coll_match_put_wanted(box, &r->note);
	return NULL;
}
