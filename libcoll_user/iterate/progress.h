/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The line of progress. */
#ifndef LIBCOLL_ITERATE_PROGRESS_H
#define LIBCOLL_ITERATE_PROGRESS_H

#include "session.h"

bool iter_progress_wanted(const struct coll_iter *it);
void iter_progress_line(const struct coll_iter_ctx *ctx, bool has_criterion, double criterion,
			uint64_t ns, uint64_t comm_ns);

#endif
