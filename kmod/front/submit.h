/* SPDX-License-Identifier: GPL-2.0 */
/* Blocking commands. */
#ifndef COLL_FRONT_SUBMIT_H
#define COLL_FRONT_SUBMIT_H

#include <linux/types.h>

struct coll_file;

/* COLL_IOC_SUBMIT: post and wait, helping. Signals interrupt the wait: see calls.h. */
int coll_submit_wait(struct coll_file *cf, u64 arg, u32 len);

#endif /* COLL_FRONT_SUBMIT_H */
