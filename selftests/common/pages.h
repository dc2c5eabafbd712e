/* SPDX-License-Identifier: GPL-2.0 */
/* Pinned pages, and pages that never come. */
#ifndef COLL_SELFTESTS_PAGES_H
#define COLL_SELFTESTS_PAGES_H

#include <stddef.h>

/* Count the pages that anybody has pinned now. Return: -1 if the kernel does not tell. */
long pages_pinned(void);
/* Count the pages that anybody has pinned since boot. Return: -1 if the kernel does not tell. */
long pages_pinned_ever(void);

/*
 * Map @ahead bytes, a multiple of the page size, and one page behind them that nobody faults in: a
 * thread that touches it sleeps until *@fd is closed, or pages_fill() brings the page. Return: where
 * they are; NULL: there is no userfaultfd.
 */
char *pages_map_absent(size_t ahead, int *fd);

/*
 * Wait until @n threads wait for absent pages of @fd, up to 20 s for each. Return: 0, -ETIME, -errno.
 */
int pages_wait_for_faults(int fd, unsigned int n);

/* Let the absent page at @at come, with the bytes of the page @from. Return: 0, -errno. */
int pages_fill(int fd, void *at, const void *from);

#endif /* COLL_SELFTESTS_PAGES_H */
