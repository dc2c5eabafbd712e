/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives: posting. */
#ifndef COLL_FRONT_TENSOR_POST_H
#define COLL_FRONT_TENSOR_POST_H

#include <linux/types.h>

struct coll_file;
struct coll_tensor_post;

int coll_ioc_tensor_post(struct coll_file *cf, void __user *arg, u32 size);

/**
 * coll_post_copy() - copy in, once, the arguments of a post
 * @p: result
 * @arg: user memory, which may change at any time
 * @size: of the structure there
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG.
 */
int coll_post_copy(struct coll_tensor_post *p, const void __user *arg, u32 size);

/* Is one of the tensors in a group? Then the post may have to wait, see coll_tensors_refused(). */
bool coll_post_has_group(const struct coll_tensor_post *p);

/**
 * coll_post_tensors() - post
 * @cf: file
 * @to: where @p was copied from
 * @p: from coll_post_copy(); ->posted is set
 * @no_groups: do not wait: members of groups are -EINVAL
 *
 * Return: as COLL_IOC_TENSOR_POST.
 */
int coll_post_tensors(struct coll_file *cf, struct coll_tensor_post __user *to,
		      struct coll_tensor_post *p, bool no_groups);

#endif /* COLL_FRONT_TENSOR_POST_H */
