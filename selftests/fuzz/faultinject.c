// SPDX-License-Identifier: GPL-2.0
/*
 * usage: faultinject [JOBS [KERNEL]]
 *
 * Faults in the kernel's allocations and copies: the first, second, ... of every setup verb
 * and every collective, then by chance in JOBS jobs (default 108; 0: a short pass of a few
 * verbs and no jobs). Nothing may hang, leak, or be wrong. Only on a kernel with fault
 * injection, which is uml-debug.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"
#include "util.h"

struct tally tally;

void scenario(bool good, const char *format, ...)
{
	va_list args;

	tally.passed += good;
	tally.failed += !good;
	printf("%sok %u - ", good ? "" : "not ", tally.passed + tally.failed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static unsigned long vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char line[128], key[64];
	unsigned long value;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %lu", key, &value) == 2 && !strcmp(key, name)) {
			fclose(f);
			return value;
		}
	}
	return 0;
}

/* Pages that are pinned, and what kmemleak finds, when all has been closed. */
static unsigned int leaks(void)
{
	unsigned int n = 0, tries;
	bool on = false;
	char line[256];
	FILE *f;

	for (tries = 0; tries < 50; tries++) {
		test_put("/proc/sys/vm/stat_refresh", "1");
		if (vmstat("nr_foll_pin_acquired") == vmstat("nr_foll_pin_released"))
			break;
		test_sleep_us(100000);
	}
	n = tries == 50;
	for (tries = 0; tries < 2; tries++) {
		test_sleep_us(300000);
		on = test_put("/sys/kernel/debug/kmemleak", "scan");
	}
	/* It refuses if it has switched itself off. */
	if (!on)
		printf("# kmemleak is off\n");
	n += !on;
	f = fopen("/sys/kernel/debug/kmemleak", "r");
	while (f && fgets(line, sizeof(line), f)) {
		n += !strncmp(line, "unreferenced object", 19);
		printf("# %s", line);
	}
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	unsigned int jobs = argc > 1 ? atoi(argv[1]) : 108, lost;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!inject_start()) {
		printf("faultinject: this kernel cannot inject faults\n");
		return 2;
	}
	verbs_run(jobs != 0);
	named_run(jobs != 0);
	jobs_run(jobs);
	lost = leaks();
	printf("faultinject: %u passed, %u failed\n", tally.passed, tally.failed);
	printf("faultinject on %s: %lu calls, %lu injected, %lu hangs, %u leaks\n",
	       argc > 2 ? argv[2] : "this kernel", tally.calls, tally.injections, tally.hangs,
	       lost);
	return tally.failed || tally.hangs || lost || !tally.injections;
}
