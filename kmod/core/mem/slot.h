/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots: small vectors are copied. Copying takes less time than finding their pages or pinning
 * them, and does not count in the limit of locked memory.
 *
 * A slot is kernel memory of two equal halves, the first for the input and the second for the
 * output. A slot of less than two pages shares a page with other slots of its member. A request
 * has a slot from coll_decode() to coll_deliver(), which both run in the context of its process;
 * then the slot goes back to the member.
 */
#ifndef COLL_CORE_SLOT_H
#define COLL_CORE_SLOT_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/spinlock.h>

#include "buf.h"

/* Sizes of halves: 256 bytes, 1 KiB, a page. */
#define COLL_SLOT_CLASSES	3

/**
 * struct coll_slot - room for one request
 * @list: in slots->free
 * @buf: buffer that has its memory, referenced; vectors of the request have their own references
 * @start: offset in @buf of the half for the input
 * @half: bytes of a half; the half for the output follows that for the input
 * @class: size class
 * @back_addr: user address to which the result is copied
 * @back_at: offset of the result from @start
 * @back_len: bytes of the result; 0: nothing is copied back
 */
struct coll_slot {
	struct list_head list;
	struct coll_buf *buf;
	u32 start;
	u32 half;
	u32 class;
	u64 back_addr;
	u32 back_at;
	u32 back_len;
};

/**
 * struct coll_slots - the free slots of a member
 * @lock: protects the rest
 * @free: free slots, by class
 * @nr: number of slots of each class
 */
struct coll_slots {
	spinlock_t lock;
	struct list_head free[COLL_SLOT_CLASSES];
	u32 nr[COLL_SLOT_CLASSES];
};

void coll_slots_init(struct coll_slots *slots);

/* Free all slots. No slot is in use any more. */
void coll_slots_release(struct coll_slots *slots);

/**
 * coll_slot_get() - room for a request
 * @slots: of the member
 * @len: bytes of the longer vector, up to COLL_SMALL
 *
 * Return: a slot; NULL if there is no memory. May sleep.
 */
struct coll_slot *coll_slot_get(struct coll_slots *slots, u64 len);

/* Give a slot back. The op does not use it any more. NULL is fine. May sleep. */
void coll_slot_put(struct coll_slots *slots, struct coll_slot *slot);

/* Kernel address of byte @at. No half crosses a page. */
static inline void *coll_slot_at(const struct coll_slot *slot, u32 at)
{
	at += slot->start;
	return page_address(slot->buf->pages[at >> PAGE_SHIFT]) + offset_in_page(at);
}

#endif /* COLL_CORE_SLOT_H */
