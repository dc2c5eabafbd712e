// SPDX-License-Identifier: GPL-2.0
/* The sum of all ranks' numbers, everywhere: collrun -n 4 allreduce */
#include <stdio.h>

#include <coll/coll.h>

int main(void)
{
	double value, sum;
	coll_comm_t *comm;
	int ret;

	ret = coll_init(NULL, &comm);
	if (!ret) {
		value = 1.0 + coll_comm_rank(comm);
		ret = coll_allreduce(comm, &value, &sum, 1, COLL_F64, COLL_OP_SUM);
		if (!ret)
			printf("rank %u of %u: the sum is %g\n", coll_comm_rank(comm),
			       coll_comm_size(comm), sum);
		coll_finalize(comm);
	}
	if (ret)
		fprintf(stderr, "allreduce: %s; %s\n", coll_strerror(ret), coll_last_error());
	return ret != 0;
}
