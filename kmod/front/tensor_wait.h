/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives: waiting for results. */
#ifndef COLL_FRONT_TENSOR_WAIT_H
#define COLL_FRONT_TENSOR_WAIT_H

#include <linux/types.h>

struct coll_file;
struct coll_member;
struct coll_tensor_wait;

int coll_ioc_tensor_wait(struct coll_file *cf, void __user *arg, u32 size);

/**
 * coll_wait_copy() - copy in, once, the arguments of a wait
 * @w: result
 * @arg: user memory, which may change at any time
 * @size: of the structure there
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG.
 */
int coll_wait_copy(struct coll_tensor_wait *w, const void __user *arg, u32 size);

/* Store the results that there are, up to ->nr, and count them in ->got. Return: 0 or -EFAULT. */
int coll_wait_take(struct coll_member *m, struct coll_tensor_wait *w);

/**
 * coll_wait_tensors() - wait, and store results
 * @cf: file
 * @to: where @w was copied from
 * @w: from coll_wait_copy(); ->got is set
 *
 * Return: as COLL_IOC_TENSOR_WAIT.
 */
int coll_wait_tensors(struct coll_file *cf, struct coll_tensor_wait __user *to,
		      struct coll_tensor_wait *w);

#endif /* COLL_FRONT_TENSOR_WAIT_H */
