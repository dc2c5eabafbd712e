/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The buffers that are kept pinned for a user: those of all members whose locked memory is charged
 * to this user.
 *
 * A kept buffer is dropped in two steps. First its pages are unpinned and uncharged, which waits
 * for no other process. Then its notifier is removed. That waits until the address space has no
 * invalidation in progress, and the process can make this time long. So a thread that needs the
 * charge does only the first step, and a work item on the queue of the user does the second.
 */
#ifndef COLL_CORE_PINS_USER_H
#define COLL_CORE_PINS_USER_H

#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#ifdef CONFIG_MMU_NOTIFIER
struct coll_buf;
struct coll_pins;
struct coll_user;
struct cred;

/**
 * struct coll_pins_user - see the top of this file
 * @ref: members, pins, and work items that are queued
 * @list: in coll_pins_users
 * @cred: credentials of the charged user; referenced
 * @queue: the user's queues; referenced
 * @lock: protects the rest, and the struct coll_pins of all its members. Notifiers take it, also
 *	while memory is being reclaimed: nothing may be allocated under it.
 * @kept: struct coll_pin of all members, most recently used first
 * @dead: not kept any more, and still pinned
 * @unpinned: unpinned, and the notifier is to be removed
 * @bytes: of pins that have not been unpinned
 * @unpinning: held for reading by a thread that has taken pins off the lists, until they are
 *	unpinned; a thread that needs their charge takes it for writing, and so waits for them
 * @unpin: unpins @dead
 * @remove: frees @unpinned
 * @idle: drops pins that no op has used for some time; armed while pins are kept
 * @drop_all: @idle drops all of them, because pin_cache has been written; user->lock
 */
struct coll_pins_user {
	struct kref ref;
	struct hlist_node list;
	const struct cred *cred;
	struct coll_user *queue;
	spinlock_t lock;
	struct list_head kept;
	struct list_head dead;
	struct list_head unpinned;
	u64 bytes;
	struct rw_semaphore unpinning;
	struct work_struct unpin;
	struct work_struct remove;
	struct delayed_work idle;
	bool drop_all;
};

/**
 * struct coll_pin - a buffer that is kept
 * @mni: called when the mappings of its memory change
 * @user: charged user, referenced
 * @buf: the buffer, referenced; NULL: unpinned
 * @pins: list of the member that it belongs to; NULL: not kept any more. Under user->lock.
 * @list: in pins->list, user->dead or user->unpinned; user->lock
 * @by_addr: in pins->tree while it is kept; user->lock
 * @all: in user->kept while it is kept; user->lock
 * @used: jiffies when an op took it, or was seen to have it, for the last time; user->lock
 */
struct coll_pin {
	struct mmu_interval_notifier mni;
	struct coll_pins_user *user;
	struct coll_buf *buf;
	struct coll_pins *pins;
	struct list_head list;
	struct interval_tree_node by_addr;
	struct list_head all;
	unsigned long used;
};

/**
 * coll_pins_user_get() - the kept pins of a user
 * @cred: credentials of the charged user
 * @make: make the entry if there is none
 *
 * Return: the entry, with a reference; NULL: there is none, or no memory. Sleeps.
 */
struct coll_pins_user *coll_pins_user_get(const struct cred *cred, bool make);

void coll_pins_user_hold(struct coll_pins_user *u);

/* Sleeps. @u may be NULL. */
void coll_pins_user_put(struct coll_pins_user *u);

/* Bytes of the pin's pages. There are no pages in gaps. */
u64 coll_pin_bytes(const struct coll_pin *pin);

/* An op takes @pin, which is kept. Under user->lock. */
void coll_pin_used_locked(struct coll_pin *pin);

/* Pins are kept: arm the timer that drops idle ones, unless it is armed. */
void coll_pins_user_watch(struct coll_pins_user *u);

/* Disarm that timer if no pin is kept. */
void coll_pins_user_unwatch(struct coll_pins_user *u);

/* Stop keeping @pin: move it to @dead, for coll_pins_bury_end(). Under user->lock. */
void coll_pin_drop_locked(struct coll_pin *pin, struct list_head *dead);

/* Stop keeping @pin; a work item unpins it. Under user->lock; also in notifiers. */
void coll_pin_drop_later_locked(struct coll_pin *pin);

/* The caller is about to take pins off the lists. Sleeps. */
void coll_pins_bury_begin(struct coll_pins_user *u);

/*
 * The pins in @dead are off the lists: unpin them. Afterwards they have no buffer, and
 * coll_pins_remove() or coll_pins_remove_later() is to follow. Sleeps.
 */
void coll_pins_bury_end(struct coll_pins_user *u, struct list_head *dead);

/* Remove the notifiers of the pins, and free the pins. Waits for invalidations. */
void coll_pins_remove(struct list_head *unpinned);

/* The same by a work item: for pins of other processes. */
void coll_pins_remove_later(struct coll_pins_user *u, struct list_head *unpinned);

/* Bytes of plain buffers that may be kept for a member: the parameter pin_cache. */
u64 coll_pins_most(void);

/* Bytes of kept pins of the user, and of pins off the lists that may not be unpinned yet. */
u64 coll_pins_user_bytes(struct coll_pins_user *u);

/**
 * coll_pins_user_evict() - drop everything that is kept for a user
 * @u: user
 *
 * Waits until all these pins are unpinned, also those that other threads have dropped.
 *
 * Return: false if the caller has been killed.
 */
bool coll_pins_user_evict(struct coll_pins_user *u);
#endif

#endif /* COLL_CORE_PINS_USER_H */
