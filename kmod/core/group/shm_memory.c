// SPDX-License-Identifier: GPL-2.0
#include <linux/align.h>
#include <linux/anon_inodes.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <linux/coll.h>

#include "../../compat.h"
#include "../limits.h"
#include "group.h"
#include "shm_memory.h"

/* A cache line is written by one rank, or by the kernel. */
static_assert(sizeof(struct coll_shm_header) == 64);
static_assert(sizeof(struct coll_shm_rank) == 64);
static_assert(sizeof(struct coll_shm_area) == 128);
static_assert(sizeof(struct coll_shm_slot) == 32);

static void *coll_shared_at(const struct coll_shared *s, u64 offset)
{
	return page_address(s->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

struct coll_shm_rank *coll_shared_rank(const struct coll_shared *s, u32 local)
{
	return coll_shared_at(s, sizeof(struct coll_shm_header) +
				 local * sizeof(struct coll_shm_rank));
}

const struct coll_shm_area *coll_shared_area(const struct coll_shared *s, u32 local)
{
	return coll_shared_at(s, coll_shared_area_offset(s, local));
}

/* Where a slot begins, in bytes. Its header does not cross a page. */
static u64 coll_shared_slot_offset(const struct coll_shared *s, u32 local, u32 slot)
{
	return coll_shared_area_offset(s, local) + sizeof(struct coll_shm_area) +
	       (u64)slot * s->slot_size;
}

u64 coll_shared_pos(const struct coll_shared *s, u32 local, u64 pos)
{
	const struct coll_shm_slot *slot;

	slot = coll_shared_at(s, coll_shared_slot_offset(s, local, pos % COLL_SHM_SLOTS));
	return READ_ONCE(slot->pos);
}

void coll_shared_read_head(const struct coll_shared *s, u32 local, u64 pos,
			   struct coll_shm_slot *head)
{
	memcpy(head, coll_shared_at(s, coll_shared_slot_offset(s, local, pos % COLL_SHM_SLOTS)),
	       sizeof(*head));
}

/* Bytes from @at up to the end of its page, @len at most. */
static u32 coll_shared_piece(u64 at, u32 len)
{
	return min_t(u32, len, PAGE_SIZE - offset_in_page(at));
}

static u64 coll_shared_data_offset(const struct coll_shared *s, u32 local, u64 pos)
{
	return coll_shared_slot_offset(s, local, pos % COLL_SHM_SLOTS) +
	       sizeof(struct coll_shm_slot);
}

void coll_shared_read(const struct coll_shared *s, u32 local, u64 pos, void *to, u32 len)
{
	u64 at = coll_shared_data_offset(s, local, pos);
	u32 n;

	for (; len; at += n, to += n, len -= n) {
		n = coll_shared_piece(at, len);
		memcpy(to, coll_shared_at(s, at), n);
	}
}

void coll_shared_write(const struct coll_shared *s, u32 local, u64 pos, const void *from, u32 len)
{
	u64 at = coll_shared_data_offset(s, local, pos);
	u32 n;

	for (; len; at += n, from += n, len -= n) {
		n = coll_shared_piece(at, len);
		memcpy(coll_shared_at(s, at), from, n);
	}
}

void coll_shared_wake(struct coll_shared *s)
{
	if (wq_has_sleeper(&s->wq))
		wake_up_all(&s->wq);
}

/* Allocate a page: zeroed, and charged to the caller. */
static struct page *coll_shared_get_page(void)
{
	return alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static int coll_shared_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations coll_shared_fops = {
	.owner = THIS_MODULE,
	.release = coll_shared_release,
};

void coll_shared_put(struct coll_shared *s)
{
	struct page **pages;
	u32 i;

	if (!s)
		return;
	spin_lock(&s->lock);
	pages = s->pages;
	s->pages = NULL;
	spin_unlock(&s->lock);
	for (i = 0; i < s->nr_pages; i++)
		if (pages[i])
			__free_page(pages[i]);
	kvfree(pages);
	fput(s->file);
}

/*
 * Largest number of bytes of data in a slot: more if fewer ranks share the memory. A v-form has two
 * numbers for each rank before its blocks. With several nodes the kernel copies the vectors: they
 * are small.
 */
static u32 coll_shared_data_size(const struct coll_group *g)
{
	u32 ranks = g->nr_local;

	if (g->nr_nodes > 1)
		return COLL_SMALL;
	return clamp_t(u32, COLL_SHM_DATA_ALL / roundup_pow_of_two(ranks), COLL_SHM_DATA_LEAST,
		       COLL_SHM_DATA_MOST) + 2 * ranks * sizeof(u64);
}

static void coll_shared_fill_header(struct coll_shared *s, const struct coll_group *g, u32 spin_us)
{
	u32 i;

	s->header = coll_shared_at(s, 0);
	*s->header = (struct coll_shm_header) {
		.magic = COLL_SHM_MAGIC,
		.version = COLL_SHM_VERSION,
		.nr_local = g->nr_local,
		.spin_us = spin_us,
		.rank_offset = sizeof(struct coll_shm_header),
		.rank_size = sizeof(struct coll_shm_rank),
		.area_offset = s->area_offset,
		.area_size = s->area_size,
		.slot_offset = sizeof(struct coll_shm_area),
		.slot_size = s->slot_size,
		.data_size = coll_shared_data_size(g),
	};
	for (i = 0; i < g->nr_local; i++)
		coll_shared_rank(s, i)->rank = g->local_rank[i];
}

static struct coll_shared *coll_shared_new(u32 nr_pages)
{
	struct coll_shared *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
	s->nr_pages = nr_pages;
	spin_lock_init(&s->lock);
	init_waitqueue_head(&s->wq);
	s->pages = kvcalloc(nr_pages, sizeof(*s->pages), GFP_KERNEL_ACCOUNT);
	if (!s->pages)
		goto free;
	s->file = anon_inode_getfile("[coll]", &coll_shared_fops, s, O_RDWR);
	if (IS_ERR(s->file))
		goto free;
	return s;
free:
	kvfree(s->pages);
	kfree(s);
	return NULL;
}

struct coll_shared *coll_shared_alloc(const struct coll_group *g, u32 spin_us)
{
	u32 slot = ALIGN(sizeof(struct coll_shm_slot) + coll_shared_data_size(g), 64);
	u32 area = PAGE_ALIGN(sizeof(struct coll_shm_area) + COLL_SHM_SLOTS * slot);
	u32 header = DIV_ROUND_UP(sizeof(struct coll_shm_header) +
				  g->nr_local * sizeof(struct coll_shm_rank), PAGE_SIZE);
	u32 i, nr = header + g->nr_local * (area >> PAGE_SHIFT);
	struct coll_shared *s;

	s = coll_shared_new(nr);
	if (!s)
		return NULL;
	s->area_offset = header * PAGE_SIZE;
	s->area_size = area;
	s->slot_size = slot;
	s->whole_slots = g->nr_nodes > 1;
	for (i = 0; i < header; i++) {
		s->pages[i] = coll_shared_get_page();
		if (!s->pages[i]) {
			coll_shared_put(s);
			return NULL;
		}
	}
	coll_shared_fill_header(s, g, spin_us);
	return s;
}

static void coll_shared_drop_area(struct coll_shared *s, u32 local)
{
	u32 nr = s->area_size >> PAGE_SHIFT, i;
	struct page **pages = s->pages + (coll_shared_area_offset(s, local) >> PAGE_SHIFT);

	for (i = 0; i < nr; i++) {
		if (pages[i])
			__free_page(pages[i]);
		pages[i] = NULL;
	}
}

/* Allocate the pages from @first to @last of the memory that are not there. */
static bool coll_shared_fill(struct coll_shared *s, u64 first, u64 last)
{
	u64 i;

	for (i = first; i <= last; i++) {
		if (!s->pages[i])
			s->pages[i] = coll_shared_get_page();
		if (!s->pages[i])
			return false;
	}
	return true;
}

int coll_shared_add_area(struct coll_shared *s, u32 local)
{
	u64 begin, end;
	u32 slot;

	/* The page of the first slot begins with struct coll_shm_area. */
	for (slot = 0; slot < COLL_SHM_SLOTS; slot++) {
		begin = coll_shared_slot_offset(s, local, slot);
		end = begin + (s->whole_slots ? s->slot_size : 1) - 1;
		if (!coll_shared_fill(s, begin >> PAGE_SHIFT, end >> PAGE_SHIFT)) {
			coll_shared_drop_area(s, local);
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Take a reference to page number @i. If it is not allocated, @new becomes this page, unless @new
 * is NULL. Return: the page; NULL: it is not allocated.
 */
static struct page *coll_shared_take(struct coll_shared *s, u64 i, struct page *new)
{
	struct page *page = new;

	spin_lock(&s->lock);
	/* The group has no reference any more: the page is that of the mapping alone. */
	if (!s->pages)
		goto out;
	if (!s->pages[i])
		s->pages[i] = new;
	page = s->pages[i];
	if (page)
		get_page(page);
out:
	spin_unlock(&s->lock);
	if (new && page != new)
		__free_page(new);
	return page;
}

/* Return: page number @i, with a reference, allocated if it has to be; NULL: there is no memory. */
static struct page *coll_shared_page(struct coll_shared *s, u64 i)
{
	struct page *page = coll_shared_take(s, i, NULL);

	if (page)
		return page;
	page = coll_shared_get_page();
	return page ? coll_shared_take(s, i, page) : NULL;
}

/*
 * Find the slot that page @i continues. Return: where the slot begins, in bytes; 0: a slot begins
 * in this page, or the page is in no slot.
 */
static u64 coll_shared_slot_around(const struct coll_shared *s, u64 i)
{
	u64 first = s->area_offset >> PAGE_SHIFT, area, slot;
	u32 nr;

	if (i < first)
		return 0;
	area = coll_shared_area_offset(s, div_u64(i - first, s->area_size >> PAGE_SHIFT));
	/* the slot that the last byte of the page is in; behind the last slot there is padding */
	nr = div_u64((i + 1) * PAGE_SIZE - 1 - area - sizeof(struct coll_shm_area), s->slot_size);
	slot = area + sizeof(struct coll_shm_area) +
	       (u64)min_t(u32, nr, COLL_SHM_SLOTS - 1) * s->slot_size;
	return slot >> PAGE_SHIFT == i ? 0 : slot;
}

/*
 * A vector that reaches the second page of a slot mostly needs the pages after it, too. Map all of
 * them now, instead of one with each fault. A page that cannot be mapped here has a fault of its
 * own.
 */
static void coll_shared_map_around(struct coll_shared *s, struct vm_area_struct *vma, u64 i)
{
	u64 begin = coll_shared_slot_around(s, i), at, end;
	struct page *page;

	if (!begin || !READ_ONCE(s->pages))
		return;
	at = max_t(u64, (begin >> PAGE_SHIFT) + 1, vma->vm_pgoff);
	end = min3((begin + s->slot_size - 1) / PAGE_SIZE + 1, (u64)s->nr_pages,
		   (u64)vma->vm_pgoff + vma_pages(vma));
	for (; at < end; at++) {
		page = at == i ? NULL : coll_shared_page(s, at);
		if (!page)
			continue;
		vmf_insert_page(vma, vma->vm_start + (at - vma->vm_pgoff) * PAGE_SIZE, page);
		put_page(page);
	}
}

/* A process touches a page for the first time. */
static vm_fault_t coll_shared_fault(struct vm_fault *vmf)
{
	struct coll_shared *s = vmf->vma->vm_file->private_data;
	struct page *page;

	if (vmf->pgoff >= s->nr_pages)
		return VM_FAULT_SIGBUS;
	page = coll_shared_page(s, vmf->pgoff);
	if (!page)
		return VM_FAULT_OOM;
	coll_shared_map_around(s, vmf->vma, vmf->pgoff);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct coll_shared_vm_ops = {
	.fault = coll_shared_fault,
};

/* May a rank map this part of the memory with this protection? */
static int coll_shared_check_vma(const struct coll_shared *s, u32 local,
				 struct vm_area_struct *vma, bool *own)
{
	u64 nr = vma_pages(vma), first = vma->vm_pgoff;
	u64 mine = coll_shared_area_offset(s, local) >> PAGE_SHIFT;

	if (!(vma->vm_flags & VM_SHARED) || nr > s->nr_pages || first > s->nr_pages - nr)
		return -EINVAL;
	*own = first >= mine && first + nr <= mine + (s->area_size >> PAGE_SHIFT);
	if (vma->vm_flags & VM_EXEC || (vma->vm_flags & VM_WRITE && !*own))
		return -EACCES;
	return 0;
}

int coll_shared_map(struct coll_shared *s, u32 local, struct vm_area_struct *vma)
{
	bool own;
	int ret = coll_shared_check_vma(s, local, vma, &own);

	if (ret)
		return ret;
	/*
	 * VM_IO: so MADV_DOFORK cannot give the mapping to a child. VM_MIXEDMAP: for
	 * vmf_insert_page()
	 */
	coll_vma_flags(vma, VM_IO | VM_MIXEDMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		       VM_MAYEXEC | (own ? 0 : VM_MAYWRITE));
	vma_set_file(vma, s->file);
	vma->vm_ops = &coll_shared_vm_ops;
	return 0;
}
