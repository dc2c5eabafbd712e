// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>

#include "debug.h"
#include "env.h"

const char *env_get(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* A whole decimal number, with nothing around it. */
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

int env_u32(const char *name, uint32_t min, uint32_t max, uint32_t *out)
{
	const char *v = env_get(name);
	int ret;

	if (!v)
		return -ENOENT;
	ret = parse_u32(v, min, max, out);
	if (ret)
		coll_explain("%s is \"%s\", not a number from %u to %u", name, v, min, max);
	return ret;
}
