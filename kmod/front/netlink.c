// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include <linux/coll_nl.h>

#include "../compat.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/group/shm.h"
#include "../core/op/status.h"
#include "../core/plan/select.h"
#include "../core/tensor/stall.h"
#include "../core/tensor/tensor_fuse.h"
#include "netlink.h"

static struct genl_family coll_nl_family;

/**
 * struct coll_nl_dump - one pass over the groups for one message buffer
 * @skb: the message
 * @cb: the dump. Its position: args[0] is the serial of a group, earlier groups are done. The
 *	first args[1] places of that group are done, too; or, of stalls, args[1] and args[2] are
 *	the next tensor and the place in it. Groups from serial args[3] on, and, of stalls, tensors
 *	from args[4] on have begun after the dump. They are not shown: a user could make the dump
 *	endless
 * @fn: writes the objects of a group
 * @index: places of the group passed so far, in this pass
 * @asked: @admin is set
 * @admin: the reader may administer the machine
 */
struct coll_nl_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	int (*fn)(struct coll_group *g, struct coll_nl_dump *d);
	long index;
	bool asked;
	bool admin;
};

/* A reader without CAP_NET_ADMIN sees only communicators of its own user. */
static bool coll_nl_may_see(const struct coll_group *g, struct coll_nl_dump *d)
{
	if (uid_eq(g->uid, NETLINK_CREDS(d->cb->skb)->uid))
		return true;
	/* Check this once, not for each of thousands of groups. */
	if (!d->asked)
		d->admin = netlink_capable(d->cb->skb, CAP_NET_ADMIN);
	d->asked = true;
	return d->admin;
}

/* Has the next object been sent already? Then skip it, before its values are read. */
static bool coll_nl_skip(struct coll_nl_dump *d)
{
	if (d->index >= d->cb->args[1])
		return false;
	d->index++;
	return true;
}

/* Empty places count, too: they may not have been empty when an earlier message was written. */
static void coll_nl_pass(struct coll_nl_dump *d, u32 nr)
{
	for (; nr; nr--) {
		if (coll_nl_skip(d))
			continue;
		d->index++;
		d->cb->args[1]++;
	}
}

/* Begin the next object. NULL: the message is *@full, or the object has been sent already. */
static void *coll_nl_begin(struct coll_nl_dump *d, u8 cmd, bool *full)
{
	void *hdr;

	*full = false;
	if (coll_nl_skip(d))
		return NULL;
	d->index++;
	hdr = genlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid,
			  d->cb->nlh->nlmsg_seq, &coll_nl_family, NLM_F_MULTI,
			  cmd);
	*full = !hdr;
	return hdr;
}

static int coll_nl_end(struct coll_nl_dump *d, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(d->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(d->skb, hdr);
	d->cb->args[1]++;
	return 0;
}

static int coll_nl_put_cause(struct sk_buff *skb, const struct coll_cause *c)
{
	return nla_put_u32(skb, COLL_NL_GROUP_CAUSE_KIND, c->kind) ||
	       nla_put_u32(skb, COLL_NL_GROUP_CAUSE_RANK, c->rank) ||
	       nla_put_u32(skb, COLL_NL_GROUP_CAUSE_NODE, c->node) ||
	       nla_put_u32(skb, COLL_NL_GROUP_CAUSE_PID, c->pid) ||
	       nla_put_u32(skb, COLL_NL_GROUP_CAUSE_SIGNAL, c->signal) ||
	       nla_put_u32(skb, COLL_NL_GROUP_CAUSE_CODE, c->code) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_CAUSE_SEQ, c->seq,
				 COLL_NL_GROUP_PAD) ||
	       nla_put_string(skb, COLL_NL_GROUP_CAUSE_HOST, c->host);
}

static int coll_nl_put_tensors(struct sk_buff *skb, struct coll_group *g)
{
	struct coll_tensor_counts n;

	coll_tensors_count(g, &n);
	return nla_put_u64_64bit(skb, COLL_NL_GROUP_STALL_LOOKS, coll_stall_looks(g),
				 COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_FUSED, n.fused, COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_FUSIONS, n.fusions, COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_COPIED, n.copied, COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_EARLY, n.early, COLL_NL_GROUP_PAD);
}

static int coll_nl_put_group(struct sk_buff *skb, struct coll_group *g,
			     struct user_namespace *reader)
{
	struct coll_cause cause;
	u64 started, ended, well, bytes;
	u32 joined, links, stripes;

	coll_links_count(g, &links);
	spin_lock(&g->lock);
	cause = g->cause;
	started = g->started;
	ended = g->ended;
	well = g->ended_well;
	bytes = g->bytes;
	joined = g->nr_joined;
	stripes = g->stripes.links;
	spin_unlock(&g->lock);

	return nla_put_u32(skb, COLL_NL_GROUP_ID, g->id) ||
	       nla_put_u32(skb, COLL_NL_GROUP_NODE, g->node) ||
	       nla_put_u32(skb, COLL_NL_GROUP_SIZE, g->size) ||
	       nla_put_u32(skb, COLL_NL_GROUP_NR_NODES, g->nr_nodes) ||
	       nla_put_u32(skb, COLL_NL_GROUP_NR_LOCAL, g->nr_local) ||
	       nla_put_u32(skb, COLL_NL_GROUP_NR_JOINED, joined) ||
	       nla_put_u32(skb, COLL_NL_GROUP_NR_LINKS, links) ||
	       nla_put_u32(skb, COLL_NL_GROUP_UID,
			   from_kuid_munged(reader, g->uid)) ||
	       nla_put_u32(skb, COLL_NL_GROUP_EPOCH, g->epoch) ||
	       nla_put_u32(skb, COLL_NL_GROUP_STATE, coll_group_state(g)) ||
	       nla_put_u32(skb, COLL_NL_GROUP_ERROR, cause.error) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_SEQ_STARTED, started,
				 COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_SEQ_DONE, ended,
				 COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_OPS, well,
				 COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_BYTES, bytes,
				 COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_WORK_NS,
				 atomic64_read(&g->work_ns), COLL_NL_GROUP_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_GROUP_CALL_NS,
				 atomic64_read(&g->call_ns), COLL_NL_GROUP_PAD) ||
	       nla_put_u32(skb, COLL_NL_GROUP_STRIPES, stripes) ||
	       (g->tensors && coll_nl_put_tensors(skb, g)) ||
	       (cause.error && coll_nl_put_cause(skb, &cause));
}

static int coll_nl_group(struct coll_group *g, struct coll_nl_dump *d)
{
	bool full;
	void *hdr;

	hdr = coll_nl_begin(d, COLL_NL_CMD_GROUP_GET, &full);
	if (!hdr)
		return full ? -EMSGSIZE : 0;
	return coll_nl_end(d, hdr,
			   coll_nl_put_group(d->skb, g,
				sk_user_ns(NETLINK_CB(d->cb->skb).sk)));
}

static u64 coll_nl_shm_ops(struct coll_group *g, const struct coll_member *m)
{
	u64 ops;

	spin_lock(&g->lock);
	ops = coll_shm_ops(m);
	spin_unlock(&g->lock);
	return ops;
}

static int coll_nl_put_member(struct sk_buff *skb, struct coll_group *g,
			      const struct coll_member *m)
{
	return nla_put_u32(skb, COLL_NL_MEMBER_GROUP, g->id) ||
	       nla_put_u32(skb, COLL_NL_MEMBER_RANK, m->rank) ||
	       nla_put_u32(skb, COLL_NL_MEMBER_PID, m->tgid) ||
	       nla_put_u64_64bit(skb, COLL_NL_MEMBER_POSTED, m->posted,
				 COLL_NL_MEMBER_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_MEMBER_COMPLETED, m->completed,
				 COLL_NL_MEMBER_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_MEMBER_PINNED, m->pinned,
				 COLL_NL_MEMBER_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_MEMBER_BYTES, m->bytes,
				 COLL_NL_MEMBER_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_MEMBER_CALL_NS,
				 atomic64_read(&m->call_ns), COLL_NL_MEMBER_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_MEMBER_SHM_OPS, coll_nl_shm_ops(g, m),
				 COLL_NL_MEMBER_PAD);
}

static int coll_nl_members(struct coll_group *g, struct coll_nl_dump *d)
{
	int ret = 0;
	bool full;
	void *hdr;
	u32 i;

	/* coll_groups_for_each() is told that members must stay. */
	for (i = 0; i < g->nr_local && !ret; i++) {
		if (!g->members[i]) {
			coll_nl_pass(d, 1);
			continue;
		}
		hdr = coll_nl_begin(d, COLL_NL_CMD_MEMBER_GET, &full);
		if (!hdr) {
			ret = full ? -EMSGSIZE : 0;
			continue;
		}
		ret = coll_nl_end(d, hdr,
				  coll_nl_put_member(d->skb, g, g->members[i]));
	}
	return ret;
}

/* How bytes were sent. */
static int coll_nl_put_sent(struct sk_buff *skb, const struct coll_link_stat *s)
{
	return nla_put_u32(skb, COLL_NL_LINK_SEND_MODE, s->send_mode) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_COPIED,
				 s->tx_by[COLL_NL_SEND_MODE_COPY], COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_SPLICED,
				 s->tx_by[COLL_NL_SEND_MODE_SPLICE], COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_UBUF,
				 s->tx_by[COLL_NL_SEND_MODE_UBUF], COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_ZEROCOPY, s->zerocopied,
				 COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_RATE_COPY,
				 s->rate[COLL_NL_SEND_MODE_COPY], COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_RATE_SPLICE,
				 s->rate[COLL_NL_SEND_MODE_SPLICE], COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_RATE_UBUF,
				 s->rate[COLL_NL_SEND_MODE_UBUF], COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_SAVED, s->tx_saved, COLL_NL_LINK_PAD);
}

static int coll_nl_put_link(struct sk_buff *skb, struct coll_group *g,
			    const struct coll_link_stat *s)
{
	return nla_put_u32(skb, COLL_NL_LINK_GROUP, g->id) ||
	       nla_put_u32(skb, COLL_NL_LINK_PEER, s->peer) ||
	       nla_put_u32(skb, COLL_NL_LINK_STRIPE, s->stripe) ||
	       nla_put_u32(skb, COLL_NL_LINK_STATE, s->state) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_BYTES, s->tx_bytes,
				 COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_FRAMES, s->tx_frames,
				 COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_RX_BYTES, s->rx_bytes,
				 COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_RX_FRAMES, s->rx_frames,
				 COLL_NL_LINK_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_TX_STALLS, s->tx_stalls,
				 COLL_NL_LINK_PAD) ||
	       nla_put_u32(skb, COLL_NL_LINK_USERS, s->users) ||
	       nla_put_u64_64bit(skb, COLL_NL_LINK_SPILLED, s->spilled,
				 COLL_NL_LINK_PAD) ||
	       coll_nl_put_sent(skb, s);
}

static int coll_nl_link(struct coll_group *g, struct coll_nl_dump *d,
			const struct coll_link *link)
{
	struct coll_link_stat s;
	bool full;
	void *hdr;
	int ret = 0;
	u32 i;

	for (i = 0; i < COLL_LINK_STREAMS && !ret; i++) {
		if (coll_nl_skip(d))
			continue;
		link->ops->stat(link, i, &s);
		hdr = coll_nl_begin(d, COLL_NL_CMD_LINK_GET, &full);
		if (hdr)
			ret = coll_nl_end(d, hdr, coll_nl_put_link(d->skb, g, &s));
		else if (full)
			ret = -EMSGSIZE;
	}
	return ret;
}

static int coll_nl_links(struct coll_group *g, struct coll_nl_dump *d)
{
	u32 i, end = READ_ONCE(g->nr_links) * g->nr_nodes;
	int ret = 0;

	/* In an order that does not change when links are added. */
	for (i = 0; i < end && !ret; i++) {
		const struct coll_link *link =
			coll_group_link(g, i % g->nr_nodes, i / g->nr_nodes);

		if (link)
			ret = coll_nl_link(g, d, link);
		else
			coll_nl_pass(d, COLL_LINK_STREAMS);
		cond_resched();
	}
	return ret;
}

static int coll_nl_put_row(struct sk_buff *skb, struct coll_group *g, u32 collective,
			   const struct coll_select_row *row, u32 source)
{
	return nla_put_u32(skb, COLL_NL_SELECT_GROUP, g->id) ||
	       nla_put_u32(skb, COLL_NL_SELECT_COLLECTIVE, collective) ||
	       nla_put_u64_64bit(skb, COLL_NL_SELECT_BYTES, row->bytes,
				 COLL_NL_SELECT_PAD) ||
	       nla_put_u32(skb, COLL_NL_SELECT_ALGORITHM, row->algorithm) ||
	       nla_put_u32(skb, COLL_NL_SELECT_SEGMENT, row->segment) ||
	       nla_put_u32(skb, COLL_NL_SELECT_SOURCE, source);
}

static int coll_nl_table(struct coll_group *g, struct coll_nl_dump *d, u32 collective)
{
	struct coll_select_row row;
	u32 i, source;
	int ret = 0;
	bool full;
	void *hdr;

	for (i = 0; !ret && coll_select_row_at(g, collective, i, &row, &source); i++) {
		hdr = coll_nl_begin(d, COLL_NL_CMD_SELECT_GET, &full);
		if (hdr)
			ret = coll_nl_end(d, hdr,
					  coll_nl_put_row(d->skb, g, collective, &row,
							  source));
		else if (full)
			ret = -EMSGSIZE;
	}
	return ret;
}

static int coll_nl_select(struct coll_group *g, struct coll_nl_dump *d)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < COLL_NR_COLLECTIVES && !ret; i++)
		ret = coll_nl_table(g, d, i);
	return ret;
}

static int coll_nl_put_stall(struct sk_buff *skb, const struct coll_group *g,
			     const struct coll_stall *s, const struct coll_stall_rank *r)
{
	return nla_put_u32(skb, COLL_NL_STALL_GROUP, g->id) ||
	       nla_put(skb, COLL_NL_STALL_NAME, s->name_len, s->name) ||
	       nla_put_u64_64bit(skb, COLL_NL_STALL_SERIAL, s->serial, COLL_NL_STALL_PAD) ||
	       nla_put_u64_64bit(skb, COLL_NL_STALL_AGE_NS, s->age_ns, COLL_NL_STALL_PAD) ||
	       nla_put_u32(skb, COLL_NL_STALL_STATE, r->state) ||
	       (r->rank != COLL_RANK_NONE && nla_put_u32(skb, COLL_NL_STALL_RANK, r->rank)) ||
	       (r->node != COLL_RANK_NONE && nla_put_u32(skb, COLL_NL_STALL_NODE, r->node)) ||
	       nla_put_u32(skb, COLL_NL_STALL_PID, r->pid) ||
	       nla_put_u32(skb, COLL_NL_STALL_KNOWN, r->known);
}

static int coll_nl_stall(struct coll_nl_dump *d, struct coll_group *g,
			 const struct coll_stall *s, const struct coll_stall_rank *r)
{
	void *hdr = genlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid, d->cb->nlh->nlmsg_seq,
				&coll_nl_family, NLM_F_MULTI, COLL_NL_CMD_STALL_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (coll_nl_put_stall(d->skb, g, s, r)) {
		genlmsg_cancel(d->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(d->skb, hdr);
	return 0;
}

static int coll_nl_stalls(struct coll_group *g, struct coll_nl_dump *d)
{
	long *args = d->cb->args;
	struct coll_stall_cursor at = { args[1], args[2], args[4] };
	struct coll_stall_rank r;
	struct coll_stall s;
	int ret;

	while (coll_stall_next(g, &at, &s, &r)) {
		args[4] = at.end;
		ret = coll_nl_stall(d, g, &s, &r);
		if (ret)
			return ret;
		args[1] = at.serial;
		args[2] = at.place;
	}
	return 0;
}

static void coll_nl_seek(struct netlink_callback *cb, u64 serial)
{
	cb->args[0] = serial;
	cb->args[1] = 0;
	cb->args[2] = 0;
	cb->args[4] = 0;
}

static int coll_nl_visit(struct coll_group *g, void *arg)
{
	struct coll_nl_dump *d = arg;
	int ret;

	if (!coll_nl_may_see(g, d))
		return 0;
	/* The group of the last message may have gone: this is a later one then. */
	if (g->serial != d->cb->args[0])
		coll_nl_seek(d->cb, g->serial);
	d->index = 0;
	ret = d->fn(g, d);
	if (!ret)
		coll_nl_seek(d->cb, g->serial + 1);
	return ret;
}

/*
 * A full message is not an error: the netlink core calls again for the rest. No lock is held for
 * longer than one group takes: one user may have thousands, and others join meanwhile.
 */
static int coll_nl_run(struct sk_buff *skb, struct netlink_callback *cb, bool locked,
		       int (*fn)(struct coll_group *g, struct coll_nl_dump *d))
{
	struct coll_nl_dump d = { .skb = skb, .cb = cb, .fn = fn };
	int ret;

	if (!cb->args[3])
		cb->args[3] = coll_groups_end();
	ret = coll_groups_for_each(cb->args[0], cb->args[3], locked, coll_nl_visit, &d);

	return ret && !skb->len ? ret : skb->len;
}

static int coll_nl_dump_groups(struct sk_buff *skb, struct netlink_callback *cb)
{
	return coll_nl_run(skb, cb, true, coll_nl_group);
}

static int coll_nl_dump_members(struct sk_buff *skb, struct netlink_callback *cb)
{
	return coll_nl_run(skb, cb, true, coll_nl_members);
}

static int coll_nl_dump_links(struct sk_buff *skb, struct netlink_callback *cb)
{
	/*
	 * The dump has a reference to the group, which keeps its links. Do not hold
	 * coll_groups_lock: there may be many links.
	 */
	return coll_nl_run(skb, cb, false, coll_nl_links);
}

static int coll_nl_dump_select(struct sk_buff *skb, struct netlink_callback *cb)
{
	return coll_nl_run(skb, cb, true, coll_nl_select);
}

static int coll_nl_dump_stalls(struct sk_buff *skb, struct netlink_callback *cb)
{
	return coll_nl_run(skb, cb, true, coll_nl_stalls);
}

static void coll_nl_tell_stall(struct coll_group *g, const struct coll_stall *s,
			       const struct coll_stall_rank *r)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *hdr;

	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &coll_nl_family, 0, COLL_NL_CMD_STALL_NTF);
	if (!hdr || coll_nl_put_stall(skb, g, s, r)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast(&coll_nl_family, skb, 0, 0, GFP_KERNEL);
}

/* An event may be lost for lack of memory: the dump has the same information. */
static void coll_nl_stalled(struct coll_group *g, const struct coll_stall *s,
			    const struct coll_stall_rank *ranks, u32 nr)
{
	u32 i;

	if (!genl_has_listeners(&coll_nl_family, &init_net, 0))
		return;
	for (i = 0; i < nr; i++)
		coll_nl_tell_stall(g, s, &ranks[i]);
}

/* Only for administrators: events show tensors of all users. */
static const struct genl_multicast_group coll_nl_mcgrps[] = {
	{ .name = COLL_MCGRP_STALLS, .flags = COLL_MCGRP_ADMIN },
};

/* Dumps take no attributes. */
static const struct nla_policy coll_nl_policy[] = { { } };

static const struct genl_ops coll_nl_ops[] = {
	{
		.cmd	= COLL_NL_CMD_GROUP_GET,
		.dumpit	= coll_nl_dump_groups,
		.policy	= coll_nl_policy,
	},
	{
		.cmd	= COLL_NL_CMD_MEMBER_GET,
		.dumpit	= coll_nl_dump_members,
		.policy	= coll_nl_policy,
	},
	{
		.cmd	= COLL_NL_CMD_LINK_GET,
		.dumpit	= coll_nl_dump_links,
		.policy	= coll_nl_policy,
	},
	{
		.cmd	= COLL_NL_CMD_SELECT_GET,
		.dumpit	= coll_nl_dump_select,
		.policy	= coll_nl_policy,
	},
	{
		.cmd	= COLL_NL_CMD_STALL_GET,
		.dumpit	= coll_nl_dump_stalls,
		.policy	= coll_nl_policy,
	},
};

static struct genl_family coll_nl_family __ro_after_init = {
	.name		= COLL_FAMILY_NAME,
	.version	= COLL_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= coll_nl_ops,
	.n_ops		= ARRAY_SIZE(coll_nl_ops),
	.mcgrps		= coll_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(coll_nl_mcgrps),
	.resv_start_op	= __COLL_NL_CMD_MAX,
};

int coll_netlink_init(void)
{
	int ret = genl_register_family(&coll_nl_family);

	if (!ret)
		coll_stall_set_notify(coll_nl_stalled);
	return ret;
}

void coll_netlink_exit(void)
{
	genl_unregister_family(&coll_nl_family);
}
