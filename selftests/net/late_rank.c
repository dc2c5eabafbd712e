// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... late_rank N: one rank of N barriers, to each of which ranks come 2 ms apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coll/coll.h>

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 0;
	coll_comm_t *comm;
	int ret = coll_init(NULL, &comm);

	for (i = 0; !ret && i < n; i++) {
		usleep(2000 * coll_comm_rank(comm));
		ret = coll_barrier(comm);
	}
	ret = ret ?: coll_finalize(comm);
	if (ret)
		fprintf(stderr, "late_rank: %s\n", coll_strerror(ret));
	return !!ret;
}
