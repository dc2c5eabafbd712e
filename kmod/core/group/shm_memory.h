/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of the memory that the ranks of a node share: layout, allocation, mapping.
 *
 * The kernel reads the header and the beginning of each slot. With several nodes, slots are
 * smaller, and it reads and writes whole slots. These pages are allocated with the area, and
 * charged to its rank. The further pages of a slot are allocated and charged when a process touches
 * one of them first.
 *
 * The memory belongs to a file of its own, which the group and each mapping refer to. When the
 * group is freed the memory gives up its pages. Those that are mapped live until they are unmapped:
 * a mapping keeps no page that is not in it.
 */
#ifndef COLL_CORE_SHM_MEMORY_H
#define COLL_CORE_SHM_MEMORY_H

#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <linux/coll.h>

struct coll_group;
struct file;
struct page;
struct vm_area_struct;

/**
 * struct coll_shared - the shared memory of a group
 * @header: at the beginning of the first page
 * @file: file that mappings refer to. It is not the file of the rank: so the latter is released
 *	when its last descriptor is closed, even if memory is mapped, see kmod/front/end.c.
 * @nr_areas: ranks that have an area; group->lock
 * @has_area: bit of each local index: the rank has an area; group->lock
 * @has_mapped: bit of each local index: the rank has mapped its own area; group->lock
 * @wq: tasks that sleep in coll_shm_wait()
 * @area_offset: of the first area
 * @area_size: from one area to the next, a multiple of the page size
 * @slot_size: from one slot of an area to the next
 * @whole_slots: the kernel uses all of each slot
 * @nr_pages: number of @pages
 * @lock: page faults may come while the group gives up the pages
 * @pages: an entry is NULL if the page is not allocated. The pages that the kernel reads are
 *	constant once all areas are there. The fault handler adds others, under @lock. NULL: the group has
 *	been freed; written under @lock
 */
struct coll_shared {
	struct coll_shm_header *header;
	struct file *file;
	u32 nr_areas;
	DECLARE_BITMAP(has_area, COLL_SHM_RANKS);
	DECLARE_BITMAP(has_mapped, COLL_SHM_RANKS);
	wait_queue_head_t wq;
	u32 area_offset;
	u32 area_size;
	u32 slot_size;
	bool whole_slots;
	u32 nr_pages;
	spinlock_t lock;
	struct page **pages;
};

/**
 * coll_shared_alloc() - make the memory, with its header but without areas
 * @g: group
 * @spin_us: for the header
 *
 * Return: the memory, which the caller puts; NULL: ENOMEM
 */
struct coll_shared *coll_shared_alloc(const struct coll_group *g, u32 spin_us);

/* Give up the pages, and put the reference of the group. @s may be NULL. */
void coll_shared_put(struct coll_shared *s);

/**
 * coll_shared_add_area() - allocate those pages of an area that the kernel reads
 * @s: memory
 * @local: local rank without an area. The caller is the only one that adds this area.
 *
 * Return: 0 or -ENOMEM
 */
int coll_shared_add_area(struct coll_shared *s, u32 local);

/**
 * coll_shared_map() - give a process a part of the memory
 * @s: memory with all areas
 * @local: the only area that may be mapped writable
 * @vma: to be filled in
 *
 * Under mmap_lock. Return: 0 or as COLL_IOC_SHM says of mmap().
 */
int coll_shared_map(struct coll_shared *s, u32 local, struct vm_area_struct *vma);

/* Where the area of a local rank begins, in bytes. */
static inline u64 coll_shared_area_offset(const struct coll_shared *s, u32 local)
{
	return s->area_offset + (u64)local * s->area_size;
}

/*
 * Wake the tasks that sleep in @s->wq. Has a full barrier: a task that is about to sleep sees the
 * values written before.
 */
void coll_shared_wake(struct coll_shared *s);

struct coll_shm_rank *coll_shared_rank(const struct coll_shared *s, u32 local);
/* The rank must have an area. */
const struct coll_shm_area *coll_shared_area(const struct coll_shared *s, u32 local);

/*
 * The position that a rank has written to its slot for @pos. The rank must have an area. Any value
 * may be there: only compare it.
 */
u64 coll_shared_pos(const struct coll_shared *s, u32 local, u64 pos);

/*
 * Copy the head of the slot for @pos to @head; copy the first @len bytes of its data to @to; copy
 * @len bytes from @from to its data. Up to COLL_SMALL bytes. Only with several nodes: all pages of
 * an area are there then. The rank may write to its slot at the same time.
 */
void coll_shared_read_head(const struct coll_shared *s, u32 local, u64 pos,
			   struct coll_shm_slot *head);
void coll_shared_read(const struct coll_shared *s, u32 local, u64 pos, void *to, u32 len);
void coll_shared_write(const struct coll_shared *s, u32 local, u64 pos, const void *from, u32 len);

#endif /* COLL_CORE_SHM_MEMORY_H */
