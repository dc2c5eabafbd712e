// SPDX-License-Identifier: GPL-2.0
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include "buf.h"
#include "store.h"

/*
 * Time in which mmap_lock must become free. fork() holds it while it copies the page tables, for 100
 * ms or more in a large process.
 */
#define COLL_STORE_WAIT	HZ

static int coll_store_remote(struct mm_struct *mm, u64 to, const void *from, u32 len)
{
	unsigned long until = jiffies + COLL_STORE_WAIT;
	struct page *page;
	u32 n;
	int ret;

	for (; len; to += n, from += n, len -= n) {
		ret = coll_pin_page(mm, to, until, &page);
		if (ret)
			return ret;
		n = min_t(u32, len, PAGE_SIZE - offset_in_page(to));
		memcpy_to_page(page, offset_in_page(to), from, n);
		unpin_user_pages_dirty_lock(&page, 1, true);
	}
	return 0;
}

int coll_store(const struct coll_memlock *ml, u64 to, const void *from, u32 len)
{
	int ret;

	if (current->mm == ml->mm)
		return copy_to_user(u64_to_user_ptr(to), from, len) ? -EFAULT : 0;
	if (!mmget_not_zero(ml->mm))
		return -EFAULT;
	ret = coll_store_remote(ml->mm, to, from, len);
	/* Not mmput(): the last one tears the address space down, which may take long. */
	mmput_async(ml->mm);
	return ret;
}
