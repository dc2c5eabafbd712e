// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>

#include "../limits.h"
#include "slot.h"

void coll_slots_init(struct coll_slots *slots)
{
	spin_lock_init(&slots->lock);
	INIT_LIST_HEAD(&slots->free);
}

static void coll_slot_free(struct coll_slot *slot)
{
	coll_buf_put(slot->buf);
	kfree(slot);
}

void coll_slots_release(struct coll_slots *slots)
{
	struct coll_slot *slot, *next;

	list_for_each_entry_safe(slot, next, &slots->free, list)
		coll_slot_free(slot);
}

static struct coll_slot *coll_slot_new(void)
{
	struct coll_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);

	if (!slot)
		return NULL;
	slot->buf = coll_buf_scratch(2 * PAGE_SIZE, true);
	if (!slot->buf) {
		kfree(slot);
		return NULL;
	}
	return slot;
}

struct coll_slot *coll_slot_get(struct coll_slots *slots)
{
	struct coll_slot *slot;

	spin_lock(&slots->lock);
	slot = list_first_entry_or_null(&slots->free, struct coll_slot, list);
	if (slot) {
		list_del(&slot->list);
		slots->nr--;
	}
	spin_unlock(&slots->lock);
	if (!slot)
		return coll_slot_new();
	slot->back_len = 0;
	return slot;
}

void coll_slot_put(struct coll_slots *slots, struct coll_slot *slot)
{
	if (!slot)
		return;
	spin_lock(&slots->lock);
	if (slots->nr < COLL_SLOTS_KEPT) {
		/* The last one used is in the caches. */
		list_add(&slot->list, &slots->free);
		slots->nr++;
		slot = NULL;
	}
	spin_unlock(&slots->lock);
	if (slot)
		coll_slot_free(slot);
}
