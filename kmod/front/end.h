/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a rank: its file is closed, or its process ends. The rules are in end.c. */
#ifndef COLL_FRONT_END_H
#define COLL_FRONT_END_H

#include <linux/fs.h>
#include <linux/types.h>

struct coll_file;

/**
 * coll_end_open() - watch for the end of the process that opens a file
 * @cf: with its member
 * @file: that file
 *
 * Return: 0, -ENOMEM, -ERESTARTNOINTR.
 */
int coll_end_open(struct coll_file *cf, struct file *file);

/**
 * coll_end_flush() - a descriptor is being closed
 * @cf: file
 * @files: the table of descriptors it was in
 */
void coll_end_flush(struct coll_file *cf, fl_owner_t files);

/**
 * coll_end_posted() - a nonblocking command has been posted, and may have ended
 * @cf: file, which the caller keeps alive
 * @holds_file: the command has a reference to the file, see coll_end_hold()
 */
void coll_end_posted(struct coll_file *cf, bool holds_file);

/* A blocking call, or the progress thread, has been killed. Called in that thread. */
void coll_end_killed(struct coll_file *cf);

/* io_uring cancels a command, because its ring or its task ends. Called in that task. */
void coll_end_cancelled(struct coll_file *cf);

/* The last reference to the file has gone: end the commands in flight. Sleeps. */
void coll_end_released(struct coll_file *cf);

/* No command of the file is in flight: stop watching the process. Sleeps. */
void coll_end_release(struct coll_file *cf);

#endif /* COLL_FRONT_END_H */
