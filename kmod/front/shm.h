/* SPDX-License-Identifier: GPL-2.0 */
/* Shared memory of the ranks of a node: its verbs, and mmap(). */
#ifndef COLL_FRONT_SHM_H
#define COLL_FRONT_SHM_H

#include <linux/types.h>

struct coll_file;
struct file;
struct vm_area_struct;

/* A setup verb: see setup.h. */
int coll_ioc_shm(struct coll_file *cf, void __user *arg, u32 size);

int coll_ioc_shm_wait(struct coll_file *cf, void __user *arg, u32 size);
int coll_ioc_shm_wake(struct coll_file *cf, void __user *arg, u32 size);

/* file_operations.mmap */
int coll_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* COLL_FRONT_SHM_H */
