/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Variables of the environment, with errors that name them. */
#ifndef LIBCOLL_ENV_H
#define LIBCOLL_ENV_H

#include <stdint.h>

/* NULL where the variable is not set, or empty. */
const char *env_get(const char *name);

/**
 * env_u32() - read a decimal number
 *
 * Return: 0; -ENOENT: the variable is not set; -EINVAL: it is no number in @min..@max,
 * which coll_last_error() then says.
 */
int env_u32(const char *name, uint32_t min, uint32_t max, uint32_t *out);

#endif
