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

static int configure(const struct launcher *l, struct coll_config *cfg)
{
	int ret = l->configure(cfg);

	if (ret)
		return ret;
	coll_debug("started by %s: rank %u of %u", l->name, cfg->rank, cfg->size);
	return 1;
}

/* The variables of torch, too, may say how many processes there are. */
static int compare_sizes(const struct launcher *l, const struct coll_config *cfg)
{
	uint32_t n = cfg->size;
	int ret = launch_torch.present() ? env_u32("WORLD_SIZE", 1, COLL_MAX_SIZE, &n) : 0;

	if (ret || n == cfg->size)
		return ret;
	coll_explain("WORLD_SIZE is %u, but by %s there are %u ranks: set only one of the two, or set COLL_RANK, COLL_SIZE, COLL_RENDEZVOUS and COLL_KEY",
		     n, l->name, cfg->size);
	return -EINVAL;
}

int launch_configure(struct coll_config *cfg)
{
	size_t i;
	int ret;

	/* torchrun sets this for the processes that it starts. srun may have started torchrun. */
	if (env_get("TORCHELASTIC_RUN_ID") && launch_torch.present())
		return configure(&launch_torch, cfg);
	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (!launchers[i]->present())
			continue;
		ret = configure(launchers[i], cfg);
		if (ret > 0 && launchers[i] != &launch_torch)
			ret = compare_sizes(launchers[i], cfg) ?: ret;
		return ret;
	}
	return refuse_unusable();
}
