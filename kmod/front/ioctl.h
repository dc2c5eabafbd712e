/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls of /dev/coll. */
#ifndef COLL_FRONT_IOCTL_H
#define COLL_FRONT_IOCTL_H

#include <linux/types.h>

struct file;

/* file_operations.unlocked_ioctl */
long coll_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* COLL_FRONT_IOCTL_H */
