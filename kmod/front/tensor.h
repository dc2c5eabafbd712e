/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives by ioctl. */
#ifndef COLL_FRONT_TENSOR_H
#define COLL_FRONT_TENSOR_H

#include <linux/types.h>

struct coll_file;

int coll_ioc_tensor_post(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_tensor_wait(struct coll_file *cf, void __user *arg, u32 size);

#endif /* COLL_FRONT_TENSOR_H */
