/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives by io_uring: COLL_URING_TENSOR_WAIT, with no thread that waits. */
#ifndef COLL_FRONT_TENSOR_AWAIT_H
#define COLL_FRONT_TENSOR_AWAIT_H

#include <linux/types.h>

struct coll_file;
struct coll_tensor_wait;
struct io_uring_cmd;

/**
 * coll_await_begin() - complete a wait when it is over
 * @cf: file
 * @cmd: command, in its first issue (IO_URING_F_NONBLOCK)
 * @arg: user address of the wait
 * @w: copy of it, with ->min
 * @issue_flags: of the issue
 *
 * The progress thread, or workers, do the work that a waiting thread would do.
 *
 * Return: -EIOCBQUEUED: exactly one CQE has been posted or will be; -EAGAIN: this kernel cannot
 * cancel commands, or the rank has COLL_AWAITS_MAX waits: a thread has to wait.
 */
int coll_await_begin(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg,
		     const struct coll_tensor_wait *w, unsigned int issue_flags);

/* The ring or the task ends: complete the wait soon. May be called often. */
void coll_await_cancel(struct io_uring_cmd *cmd);

#endif /* COLL_FRONT_TENSOR_AWAIT_H */
