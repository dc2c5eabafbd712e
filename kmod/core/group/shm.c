// SPDX-License-Identifier: GPL-2.0
#include <linux/align.h>
#include <linux/anon_inodes.h>
#include <linux/bitmap.h>
#include <linux/build_bug.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <linux/coll.h>

#include "../../compat.h"
#include "../deadline.h"
#include "../limits.h"
#include "failure.h"
#include "group.h"
#include "member.h"
#include "shm.h"

static bool shm = true;
module_param(shm, bool, 0644);
MODULE_PARM_DESC(shm, "let the ranks of a node share memory, for small collectives without a system call");

/* Cache lines of its own. */
#define COLL_SHM_SLOT_SIZE	ALIGN(sizeof(struct coll_shm_slot) + COLL_SHM_DATA, 64)
#define COLL_SHM_AREA_SIZE	\
	PAGE_ALIGN(sizeof(struct coll_shm_area) + COLL_SHM_SLOTS * COLL_SHM_SLOT_SIZE)

/* A sleeper looks by itself after this time, then less and less often. */
#define COLL_SHM_LOOK_FIRST_NS	(50 * (u64)NSEC_PER_MSEC)
#define COLL_SHM_LOOK_MOST_NS	((u64)NSEC_PER_SEC)

/* A cache line is written by one rank, or by the kernel. */
static_assert(sizeof(struct coll_shm_header) == 64);
static_assert(sizeof(struct coll_shm_rank) == 64);
static_assert(sizeof(struct coll_shm_area) == 128);
static_assert(sizeof(struct coll_shm_slot) == 32);

/**
 * struct coll_shared - the shared memory of a group
 * @header: at the beginning of the first page
 * @file: file that mappings refer to. It is not the file of the rank: so the latter is released
 *	when its last descriptor is closed, even if memory is mapped, see kmod/front/end.c.
 * @nr_areas: ranks that have an area; group->lock
 * @has_area: bit of each local index: the rank has an area; group->lock
 * @has_mapped: bit of each local index: the rank has mapped its own area; group->lock
 * @wq: tasks that sleep in coll_shm_wait()
 * @header_pages: pages before the first area
 * @nr_pages: number of @pages
 * @pages: NULL for an area that no rank has yet. Constant when all areas are there.
 */
struct coll_shared {
	struct coll_shm_header *header;
	struct file *file;
	u32 nr_areas;
	DECLARE_BITMAP(has_area, COLL_SHM_RANKS);
	DECLARE_BITMAP(has_mapped, COLL_SHM_RANKS);
	wait_queue_head_t wq;
	u32 header_pages;
	u32 nr_pages;
	struct page *pages[];
};

static void *coll_shm_at(const struct coll_shared *s, u64 offset)
{
	return page_address(s->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

static struct coll_shm_rank *coll_shm_rank_at(const struct coll_shared *s, u32 local)
{
	return coll_shm_at(s, sizeof(struct coll_shm_header) +
			      local * sizeof(struct coll_shm_rank));
}

static u64 coll_shm_area_offset(const struct coll_shared *s, u32 local)
{
	return (u64)s->header_pages * PAGE_SIZE + (u64)local * COLL_SHM_AREA_SIZE;
}

static const struct coll_shm_area *coll_shm_area_at(const struct coll_shared *s, u32 local)
{
	return coll_shm_at(s, coll_shm_area_offset(s, local));
}

/* The position that a rank has written to its slot for @pos. Any value: only compare it. */
static u64 coll_shm_pos(const struct coll_shared *s, u32 local, u64 pos)
{
	const struct coll_shm_slot *slot;

	slot = coll_shm_at(s, coll_shm_area_offset(s, local) + sizeof(struct coll_shm_area) +
			      pos % COLL_SHM_SLOTS * COLL_SHM_SLOT_SIZE);
	return READ_ONCE(slot->pos);
}

/*
 * Has every rank its area, so that areas may be read? Under group->lock. Once this is true it stays
 * true, so later reads of areas need no lock.
 */
static bool coll_shm_is_whole_locked(const struct coll_group *g, const struct coll_shared *s)
{
	lockdep_assert_held(&g->lock);
	return s && s->nr_areas == g->nr_local;
}

static void coll_shm_put_pages(struct page **pages, u32 nr)
{
	while (nr--) {
		if (pages[nr])
			__free_page(pages[nr]);
		pages[nr] = NULL;
	}
}

/* Allocate pages: zeroed, and charged to the caller. */
static int coll_shm_get_pages(struct page **pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[i]) {
			coll_shm_put_pages(pages, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static void coll_shared_free(struct coll_shared *s)
{
	if (!s)
		return;
	coll_shm_put_pages(s->pages, s->nr_pages);
	if (s->file)
		fput(s->file);
	kvfree(s);
}

static const struct file_operations coll_shm_fops = {
	.owner = THIS_MODULE,
};

static void coll_shm_fill_header(struct coll_shared *s, u32 nr_local, u32 spin_us)
{
	s->header = coll_shm_at(s, 0);
	*s->header = (struct coll_shm_header) {
		.magic = COLL_SHM_MAGIC,
		.version = COLL_SHM_VERSION,
		.nr_local = nr_local,
		.spin_us = spin_us,
		.rank_offset = sizeof(struct coll_shm_header),
		.rank_size = sizeof(struct coll_shm_rank),
		.area_offset = coll_shm_area_offset(s, 0),
		.area_size = COLL_SHM_AREA_SIZE,
		.slot_offset = sizeof(struct coll_shm_area),
		.slot_size = COLL_SHM_SLOT_SIZE,
		.data_size = COLL_SHM_DATA,
	};
}

static struct coll_shared *coll_shared_alloc(const struct coll_group *g, u32 spin_us)
{
	u32 header = DIV_ROUND_UP(sizeof(struct coll_shm_header) +
				  g->nr_local * sizeof(struct coll_shm_rank), PAGE_SIZE);
	u32 nr = header + g->nr_local * (COLL_SHM_AREA_SIZE >> PAGE_SHIFT);
	struct coll_shared *s;
	u32 i;

	s = kvzalloc(struct_size(s, pages, nr), GFP_KERNEL_ACCOUNT);
	if (!s)
		return NULL;
	s->header_pages = header;
	s->nr_pages = nr;
	init_waitqueue_head(&s->wq);
	s->file = anon_inode_getfile("[coll]", &coll_shm_fops, NULL, O_RDWR);
	if (IS_ERR(s->file)) {
		kvfree(s);
		return NULL;
	}
	if (coll_shm_get_pages(s->pages, header)) {
		coll_shared_free(s);
		return NULL;
	}
	coll_shm_fill_header(s, g->nr_local, spin_us);
	for (i = 0; i < g->nr_local; i++)
		coll_shm_rank_at(s, i)->rank = g->local_rank[i];
	return s;
}

static void coll_shm_say(const struct coll_shared *s, const struct coll_member *m)
{
	struct coll_shm_rank *r = coll_shm_rank_at(s, m->local);

	/* A rank that sees the new number also sees what this rank wrote before the op. */
	smp_store_release(&r->completed, m->completed);
	/* as above */
	smp_store_release(&r->posted, m->posted);
	WRITE_ONCE(r->left, m->left);
}

/* Write the present state of all ranks to the header. Under group->lock. */
static void coll_shm_publish_locked(struct coll_group *g, struct coll_shared *s)
{
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->nr_local; i++)
		if (g->members[i])
			coll_shm_say(s, g->members[i]);
	WRITE_ONCE(s->header->failed, g->error);
	g->shared = s;
}

static int coll_shm_check(const struct coll_group *g)
{
	if (!READ_ONCE(shm) || g->nr_nodes > 1 || g->tensors || g->nr_local < 2 ||
	    g->nr_local > COLL_SHM_RANKS)
		return -EOPNOTSUPP;
	return READ_ONCE(g->error) ? -ESHUTDOWN : 0;
}

/* The first rank makes the header. */
static int coll_shm_make(struct coll_group *g, u32 spin_us)
{
	struct coll_shared *s;
	bool there;

	spin_lock(&g->lock);
	there = g->shared;
	spin_unlock(&g->lock);
	if (there)
		return 0;
	s = coll_shared_alloc(g, spin_us);
	if (!s)
		return -ENOMEM;
	spin_lock(&g->lock);
	if (!g->shared) {
		coll_shm_publish_locked(g, s);
		s = NULL;
	}
	spin_unlock(&g->lock);
	coll_shared_free(s);
	return 0;
}

static int coll_shm_add_area(struct coll_group *g, u32 local)
{
	const u32 nr = COLL_SHM_AREA_SIZE >> PAGE_SHIFT;
	struct page *pages[COLL_SHM_AREA_SIZE >> PAGE_SHIFT];
	struct coll_shared *s = g->shared;
	int ret;

	ret = coll_shm_get_pages(pages, nr);
	if (ret)
		return ret;
	spin_lock(&g->lock);
	memcpy(s->pages + (coll_shm_area_offset(s, local) >> PAGE_SHIFT), pages, sizeof(pages));
	__set_bit(local, s->has_area);
	s->nr_areas++;
	spin_unlock(&g->lock);
	return 0;
}

int coll_shm_open(struct coll_member *m, u32 spin_us, struct coll_shm *out)
{
	struct coll_group *g = coll_member_group(m);
	int ret = coll_shm_check(g);
	bool there;

	lockdep_assert_held(&m->setup);
	if (!ret)
		ret = coll_shm_make(g, spin_us);
	if (ret)
		return ret;
	/* No other thread sets this bit: one setup verb of a file runs at a time. */
	spin_lock(&g->lock);
	there = test_bit(m->local, g->shared->has_area);
	spin_unlock(&g->lock);
	if (!there)
		ret = coll_shm_add_area(g, m->local);
	out->local = m->local;
	out->size = (u64)g->shared->nr_pages * PAGE_SIZE;
	out->own_offset = coll_shm_area_offset(g->shared, m->local);
	out->own_size = COLL_SHM_AREA_SIZE;
	return ret;
}

/* May @m map this part of the memory with this protection? */
static int coll_shm_check_vma(const struct coll_shared *s, const struct coll_member *m,
			      struct vm_area_struct *vma, bool *own)
{
	u64 nr = vma_pages(vma), first = vma->vm_pgoff;
	u64 mine = coll_shm_area_offset(s, m->local) >> PAGE_SHIFT;

	if (!(vma->vm_flags & VM_SHARED) || nr > s->nr_pages || first > s->nr_pages - nr)
		return -EINVAL;
	*own = first >= mine && first + nr <= mine + (COLL_SHM_AREA_SIZE >> PAGE_SHIFT);
	if (vma->vm_flags & VM_EXEC || (vma->vm_flags & VM_WRITE && !*own))
		return -EACCES;
	return 0;
}

/* A rank has mapped its area. When all ranks have, the memory may be used. */
static void coll_shm_mapped(struct coll_group *g, struct coll_shared *s, u32 local)
{
	spin_lock(&g->lock);
	__set_bit(local, s->has_mapped);
	if (bitmap_weight(s->has_mapped, COLL_SHM_RANKS) == g->nr_local) {
		/* pairs with shm_submit() of libcoll_user */
		smp_store_release(&s->header->active, 1);
	}
	spin_unlock(&g->lock);
}

int coll_shm_map(struct coll_member *m, struct vm_area_struct *vma)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_shared *s = NULL;
	bool own, whole = false;
	int ret;

	if (g) {
		spin_lock(&g->lock);
		s = g->shared;
		whole = coll_shm_is_whole_locked(g, s);
		spin_unlock(&g->lock);
	}
	if (!s)
		return -ENODEV;
	ret = coll_shm_check_vma(s, m, vma, &own);
	if (ret)
		return ret;
	if (!whole)
		return -EAGAIN;
	/* VM_IO: so MADV_DOFORK cannot give the mapping to a child */
	coll_vma_flags(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		       VM_MAYEXEC | (own ? 0 : VM_MAYWRITE));
	vma_set_file(vma, s->file);
	ret = vm_map_pages(vma, s->pages, s->nr_pages);
	if (!ret && vma->vm_flags & VM_WRITE)
		coll_shm_mapped(g, s, m->local);
	return ret;
}

/* Has a rank given more ops than @posted to the kernel, or has it left? */
static bool coll_shm_is_astray(const struct coll_shared *s, u32 local, u64 posted)
{
	const struct coll_shm_rank *r = coll_shm_rank_at(s, local);

	return READ_ONCE(r->posted) > posted || READ_ONCE(r->left);
}

/* May the op go on? The same check as in user space; see <linux/coll.h>. */
static bool coll_shm_goes_on(struct coll_group *g, const struct coll_member *m,
			     const struct coll_shm_wait *w)
{
	const struct coll_shared *s = g->shared;
	bool missing = false;
	u32 i;

	if (READ_ONCE(s->header->failed))
		return true;
	for (i = 0; i < g->nr_local; i++) {
		bool astray = i != m->local && coll_shm_is_astray(s, i, w->posted);

		/* In this order: a rank has written its slot before it posts a later op. */
		smp_rmb();
		if (coll_shm_pos(s, i, w->pos) == w->pos)
			continue;
		if (astray)
			return true;
		missing = true;
	}
	return !missing;
}

static void coll_shm_timed_out(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = coll_member_group(m);
	u32 i, late = COLL_RANK_NONE;
	struct coll_cause cause;

	for (i = g->nr_local; i--;)
		if (coll_shm_pos(g->shared, i, w->pos) != w->pos)
			late = g->local_rank[i];
	coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT, late, w->posted + 1);
	coll_group_fail(g, &cause);
}

/* A thread is about to sleep. Return: 0 or as COLL_IOC_SHM_WAIT. */
static int coll_shm_enter_locked(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!coll_shm_is_whole_locked(g, g->shared))
		return -ENOTCONN;
	if (w->posted > m->posted)
		return -EINVAL;
	/* A bound: each sleeper checks all ranks when it is woken. */
	if (m->shm_sleepers >= COLL_SHM_SLEEPERS)
		return -EBUSY;
	m->shm_sleepers++;
	m->shm_waits = w->pos;
	return 0;
}

static void coll_shm_leave(struct coll_member *m)
{
	struct coll_group *g = m->group;

	spin_lock(&g->lock);
	if (!--m->shm_sleepers)
		m->shm_waits = 0;
	spin_unlock(&g->lock);
}

/*
 * Sleep until the op may go on, and check that now and then: a rank may have written its slot and
 * been stopped before it could wake the others. Return: 0; -ETIME; -ERESTARTSYS.
 */
static int coll_shm_sleep(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = m->group;
	u64 expires = w->timeout_ns ? coll_deadline(w->timeout_ns) : U64_MAX;
	u64 slice = COLL_SHM_LOOK_FIRST_NS, now, left;
	int ret;

	for (;;) {
		now = ktime_get_ns();
		left = expires > now ? expires - now : 0;
		ret = wait_event_interruptible_hrtimeout(g->shared->wq, coll_shm_goes_on(g, m, w),
							 ns_to_ktime(min(left, slice)));
		if (ret != -ETIME || left <= slice)
			return ret;
		slice = min(2 * slice, COLL_SHM_LOOK_MOST_NS);
	}
}

int coll_shm_wait(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = coll_member_group(m);
	int ret;

	spin_lock(&g->lock);
	ret = coll_shm_enter_locked(m, w);
	spin_unlock(&g->lock);
	if (ret)
		return ret;
	ret = coll_shm_sleep(m, w);
	coll_shm_leave(m);
	if (ret == -ETIME && !coll_shm_goes_on(g, m, w)) {
		if (w->flags & COLL_SHM_WAIT_LOOK)
			return -ETIME;
		coll_shm_timed_out(m, w);
	}
	return ret == -ERESTARTSYS ? -EINTR : 0;
}

int coll_shm_wake(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_shared *s;

	spin_lock(&g->lock);
	s = g->shared;
	spin_unlock(&g->lock);
	if (!s)
		return -ENOTCONN;
	wake_up_all(&s->wq);
	return 0;
}

static void coll_shm_wake_all(struct coll_shared *s)
{
	/* Has a full barrier: a rank that is about to sleep sees the values written before. */
	if (wq_has_sleeper(&s->wq))
		wake_up_all(&s->wq);
}

void coll_shm_note(struct coll_member *m)
{
	struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!g->shared)
		return;
	coll_shm_say(g->shared, m);
	coll_shm_wake_all(g->shared);
}

u64 coll_shm_ops(const struct coll_member *m)
{
	const struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!g->shared || !test_bit(m->local, g->shared->has_area))
		return 0;
	return READ_ONCE(coll_shm_area_at(g->shared, m->local)->ops);
}

u32 coll_shm_late(const struct coll_group *g, u32 *first)
{
	u32 i, late = 0;
	u64 pos = 0;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->nr_local && !pos; i++)
		if (g->members[i])
			pos = g->members[i]->shm_waits;
	for (i = 0; i < g->nr_local && pos; i++)
		if (coll_shm_pos(g->shared, i, pos) != pos && !late++)
			*first = g->local_rank[i];
	return late;
}

static void coll_shm_left(struct coll_group *g, u32 rank)
{
	u32 i;

	spin_lock(&g->lock);
	for (i = 0; i < g->nr_local && g->shared; i++)
		if (g->local_rank[i] == rank)
			WRITE_ONCE(coll_shm_rank_at(g->shared, i)->left, 1);
	if (g->shared)
		coll_shm_wake_all(g->shared);
	spin_unlock(&g->lock);
}

/*
 * In the critical section that sets ->error: a rank that gets this error from the kernel must see
 * ->failed before it writes its next slot.
 */
static void coll_shm_failing_locked(struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	if (!g->shared)
		return;
	/* pairs with look_further() of libcoll_user */
	smp_store_release(&g->shared->header->failed, g->error);
}

static void coll_shm_fail(struct coll_group *g)
{
	spin_lock(&g->lock);
	if (g->shared)
		coll_shm_wake_all(g->shared);
	spin_unlock(&g->lock);
}

static void coll_shm_free(struct coll_group *g)
{
	coll_shared_free(g->shared);
}

const struct coll_group_part coll_shm_part = {
	.left = coll_shm_left,
	.failing_locked = coll_shm_failing_locked,
	.fail = coll_shm_fail,
	.free = coll_shm_free,
};
