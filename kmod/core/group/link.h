/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links as core sees them: something that can be woken, told and closed. The transport
 * (kmod/xport) implements them.
 */
#ifndef COLL_CORE_LINK_H
#define COLL_CORE_LINK_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/coll.h>
#include <linux/coll_nl.h>

struct coll_group;
struct coll_link;

/* Streams of a link, each with counters of its own. */
#define COLL_LINK_STREAMS	2

#define COLL_SEND_MODES	(COLL_NL_SEND_MODE_UBUF + 1)

/**
 * struct coll_watcher - a thread of a rank that does the work of its group's links itself
 * @wq: where it sleeps, woken when one of them has something to do. Its owner looks at
 *	coll_links_due(), too, before it falls asleep.
 * @at: link it is at, as the transport calls it; NULL: none. Read by anyone.
 * @done: what it waits for is over: it has to go
 * @alone: what it waits for is short: data of a link wakes nobody else while it is at
 *	another one
 * @nr: links it has looked at
 * @got: of these, attends to
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
 * struct coll_link_stat - for netlink and status, of one stripe
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
	u64 zerocopied;	/* of those by ubuf, how many the stack did not copy */
	u64 rate[COLL_SEND_MODES];	/* bytes per second, as measured; 0: not */
	u32 send_mode;	/* enum coll_nl_send_mode: how large frames go */
	u32 users;	/* communicators that share it; the counts above are for all */
	u64 spilled;	/* bytes of this communicator in the backlog */
};

/**
 * struct coll_link_ops - a transport
 * @kick: there may be something to send, or room to receive. Any context. If the work runs
 *	already, it will see the change: no wake-up is lost.
 * @call: the same at once, by a worker: for what is to be said however busy a watcher
 *	is, and for messages, which may be of other ranks
 * @stir: a receive or a probe waits for messages, which come without an op: look at all data.
 *	Any context.
 * @watch: until @unwatch the caller attends to the link, unless another caller does already,
 *	and @kick wakes it instead of a worker. Data may have to wait while a caller
 *	posts, where memory is short or a plan large. Return: does it?
 * @unwatch: what has been kicked and not attended to is the worker's now.
 * @due: has something been kicked that is this watcher's?
 * @attend: does what a worker would do, if there is anything. Between @watch and
 *	@unwatch; waits for a worker that is at it.
 * @connected: all streams that ops need have been handed over. Any context.
 * @ready: @connected, and the handshake of each stream is complete. Any context.
 * @posted: the last op the peer has announced, 0 for none. Any context.
 * @stat: fills @s for stream @i of the link, one of COLL_LINK_STREAMS.
 * @flush: by the reaper, with no op left: waits for one pass of the link's work, which
 *	sends ABORT or BYE. Sleeps.
 * @lingers: must the link stay open for its peer's sake? Not forever: counts from
 *	group->reaped. @hard: what is unsent need not arrive. By the reaper.
 * @close: called once, by the reaper: stops the link's work, gives the sockets back. Sleeps.
 */
struct coll_link_ops {
	void (*kick)(struct coll_link *link);
	void (*call)(struct coll_link *link);
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
 * @nr: which of the links to that node, from 0. Messages go over the first, and what it
 *	says of ranks that leave counts.
 */
struct coll_link {
	const struct coll_link_ops *ops;
	struct coll_group *group;
	u32 peer;
	u32 nr;
};

/**
 * struct coll_transport - what makes links
 * @add: give the group one connected stream. @fd is the caller's; the transport
 *	takes its own reference. Serialized by nothing. Errors as COLL_IOC_LINK.
 * @share: let the group use the link of another one, which stays while this runs, as its link
 *	@nr. Serialized by nothing. Errors as COLL_IOC_LINK.
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
 * @link: set up; its group's from now on, unless that has one of this number
 *
 * Return: false if it has.
 */
bool coll_group_add_link(struct coll_link *link);

/* Wake the first @nr links to each node. Any context. */
void coll_links_kick(struct coll_group *g, u32 nr);

/* All links have something to say: ABORT, BYE or POST; workers say it. Any context. */
void coll_links_call(struct coll_group *g);

/* A receive has been posted: look for offers of messages on all links, which no op asks for. */
void coll_links_stir(struct coll_group *g);

/**
 * coll_links_watch() - the caller is going to attend to the links of its group
 * @g: group
 * @w: of the caller, zeroed but for @w->wq, @w->done, @w->alone
 *
 * A caller that waits for an op can send and receive itself: no worker has to be woken on
 * either side, what it does is charged to it, and is done on the CPUs it may use. One caller of
 * the group gets each link. Groups with very many links leave them to workers.
 */
void coll_links_watch(struct coll_group *g, struct coll_watcher *w);

/* Is there anything coll_links_attend() could do just now? */
bool coll_links_due(struct coll_group *g, const struct coll_watcher *w);

/* Do what the links have to do, each once, until the op is over. Sleeps. */
void coll_links_attend(struct coll_group *g, struct coll_watcher *w);

/* Leave them to the workers again. */
void coll_links_unwatch(struct coll_group *g, struct coll_watcher *w);

/**
 * coll_links_count() - how far the links of a group have come
 * @g: group
 * @ready: result: links that are ready
 *
 * Return: links of which any stream has been handed over.
 */
u32 coll_links_count(struct coll_group *g, u32 *ready);

/* Can an op use this link to this node? */
bool coll_link_usable(const struct coll_group *g, u32 peer, u32 nr);

#endif /* COLL_CORE_LINK_H */
