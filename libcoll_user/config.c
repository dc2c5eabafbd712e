// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "config.h"
#include "debug.h"

/* A whole decimal number in @min..@max, nothing around it. */
static int parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	unsigned long long v;
	char *end;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

/* An empty variable is as good as none. */
static const char *env(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* Does another launcher say that this is one process of several? */
static bool launcher_says_more(void)
{
	static const char *const names[] = {
		"SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE",
	};
	uint32_t n;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = env(names[i]);

		if (v && (parse_u32(v, 0, UINT32_MAX, &n) || n > 1)) {
			coll_debug("%s=%s, but COLL_SIZE is not set", names[i], v);
			return true;
		}
	}
	return false;
}

static int env_ranks(struct coll_config *cfg)
{
	const char *rank = env("COLL_RANK"), *size = env("COLL_SIZE");
	int ret;

	cfg->rendezvous = env("COLL_RENDEZVOUS");
	if (!size) {
		if (rank || cfg->rendezvous || launcher_says_more())
			return -EINVAL;
		cfg->rank = 0;
		cfg->size = 1;
		return 0;
	}
	ret = parse_u32(size, 1, COLL_MAX_SIZE, &cfg->size);
	if (ret)
		return ret;
	if (!rank)
		return cfg->size == 1 ? 0 : -EINVAL;
	return parse_u32(rank, 0, cfg->size - 1, &cfg->rank);
}

int coll_config_env(struct coll_config *cfg)
{
	const char *v;
	int ret;

	if (cfg->struct_size < CONFIG_SIZE_0)
		return -EINVAL;
	ret = env_ranks(cfg);
	if (ret)
		return ret;
	cfg->node = env("COLL_NODE");
	cfg->key = env("COLL_KEY");
	cfg->device = env("COLL_DEVICE");
	v = env("COLL_TIMEOUT_MS");
	if (v)
		ret = parse_u32(v, 1, UINT32_MAX, &cfg->timeout_ms);
	v = env("COLL_NO_URING");
	if (v && strcmp(v, "0"))
		cfg->flags |= COLL_CONFIG_NO_URING;
	return ret;
}

int config_resolve(const struct coll_config *in, struct coll_config *cfg)
{
	int ret;

	coll_config_init(cfg);
	if (!in) {
		ret = coll_config_env(cfg);
		if (ret)
			return ret;
	} else {
		if (in->struct_size < CONFIG_SIZE_0)
			return -EINVAL;
		/* A caller newer than we are: fine as long as it asks for nothing new. */
		if (in->struct_size > sizeof(*cfg)) {
			const uint8_t *p = (const uint8_t *)in;
			size_t i;

			for (i = sizeof(*cfg); i < in->struct_size; i++)
				if (p[i])
					return -E2BIG;
		}
		memcpy(cfg, in, in->struct_size < sizeof(*cfg) ? in->struct_size : sizeof(*cfg));
		cfg->struct_size = sizeof(*cfg);
	}
	if (!cfg->device)
		cfg->device = "/dev/coll";
	if (!cfg->node)
		cfg->node = "";
	if (!cfg->timeout_ms)
		cfg->timeout_ms = CONFIG_TIMEOUT_MS;
	if (!cfg->size || cfg->size > COLL_MAX_SIZE || cfg->rank >= cfg->size ||
	    cfg->flags & ~COLL_CONFIG_NO_URING)
		return -EINVAL;
	if (cfg->size > 1 && (!cfg->rendezvous || !cfg->key || !*cfg->key))
		return -EINVAL;
	return 0;
}
