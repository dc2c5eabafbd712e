/* SPDX-License-Identifier: GPL-2.0 */
/* CPU time of the progress thread of this process. */
#ifndef PROGRESS_TICKS_H
#define PROGRESS_TICKS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind @name in the first line of a file that begins with @name. */
static inline uint64_t number_in(const char *path, const char *name)
{
	char line[256];
	uint64_t n = 0;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, strlen(name))) {
			n = strtoull(line + strlen(name), NULL, 10);
			break;
		}
	}
	if (f)
		fclose(f);
	return n;
}

/* CPU time of thread @tid in ticks, plus 1, if it is a progress thread; else 0. */
static inline uint64_t ticks_of(const char *tid)
{
	unsigned long user, system;
	char path[64], line[512] = "";
	const char *rest;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	rest = strstr(line, "(coll-progress)");
	/* The times are fields 14 and 15 of the line; @rest begins with field 2. */
	if (!rest || sscanf(rest, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu",
			    &user, &system) != 2)
		return 0;
	return 1 + user + system;
}

/* CPU time of the progress thread in ticks, plus 1. 0: there is no such thread. */
static inline uint64_t progress_ticks(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	uint64_t ticks = 0;

	while (d && (e = readdir(d)))
		ticks += ticks_of(e->d_name);
	if (d)
		closedir(d);
	return ticks;
}

#endif /* PROGRESS_TICKS_H */
