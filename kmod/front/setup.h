/* SPDX-License-Identifier: GPL-2.0 */
/* Setup verbs, one at a time per file: the caller holds coll_member.setup. */
#ifndef COLL_FRONT_SETUP_H
#define COLL_FRONT_SETUP_H

#include <linux/types.h>

struct coll_file;

/* Setup verbs act with the opener's rights, so only the opener may call them. Return: 0, -EPERM. */
int coll_setup_allowed(struct coll_file *cf);

int coll_ioc_join(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_link(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_register(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_unregister(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_abort(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_select(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_stripe(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_tensor_fuse(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_cancel(struct coll_file *cf, void __user *arg, u32 size);

#endif /* COLL_FRONT_SETUP_H */
