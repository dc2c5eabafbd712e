// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "debug.h"

static _Thread_local char explanation[EXPLAIN_LEN];

static _Atomic int64_t own_rank = -1;	/* not known */

void coll_debug_rank(uint32_t rank)
{
	int64_t unknown = -1;

	atomic_compare_exchange_strong(&own_rank, &unknown, rank);
}

void coll_debug(const char *fmt, ...)
{
	const char *on = getenv("COLL_DEBUG");
	const char *rank = getenv("COLL_RANK");
	char line[512], number[16];
	va_list ap;

	if (!on || !*on || !strcmp(on, "0"))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (!rank && own_rank >= 0) {
		snprintf(number, sizeof(number), "%u", (unsigned int)own_rank);
		rank = number;
	}
	fprintf(stderr, "coll[%s]: %s\n", rank ? rank : "-", line);
}

void coll_explain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(explanation, sizeof(explanation), fmt, ap);
	va_end(ap);
	if (*explanation)
		coll_debug("%s", explanation);
}

const char *coll_last_error(void)
{
	return explanation;
}

const char *coll_init_error(void)
{
	return explanation;
}
