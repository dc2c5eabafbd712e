/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of coll, as a test reads them. */
#ifndef COLL_SELFTESTS_TRACE_H
#define COLL_SELFTESTS_TRACE_H

#include <stdbool.h>

#define TEST_TRACE	"/sys/kernel/tracing/trace"

/* Empty the trace and record @event of coll. Return: false: no such tracepoint. */
bool test_trace_start(const char *event);
void test_trace_stop(const char *event);
/* Forget what has been recorded. */
bool test_trace_empty(void);

#endif
