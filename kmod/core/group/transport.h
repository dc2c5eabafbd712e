/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that a transport (kmod/xport) may ask of a group. It includes this, and not group.h: how
 * a group is made, and what its lock protects, is no matter of links. What it may do to a
 * group is in failure.h, leave.h and link.h.
 */
#ifndef COLL_CORE_TRANSPORT_H
#define COLL_CORE_TRANSPORT_H

#include <linux/types.h>
#include <linux/coll.h>

struct coll_early;
struct coll_group;
struct coll_user;
struct mem_cgroup;

/**
 * struct coll_group_facts - what does not change while there are links
 * @id: number for traces
 * @key: of the communicator
 * @epoch: incarnation
 * @size: ranks
 * @nr_nodes: nodes
 * @nr_local: ranks of this node
 * @node: number of this node
 * @user: who pays for work and sockets; lives as long as the group
 * @memcg: what memory is charged to; lives as long as the group
 * @early: counts memory for what comes early; lives as long as the group
 */
struct coll_group_facts {
	u32 id;
	u8 key[COLL_KEY_SIZE];
	u64 epoch;
	u32 size;
	u32 nr_nodes;
	u32 nr_local;
	u32 node;
	struct coll_user *user;
	struct mem_cgroup *memcg;
	struct coll_early *early;
};

void coll_group_facts(struct coll_group *g, struct coll_group_facts *f);

/* Ranks of node @node. */
u32 coll_group_ranks_of(const struct coll_group *g, u32 node);

/* Is there a rank @rank, whatever a peer says, and is it on node @node? */
bool coll_group_is_on(const struct coll_group *g, u32 rank, u32 node);

/* Return: 0, or the positive errno with which the communicator has failed. Any context. */
int coll_group_error(const struct coll_group *g);

/* The first cause of that, or all zero. */
void coll_group_first_cause(struct coll_group *g, struct coll_cause *cause);

/* Will the communicator fail before op @seq can end? */
bool coll_group_will_fail(struct coll_group *g, u64 seq);

/* Does no op run? A racy look: an op that starts kicks the links. */
bool coll_group_is_idle(const struct coll_group *g);

/* The last op that has ended, and all before it have. */
u64 coll_group_ended(const struct coll_group *g);

/* The op that is at its turn: the one after that, if it runs. */
u64 coll_group_now(const struct coll_group *g);

/* The op that the peers are to be told of, because it takes long; 0: none. Any context. */
u64 coll_group_announced(const struct coll_group *g);

/* The same, with its signature. */
u64 coll_group_announcement(struct coll_group *g, u64 *signature);

/**
 * coll_group_goodbye() - a rank of this node that has left
 * @g: group
 * @i: which, in the order in which they have left
 * @rank: result
 * @seq: result: its last op
 *
 * Return: false if so many ranks have not left.
 */
bool coll_group_goodbye(struct coll_group *g, u32 i, u32 *rank, u64 *seq);

/* Has it named collectives? */
bool coll_group_has_tensors(const struct coll_group *g);

/* Jiffies when the last reference went: closing links counts from there. By the reaper. */
unsigned long coll_group_reaped(const struct coll_group *g);

#endif /* COLL_CORE_TRANSPORT_H */
