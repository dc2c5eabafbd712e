// SPDX-License-Identifier: GPL-2.0
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "../limits.h"
#include "../user.h"
#include "buf.h"
#include "pins.h"
#include "pins_user.h"

#ifdef CONFIG_MMU_NOTIFIER

/* Largest number of pins that are dropped each time user->lock is taken. */
#define COLL_PINS_SLICE		64

/* Protects coll_pins_users. */
static DEFINE_MUTEX(coll_pins_users_lock);
/* By the address of struct user_struct. One user can have many, with the ids of a user namespace. */
static DEFINE_HASHTABLE(coll_pins_users, 10);

static void coll_pins_user_release(struct kref *ref)
{
	struct coll_pins_user *u = container_of(ref, struct coll_pins_user, ref);

	hash_del(&u->list);
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

void coll_pin_used_locked(struct coll_pin *pin)
{
	lockdep_assert_held(&pin->user->lock);
	pin->used = jiffies;
	list_move(&pin->all, &pin->user->kept);
}

static uint pin_idle = COLL_PINS_IDLE;

static unsigned long coll_pins_idle_time(void)
{
	return min(READ_ONCE(pin_idle), COLL_PINS_IDLE_MOST) * (unsigned long)HZ;
}

/*
 * Arm the timer for @delay, unless it is armed or no pin is kept. An armed timer holds a reference.
 * No reference is dropped here: a caller may hold coll_pins_users_lock. Each kept pin has a
 * reference, so the work item cannot drop the last one before the timer gets its own.
 */
static void coll_pins_user_arm(struct coll_pins_user *u, unsigned long delay)
{
	spin_lock(&u->lock);
	if (!list_empty(&u->kept) && queue_delayed_work(u->queue->reap_wq, &u->idle, delay))
		coll_pins_user_hold(u);
	spin_unlock(&u->lock);
}

/* The same, but a timer that is armed is changed, too. @all: it drops all pins then, at once. */
static void coll_pins_user_hasten(struct coll_pins_user *u, unsigned long delay, bool all)
{
	spin_lock(&u->lock);
	if (!list_empty(&u->kept)) {
		u->drop_all |= all;
		if (!mod_delayed_work(u->queue->reap_wq, &u->idle, u->drop_all ? 0 : delay))
			coll_pins_user_hold(u);
	}
	spin_unlock(&u->lock);
}

static bool coll_pins_user_take_drop_all(struct coll_pins_user *u)
{
	bool all;

	spin_lock(&u->lock);
	all = u->drop_all;
	u->drop_all = false;
	spin_unlock(&u->lock);
	return all;
}

void coll_pins_user_watch(struct coll_pins_user *u)
{
	unsigned long delay = coll_pins_idle_time();

	if (delay && !delayed_work_pending(&u->idle))
		coll_pins_user_arm(u, delay);
}

void coll_pins_user_unwatch(struct coll_pins_user *u)
{
	bool armed;

	spin_lock(&u->lock);
	armed = list_empty(&u->kept) && cancel_delayed_work(&u->idle);
	spin_unlock(&u->lock);
	if (armed)
		coll_pins_user_put(u);
}

static ulong pin_cache = COLL_PINS_BYTES;

u64 coll_pins_most(void)
{
	return READ_ONCE(pin_cache);
}

/* After a new limit all pins are dropped once: those that an op uses again are kept anew. */
static int coll_pins_set_cache(const char *text, const struct kernel_param *kp)
{
	int ret = param_set_ulong(text, kp);
	struct coll_pins_user *u;
	int i;

	if (ret)
		return ret;
	mutex_lock(&coll_pins_users_lock);
	hash_for_each(coll_pins_users, i, u, list)
		coll_pins_user_hasten(u, 0, true);
	mutex_unlock(&coll_pins_users_lock);
	return 0;
}

static const struct kernel_param_ops coll_pin_cache_ops = {
	.set = coll_pins_set_cache,
	.get = param_get_ulong,
};

module_param_cb(pin_cache, &coll_pin_cache_ops, &pin_cache, 0644);
MODULE_PARM_DESC(pin_cache, "bytes of plain buffers that stay pinned for a rank between its collectives; 0: none");

/* A new limit also applies to buffers that are pinned already. */
static int coll_pins_set_idle(const char *text, const struct kernel_param *kp)
{
	struct coll_pins_user *u;
	unsigned long delay;
	int ret, i;

	ret = param_set_uint(text, kp);
	if (ret)
		return ret;
	delay = coll_pins_idle_time();
	mutex_lock(&coll_pins_users_lock);
	hash_for_each(coll_pins_users, i, u, list)
		if (delay)
			coll_pins_user_hasten(u, min(delay, (unsigned long)HZ), false);
	mutex_unlock(&coll_pins_users_lock);
	return 0;
}

static const struct kernel_param_ops coll_pin_idle_ops = {
	.set = coll_pins_set_idle,
	.get = param_get_uint,
};

module_param_cb(pin_idle, &coll_pin_idle_ops, &pin_idle, 0644);
MODULE_PARM_DESC(pin_idle, "seconds that a plain buffer stays pinned after its last collective; 0: no limit");

/* Does an op have the buffer? The first reference is that of the pin. */
static bool coll_pin_is_in_use(const struct coll_pin *pin)
{
	return kref_read(&pin->buf->ref) > 1;
}

/* Drop pins that have been idle for @time, up to a slice of them. Return: true: there may be more. */
static bool coll_pins_idle_slice_locked(struct coll_pins_user *u, unsigned long time,
					struct list_head *dead)
{
	struct coll_pin *pin;
	u32 n;

	lockdep_assert_held(&u->lock);
	for (n = 0; n < COLL_PINS_SLICE && !list_empty(&u->kept); n++) {
		pin = list_last_entry(&u->kept, struct coll_pin, all);
		if (time_before(jiffies, pin->used + time))
			return false;
		if (coll_pin_is_in_use(pin))
			coll_pin_used_locked(pin);
		else
			coll_pin_drop_locked(pin, dead);
	}
	return n == COLL_PINS_SLICE;
}

/* Jiffies until the next pin has been idle for @time; 0: no pin is kept. */
static unsigned long coll_pins_idle_next(struct coll_pins_user *u, unsigned long time)
{
	unsigned long left = 0, due;

	spin_lock(&u->lock);
	if (!list_empty(&u->kept)) {
		due = list_last_entry(&u->kept, struct coll_pin, all)->used + time;
		left = time_before(jiffies, due) ? due - jiffies : 1;
	}
	spin_unlock(&u->lock);
	return left;
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

static void coll_pins_drop_all(struct coll_pins_user *u)
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
}

static void coll_pins_idle_work(struct work_struct *work)
{
	struct coll_pins_user *u = container_of(to_delayed_work(work), struct coll_pins_user, idle);
	unsigned long time = coll_pins_idle_time(), next = 0;
	bool more = time;

	if (coll_pins_user_take_drop_all(u))
		coll_pins_drop_all(u);
	while (more) {
		LIST_HEAD(dead);

		coll_pins_bury_begin(u);
		spin_lock(&u->lock);
		more = coll_pins_idle_slice_locked(u, time, &dead);
		spin_unlock(&u->lock);
		coll_pins_bury_end(u, &dead);
		coll_pins_remove_later(u, &dead);
	}
	if (time)
		next = coll_pins_idle_next(u, time);
	if (next)
		coll_pins_user_arm(u, next);
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
	struct coll_pins_user *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);

	if (!u)
		return NULL;
	u->queue = coll_user_get(coll_user_payer(cred));
	if (!u->queue) {
		kfree(u);
		return NULL;
	}
	u->cred = get_cred(cred);
	kref_init(&u->ref);
	INIT_HLIST_NODE(&u->list);
	spin_lock_init(&u->lock);
	INIT_LIST_HEAD(&u->kept);
	INIT_LIST_HEAD(&u->dead);
	INIT_LIST_HEAD(&u->unpinned);
	init_rwsem(&u->unpinning);
	INIT_WORK(&u->unpin, coll_pins_unpin_work);
	INIT_WORK(&u->remove, coll_pins_remove_work);
	INIT_DELAYED_WORK(&u->idle, coll_pins_idle_work);
	return u;
}

/* The existing entry of @user, else @made, which may be NULL; with a reference. */
static struct coll_pins_user *coll_pins_user_find(const struct user_struct *user,
						  struct coll_pins_user *made)
{
	struct coll_pins_user *u, *found = NULL;

	mutex_lock(&coll_pins_users_lock);
	hash_for_each_possible(coll_pins_users, u, list, (unsigned long)user) {
		if (u->cred->user != user)
			continue;
		found = u;
		coll_pins_user_hold(u);
		break;
	}
	if (!found && made)
		hash_add(coll_pins_users, &made->list, (unsigned long)user);
	mutex_unlock(&coll_pins_users_lock);
	return found ?: made;
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
	coll_pins_drop_all(u);
	if (down_write_killable(&u->unpinning))
		return false;
	up_write(&u->unpinning);
	return true;
}

#endif /* CONFIG_MMU_NOTIFIER */
