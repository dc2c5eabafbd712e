// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <sys/mount.h>

#include "trace.h"
#include "util.h"

#define TRACING	"/sys/kernel/tracing"

static bool enable(const char *event, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), TRACING "/events/coll/%s/enable", event);
	return test_put(path, value);
}

/*
 * To record the names of processes, tracing would hook into every switch between tasks. That
 * changes the code of schedule(), which each CPU runs at any time, and QEMU before 8.1 may
 * still execute a breakpoint that another CPU has removed (see emulator_broke() in
 * tools/vm/run.sh).
 */
bool test_trace_start(const char *event)
{
	mount("none", TRACING, "tracefs", 0, NULL);
	return test_put(TRACING "/options/record-cmd", "0") && test_trace_empty() &&
	       enable(event, "1");
}

void test_trace_stop(const char *event)
{
	enable(event, "0");
}

bool test_trace_empty(void)
{
	return test_put(TEST_TRACE, "");
}
