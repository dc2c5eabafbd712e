/* SPDX-License-Identifier: GPL-2.0 */
/* What is behind an open /dev/coll, besides its member. */
#ifndef COLL_FRONT_FILE_H
#define COLL_FRONT_FILE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct coll_member;
struct coll_progress;
struct file;
struct io_uring_cmd;
struct task_struct;

/**
 * struct coll_file - private_data of an open file
 * @member: owned
 * @refs: references to the file held by commands in flight, ioctl or io_uring:
 *	with it the last close() of a busy file can be told from others
 * @uring: io_uring commands in flight
 * @owner: thread group that opened it; where io_uring does not tell of exec
 * @watch: looks at @owner while @uring is not zero; likewise
 * @progress: its progress thread, set once, with release; NULL: none
 * @starting: held by who makes that
 * @progress_again: jiffies when it may be tried again; @starting
 * @closing: does what is left to do when nobody has it open any more
 */
struct coll_file {
	struct coll_member *member;
	atomic_t refs;
	atomic_t uring;
	struct task_struct *owner;
	struct delayed_work watch;
	struct coll_progress *progress;
	struct mutex starting;
	unsigned long progress_again;
	struct work_struct closing;
};

/* uring.c */
int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
void coll_uring_open(struct coll_file *cf);
void coll_uring_release(struct coll_file *cf);

/* submit.c */
/* COLL_IOC_SUBMIT: post and wait, helping. Killable. */
int coll_submit_wait(struct coll_file *cf, u64 arg, u32 len);

/* chardev.c */
int coll_chardev_init(void);
void coll_chardev_exit(void);

#endif /* COLL_FRONT_FILE_H */
