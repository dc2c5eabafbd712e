/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives by io_uring. */
#ifndef COLL_FRONT_TENSOR_URING_H
#define COLL_FRONT_TENSOR_URING_H

#include <linux/types.h>

struct coll_file;
struct io_uring_cmd;

int coll_uring_tensors(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg, u32 len,
		       unsigned int issue_flags);

#endif /* COLL_FRONT_TENSOR_URING_H */
