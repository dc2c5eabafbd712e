/* SPDX-License-Identifier: GPL-2.0 */
/* The device /dev/coll. */
#ifndef COLL_FRONT_CHARDEV_H
#define COLL_FRONT_CHARDEV_H

#include <linux/types.h>

int coll_chardev_init(void);
void coll_chardev_exit(void);

#endif /* COLL_FRONT_CHARDEV_H */
