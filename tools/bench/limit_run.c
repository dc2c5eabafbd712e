// SPDX-License-Identifier: GPL-2.0
/*
 * usage: limit_run local RANKS BYTES:ITERATIONS:WARMUP...
 *        limit_run tcp WINDOW BYTES TIMES
 *
 * Prints what coll_limit.ko (tools/bench/limit) finds out about the running kernel. Prints "ROW
 * limit RANKS BYTES loop us", and "ROW limit_tcp 2 WINDOW how GB/s of each direction" for a
 * stream one way and for two that go both ways, between the network namespaces BENCH_NODES0 and
 * BENCH_NODES1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define DEVICE	"/proc/coll_limit"
#define TIMES	64

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Have something measured; what the module has to say goes to @text. */
static void ask(const char *cmd, char *text, size_t size)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		fail(DEVICE);
	if (write(fd, cmd, strlen(cmd)) < 0)
		fail(cmd);
	n = read(fd, text, size - 1);
	if (n < 0)
		fail(DEVICE);
	text[n] = 0;
	close(fd);
}

static int local(int n, char **args)
{
	int ranks = atoi(args[0]), i;
	struct bench_size z;
	char cmd[96], text[2048], *line, *rest;

	for (i = 1; i < n; i++) {
		if (bench_parse(args[i], &z)) {
			fprintf(stderr, "bad size \"%s\"\n", args[i]);
			return 2;
		}
		snprintf(cmd, sizeof(cmd), "local %d %zu %d", ranks, z.bytes,
			 z.iters + z.warmup);
		ask(cmd, text, sizeof(text));
		for (line = strtok_r(text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			char *value = strchr(line, ' ');

			if (!value)
				continue;
			*value++ = 0;
			printf("ROW\tlimit\t%d\t%zu\t%s\t%s\n", ranks, z.bytes, line, value);
		}
	}
	return 0;
}

static void enter(int node)
{
	const char *nodes = getenv("BENCH_NODES");
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s%d", nodes ? nodes : "", node);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(path);
	close(fd);
}

/* A connection from node 0 to node 1, whose address BENCH_ADDRESS1 is. */
static void connect_nodes(int *from, int *to)
{
	const char *address = getenv("BENCH_ADDRESS1");
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int ear;

	enter(1);
	ear = socket(AF_INET, SOCK_STREAM, 0);
	if (!address || !inet_aton(address, &sin.sin_addr) || ear < 0 ||
	    bind(ear, (struct sockaddr *)&sin, sizeof(sin)) || listen(ear, 1) ||
	    getsockname(ear, (struct sockaddr *)&sin, &len))
		fail("listen");
	enter(0);
	*from = socket(AF_INET, SOCK_STREAM, 0);
	if (*from < 0 || connect(*from, (struct sockaddr *)&sin, sizeof(sin)))
		fail("connect");
	*to = accept(ear, NULL, NULL);
	if (*to < 0)
		fail("accept");
	close(ear);
}

/* A process that sends or receives; a receiver leaves its nanoseconds at @ns. */
static void start(const char *cmd, double *ns)
{
	char text[64];

	if (fork())
		return;
	ask(cmd, text, sizeof(text));
	if (ns)
		*ns = atof(text);
	_exit(0);
}

/* GB/s of each direction, once. */
static double once(int from, int to, const char *window, double bytes, const char *how,
		   int directions)
{
	double *ns = bench_map(2 * sizeof(*ns), MAP_SHARED), worst;
	char cmd[96];
	int i, status;

	for (i = 0; i < directions; i++) {
		snprintf(cmd, sizeof(cmd), "recv %d %.0f %s", i ? from : to, bytes, window);
		start(cmd, &ns[i]);
		snprintf(cmd, sizeof(cmd), "send %d %.0f %s %s", i ? to : from, bytes, window,
			 how);
		start(cmd, NULL);
	}
	while (wait(&status) > 0)
		if (status)
			exit(1);
	worst = ns[0] > ns[1] ? ns[0] : ns[1];
	munmap(ns, 2 * sizeof(*ns));
	return bytes / worst;
}

static int tcp(char **args)
{
	static const char *const hows[] = { "copy", "splice" };
	int times = atoi(args[2]), directions, i, from, to;
	double rates[TIMES];
	size_t h;

	if (times < 1 || times > TIMES)
		return 2;
	connect_nodes(&from, &to);
	for (h = 0; h < 2; h++) {
		for (directions = 1; directions <= 2; directions++) {
			once(from, to, args[0], atof(args[1]), hows[h], directions);
			for (i = 0; i < times; i++)
				rates[i] = once(from, to, args[0], atof(args[1]), hows[h],
						directions);
			printf("ROW\tlimit_tcp\t2\t%s\t%s_%s\t%.4f\n", args[0], hows[h],
			       directions == 1 ? "one" : "both", bench_median(rates, times));
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "local"))
		return local(argc - 2, argv + 2);
	if (argc == 5 && !strcmp(argv[1], "tcp"))
		return tcp(argv + 2);
	fprintf(stderr, "usage: limit_run local RANKS BYTES:ITERATIONS:WARMUP...\n"
			"       limit_run tcp WINDOW BYTES TIMES\n");
	return 2;
}
