// SPDX-License-Identifier: GPL-2.0
/* Two nodes in one process, in the middle of an op, when it ends: see rmmod.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "raw.h"
#include "util.h"

#define COUNT	(256 << 10)

int main(void)
{
	struct coll_cmd cmds[2];
	struct raw_comm c;
	int results[2];
	int r, ret;

	ret = raw_start(&c, 2, 2);
	if (ret) {
		printf("start: %d\n", ret);
		return 1;
	}
	for (r = 0; r < 2; r++)
		raw_allreduce(&cmds[r], NULL, calloc(COUNT, 4), COUNT, COLL_I32, COLL_OP_SUM);
	/* The signal ends it in the middle. */
	alarm(1);
	raw_all(&c, cmds, results);
	printf("ended before the signal\n");
	return 1;
}
