// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "algorithms.h"

/* Of several for one collective, the first is what COLL_ALG_AUTO means. */
static const struct coll_algorithm *const registry[] = {
	&coll_allreduce_ring,
	&coll_broadcast_binomial,
	&coll_barrier_dissemination,
};

const struct coll_algorithm *coll_algorithm_at(u32 i)
{
	return i < sizeof(registry) / sizeof(registry[0]) ? registry[i] : NULL;
}

const struct coll_algorithm *coll_algorithm_find(u32 collective, u32 id)
{
	const struct coll_algorithm *a;
	u32 i;

	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		if (a->collective == collective &&
		    (id == COLL_ALG_AUTO || a->id == id))
			return a;
	}
	return NULL;
}
