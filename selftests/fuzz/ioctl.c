// SPDX-License-Identifier: GPL-2.0
/* All verbs by ioctl. Every call returns, by itself or by its deadline. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

/* Descriptors that COLL_IOC_LINK may be given, at low numbers. */
static int start(void)
{
	int sv[2], un[2], i;

	for (i = 0; i < 3; i++)
		if (raw_tcp_pair(sv))
			return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, un))
		return -errno;
	socket(AF_INET, SOCK_DGRAM, 0);
	return calls_memory();
}

struct partner {
	int fd;
	struct coll_cmd cmd;
};

static void *partner(void *arg)
{
	struct partner *p = arg;

	raw_submit(p->fd, &p->cmd);
	return NULL;
}

/* Does the other rank give the same? These return at once. */
static bool posts(const struct call *c)
{
	return c->partner && (c->request == COLL_IOC_POST || c->request == COLL_IOC_TENSOR_POST);
}

static void run(const struct calls_files *f, const struct call *c)
{
	struct partner p = { .fd = f->fd[1] };
	uint8_t bytes[CALL_BYTES];
	bool two = c->partner && c->request == COLL_IOC_SUBMIT;
	pthread_t thread;

	if (two) {
		p.cmd = c->cmd;
		two = !pthread_create(&thread, NULL, partner, &p);
	}
	memcpy(bytes, c->bytes, sizeof(bytes));
	ioctl(f->fd[c->file], c->request, bytes);
	if (posts(c)) {
		memcpy(bytes, c->bytes, sizeof(bytes));
		ioctl(f->fd[1], c->request, bytes);
	}
	if (two)
		pthread_join(thread, NULL);
}

static unsigned int round_ioctl(const struct fuzz_seeds *s)
{
	struct calls_files f;
	static struct calls c;
	unsigned int i;

	calls_make(&c, s, false);
	if (!calls_open(&f, &c))
		return 0;
	for (i = 0; i < c.n; i++)
		run(&f, &c.call[i]);
	calls_close(&f);
	calls_check_good(c.nodes);
	return c.n;
}

const struct fuzz_kind fuzz_ioctl = {
	.name = "ioctl", .start = start, .round = round_ioctl,
};
