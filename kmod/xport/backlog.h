/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backlog of a channel: bytes at the head of a data stream that its group does not want
 * yet, while other groups wait for the bytes behind. It is a queue in kernel memory, which is
 * charged to the control group of the communicator, and bounded for its user. Its owner is the
 * work of the conn.
 */
#ifndef COLL_XPORT_BACKLOG_H
#define COLL_XPORT_BACKLOG_H

#include <linux/list.h>
#include <linux/types.h>

struct coll_early;
struct mem_cgroup;

/**
 * struct coll_backlog - a queue of bytes
 * @chunks: memory with the bytes, oldest first
 * @len: number of bytes in @chunks
 * @early: counter of the memory, in the channel's group
 * @memcg: control group that is charged; the channel's group holds a reference; may be NULL
 */
struct coll_backlog {
	struct list_head chunks;
	u64 len;
	struct coll_early *early;
	struct mem_cgroup *memcg;
};

/* An empty queue. @early and @memcg outlive it. */
void coll_backlog_init(struct coll_backlog *s, struct coll_early *early, struct mem_cgroup *memcg);

/* Drop all bytes. */
void coll_backlog_free(struct coll_backlog *s);

/**
 * coll_backlog_room() - where further bytes go
 * @s: queue
 * @least: bytes that must lie together, up to 56
 * @room: result: bytes there is room for
 *
 * May sleep. Return: the place; NULL if there is no memory, or if the user or the group has too much.
 */
void *coll_backlog_room(struct coll_backlog *s, u32 least, u32 *room);

/* @n bytes have been written to the room of coll_backlog_room(). */
void coll_backlog_added(struct coll_backlog *s, u32 n);

/**
 * coll_backlog_head() - the oldest bytes
 * @s: queue
 * @len: result: bytes that lie together; at least as many as were added at once
 *
 * Return: address of the bytes, or NULL if there are none.
 */
const void *coll_backlog_head(struct coll_backlog *s, u32 *len);

/* The oldest @n bytes have been used. */
void coll_backlog_took(struct coll_backlog *s, u32 n);

#endif /* COLL_XPORT_BACKLOG_H */
