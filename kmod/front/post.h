/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nonblocking commands without io_uring: COLL_IOC_POST and COLL_IOC_COLLECT.
 *
 * A posted command holds no reference to the file. The release of the file ends the commands in
 * flight (end.c), waits for them, and frees commands that have not been collected.
 */
#ifndef COLL_FRONT_POST_H
#define COLL_FRONT_POST_H

#include <linux/list.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct coll_file;

/**
 * struct coll_posts - the posted commands of a file
 * @lock: protects @done to @nr_done
 * @done: commands that are complete and not collected, oldest first
 * @nr: commands that have not been freed
 * @nr_flying: commands in flight, or about to be
 * @nr_done: commands in @done; also read without the lock
 * @wq: for threads that wait for any of them to complete
 */
struct coll_posts {
	spinlock_t lock;
	struct list_head done;
	u32 nr;
	u32 nr_flying;
	u32 nr_done;
	wait_queue_head_t wq;
};

void coll_posts_init(struct coll_posts *p);

/* COLL_IOC_POST. Return: number of commands that were posted; if none, the error of the first. */
int coll_ioc_post(struct coll_file *cf, void __user *arg, u32 size);

/* COLL_IOC_COLLECT. Return: number of completions that have been stored; negative: none. */
int coll_ioc_collect(struct coll_file *cf, void __user *arg, u32 size);

/* poll() of the file: completions are there. */
__poll_t coll_posts_poll(struct coll_posts *p, struct file *file, poll_table *wait);

/* Is a posted command still in flight? The file has been released. */
bool coll_posts_in_flight(struct coll_posts *p);

/* Wait until no command is in flight, and free all. The file has been released. Sleeps. */
void coll_posts_release(struct coll_file *cf);

#endif /* COLL_FRONT_POST_H */
