// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Before a collective of the queue, and after each iteration, ranks tell each other in one
 * small allreduce whether they failed, and how long their objects are. So nobody goes into
 * a collective that another rank does not come to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "session.h"
#include "vote.h"

uint64_t iter_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int iter_broken(coll_comm_t *comm, int err, const char *what, char text[ITER_TEXT])
{
	struct coll_status st;
	char cause[ITER_TEXT] = "";

	coll_abort(comm, (uint32_t)-err);
	memset(&st, 0, sizeof(st));
	if (!coll_comm_status(comm, &st) && st.cause.kind)
		coll_cause_str(&st.cause, cause, sizeof(cause));
	snprintf(text, ITER_TEXT, "%.60s: %.60s%s%.120s", what, coll_strerror(err),
		 *cause ? "; first: " : "", cause);
	return err;
}

/* The largest key is that of the lowest rank. */
static uint64_t error_key(uint32_t size, uint32_t rank, int error)
{
	return error ? 1ULL << 63 | (uint64_t)(size - 1 - rank) << 32 | (uint32_t)-error : 0;
}

int iter_vote(coll_comm_t *comm, struct iter_vote *v, char text[ITER_TEXT])
{
	uint32_t size = coll_comm_size(comm), rank = coll_comm_rank(comm);
	uint64_t a[4] = { error_key(size, rank, v->error), v->mine, ~v->mine, v->flag };
	int ret;

	ret = coll_allreduce(comm, COLL_IN_PLACE, a, 4, COLL_U64, COLL_OP_MAX);
	if (ret)
		return iter_broken(comm, ret, "allreduce of the ranks' states", text);
	v->max = a[1];
	v->min = ~a[2];
	v->flag = a[3];
	v->error = -(int)(uint32_t)a[0];
	v->rank = size - 1 - (uint32_t)(a[0] << 1 >> 33);
	if (!v->error)
		return 0;
	ret = coll_broadcast(comm, text, ITER_TEXT, COLL_BYTE, v->rank);
	if (ret)
		return iter_broken(comm, ret, "broadcast of an error", text);
	text[ITER_TEXT - 1] = '\0';
	return v->error;
}
