/* SPDX-License-Identifier: GPL-2.0 */
/* Blocking commands. */
#ifndef COLL_FRONT_SUBMIT_H
#define COLL_FRONT_SUBMIT_H

#include <linux/types.h>

struct coll_file;

/* COLL_IOC_SUBMIT: post a command, and help until it ends. Signals interrupt it: see calls.h. */
int coll_ioc_submit(struct coll_file *cf, void __user *user_cmd, u32 len);

#endif /* COLL_FRONT_SUBMIT_H */
