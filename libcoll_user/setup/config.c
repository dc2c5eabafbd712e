// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <string.h>

#include <coll/coll.h>

#include "base/debug.h"
#include "base/env.h"
#include "config.h"
#include "launch/launch.h"

/* COLL_RANK, COLL_SIZE and COLL_RENDEZVOUS take precedence over any launcher's variables. */
static int own_ranks(struct coll_config *cfg)
{
	int ret;

	ret = env_u32("COLL_SIZE", 1, COLL_MAX_SIZE, &cfg->size);
	if (ret == -ENOENT) {
		coll_explain("%s is set, but COLL_SIZE is not",
			     env_get("COLL_RANK") ? "COLL_RANK" : "COLL_RENDEZVOUS");
		return -EINVAL;
	}
	if (ret)
		return ret;
	ret = env_u32("COLL_RANK", 0, cfg->size - 1, &cfg->rank);
	if (ret != -ENOENT)
		return ret;
	if (cfg->size == 1)
		return 0;
	coll_explain("COLL_SIZE is set, but COLL_RANK is not");
	return -EINVAL;
}

static int env_ranks(struct coll_config *cfg)
{
	int ret;

	if (env_get("COLL_SIZE") || env_get("COLL_RANK")) {
		ret = own_ranks(cfg);
	} else {
		ret = launch_configure(cfg);
		if (!ret && env_get("COLL_RENDEZVOUS"))
			ret = own_ranks(cfg);
	}
	if (ret < 0)
		return ret;
	/* A rendezvous that the user names takes precedence over the launcher's. */
	if (env_get("COLL_RENDEZVOUS")) {
		cfg->rendezvous = env_get("COLL_RENDEZVOUS");
		cfg->exchange = NULL;
	}
	return 0;
}

/* Copy to a caller that may be older, and know fewer fields. */
static int config_copy_out(struct coll_config *full, struct coll_config *cfg)
{
	size_t size = cfg->struct_size < sizeof(*full) ? cfg->struct_size : sizeof(*full);

	if (full->exchange && size < sizeof(*full)) {
		coll_explain("this program was built for a libcoll without coll_config.exchange, which this launcher needs");
		return -EOPNOTSUPP;
	}
	full->struct_size = cfg->struct_size;
	memcpy(cfg, full, size);
	return 0;
}

int coll_config_env(struct coll_config *cfg)
{
	struct coll_config full;
	const char *v;
	int ret;

	coll_explain("%s", "");
	if (!cfg || cfg->struct_size < CONFIG_SIZE_0) {
		coll_explain("struct coll_config: struct_size is not set; see coll_config_init()");
		return -EINVAL;
	}
	coll_config_init(&full);
	ret = env_ranks(&full);
	if (ret)
		return ret;
	full.node = env_get("COLL_NODE");
	if (env_get("COLL_KEY"))
		full.key = env_get("COLL_KEY");
	full.device = env_get("COLL_DEVICE");
	ret = env_u32("COLL_TIMEOUT_MS", 1, UINT32_MAX, &full.timeout_ms);
	if (ret == -EINVAL)
		return ret;
	v = env_get("COLL_NO_URING");
	if (v && strcmp(v, "0"))
		full.flags |= COLL_CONFIG_NO_URING;
	return config_copy_out(&full, cfg);
}

/* Copy from a caller that may be newer than this library: fields that are new must be zero. */
static int config_copy_in(const struct coll_config *in, struct coll_config *cfg)
{
	const uint8_t *p = (const uint8_t *)in;
	size_t i;

	if (in->struct_size < CONFIG_SIZE_0) {
		coll_explain("struct coll_config: struct_size is not set; see coll_config_init()");
		return -EINVAL;
	}
	for (i = sizeof(*cfg); i < in->struct_size; i++) {
		if (!p[i])
			continue;
		coll_explain("struct coll_config has fields that this libcoll does not know");
		return -E2BIG;
	}
	memcpy(cfg, in, in->struct_size < sizeof(*cfg) ? in->struct_size : sizeof(*cfg));
	cfg->struct_size = sizeof(*cfg);
	return 0;
}

/* Is it known how the ranks meet? */
static int check_meeting(const struct coll_config *cfg)
{
	if (cfg->size == 1)
		return 0;
	if (cfg->key && !*cfg->key)
		coll_explain("coll_config.key is empty");
	else if (cfg->exchange)
		return 0;
	else if (!cfg->rendezvous)
		coll_explain("neither COLL_RENDEZVOUS nor coll_config.exchange is set, but there are %u ranks",
			     cfg->size);
	else if (!cfg->key)
		coll_explain("COLL_KEY is not set, but there are %u ranks", cfg->size);
	else
		return 0;
	return -EINVAL;
}

static int check(const struct coll_config *cfg)
{
	if (!cfg->size || cfg->size > COLL_MAX_SIZE)
		coll_explain("coll_config.size is %u, not 1 to %u", cfg->size, COLL_MAX_SIZE);
	else if (cfg->rank >= cfg->size)
		coll_explain("coll_config.rank is %u, not 0 to %u", cfg->rank, cfg->size - 1);
	else if (cfg->flags & ~COLL_CONFIG_NO_URING)
		coll_explain("coll_config.flags is 0x%x: unknown flags", cfg->flags);
	else
		return check_meeting(cfg);
	return -EINVAL;
}

int config_resolve(const struct coll_config *in, struct coll_config *cfg)
{
	int ret;

	coll_config_init(cfg);
	ret = in ? config_copy_in(in, cfg) : coll_config_env(cfg);
	if (ret)
		return ret;
	if (!cfg->device)
		cfg->device = "/dev/coll";
	if (!cfg->node)
		cfg->node = "";
	if (!cfg->timeout_ms)
		cfg->timeout_ms = CONFIG_TIMEOUT_MS;
	return check(cfg);
}
