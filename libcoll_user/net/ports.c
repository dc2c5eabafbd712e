// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/env.h"
#include "ports.h"
#include "sock.h"

#define NAME	"COLL_PORTS"

/* A port at *@s, which is moved behind it. */
static bool get_port(const char **s, uint16_t *port)
{
	unsigned long v;
	char *end;

	if (**s < '1' || **s > '9')
		return false;
	v = strtoul(*s, &end, 10);
	*s = end;
	*port = (uint16_t)v;
	return v <= UINT16_MAX;
}

bool ports_parse(const char *s, uint16_t *first, uint16_t *last)
{
	if (!get_port(&s, first))
		return false;
	*last = *first;
	if (*s == '-') {
		s++;
		if (!get_port(&s, last))
			return false;
	}
	return !*s && *first <= *last;
}

int ports_listen(void)
{
	const char *range = env_get(NAME);
	uint16_t first = 0, last = 0;
	uint32_t port;
	int fd = -EADDRINUSE;

	if (range && !ports_parse(range, &first, &last)) {
		coll_explain("%s is \"%s\", not a port or first-last", NAME, range);
		return -EINVAL;
	}
	for (port = first; port <= last && fd == -EADDRINUSE; port++)
		fd = sock_listen_all((uint16_t)port);
	/* -1 has another meaning to callers. */
	if (fd == -1)
		fd = -EACCES;
	if (fd < 0 && range)
		coll_explain("cannot listen at a port of %s, %s: %s", NAME, range, strerror(-fd));
	return fd;
}
