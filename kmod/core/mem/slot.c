// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../limits.h"
#include "slot.h"

static const u32 coll_slot_halves[COLL_SLOT_CLASSES] = { 256, 1024, COLL_SMALL };

void coll_slots_init(struct coll_slots *slots)
{
	u32 i;

	spin_lock_init(&slots->lock);
	for (i = 0; i < COLL_SLOT_CLASSES; i++)
		INIT_LIST_HEAD(&slots->free[i]);
}

static void coll_slot_free(struct coll_slot *slot)
{
	coll_buf_put(slot->buf);
	kfree(slot);
}

static void coll_slots_free(struct list_head *list)
{
	struct coll_slot *slot, *next;

	list_for_each_entry_safe(slot, next, list, list)
		coll_slot_free(slot);
}

void coll_slots_release(struct coll_slots *slots)
{
	u32 i;

	for (i = 0; i < COLL_SLOT_CLASSES; i++)
		coll_slots_free(&slots->free[i]);
}

/* One more slot in @buf. */
static bool coll_slot_add(struct coll_buf *buf, u32 class, u32 start, struct list_head *to)
{
	struct coll_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);

	if (!slot)
		return false;
	slot->class = class;
	slot->half = coll_slot_halves[class];
	slot->start = start;
	slot->buf = buf;
	coll_buf_get(buf);
	list_add_tail(&slot->list, to);
	return true;
}

/* Make as many slots as fit a page, at least one. Return: their number; 0: no memory. */
static u32 coll_slots_make(u32 class, struct list_head *to)
{
	u32 size = 2 * coll_slot_halves[class], len = max_t(u32, size, PAGE_SIZE), at, nr = 0;
	struct coll_buf *buf = coll_buf_scratch(len, true);

	BUILD_BUG_ON(COLL_SMALL > PAGE_SIZE);
	if (!buf)
		return 0;
	for (at = 0; at + size <= len; at += size)
		nr += coll_slot_add(buf, class, at, to);
	coll_buf_put(buf);
	return nr;
}

/* The smallest class that has room. */
static u32 coll_slot_class(u64 len)
{
	u32 class = 0;

	while (class < COLL_SLOT_CLASSES - 1 && len > coll_slot_halves[class])
		class++;
	return class;
}

/* Under slots->lock. */
static struct coll_slot *coll_slot_take_locked(struct coll_slots *slots, u32 class)
{
	struct coll_slot *slot = list_first_entry_or_null(&slots->free[class], struct coll_slot,
							  list);

	lockdep_assert_held(&slots->lock);
	if (slot) {
		list_del(&slot->list);
		slots->nr[class]--;
	}
	return slot;
}

struct coll_slot *coll_slot_get(struct coll_slots *slots, u64 len)
{
	u32 class = coll_slot_class(len), nr;
	struct coll_slot *slot;
	LIST_HEAD(more);

	spin_lock(&slots->lock);
	slot = coll_slot_take_locked(slots, class);
	spin_unlock(&slots->lock);
	if (!slot) {
		nr = coll_slots_make(class, &more);
		spin_lock(&slots->lock);
		list_splice(&more, &slots->free[class]);
		slots->nr[class] += nr;
		slot = coll_slot_take_locked(slots, class);
		spin_unlock(&slots->lock);
	}
	if (slot)
		slot->back_len = 0;
	return slot;
}

/* Number of free slots of a class that a member keeps: the same number of bytes of each class. */
static u32 coll_slots_kept(u32 class)
{
	return COLL_SLOTS_KEPT / (2 * coll_slot_halves[class]);
}

void coll_slot_put(struct coll_slots *slots, struct coll_slot *slot)
{
	if (!slot)
		return;
	spin_lock(&slots->lock);
	if (slots->nr[slot->class] < coll_slots_kept(slot->class)) {
		/* The last one used is in the caches. */
		list_add(&slot->list, &slots->free[slot->class]);
		slots->nr[slot->class]++;
		slot = NULL;
	}
	spin_unlock(&slots->lock);
	if (slot)
		coll_slot_free(slot);
}
