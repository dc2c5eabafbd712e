// SPDX-License-Identifier: GPL-2.0
/*
 * Pinning a page takes longer than reducing its contents, and most programs use the same
 * buffers again and again. So the pins of the last ops are kept.
 *
 * The kept pages must be those that the process would find at these addresses. Page tables
 * change for many reasons. In each case the MMU notifiers of the range are called before the
 * change: munmap, mremap and exit; MADV_DONTNEED and holes punched into files; a page copied on
 * write; mprotect; fork, which write-protects private memory; migration and swapping, which call
 * the notifiers first, then find the pins and give up. The notifier drops the entry, and a later
 * op pins again. An op that has the buffer already keeps it to its end: it was posted before.
 *
 * If the contents of a page change without a change of page tables, the page is the same, and ops
 * read the new contents. But when the process writes, copy on write must not replace a page that
 * was pinned for reading. So such a pin must be of a page that is exclusive to the process (or
 * shared with all). FOLL_LONGTERM makes sure of that, see coll_pin_flags(). After a fork the
 * parent keeps pinned pages, and the child gets copies. The entry would still be right; it is
 * dropped so that later forks need not copy the kept pages.
 *
 * An entry is made in these steps: insert the notifier, begin to read, pin, and publish the entry
 * under the lock unless an invalidation has come meanwhile. An invalidation takes the same lock,
 * and removes the entry. It must not sleep there. Unpinning may sleep, and a notifier cannot be
 * removed from its own callback: a worker does both.
 *
 * Reclaim and compaction pass over pinned pages. So a pin that no op has used for some time
 * (pin_idle) is dropped: a communicator that is idle does not keep memory from other programs.
 *
 * Kept pages are charged to the user like any pin. If any member of the same user reaches the
 * limit, everything that is kept for this user is dropped first (pins_user.h), unless that would
 * not be enough.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/interval_tree.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../limits.h"
#include "area.h"
#include "buf.h"
#include "buf_span.h"
#include "pins.h"
#include "pins_user.h"

void coll_pins_init(struct coll_pins *pins)
{
	INIT_LIST_HEAD(&pins->list);
	pins->tree = RB_ROOT_CACHED;
}

#ifdef CONFIG_MMU_NOTIFIER
static bool coll_pin_invalidate(struct mmu_interval_notifier *mni,
				const struct mmu_notifier_range *range,
				unsigned long cur_seq)
{
	struct coll_pin *pin = container_of(mni, struct coll_pin, mni);

	spin_lock(&pin->user->lock);
	mmu_interval_set_seq(mni, cur_seq);
	/* The notifier is also called for gaps of the buffer. */
	if (pin->pins && coll_buf_meets(pin->buf, range->start, range->end))
		coll_pin_drop_later_locked(pin);
	spin_unlock(&pin->user->lock);
	return true;
}

static const struct mmu_interval_notifier_ops coll_pin_ops = {
	.invalidate = coll_pin_invalidate,
};

/*
 * Does @buf have the spans of @area? Only the digests are compared: this runs under a lock that
 * all members of the user take.
 */
static bool coll_buf_resembles(const struct coll_buf *buf, const struct coll_area *area)
{
	return area->nr > 1 && buf->nr_spans == area->nr && buf->digest == area->digest;
}

/* Does @buf have all bytes of @area, as far as the digest tells? */
static bool coll_buf_covers(const struct coll_buf *buf, const struct coll_area *area, bool write)
{
	if (write && !buf->write)
		return false;
	return coll_buf_has(buf, coll_area_at(area), coll_area_reach(area)) ||
	       coll_buf_resembles(buf, area);
}

/* Can @buf, which has @area, replace @old? */
static bool coll_pin_replaces(const struct coll_buf *buf, const struct coll_area *area,
			      const struct coll_buf *old)
{
	if (old->write && !buf->write)
		return false;
	return coll_buf_has(buf, old->addr, old->len) || coll_buf_resembles(old, area);
}

/*
 * The next pin after @pin that has a byte in a range; @pin NULL: the first one. There may be a
 * thousand pins, and few of them have a byte in the range. Under user->lock.
 */
static struct coll_pin *coll_pin_next_locked(struct coll_pins *pins, struct coll_pin *pin, u64 at,
					     u64 len)
{
	struct interval_tree_node *n;

	lockdep_assert_held(&pins->user->lock);
	n = pin ? interval_tree_iter_next(&pin->by_addr, at, at + len - 1) :
		  interval_tree_iter_first(&pins->tree, at, at + len - 1);
	return n ? container_of(n, struct coll_pin, by_addr) : NULL;
}

static struct coll_buf *coll_pins_find(struct coll_pins *pins, const struct coll_area *area,
				       bool write)
{
	/* pairs with coll_pins_set_user() */
	struct coll_pins_user *u = smp_load_acquire(&pins->user);
	struct coll_buf *buf = NULL;
	struct coll_pin *pin = NULL;
	u64 at, len;

	if (!area->nr || !u)
		return NULL;
	at = coll_area_at(area);
	len = coll_area_reach(area);
	spin_lock(&u->lock);
	while ((pin = coll_pin_next_locked(pins, pin, at, len))) {
		if (coll_buf_covers(pin->buf, area, write)) {
			buf = pin->buf;
			coll_buf_get(buf);
			list_move(&pin->list, &pins->list);
			coll_pin_used_locked(pin);
			break;
		}
	}
	spin_unlock(&u->lock);
	/* Different spans may have the same digest: compare them without the lock. */
	if (buf && !coll_buf_has(buf, coll_area_at(area), coll_area_reach(area)) &&
	    !coll_buf_is(buf, area)) {
		coll_buf_put(buf);
		return NULL;
	}
	return buf;
}

/*
 * The charge of an area does not fit: drop all kept pins of this user, if that is enough.
 * Return: try again.
 */
static bool coll_pins_evict(const struct coll_memlock *ml, const struct coll_area *area)
{
	struct coll_pins_user *u = coll_pins_user_get(ml->cred, false);
	u64 limit = rlimit(RLIMIT_MEMLOCK) & PAGE_MASK, kept = 0, wanted;
	bool again;

	/* In this order: if others unpin meanwhile, @wanted is smaller, and @kept is too large. */
	if (u)
		kept = coll_pins_user_bytes(u);
	wanted = coll_buf_memlock_wanted(ml, area);
	again = wanted <= limit;
	if (!again && kept && kept >= wanted - limit)
		again = coll_pins_user_evict(u);
	coll_pins_user_put(u);
	return again;
}

struct coll_buf *coll_pins_pin(const struct coll_memlock *ml, const struct coll_area *area,
				bool write)
{
	struct coll_buf *buf = coll_buf_pin(ml, area, write);

	if (buf == ERR_PTR(-EDQUOT) && coll_pins_evict(ml, area))
		buf = coll_buf_pin(ml, area, write);
	return buf;
}

struct coll_buf *coll_pins_save(const struct coll_memlock *ml, const struct coll_vec *v, u64 addr,
				const struct coll_area *area)
{
	struct coll_buf *buf = coll_buf_save(ml, v, addr, area);

	if (buf == ERR_PTR(-EDQUOT) && coll_pins_evict(ml, area))
		buf = coll_buf_save(ml, v, addr, area);
	return buf;
}

/*
 * Keep @pin, which has @area. Drop the pins that it replaces, and the oldest ones if there are
 * too many. Under user->lock.
 */
static void coll_pin_keep_locked(struct coll_pins *pins, struct coll_pin *pin,
				 const struct coll_area *area, u64 most, struct list_head *dead)
{
	u64 bytes = coll_pin_bytes(pin), at = pin->buf->addr, len = pin->buf->len;
	struct coll_pin *old, *next;

	lockdep_assert_held(&pin->user->lock);
	for (old = coll_pin_next_locked(pins, NULL, at, len); old; old = next) {
		next = coll_pin_next_locked(pins, old, at, len);
		if (coll_pin_replaces(pin->buf, area, old->buf))
			coll_pin_drop_locked(old, dead);
	}
	while (pins->nr && (pins->nr >= COLL_PINS_MAX || pins->bytes + bytes > most))
		coll_pin_drop_locked(list_last_entry(&pins->list, struct coll_pin, list), dead);
	pin->pins = pins;
	pins->bytes += bytes;
	pins->nr++;
	pin->by_addr.start = at;
	pin->by_addr.last = at + len - 1;
	interval_tree_insert(&pin->by_addr, &pins->tree);
	list_add(&pin->list, &pins->list);
	list_add(&pin->all, &pin->user->kept);
	coll_pin_used_locked(pin);
}

/* Set pins->user if it is not set yet. Return: pins->user; NULL: no memory. */
static struct coll_pins_user *coll_pins_set_user(struct coll_pins *pins,
						 const struct coll_memlock *ml)
{
	/* pairs with the cmpxchg() of another thread */
	struct coll_pins_user *u = smp_load_acquire(&pins->user), *old;

	if (u)
		return u;
	u = coll_pins_user_get(ml->cred, true);
	if (!u)
		return NULL;
	old = cmpxchg(&pins->user, NULL, u);
	if (!old)
		return u;
	coll_pins_user_put(u);
	return old;
}

/* A pin that has no buffer yet; NULL: it cannot be made, so the buffer is not kept. */
static struct coll_pin *coll_pin_alloc(struct coll_pins *pins, const struct coll_memlock *ml,
				       const struct coll_area *area)
{
	struct coll_pins_user *u = coll_pins_set_user(pins, ml);
	struct coll_pin *pin;

	pin = u ? kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT) : NULL;
	if (!pin)
		return NULL;
	pin->user = u;
	if (mmu_interval_notifier_insert(&pin->mni, ml->mm, coll_area_at(area),
					 coll_area_reach(area), &coll_pin_ops)) {
		kfree(pin);
		return NULL;
	}
	coll_pins_user_hold(u);
	return pin;
}

/* Pin, and keep it if nothing changes meanwhile. */
static struct coll_buf *coll_pins_new(struct coll_pins *pins, const struct coll_memlock *ml,
				      const struct coll_area *area, bool write, u64 most)
{
	struct coll_pin *pin = coll_pin_alloc(pins, ml, area);
	struct coll_pins_user *u;
	struct coll_buf *buf;
	unsigned long seq;
	LIST_HEAD(dead);

	if (!pin)
		return coll_pins_pin(ml, area, write);
	u = pin->user;
	seq = mmu_interval_read_begin(&pin->mni);
	buf = coll_pins_pin(ml, area, write);
	if (IS_ERR(buf)) {
		list_add(&pin->list, &dead);
		coll_pins_remove(&dead);
		return buf;
	}
	coll_buf_get(buf);
	pin->buf = buf;
	coll_pins_bury_begin(u);
	spin_lock(&u->lock);
	u->bytes += coll_pin_bytes(pin);
	/* pin_cache may have been written meanwhile. */
	if (mmu_interval_read_retry(&pin->mni, seq) || coll_pin_bytes(pin) > coll_pins_most())
		list_add(&pin->list, &dead);
	else
		coll_pin_keep_locked(pins, pin, area, most, &dead);
	spin_unlock(&u->lock);
	coll_pins_bury_end(u, &dead);
	coll_pins_user_watch(u);
	/* All are of the caller's address space: only the caller waits for its invalidations. */
	coll_pins_remove(&dead);
	return buf;
}

struct coll_buf *coll_pins_take(struct coll_pins *pins, const struct coll_memlock *ml,
				  const struct coll_area *area, bool write)
{
	u64 most = coll_pins_most(), end;
	struct coll_area pages = *area;
	struct coll_buf *buf;
	int ret = coll_area_check(area);

	/* Before the range is rounded to pages: a length near 2^64 would wrap. */
	if (ret)
		return ERR_PTR(ret);
	if (coll_area_pages(area) > most >> PAGE_SHIFT)
		return coll_pins_pin(ml, area, write);
	buf = coll_pins_find(pins, area, write);
	if (buf)
		return buf;
	if (check_add_overflow(coll_area_at(area), coll_area_reach(area) + PAGE_SIZE, &end))
		return coll_pins_pin(ml, area, write);
	/* Whole pages are pinned, so keep whole pages. Several spans are whole pages already. */
	if (area->nr == 1) {
		const struct coll_span *s = coll_area_spans(area);
		u64 start = s->at & PAGE_MASK;

		pages = coll_area_range(start, PAGE_ALIGN(s->at + s->len) - start);
	}
	return coll_pins_new(pins, ml, &pages, write, most);
}

void coll_pins_release(struct coll_pins *pins)
{
	struct coll_pins_user *u = pins->user;
	struct coll_pin *pin, *next;
	LIST_HEAD(dead);

	if (!u)
		return;
	coll_pins_bury_begin(u);
	spin_lock(&u->lock);
	list_for_each_entry_safe(pin, next, &pins->list, list)
		coll_pin_drop_locked(pin, &dead);
	spin_unlock(&u->lock);
	coll_pins_bury_end(u, &dead);
	coll_pins_user_unwatch(u);
	coll_pins_remove_later(u, &dead);
	coll_pins_user_put(u);
}
#else
struct coll_buf *coll_pins_pin(const struct coll_memlock *ml, const struct coll_area *area,
				bool write)
{
	return coll_buf_pin(ml, area, write);
}

struct coll_buf *coll_pins_save(const struct coll_memlock *ml, const struct coll_vec *v, u64 addr,
				const struct coll_area *area)
{
	return coll_buf_save(ml, v, addr, area);
}

struct coll_buf *coll_pins_take(struct coll_pins *pins, const struct coll_memlock *ml,
				  const struct coll_area *area, bool write)
{
	return coll_buf_pin(ml, area, write);
}

void coll_pins_release(struct coll_pins *pins)
{
}
#endif
