/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#ifndef LIBCOLL_CONFIG_H
#define LIBCOLL_CONFIG_H

#include <stdbool.h>

#include <coll/coll.h>

#define CONFIG_TIMEOUT_MS	60000

/* sizeof(struct coll_config) of the first release. */
#define CONFIG_SIZE_0	(offsetof(struct coll_config, flags) + sizeof(uint32_t))

/* Copy @in, or the environment if it is NULL; fill in defaults, and check everything. */
int config_resolve(const struct coll_config *in, struct coll_config *cfg);

#endif
