/* SPDX-License-Identifier: GPL-2.0 */
/* Buffers that the application has registered with its ring. */
#ifndef COLL_FRONT_FIXED_H
#define COLL_FRONT_FIXED_H

struct coll_range;
struct coll_vec;
struct io_uring_cmd;

/**
 * struct coll_fixed - the one buffer that an SQE names by its index
 * @cmd: with IORING_URING_CMD_FIXED
 * @issue_flags: as io_uring gave them with @cmd
 *
 * Only to be used while the command is being issued.
 */
struct coll_fixed {
	struct io_uring_cmd *cmd;
	unsigned int issue_flags;
};

/**
 * coll_fixed_vec() - a vector in that buffer
 * @r: range; ->fixed is not NULL
 * @v: result; the buffer is referenced
 *
 * Nothing is pinned and nothing is charged: io_uring has done both. It also holds the
 * pages until the command is completed, even if the buffer is unregistered before.
 *
 * Return: 0; -EFAULT if there is no such buffer, if the vector is not inside of it, or if it is
 * registered for the other direction only; or as coll_buf_borrow().
 */
int coll_fixed_vec(const struct coll_range *r, struct coll_vec *v);

#endif /* COLL_FRONT_FIXED_H */
