/* SPDX-License-Identifier: GPL-2.0 */
/* Commands by io_uring. */
#ifndef COLL_FRONT_URING_H
#define COLL_FRONT_URING_H

#include <linux/types.h>

struct coll_file;
struct io_uring_cmd;

int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
/* Free the memory that is kept for commands. No command is in flight any more. */
void coll_uring_release(struct coll_file *cf);

#endif /* COLL_FRONT_URING_H */
