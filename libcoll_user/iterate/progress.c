// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* A line for each iteration, for those who watch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "session.h"

bool iter_progress_wanted(const struct coll_iter *it)
{
	const char *env = getenv("COLL_PROGRESS");

	if (it->ctx.task)
		return false;
	if (env && *env)
		return strcmp(env, "0");
	if (it->progress == COLL_ITER_PROGRESS_AUTO)
		return isatty(STDERR_FILENO);
	return it->progress == COLL_ITER_PROGRESS_ON;
}

void iter_progress_line(const struct coll_iter_ctx *ctx, bool has_criterion, double criterion,
			uint64_t ns, uint64_t comm_ns)
{
	char value[48] = "";

	if (has_criterion)
		snprintf(value, sizeof(value), "criterion %.10g, ", criterion);
	fprintf(stderr, "coll: session %llu, step %llu: %stime %.6f s, allreduce %.6f s\n",
		(unsigned long long)ctx->session, (unsigned long long)ctx->step_no, value,
		(double)ns * 1e-9, (double)comm_ns * 1e-9);
}
