// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "algorithms/algorithms.h"

u32 coll_emit_step(struct coll_emit *e, const struct coll_step *s)
{
	if (e->nr < e->cap) {
		e->steps[e->nr] = *s;
		e->steps[e->nr].round = e->round;
	}
	e->chunks += s->nr_chunks;
	e->tokens += !s->nr_chunks;
	return e->nr++;
}

/* No product here exceeds @count, since @i does not exceed @chunks. */
u64 coll_chunk_start(u64 count, u32 chunks, u32 i)
{
	u64 each = count / chunks;
	u32 longer = count % chunks;

	return each * i + (i < longer ? i : longer);
}

u32 coll_one_chunk(u32 n)
{
	return 1;
}

u32 coll_n_chunks(u32 n)
{
	return n;
}
