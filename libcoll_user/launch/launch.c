// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>

#include "base/debug.h"
#include "base/env.h"
#include "launch.h"

/* PMIx first: Slurm and Open MPI set variables of other ways beside it. */
static const struct launcher *const launchers[] = {
	&launch_pmix, &launch_pmi, &launch_torch,
};

/*
 * Launchers that say how many processes there are, and give no way for them to meet.
 * Ranks that each believe to be alone would all report success on the wrong result.
 */
static const struct {
	const char *size;
	const char *advice;
} unusable[] = {
	{ "SLURM_NTASKS", "start it by srun --mpi=pmix or srun --mpi=pmi2" },
	{ "OMPI_COMM_WORLD_SIZE", "PMIX_RANK is missing" },
	{ "PMI_SIZE", "PMI_FD is missing" },
	{ "FLUX_JOB_SIZE", "PMI_FD is missing" },
	{ "WORLD_SIZE", "RANK is missing" },
};

static int refuse_unusable(void)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < sizeof(unusable) / sizeof(unusable[0]); i++) {
		int ret = env_u32(unusable[i].size, 0, UINT32_MAX, &n);

		if (ret == -EINVAL)
			return ret;
		if (ret || n <= 1)
			continue;
		coll_explain("%s is %u, but the ranks cannot find each other: %s, or set COLL_RANK, COLL_SIZE, COLL_RENDEZVOUS and COLL_KEY",
			     unusable[i].size, n, unusable[i].advice);
		return -EINVAL;
	}
	return 0;
}

int launch_configure(struct coll_config *cfg)
{
	size_t i;
	int ret;

	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (!launchers[i]->present())
			continue;
		ret = launchers[i]->configure(cfg);
		if (ret)
			return ret;
		coll_debug("started by %s: rank %u of %u", launchers[i]->name, cfg->rank,
			   cfg->size);
		return 1;
	}
	return refuse_unusable();
}
