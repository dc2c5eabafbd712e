// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>

#include "pages.h"
#include "util.h"

/* One line of /proc/vmstat. */
static long vmstat(const char *which)
{
	char name[64];
	long n, value = -1;
	FILE *f;

	if (!test_put("/proc/sys/vm/stat_refresh", "1"))
		return -1;
	f = fopen("/proc/vmstat", "r");
	while (f && value < 0 && fscanf(f, "%63s %ld", name, &n) == 2)
		if (!strcmp(name, which))
			value = n;
	if (f)
		fclose(f);
	return value;
}

long pages_pinned_ever(void)
{
	return vmstat("nr_foll_pin_acquired");
}

long pages_pinned(void)
{
	long acquired = pages_pinned_ever(), released = vmstat("nr_foll_pin_released");

	return acquired < 0 || released < 0 ? -1 : acquired - released;
}
