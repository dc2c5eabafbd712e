/* SPDX-License-Identifier: GPL-2.0 */
/* The ends of child processes. */
#ifndef COLL_SELFTESTS_REAP_H
#define COLL_SELFTESTS_REAP_H

#include <stdint.h>
#include <sys/types.h>

/* Wait for a child, whose @pid becomes 0 then. Return: wait status, or -1 after @ms. */
int reap_one(pid_t *pid, unsigned int ms);
/* Wait for @nr children, those whose pid is not 0. Kill those that do not end in @ms each. */
void reap_all(pid_t *pid, uint32_t nr, unsigned int ms);

#endif /* COLL_SELFTESTS_REAP_H */
