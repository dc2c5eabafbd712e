// SPDX-License-Identifier: GPL-2.0
#include <linux/cred.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "../user.h"
#include "buf.h"
#include "pins.h"
#include "pins_user.h"

#ifdef CONFIG_MMU_NOTIFIER

/* Pins that are dropped while user->lock is held once. */
#define COLL_PINS_SLICE		64

/* Protects coll_pins_users. */
static DEFINE_MUTEX(coll_pins_users_lock);
static LIST_HEAD(coll_pins_users);

static void coll_pins_user_release(struct kref *ref)
{
	struct coll_pins_user *u = container_of(ref, struct coll_pins_user, ref);

	list_del(&u->list);
	mutex_unlock(&coll_pins_users_lock);
	coll_user_put(u->queue);
	put_cred(u->cred);
	kfree(u);
}

void coll_pins_user_hold(struct coll_pins_user *u)
{
	kref_get(&u->ref);
}

void coll_pins_user_put(struct coll_pins_user *u)
{
	if (u)
		kref_put_mutex(&u->ref, coll_pins_user_release, &coll_pins_users_lock);
}

/* Queue @work with a reference. The caller has one. */
static void coll_pins_user_queue(struct coll_pins_user *u, struct work_struct *work)
{
	coll_pins_user_hold(u);
	if (!queue_work(u->queue->reap_wq, work))
		coll_pins_user_put(u);
}

u64 coll_pin_bytes(const struct coll_pin *pin)
{
	return (u64)pin->buf->nr_pages << PAGE_SHIFT;
}

void coll_pin_drop_locked(struct coll_pin *pin, struct list_head *dead)
{
	lockdep_assert_held(&pin->user->lock);
	pin->pins->bytes -= coll_pin_bytes(pin);
	pin->pins->nr--;
	interval_tree_remove(&pin->by_addr, &pin->pins->tree);
	pin->pins = NULL;
	list_del(&pin->all);
	list_move(&pin->list, dead);
}

void coll_pin_drop_later_locked(struct coll_pin *pin)
{
	lockdep_assert_held(&pin->user->lock);
	coll_pin_drop_locked(pin, &pin->user->dead);
	coll_pins_user_queue(pin->user, &pin->user->unpin);
}

void coll_pins_bury_begin(struct coll_pins_user *u)
{
	down_read(&u->unpinning);
}

void coll_pins_bury_end(struct coll_pins_user *u, struct list_head *dead)
{
	struct coll_pin *pin;
	u64 bytes = 0;

	list_for_each_entry(pin, dead, list) {
		bytes += coll_pin_bytes(pin);
		coll_buf_put(pin->buf);
		pin->buf = NULL;
		cond_resched();
	}
	spin_lock(&u->lock);
	u->bytes -= bytes;
	spin_unlock(&u->lock);
	up_read(&u->unpinning);
}

void coll_pins_remove(struct list_head *unpinned)
{
	struct coll_pin *pin, *next;

	list_for_each_entry_safe(pin, next, unpinned, list) {
		mmu_interval_notifier_remove(&pin->mni);
		coll_pins_user_put(pin->user);
		kfree(pin);
		cond_resched();
	}
}

void coll_pins_remove_later(struct coll_pins_user *u, struct list_head *unpinned)
{
	if (list_empty(unpinned))
		return;
	spin_lock(&u->lock);
	list_splice_init(unpinned, &u->unpinned);
	spin_unlock(&u->lock);
	coll_pins_user_queue(u, &u->remove);
}

static void coll_pins_unpin_work(struct work_struct *work)
{
	struct coll_pins_user *u = container_of(work, struct coll_pins_user, unpin);
	LIST_HEAD(dead);

	coll_pins_bury_begin(u);
	spin_lock(&u->lock);
	list_splice_init(&u->dead, &dead);
	spin_unlock(&u->lock);
	coll_pins_bury_end(u, &dead);
	coll_pins_remove_later(u, &dead);
	coll_pins_user_put(u);
}

static void coll_pins_remove_work(struct work_struct *work)
{
	struct coll_pins_user *u = container_of(work, struct coll_pins_user, remove);
	LIST_HEAD(unpinned);

	spin_lock(&u->lock);
	list_splice_init(&u->unpinned, &unpinned);
	spin_unlock(&u->lock);
	coll_pins_remove(&unpinned);
	coll_pins_user_put(u);
}

static struct coll_pins_user *coll_pins_user_alloc(const struct cred *cred)
{
	struct coll_pins_user *u = kzalloc(sizeof(*u), GFP_KERNEL);

	if (!u)
		return NULL;
	u->queue = coll_user_get(coll_user_payer(cred));
	if (!u->queue) {
		kfree(u);
		return NULL;
	}
	u->cred = get_cred(cred);
	kref_init(&u->ref);
	INIT_LIST_HEAD(&u->list);
	spin_lock_init(&u->lock);
	INIT_LIST_HEAD(&u->kept);
	INIT_LIST_HEAD(&u->dead);
	INIT_LIST_HEAD(&u->unpinned);
	init_rwsem(&u->unpinning);
	INIT_WORK(&u->unpin, coll_pins_unpin_work);
	INIT_WORK(&u->remove, coll_pins_remove_work);
	return u;
}

/* The existing entry of @user, else @made, which may be NULL; with a reference. */
static struct coll_pins_user *coll_pins_user_find(const struct user_struct *user,
						  struct coll_pins_user *made)
{
	struct coll_pins_user *u;

	mutex_lock(&coll_pins_users_lock);
	list_for_each_entry(u, &coll_pins_users, list) {
		if (u->cred->user == user) {
			coll_pins_user_hold(u);
			break;
		}
	}
	if (list_entry_is_head(u, &coll_pins_users, list)) {
		u = made;
		if (u)
			list_add(&u->list, &coll_pins_users);
	}
	mutex_unlock(&coll_pins_users_lock);
	return u;
}

struct coll_pins_user *coll_pins_user_get(const struct cred *cred, bool make)
{
	struct coll_pins_user *u = coll_pins_user_find(cred->user, NULL), *made;

	if (u || !make)
		return u;
	made = coll_pins_user_alloc(cred);
	if (!made)
		return NULL;
	u = coll_pins_user_find(cred->user, made);
	if (u != made)
		coll_pins_user_put(made);	/* another member was faster */
	return u;
}

/* Return: true: there may be more. */
static bool coll_pins_evict_slice_locked(struct coll_pins_user *u, struct list_head *dead)
{
	u32 n;

	lockdep_assert_held(&u->lock);
	list_splice_init(&u->dead, dead);
	for (n = 0; n < COLL_PINS_SLICE && !list_empty(&u->kept); n++)
		coll_pin_drop_locked(list_last_entry(&u->kept, struct coll_pin, all), dead);
	return n == COLL_PINS_SLICE;
}

u64 coll_pins_user_bytes(struct coll_pins_user *u)
{
	u64 bytes;

	spin_lock(&u->lock);
	bytes = u->bytes;
	spin_unlock(&u->lock);
	return bytes;
}

bool coll_pins_user_evict(struct coll_pins_user *u)
{
	bool more = true;

	while (more) {
		LIST_HEAD(dead);

		coll_pins_bury_begin(u);
		spin_lock(&u->lock);
		more = coll_pins_evict_slice_locked(u, &dead);
		spin_unlock(&u->lock);
		coll_pins_bury_end(u, &dead);
		coll_pins_remove_later(u, &dead);
	}
	if (down_write_killable(&u->unpinning))
		return false;
	up_write(&u->unpinning);
	return true;
}

#endif /* CONFIG_MMU_NOTIFIER */
