// SPDX-License-Identifier: GPL-2.0
/*
 * Pinning a page costs more than adding it up, and most programs give us the same
 * buffers again and again. So the pins of the last ops are kept.
 *
 * The kept pages must be those that the process would find at these addresses. Its page tables
 * change in many ways, and each of them tells the MMU notifiers of the range before it happens:
 * munmap, mremap and exit; MADV_DONTNEED and holes punched into files; a page copied on write;
 * mprotect; fork, which write-protects private memory; migration and swapping, which find the
 * pins and give up, but tell first. In each case the entry is dropped, and a later op pins
 * anew. An op that has the buffer already keeps it to its end: it was posted before.
 *
 * A page that changes without a change of page tables is the same page: the pins see
 * it. For that no other page may take its place unseen when the process writes, so a pin
 * that only reads must be one of a page that is exclusive to the process (or shared with
 * all). FOLL_LONGTERM sees to that, see coll_pin_flags(). After a fork the parent keeps
 * pinned pages, and the child gets copies: the entry goes all the same, only so that
 * what is kept does not make later forks copy.
 *
 * An entry is made thus: notifier on, begin to read, pin, and publish it under the
 * lock unless an invalidation has come meanwhile. That takes the same lock, and takes
 * the entry out. It must not sleep there: unpinning may, and a notifier cannot be
 * removed from inside itself, so a worker does these.
 *
 * Kept pages are charged to the user like any pin. If the limit is reached, by any member of
 * the same user, everything that is kept for this user is dropped first.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/interval_tree.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "../limits.h"
#include "area.h"
#include "buf.h"
#include "buf_span.h"
#include "pins.h"

void coll_pins_init(struct coll_pins *pins)
{
	INIT_LIST_HEAD(&pins->list);
	pins->tree = RB_ROOT_CACHED;
}

#ifdef CONFIG_MMU_NOTIFIER
static ulong pin_cache = COLL_PINS_BYTES;
module_param(pin_cache, ulong, 0644);
MODULE_PARM_DESC(pin_cache, "bytes of plain buffers that stay pinned for a rank between its collectives; 0: none");

/**
 * struct coll_pin - a buffer that is kept
 * @mni: tells that its memory changes
 * @buf: the buffer, referenced
 * @pins: whose; NULL: not kept any more. Under coll_pins_lock.
 * @list: in pins->list, or in coll_pins_dead; coll_pins_lock
 * @by_addr: in pins->tree while it is kept; coll_pins_lock
 * @all: in coll_pins_all while it is kept; coll_pins_lock
 */
struct coll_pin {
	struct mmu_interval_notifier mni;
	struct coll_buf *buf;
	struct coll_pins *pins;
	struct list_head list;
	struct interval_tree_node by_addr;
	struct list_head all;
};

/*
 * Protects all of the above. Taken inside of notifiers, so also while memory is being
 * reclaimed: nothing may be allocated under it.
 */
static DEFINE_SPINLOCK(coll_pins_lock);
static LIST_HEAD(coll_pins_all);
static LIST_HEAD(coll_pins_dead);

/*
 * Held for reading by a thread that takes pins off the lists, until they are unpinned. A thread
 * that needs the charge of these pins waits for all such threads, and blocks no other one.
 */
DEFINE_STATIC_SRCU(coll_pins_burying);

static void coll_pins_bury(struct list_head *dead)
{
	struct coll_pin *pin, *next;

	list_for_each_entry_safe(pin, next, dead, list) {
		mmu_interval_notifier_remove(&pin->mni);
		coll_buf_put(pin->buf);
		kfree(pin);
	}
}

static void coll_pins_reap(struct work_struct *work)
{
	LIST_HEAD(dead);
	int idx = srcu_read_lock(&coll_pins_burying);

	spin_lock(&coll_pins_lock);
	list_splice_init(&coll_pins_dead, &dead);
	spin_unlock(&coll_pins_lock);
	coll_pins_bury(&dead);
	srcu_read_unlock(&coll_pins_burying, idx);
}

static DECLARE_WORK(coll_pins_work, coll_pins_reap);

/* Bytes of the pin's pages. There are no pages in gaps. */
static u64 coll_pin_bytes(const struct coll_pin *pin)
{
	return (u64)pin->buf->nr_pages << PAGE_SHIFT;
}

/* Keep it no longer; the caller gets it buried. Under the lock. */
static void coll_pin_drop_locked(struct coll_pin *pin, struct list_head *dead)
{
	lockdep_assert_held(&coll_pins_lock);
	pin->pins->bytes -= coll_pin_bytes(pin);
	pin->pins->nr--;
	interval_tree_remove(&pin->by_addr, &pin->pins->tree);
	pin->pins = NULL;
	list_del(&pin->all);
	list_move(&pin->list, dead);
}

static bool coll_pin_invalidate(struct mmu_interval_notifier *mni,
				const struct mmu_notifier_range *range,
				unsigned long cur_seq)
{
	struct coll_pin *pin = container_of(mni, struct coll_pin, mni);

	spin_lock(&coll_pins_lock);
	mmu_interval_set_seq(mni, cur_seq);
	/* The notifier is told of gaps, too. */
	if (pin->pins && coll_buf_meets(pin->buf, range->start, range->end)) {
		coll_pin_drop_locked(pin, &coll_pins_dead);
		queue_work(coll_unpin_wq, &coll_pins_work);
	}
	spin_unlock(&coll_pins_lock);
	return true;
}

static const struct mmu_interval_notifier_ops coll_pin_ops = {
	.invalidate = coll_pin_invalidate,
};

/*
 * Has @buf these very spans? Only the digest is compared: this runs under a lock that
 * everybody needs.
 */
static bool coll_buf_resembles(const struct coll_buf *buf, const struct coll_area *area)
{
	return area->nr > 1 && buf->nr_spans == area->nr && buf->digest == area->digest;
}

/* Does @buf have all of that? */
static bool coll_buf_covers(const struct coll_buf *buf, const struct coll_area *area, bool write)
{
	if (write && !buf->write)
		return false;
	return coll_buf_has(buf, coll_area_at(area), coll_area_reach(area)) ||
	       coll_buf_resembles(buf, area);
}

/* Is @old of no more use when @buf is kept, which has @area? */
static bool coll_pin_replaces(const struct coll_buf *buf, const struct coll_area *area,
			      const struct coll_buf *old)
{
	if (old->write && !buf->write)
		return false;
	return coll_buf_has(buf, old->addr, old->len) || coll_buf_resembles(old, area);
}

/*
 * The first one from @pin on that meets a range, @pin being NULL: of all. There may be a
 * thousand, of which few meet. Under the lock.
 */
static struct coll_pin *coll_pin_next_locked(struct coll_pins *pins, struct coll_pin *pin, u64 at,
					     u64 len)
{
	struct interval_tree_node *n;

	lockdep_assert_held(&coll_pins_lock);
	n = pin ? interval_tree_iter_next(&pin->by_addr, at, at + len - 1) :
		  interval_tree_iter_first(&pins->tree, at, at + len - 1);
	return n ? container_of(n, struct coll_pin, by_addr) : NULL;
}

static struct coll_buf *coll_pins_find(struct coll_pins *pins, const struct coll_area *area,
				       bool write)
{
	struct coll_buf *buf = NULL;
	struct coll_pin *pin = NULL;
	u64 at, len;

	if (!area->nr)
		return NULL;
	at = coll_area_at(area);
	len = coll_area_reach(area);
	spin_lock(&coll_pins_lock);
	while ((pin = coll_pin_next_locked(pins, pin, at, len))) {
		if (coll_buf_covers(pin->buf, area, write)) {
			buf = pin->buf;
			coll_buf_get(buf);
			list_move(&pin->list, &pins->list);
			break;
		}
	}
	spin_unlock(&coll_pins_lock);
	/* Other spans may have the same digest. */
	if (buf && !coll_buf_has(buf, coll_area_at(area), coll_area_reach(area)) &&
	    !coll_buf_is(buf, area)) {
		coll_buf_put(buf);
		return NULL;
	}
	return buf;
}

/*
 * Drop everything that is kept for this user, and wait until it is unpinned; and what others,
 * ranks that are in the same need perhaps, have dropped before.
 */
static void coll_pins_evict(const struct user_struct *user)
{
	struct coll_pin *pin, *next;
	LIST_HEAD(dead);
	int idx = srcu_read_lock(&coll_pins_burying);

	spin_lock(&coll_pins_lock);
	list_splice_init(&coll_pins_dead, &dead);
	list_for_each_entry_safe(pin, next, &coll_pins_all, all)
		if (pin->buf->cred->user == user)
			coll_pin_drop_locked(pin, &dead);
	spin_unlock(&coll_pins_lock);
	coll_pins_bury(&dead);
	srcu_read_unlock(&coll_pins_burying, idx);
	synchronize_srcu(&coll_pins_burying);
}

struct coll_buf *coll_pins_pin(const struct coll_memlock *ml, const struct coll_area *area,
				bool write)
{
	struct coll_buf *buf = coll_buf_pin(ml, area, write);

	if (buf == ERR_PTR(-EDQUOT)) {
		coll_pins_evict(ml->cred->user);
		buf = coll_buf_pin(ml, area, write);
	}
	return buf;
}

struct coll_buf *coll_pins_save(const struct coll_memlock *ml, const struct coll_vec *v, u64 addr,
				const struct coll_area *area)
{
	struct coll_buf *buf = coll_buf_save(ml, v, addr, area);

	if (buf == ERR_PTR(-EDQUOT)) {
		coll_pins_evict(ml->cred->user);
		buf = coll_buf_save(ml, v, addr, area);
	}
	return buf;
}

/*
 * Keep @pin, which has @area, in the place of those it makes useless and of the oldest
 * ones. Under the lock.
 */
static void coll_pin_keep_locked(struct coll_pins *pins, struct coll_pin *pin,
				 const struct coll_area *area, u64 most, struct list_head *dead)
{
	u64 bytes = coll_pin_bytes(pin), at = pin->buf->addr, len = pin->buf->len;
	struct coll_pin *old, *next;

	lockdep_assert_held(&coll_pins_lock);
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
	list_add(&pin->all, &coll_pins_all);
}

/* Pin, and keep it if nothing changes meanwhile. */
static struct coll_buf *coll_pins_new(struct coll_pins *pins, const struct coll_memlock *ml,
				      const struct coll_area *area, bool write, u64 most)
{
	struct coll_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);
	struct coll_buf *buf;
	unsigned long seq;
	LIST_HEAD(dead);
	int idx;

	if (!pin || mmu_interval_notifier_insert(&pin->mni, ml->mm, coll_area_at(area),
						 coll_area_reach(area), &coll_pin_ops)) {
		kfree(pin);
		return coll_pins_pin(ml, area, write);
	}
	seq = mmu_interval_read_begin(&pin->mni);
	buf = coll_pins_pin(ml, area, write);
	if (IS_ERR(buf)) {
		mmu_interval_notifier_remove(&pin->mni);
		kfree(pin);
		return buf;
	}
	coll_buf_get(buf);
	pin->buf = buf;
	idx = srcu_read_lock(&coll_pins_burying);
	spin_lock(&coll_pins_lock);
	if (mmu_interval_read_retry(&pin->mni, seq))
		list_add(&pin->list, &dead);
	else
		coll_pin_keep_locked(pins, pin, area, most, &dead);
	spin_unlock(&coll_pins_lock);
	coll_pins_bury(&dead);
	srcu_read_unlock(&coll_pins_burying, idx);
	return buf;
}

struct coll_buf *coll_pins_take(struct coll_pins *pins, const struct coll_memlock *ml,
				  const struct coll_area *area, bool write)
{
	u64 most = READ_ONCE(pin_cache), end;
	struct coll_area pages = *area;
	struct coll_buf *buf;

	buf = coll_pins_find(pins, area, write);
	if (buf)
		return buf;
	if (!area->nr || coll_area_pages(area) > most >> PAGE_SHIFT ||
	    check_add_overflow(coll_area_at(area), coll_area_reach(area) + PAGE_SIZE, &end))
		return coll_pins_pin(ml, area, write);
	/* Whole pages: they are pinned anyway. Several spans are such already. */
	if (area->nr == 1) {
		const struct coll_span *s = coll_area_spans(area);
		u64 start = s->at & PAGE_MASK;

		pages = coll_area_range(start, PAGE_ALIGN(s->at + s->len) - start);
	}
	return coll_pins_new(pins, ml, &pages, write, most);
}

void coll_pins_release(struct coll_pins *pins)
{
	struct coll_pin *pin, *next;
	LIST_HEAD(dead);
	int idx = srcu_read_lock(&coll_pins_burying);

	spin_lock(&coll_pins_lock);
	list_for_each_entry_safe(pin, next, &pins->list, list)
		coll_pin_drop_locked(pin, &dead);
	spin_unlock(&coll_pins_lock);
	coll_pins_bury(&dead);
	srcu_read_unlock(&coll_pins_burying, idx);
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
