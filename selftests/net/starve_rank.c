// SPDX-License-Identifier: GPL-2.0
/*
 * collrun --nodes N ... starve_rank: while rank 0 sends a broadcast that the others wait in,
 * others have all the memory that TCP may have, for a moment. By then the op is through,
 * some KiB at a time, or it goes on when there is memory again.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <coll/coll.h>

#define TCP_MEM		"/proc/sys/net/ipv4/tcp_mem"
#define PAIRS_MAX	100
/* Pages that others hold: more than each CPU may have uncounted, 1 MiB. */
#define HELD		600
#define COUNT		(1 << 20)
#define MOMENT_US	1000000

static void must(int bad, const char *what, const char *why)
{
	if (!bad)
		return;
	fprintf(stderr, "starve_rank: %s: %s\n", what, why);
	exit(1);
}

/* Pages that the sockets of the whole machine have. */
static long used(void)
{
	FILE *f = fopen("/proc/net/sockstat", "r");
	char line[256];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "TCP: inuse %*d orphan %*d tw %*d alloc %*d mem %ld", &n) != 1)
			n = -1;
	if (f)
		fclose(f);
	return n;
}

static int listen_here(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)at, len) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)at, &len))
		return -1;
	return fd;
}

/* A connection of the process with itself, full to the brim. */
static int fill_one(int from, const struct sockaddr_in *to)
{
	static const char bytes[65536];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) ||
	    accept(from, NULL, NULL) < 0)
		return -1;
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return errno == EAGAIN ? 0 : -1;
}

static void hold(long pages)
{
	struct sockaddr_in at;
	int i, fd = listen_here(&at);

	for (i = 0; fd >= 0 && used() < pages && i < PAIRS_MAX; i++)
		must(fill_one(fd, &at), "a connection to take memory with", strerror(errno));
	must(used() < pages, "memory of TCP", "others do not take it");
}

/* The limits are those of the first network. */
static void enter_first_net(void)
{
	int fd = open("/proc/1/ns/net", O_RDONLY);

	must(fd < 0 || setns(fd, CLONE_NEWNET), "the first network", strerror(errno));
	close(fd);
}

static void set_limits(const char *limits)
{
	int fd = open(TCP_MEM, O_WRONLY);

	must(fd < 0 || write(fd, limits, strlen(limits)) < 0, TCP_MEM, strerror(errno));
	close(fd);
}

static void get_limits(char *limits, size_t size)
{
	int fd = open(TCP_MEM, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, limits, size - 1);

	must(n < 0, TCP_MEM, strerror(errno));
	limits[n] = 0;
	close(fd);
}

static void starve(coll_comm_t *comm, float *buf)
{
	coll_request_t *req;
	int ret, done = 0;
	char was[80];

	enter_first_net();
	hold(HELD);
	get_limits(was, sizeof(was));
	set_limits("1 1 1");
	ret = coll_ibroadcast(comm, buf, COUNT, COLL_F32, 0, &req);
	usleep(MOMENT_US);
	ret = ret ?: coll_test(req, &done);
	set_limits(was);
	must(ret, "broadcast", coll_strerror(ret));
	ret = done ? 0 : coll_wait(req);
	must(ret, "broadcast", coll_strerror(ret));
}

int main(void)
{
	float *buf = calloc(COUNT, sizeof(*buf));
	coll_comm_t *comm;
	int ret, i;

	must(!buf, "memory", "there is none");
	ret = coll_init(NULL, &comm) ?: coll_barrier(comm);
	must(ret, "init", coll_strerror(ret));
	if (coll_comm_rank(comm) == 0) {
		for (i = 0; i < COUNT; i++)
			buf[i] = i;
		starve(comm, buf);
	} else {
		ret = coll_broadcast(comm, buf, COUNT, COLL_F32, 0);
		must(ret, "broadcast", coll_strerror(ret));
		for (i = 0; i < COUNT; i++)
			must(buf[i] != i, "broadcast", "wrong bytes");
	}
	ret = coll_finalize(comm);
	must(ret, "finalize", coll_strerror(ret));
	return 0;
}
