/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes put aside: what stands at the head of a data stream, is not wanted yet,
 * and keeps others from theirs. A queue of bytes in accounted kernel memory; its
 * owner is the work of the conn.
 */
#ifndef COLL_XPORT_SPILL_H
#define COLL_XPORT_SPILL_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct coll_spill - a queue of bytes
 * @chunks: what they lie in, oldest first
 * @len: how many they are
 */
struct coll_spill {
	struct list_head chunks;
	u64 len;
};

void coll_spill_init(struct coll_spill *s);

/* Forget all of it. */
void coll_spill_free(struct coll_spill *s);

/**
 * coll_spill_room() - where further bytes go
 * @s: queue
 * @least: so many together at least; up to 56
 * @room: result: bytes there is room for
 *
 * May sleep. Return: the place, NULL without memory.
 */
void *coll_spill_room(struct coll_spill *s, u32 least, u32 *room);

/* So many bytes have been written there. */
void coll_spill_added(struct coll_spill *s, u32 n);

/**
 * coll_spill_head() - the oldest bytes
 * @s: queue
 * @len: result: how many lie together; at least what was added at once
 *
 * Return: where, NULL if there are none.
 */
const void *coll_spill_head(struct coll_spill *s, u32 *len);

/* So many of them are done with. */
void coll_spill_took(struct coll_spill *s, u32 n);

#endif /* COLL_XPORT_SPILL_H */
