/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links as core sees them: something that can be woken, told and closed. The transport
 * implements them: coll_ch_ops in kmod/xport/channel_link.c.
 */
#ifndef COLL_CORE_LINK_H
#define COLL_CORE_LINK_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/coll.h>
#include <linux/coll_nl.h>

struct coll_group;
struct coll_link;

/* Streams of a link. Each has its own counters. */
#define COLL_LINK_STREAMS	2

#define COLL_SEND_MODES	(COLL_NL_SEND_MODE_UBUF + 1)

/**
 * struct coll_watcher - a thread of a rank that does the work of its group's links itself
 * @wq: where the thread sleeps; woken when a link has something to do. The thread also checks
 *	coll_links_due() before it falls asleep.
 * @at: link that it works on now, as a pointer of the transport; NULL: none. Read without a lock.
 * @done: the op that the thread waits for has ended: it has to stop attending
 * @alone: the op is short: while the thread works on one link, data of another link wakes no
 *	worker
 * @nr: number of links that coll_links_watch() has tried
 * @got: number of links that the thread attends to
 *
 * Owner: the caller, from coll_links_watch() to coll_links_unwatch().
 */
struct coll_watcher {
	struct wait_queue_head *wq;
	const void *at;
	const bool *done;
	bool alone;
	u32 nr;
	u32 got;
};

/**
 * struct coll_link_stat - state and counters of one stripe, for netlink and status
 */
struct coll_link_stat {
	u32 peer;
	u32 stripe;
	u32 state;	/* enum coll_nl_link_state */
	u64 tx_bytes;
	u64 tx_frames;
	u64 rx_bytes;
	u64 rx_frames;
	u64 tx_stalls;
	u64 tx_saved;	/* bytes that were not sent, because elements had a smaller type */
	u64 tx_by[COLL_SEND_MODES];	/* of tx_bytes, by enum coll_nl_send_mode */
	u64 zerocopied;	/* bytes sent with a ubuf that the stack did not copy */
	u64 rate[COLL_SEND_MODES];	/* measured bytes per second; 0: not measured */
	u32 send_mode;	/* enum coll_nl_send_mode: how large frames are sent */
	u32 users;	/* communicators that share it; the counts above are for all */
	u64 spilled;	/* bytes of this communicator in the backlog */
};

/**
 * struct coll_link_ops - a transport
 * @kick: there may be something to send, or room to receive. Any context. If the work runs
 *	already, it will see the change: no wake-up is lost.
 * @call: as @kick, but a worker does it at once: for control frames that must not wait for a busy
 *	watcher, and for messages, which may belong to other ranks
 * @alert: as @call, for ABORT and BYE, which do not depend on the worker time that the user has
 *	spent
 * @stir: a receive or a probe waits for messages, which come without an op: look at all data.
 *	Any context.
 * @watch: until @unwatch the caller attends to the link, unless another caller does already,
 *	and @kick wakes the caller instead of a worker. Data may have to wait while a caller
 *	posts, if memory is short or a plan large. Return: whether the caller attends now.
 * @unwatch: the caller does not attend any more; a worker does the work that is left.
 * @due: has the link been kicked, and is the work left to this watcher?
 * @attend: do the work of the link in place of a worker, if there is any. Between @watch and
 *	@unwatch; waits for a worker that does it already.
 * @connected: all streams that ops need have been handed over. Any context.
 * @ready: @connected, and the handshake of each stream is complete. Any context.
 * @posted: the last op that the peer has announced (POST); 0: none. Any context.
 * @stat: fills @s for stream @i of the link, one of COLL_LINK_STREAMS.
 * @flush: by the reaper, with no op left: waits for one pass of the link's work, which
 *	sends ABORT or BYE. Sleeps.
 * @lingers: must the link stay open because the peer needs it? The time limit counts from
 *	group->reaped. @hard: unsent data may be dropped. By the reaper.
 * @close: called once, by the reaper: stops the link's work, gives the sockets back. Sleeps.
 */
struct coll_link_ops {
	void (*kick)(struct coll_link *link);
	void (*call)(struct coll_link *link);
	void (*alert)(struct coll_link *link);
	void (*stir)(struct coll_link *link);
	bool (*watch)(struct coll_link *link, struct coll_watcher *w);
	void (*unwatch)(struct coll_link *link, struct coll_watcher *w);
	bool (*due)(const struct coll_link *link, const struct coll_watcher *w);
	void (*attend)(struct coll_link *link, struct coll_watcher *w);
	bool (*connected)(const struct coll_link *link);
	bool (*ready)(const struct coll_link *link);
	u64 (*posted)(const struct coll_link *link);
	void (*stat)(const struct coll_link *link, u32 i,
		     struct coll_link_stat *s);
	void (*flush)(struct coll_link *link);
	bool (*lingers)(const struct coll_link *link, bool hard);
	void (*close)(struct coll_link *link, bool hard);
};

/**
 * struct coll_link - first part of a transport's link
 * @ops: transport
 * @group: owner; outlives the link
 * @peer: node at the other end
 * @nr: number of the link to that node, from 0. Messages and BYE use link 0.
 */
struct coll_link {
	const struct coll_link_ops *ops;
	struct coll_group *group;
	u32 peer;
	u32 nr;
};

/**
 * struct coll_transport - functions that make links
 * @add: give the group one connected stream. @fd is the caller's; the transport
 *	takes its own reference. May run several times at once. Errors as COLL_IOC_LINK.
 * @share: let the group use the link of another group, which stays while this runs, as its link
 *	@nr. May run several times at once. Errors as COLL_IOC_LINK.
 */
struct coll_transport {
	int (*add)(struct coll_group *g, u32 peer, int fd, u32 stripe);
	int (*share)(struct coll_group *g, u32 peer, u32 nr, struct coll_link *via);
};

/* Set once at load, before the device exists. */
void coll_link_set_transport(const struct coll_transport *t);

/**
 * coll_link_add() - COLL_IOC_LINK
 * @g: group, joined by the caller
 * @l: command, checked for range here
 */
int coll_link_add(struct coll_group *g, const struct coll_link_add *l);

/**
 * coll_link_share() - COLL_IOC_LINK with COLL_LINK_SHARE
 * @g: group, joined by the caller
 * @parent: group with the link, joined by the caller too; it stays while this runs
 * @l: command, checked for range here
 */
int coll_link_share(struct coll_group *g, struct coll_group *parent,
		    const struct coll_link_add *l);

/**
 * coll_group_link() - a link to a node
 * @g: group
 * @peer: node, in range
 * @nr: which, below COLL_MAX_LINKS
 *
 * Return: the link, alive as long as the group; NULL if there is none yet.
 */
struct coll_link *coll_group_link(const struct coll_group *g, u32 peer, u32 nr);

/**
 * coll_group_add_link() - a transport has made a link
 * @link: set up; the group owns it from now on, unless there is a link with this number
 *
 * Return: false if there is a link with this number.
 */
bool coll_group_add_link(struct coll_link *link);

/* Wake the first @nr links to each node. Any context. */
void coll_links_kick(struct coll_group *g, u32 nr);

/* Make workers send POST on all links. Any context. */
void coll_links_call(struct coll_group *g);

/* Make workers send ABORT or BYE on all links. Any context. */
void coll_links_alert(struct coll_group *g);

/* A receive has been posted: look for offers on link 0 to each node; no op would look there. */
void coll_links_stir(struct coll_group *g);

/**
 * coll_links_watch() - the caller is going to attend to the links of its group
 * @g: group
 * @w: of the caller, zeroed but for @w->wq, @w->done, @w->alone
 *
 * A caller that waits for an op can send and receive itself. So no worker has to be woken, the
 * work is charged to the caller, and it runs on the CPUs that the caller may use. One caller of
 * the group gets each link. Groups with very many links leave them to workers.
 */
void coll_links_watch(struct coll_group *g, struct coll_watcher *w);

/* Is there work for coll_links_attend() now? */
bool coll_links_due(struct coll_group *g, const struct coll_watcher *w);

/* Do the work of each link once, or until the op is over. Sleeps. */
void coll_links_attend(struct coll_group *g, struct coll_watcher *w);

/* Leave the links to the workers again. */
void coll_links_unwatch(struct coll_group *g, struct coll_watcher *w);

/**
 * coll_links_count() - count the links of a group
 * @g: group
 * @ready: result: links that are ready
 *
 * Return: number of links for which a stream has been handed over, or was refused.
 */
u32 coll_links_count(struct coll_group *g, u32 *ready);

/* Can an op use this link to this node? */
bool coll_link_usable(const struct coll_group *g, u32 peer, u32 nr);

#endif /* COLL_CORE_LINK_H */
