/* SPDX-License-Identifier: GPL-2.0 */
/* Verbs that report the features of the module, and the state of a communicator. */
#ifndef COLL_FRONT_VERSION_H
#define COLL_FRONT_VERSION_H

#include <linux/types.h>

struct coll_file;

int coll_ioc_version(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_status(struct coll_file *cf, void __user *arg, u32 size);

#endif /* COLL_FRONT_VERSION_H */
