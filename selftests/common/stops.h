/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that are stopped, or frozen in a control group of their own. */
#ifndef COLL_SELFTESTS_STOPS_H
#define COLL_SELFTESTS_STOPS_H

#include <stdbool.h>
#include <sys/types.h>

#define STOPS_GROUP	"/sys/fs/cgroup/coll-waiting"

/* Wait until a child has stopped. Return: milliseconds, -1: it does not. */
int stops_wait(pid_t pid);
/* Put a process into STOPS_GROUP. False: there is no cgroup of version 2 that freezes. */
bool stops_group(pid_t pid);
/* Wait until all of STOPS_GROUP is frozen. */
bool stops_frozen(void);

#endif /* COLL_SELFTESTS_STOPS_H */
