/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives by io_uring. */
#ifndef COLL_FRONT_TENSOR_URING_H
#define COLL_FRONT_TENSOR_URING_H

#include <linux/types.h>

struct coll_file;
struct io_uring_cmd;

int coll_uring_tensors(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg, u32 len,
		       unsigned int issue_flags);

/*
 * Does a thread of io_uring go on with a command for which coll_uring_tensors() has returned -EAGAIN?
 * Then coll_uring_again() does it. It does not look at the SQE: Linux 6.12 shows the one in the
 * ring, which the application may have used for another command meanwhile.
 */
bool coll_uring_is_again(const struct io_uring_cmd *cmd);
int coll_uring_again(struct coll_file *cf, struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif /* COLL_FRONT_TENSOR_URING_H */
