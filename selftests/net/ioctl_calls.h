/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts the ioctls of the library in this process: ioctl_calls.c has an ioctl() that takes the
 * place of the C library's.
 */
#ifndef COLL_SELFTESTS_IOCTL_CALLS_H
#define COLL_SELFTESTS_IOCTL_CALLS_H

#include <stdint.h>

/* Number of ioctls so far. */
uint64_t ioctl_calls(void);
/* Number of them that were COLL_IOC_SHM_WAIT. */
uint64_t ioctl_sleeps(void);
/* Number of them that were COLL_IOC_SUBMIT. */
uint64_t ioctl_submits(void);

#endif /* COLL_SELFTESTS_IOCTL_CALLS_H */
