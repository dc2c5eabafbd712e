// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "base/debug.h"
#include "files.h"
#include "lanes.h"

#define BIT(n)		(1ULL << (n))
/* This rank has room for one more lane. */
#define LANES_ROOM	BIT(LANES_MOST)

static bool has_failed(coll_comm_t *coll)
{
	struct coll_status st;

	return coll_comm_status(coll, &st) || st.state == COLL_STATE_FAILED;
}

/* An error is the same on all ranks. */
static int add(struct lanes *l, coll_comm_t *coll, int *lane)
{
	int ret = coll_comm_dup(coll, &l->colls[l->nr]);

	if (!ret) {
		files_count(1);
		*lane = (int)l->nr++;
		return 0;
	}
	coll_debug("mpi: no communicator for a persistent request: %s", coll_strerror(ret));
	return has_failed(coll) ? ret : 0;
}

int lanes_take(struct lanes *l, coll_comm_t *coll, bool able, int *lane)
{
	uint64_t mine = able ? l->idle : 0, all = 0;
	int ret;

	*lane = -1;
	if (able && l->nr < LANES_MOST && files_suffice())
		mine |= LANES_ROOM;
	ret = coll_allreduce(coll, &mine, &all, 1, COLL_U64, COLL_OP_BAND);
	if (ret)
		return ret;
	if (all & ~LANES_ROOM) {
		*lane = __builtin_ctzll(all);
		l->idle &= ~BIT(*lane);
		return 0;
	}
	return all ? add(l, coll, lane) : 0;
}

void lanes_give(struct lanes *l, int lane)
{
	/* A lane that has failed stays failed. */
	if ((uint32_t)lane < l->nr && !has_failed(l->colls[lane]))
		l->idle |= BIT(lane);
}

void lanes_end(struct lanes *l)
{
	files_count(-(int)l->nr);
	while (l->nr)
		coll_finalize(l->colls[--l->nr]);
	l->idle = 0;
}
