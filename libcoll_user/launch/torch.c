// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * torchrun, and whatever else sets the variables of torch.distributed. They name a host
 * and a port. The port itself belongs to the store of torch, so rank 0 listens at one of
 * the next ports.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/debug.h"
#include "base/env.h"
#include "launch.h"

/* Behind MASTER_PORT: rank 0 takes the first one that is free. */
#define PORTS	8

/* Live as long as the process, since struct coll_config points to them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char rendezvous[300];
static char key[300];

static bool torch_present(void)
{
	return env_get("RANK") && env_get("WORLD_SIZE");
}

/* torch has no secret. A job whose key must not be guessed sets COLL_KEY. */
static int make_spec(const char *host, uint32_t port)
{
	const char *run = env_get("TORCHELASTIC_RUN_ID");
	bool v6 = strchr(host, ':') && *host != '[';
	uint32_t last = port + PORTS < 65535 ? port + PORTS : 65535;
	uint32_t first = port < 65535 ? port + 1 : port;
	int n, k;

	pthread_mutex_lock(&lock);
	n = snprintf(rendezvous, sizeof(rendezvous), v6 ? "[%s]:%u-%u" : "%s:%u-%u", host,
		     first, last);
	k = snprintf(key, sizeof(key), "torch:%s:%u", run ? run : "", port);
	pthread_mutex_unlock(&lock);
	if (n < (int)sizeof(rendezvous) && k < (int)sizeof(key))
		return 0;
	coll_explain("MASTER_ADDR or TORCHELASTIC_RUN_ID is longer than 255 bytes");
	return -EINVAL;
}

static int torch_configure(struct coll_config *cfg)
{
	const char *host = env_get("MASTER_ADDR");
	uint32_t port;
	int ret;

	ret = env_u32("WORLD_SIZE", 1, COLL_MAX_SIZE, &cfg->size);
	if (!ret)
		ret = env_u32("RANK", 0, cfg->size - 1, &cfg->rank);
	if (ret || cfg->size == 1)
		return ret;
	ret = env_u32("MASTER_PORT", 1, 65535, &port);
	if (ret == -ENOENT || (!ret && !host)) {
		coll_explain("RANK and WORLD_SIZE are set, but %s is not",
			     host ? "MASTER_PORT" : "MASTER_ADDR");
		return -EINVAL;
	}
	if (!ret)
		ret = make_spec(host, port);
	if (ret)
		return ret;
	cfg->rendezvous = rendezvous;
	cfg->key = key;
	return 0;
}

const struct launcher launch_torch = {
	.name = "torchrun (RANK, WORLD_SIZE)",
	.present = torch_present,
	.configure = torch_configure,
};
