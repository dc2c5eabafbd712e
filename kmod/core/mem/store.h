/* SPDX-License-Identifier: GPL-2.0 */
/* Small results on their way to user memory. */
#ifndef COLL_MEM_STORE_H
#define COLL_MEM_STORE_H

#include <linux/types.h>

struct coll_memlock;

/**
 * coll_store() - write to the memory of a rank
 * @ml: its address space
 * @to: user address
 * @from: what to write
 * @len: bytes; may be 0
 *
 * Sleeps. The caller may be a thread of the rank, or a worker: io_uring uses a worker if the thread
 * that submitted has exited. Return: 0; -EFAULT, also if mmap_lock is not free for a second.
 */
int coll_store(const struct coll_memlock *ml, u64 to, const void *from, u32 len);

#endif /* COLL_MEM_STORE_H */
