/* SPDX-License-Identifier: GPL-2.0 */
/* State of an open /dev/coll, besides its member. */
#ifndef COLL_FRONT_FILE_H
#define COLL_FRONT_FILE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "post.h"

struct coll_call;
struct coll_member;
struct coll_progress;
struct coll_uring;
struct file;
struct io_uring_cmd;

/**
 * struct coll_file - private_data of an open file
 * @member: owned
 * @file: the struct file, which outlives this; no reference
 * @refs: references to @file that commands in flight hold; see end.c
 * @closed: its process has closed a descriptor of it
 * @watch: polls for the end of the rank while commands are in flight, if no callback reports it
 * @watch_delay: jiffies from the last look of @watch to the next; a hint
 * @mn: reports the end of the address space (with CONFIG_MMU_NOTIFIER)
 * @exited: does what may take long when the rank has left; see coll_end_soon()
 * @unregister: unpins the registered buffers after the end of the address space
 * @lock: protects @closed_anew to @nr_spare_urings
 * @closed_anew: a descriptor has been closed since the last blocking call of the rank that came by
 *	a descriptor which is still open
 * @calls: blocking calls that a thread is in
 * @nr_callers: number of @calls
 * @parked: calls that have been parked, the newest last; there may be many
 * @nr_parked: number of @parked; also read without the lock
 * @spare: memory for the next call
 * @spare_urings: memory for the next commands of io_uring
 * @nr_spare_urings: number of @spare_urings
 * @cancelled: the command of io_uring that was cancelled first in a round, see
 *	coll_uring_cancel(); only compared
 * @progress: its progress thread, set once, with release; NULL: none
 * @starting: held while @progress is made
 * @progress_again: jiffies before which @progress is not made again; under @starting
 * @posts: nonblocking commands of COLL_IOC_POST
 * @closing: does the rest of the work after the last close()
 * @closing_user: the user whose queue @closing is on, with a reference
 */
struct coll_file {
	struct coll_member *member;
	struct file *file;
	atomic64_t refs;
	bool closed;
	struct delayed_work watch;
	unsigned long watch_delay;
#ifdef CONFIG_MMU_NOTIFIER
	struct mmu_notifier mn;
	struct work_struct exited;
	struct work_struct unregister;
#endif
	spinlock_t lock;
	bool closed_anew;
	struct list_head calls;
	u32 nr_callers;
	struct list_head parked;
	u32 nr_parked;
	struct coll_call *spare;
	struct coll_uring *spare_urings;
	u32 nr_spare_urings;
	const void *cancelled;
	struct coll_progress *progress;
	struct mutex starting;
	unsigned long progress_again;
	struct coll_posts posts;
	struct work_struct closing;
	struct coll_user *closing_user;
};

#endif /* COLL_FRONT_FILE_H */
