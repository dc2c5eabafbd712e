/* SPDX-License-Identifier: GPL-2.0 */
/* Timelines as Chrome's trace viewer and Perfetto read them ("JSON Array Format"). */
#ifndef COLLCTL_TRACE_H
#define COLLCTL_TRACE_H

#include <stdio.h>

/**
 * struct timeline_info - what the events do not say
 * @epoch_us: added to their times, microseconds
 * @lost: events that are missing
 * @host: name of this host
 */
struct timeline_info {
	double epoch_us;
	unsigned long long lost;
	char host[65];
};

/* Events, as the kernel prints them, become a timeline. Return: exit status. */
int timeline_write(FILE *in, FILE *out, const struct timeline_info *info);

/* Timelines of several hosts become one; @files ends with NULL. Return: exit status. */
int timeline_merge(char **files, FILE *out);

#endif
