// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>

#include <coll/coll.h>

#include "rank.h"

uint32_t me;

void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "rank %u: %s: %s\n", me, what, coll_strerror(ret));
	exit(1);
}
