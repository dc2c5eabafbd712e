// SPDX-License-Identifier: GPL-2.0
/*
 * MPIRUN launch_fork: a rank whose child ends by exit(). The rank then makes another communicator,
 * and ends itself. Prints "ok".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coll/coll.h>

#define LIMIT_S		20	/* a child that takes longer hangs */

static int once(coll_comm_t **comm)
{
	int64_t one = 1, sum = 0;
	int ret = coll_init(NULL, comm);

	if (!ret)
		ret = coll_allreduce(*comm, &one, &sum, 1, COLL_I64, COLL_OP_SUM);
	if (!ret && sum != coll_comm_size(*comm))
		ret = -EBADMSG;
	if (ret)
		printf("error %d: %s\n", ret, coll_last_error());
	return ret;
}

int main(void)
{
	coll_comm_t *comm;
	int status;
	pid_t pid;

	if (once(&comm))
		return 1;
	pid = fork();
	if (!pid) {
		alarm(LIMIT_S);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status) {
		printf("the child ended with %x\n", status);
		return 1;
	}
	coll_finalize(comm);
	if (once(&comm))
		return 1;
	coll_finalize(comm);
	printf("ok\n");
	return 0;
}
