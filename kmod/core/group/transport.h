/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All functions by which a transport (kmod/xport) reads the state of a group. A transport includes
 * this file, and not group.h: it must not depend on the fields of a group or on its lock. The
 * functions by which it changes a group are in failure.h, leave.h and link.h.
 */
#ifndef COLL_CORE_TRANSPORT_H
#define COLL_CORE_TRANSPORT_H

#include <linux/types.h>
#include <linux/coll.h>

struct coll_bye;
struct coll_early;
struct coll_group;
struct coll_user;
struct mem_cgroup;

/**
 * struct coll_group_facts - facts about a group that do not change while there are links
 * @id: number for traces
 * @key: of the communicator
 * @epoch: incarnation
 * @size: ranks
 * @nr_nodes: nodes
 * @nr_local: ranks of this node
 * @node: number of this node
 * @map: digest of the nodes of all ranks, for HELLO
 * @user: user to whom work and sockets are charged; lives as long as the group
 * @memcg: control group to which memory is charged; lives as long as the group
 * @early: bytes of frames and offers that came early; lives as long as the group
 */
struct coll_group_facts {
	u32 id;
	u8 key[COLL_KEY_SIZE];
	u64 epoch;
	u32 size;
	u32 nr_nodes;
	u32 nr_local;
	u32 node;
	u32 map;
	struct coll_user *user;
	struct mem_cgroup *memcg;
	struct coll_early *early;
};

void coll_group_facts(struct coll_group *g, struct coll_group_facts *f);

/* Number of ranks on node @node. */
u32 coll_group_ranks_of(const struct coll_group *g, u32 node);

/* Is @rank, a number from a peer, a rank of the group, and is it on node @node? */
bool coll_group_is_on(const struct coll_group *g, u32 rank, u32 node);

/* Return: 0, or the positive errno with which the communicator has failed. Any context. */
int coll_group_error(const struct coll_group *g);

/*
 * The cause of this error for an ABORT. If its kind is CLOSE, this node has ended all ops before
 * cause->seq, and peers may still end them.
 */
void coll_group_cause_for_peers(struct coll_group *g, struct coll_cause *cause);

/* Will the communicator fail before op @seq can end? */
bool coll_group_will_fail(struct coll_group *g, u64 seq);

/* Does no op run? A racy check: an op that starts kicks the links. */
bool coll_group_is_idle(const struct coll_group *g);

/* The last op that has ended; ops end in order. */
u64 coll_group_ended(const struct coll_group *g);

/* The op after the last ended one if it runs, else the last ended one. */
u64 coll_group_now(const struct coll_group *g);

/* The op that is announced to the peers because it takes long; 0: none. Any context. */
u64 coll_group_announced(const struct coll_group *g);

/* The same op, and its signature. */
u64 coll_group_announcement(struct coll_group *g, u64 *signature);

/**
 * coll_group_goodbye() - a rank of this node that has left
 * @g: group
 * @i: index, in the order in which ranks have left
 * @b: result: what its BYE says
 *
 * Return: false if fewer than @i + 1 ranks have left.
 */
bool coll_group_goodbye(struct coll_group *g, u32 i, struct coll_bye *b);

/* Does the group have named collectives? */
bool coll_group_has_tensors(const struct coll_group *g);

/* Jiffies when the last reference was dropped: limits for closing links count from it. Reaper. */
unsigned long coll_group_reaped(const struct coll_group *g);

#endif /* COLL_CORE_TRANSPORT_H */
