// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Variables of the environment about algorithms, and the names of algorithms. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/table.h"
#include "base/debug.h"
#include "collective.h"
#include "net/auth.h"
#include "optable.h"
#include "select_env.h"

/* How long coll_init() times algorithms: by default, and for "tune". */
#define INIT_MS		10
#define TUNE_MS		10000
#define TUNE_MAX_S	3600

bool select_fits(uint32_t collective, const struct coll_algorithm *a)
{
	/* If only two ranks know the length of a block, no other rank can forward it. */
	if (coll_kind_of(collective)->flags & COLL_KIND_PRIVATE && !(a->flags & COLL_ALG_DIRECT))
		return false;
	return coll_algorithm_find(collective, a->id) == a;
}

/* Parse the rest after a name: nothing, or ":RADIX". Return: bits of the radix; negative: error. */
static int32_t radix_bits(const struct coll_algorithm *a, const char *rest)
{
	unsigned long radix;
	char *end;

	if (!*rest)
		return 0;
	if (*rest++ != ':' || !(a->flags & COLL_ALG_HAS_RADIX) || !isdigit((unsigned char)*rest))
		return -1;
	radix = strtoul(rest, &end, 10);
	return *end || radix < 2 || radix > 255 ? -1 : (int32_t)COLL_ALG_RADIX(radix);
}

uint16_t select_number(uint32_t collective, const char *name)
{
	size_t len = strcspn(name, ":");
	const struct coll_algorithm *a;
	int32_t bits;
	uint32_t i;

	for (i = 0; (a = coll_algorithm_of(collective, i)); i++) {
		if (strlen(a->name) != len || strncmp(a->name, name, len))
			continue;
		bits = radix_bits(a, name + len);
		return bits < 0 || !select_fits(collective, a) ? 0 : (uint16_t)(a->id | bits);
	}
	return 0;
}

const char *select_name(uint32_t collective, uint16_t number, char buf[SELECT_NAME])
{
	const struct coll_algorithm *a = coll_algorithm_find(collective, number);

	if (!(number & COLL_ALG_ID_MASK))
		return "auto";
	if (!a)
		return "?";
	if (number >> 8)
		snprintf(buf, SELECT_NAME, "%s:%d", a->name, number >> 8);
	else
		snprintf(buf, SELECT_NAME, "%s", a->name);
	return buf;
}

/* The variables COLL_ALGORITHM_X, for example COLL_ALGORITHM_ALLREDUCE. */
static int env_fixed(struct select_plan *plan, uint32_t collective)
{
	const char *name = coll_collective_name(collective), *value;
	uint16_t number;
	char var[64];
	size_t i;

	if (!name)
		return 0;
	snprintf(var, sizeof(var), "COLL_ALGORITHM_%s", name);
	for (i = 0; var[i]; i++)
		var[i] = (char)toupper((unsigned char)var[i]);
	value = getenv(var);
	if (!value || !*value)
		return 0;
	number = select_number(collective, value);
	if (!number) {
		coll_explain("%s=%s: no such algorithm", var, value);
		return -EINVAL;
	}
	plan->fixed[collective] = number;
	return 0;
}

/* "tune", or "tune:SECONDS". Return: milliseconds, negative: neither. */
static int32_t tune_ms(const char *v)
{
	char *end;
	long s;

	if (strncmp(v, "tune", 4))
		return -1;
	if (!v[4])
		return TUNE_MS;
	if (v[4] != ':' || !isdigit((unsigned char)v[5]))
		return -1;
	s = strtol(v + 5, &end, 10);
	return *end || s < 1 || s > TUNE_MAX_S ? -1 : (int32_t)s * 1000;
}

int select_env(struct select_plan *plan)
{
	const char *v = getenv("COLL_SELECT");
	uint32_t c;
	int ret = 0;

	memset(plan, 0, sizeof(*plan));
	plan->budget_ms = INIT_MS;
	if (!v || !*v || !strcmp(v, "init")) {
		plan->all = false;
	} else if (tune_ms(v) > 0) {
		plan->all = true;
		plan->budget_ms = tune_ms(v);
	} else if (!strcmp(v, "model")) {
		plan->budget_ms = 0;
	} else if (!strcmp(v, "off")) {
		plan->budget_ms = -1;
	} else if (strchr(v, '/')) {
		plan->file = v;
	} else {
		coll_explain("COLL_SELECT=%s: neither a known word nor a file with a / in its name",
			     v);
		return -EINVAL;
	}
	for (c = 1; c < COLL_NR_COLLECTIVES && !ret; c++)
		ret = env_fixed(plan, c);
	return ret;
}

int select_host_named(const char *name, struct select_host *host)
{
	size_t len = strlen(name), i;
	uint8_t digest[AUTH_LEN];
	int ret;

	ret = auth_sha256(name, len, digest);
	memcpy(host->id, digest, sizeof(host->id));
	memset(host->name, 0, sizeof(host->name));
	for (i = 0; i < len && i + 1 < sizeof(host->name); i++)
		host->name[i] = isgraph((unsigned char)name[i]) ? name[i] : '?';
	return ret;
}

int select_host_of(const char *node, struct select_host *host)
{
	char text[HOST_NAME_MAX + 1 + 64 + 1] = { 0 };
	size_t len;

	if (gethostname(text, HOST_NAME_MAX + 1))
		return -errno;
	text[HOST_NAME_MAX] = 0;
	len = strlen(text);
	if (*node)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ":%s", node);
	return len < sizeof(text) ? select_host_named(text, host) : -EINVAL;
}
