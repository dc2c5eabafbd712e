/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of pinned pages. */
#ifndef COLL_SELFTESTS_PAGES_H
#define COLL_SELFTESTS_PAGES_H

/* Count the pages that anybody has pinned now. Return: -1 if the kernel does not tell. */
long pages_pinned(void);
/* Count the pages that anybody has pinned since boot. Return: -1 if the kernel does not tell. */
long pages_pinned_ever(void);

#endif /* COLL_SELFTESTS_PAGES_H */
