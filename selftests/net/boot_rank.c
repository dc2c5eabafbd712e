// SPDX-License-Identifier: GPL-2.0
/*
 * A rank that says how coll_init() went, and adds up once: "ok", or "error NUMBER: TEXT".
 *
 * usage: boot_rank			exit status 0 if all went well
 *	  boot_rank elsewhere		the same, but rank 1 joins with another key than it
 *					says: for all others it is in another kernel
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

static bool elsewhere;

/* In the place of the C library's. */
int ioctl(int fd, unsigned long request, ...)
{
	const char *rank = getenv("COLL_RANK");
	struct coll_join join;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (elsewhere && request == COLL_IOC_JOIN && rank && !strcmp(rank, "1")) {
		join = *(struct coll_join *)arg;
		join.key[0] ^= 1;
		arg = &join;
	}
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	int one = 1, sum = 0, ret;
	coll_comm_t *comm;

	elsewhere = argc > 1 && !strcmp(argv[1], "elsewhere");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ret = coll_init(NULL, &comm);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("rank %s: after %ld s: ", getenv("COLL_RANK"), (long)(end.tv_sec - begin.tv_sec));
	if (ret) {
		printf("error %d: %s; %s\n", ret, coll_strerror(ret), coll_last_error());
		return 1;
	}
	ret = coll_allreduce(comm, &one, &sum, 1, COLL_I32, COLL_OP_SUM);
	if (!ret && sum == (int)coll_comm_size(comm))
		printf("ok\n");
	else
		printf("sum %d, error %d\n", sum, ret);
	ret = ret || sum != (int)coll_comm_size(comm);
	coll_finalize(comm);
	return ret;
}
