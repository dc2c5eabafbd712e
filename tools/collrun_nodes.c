// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes of a job on one machine: a network namespace each, and one more with a
 * bridge that joins them by veth pairs. None of them has a name: they live as
 * long as we hold them open or a rank runs in them, and nothing stays behind
 * however we end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collrun.h"

#define OWN_NS	"/proc/thread-self/ns/net"

static int fail(const char *what)
{
	fprintf(stderr, "collrun: %s: %s\n", what, strerror(errno));
	return -1;
}

/* A new namespace; we come back to @home. */
static int make_ns(int home)
{
	int fd;

	if (unshare(CLONE_NEWNET))
		return fail("new network namespace (--nodes needs root)");
	fd = open(OWN_NS, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(OWN_NS);
	if (setns(home, CLONE_NEWNET))
		return fail("leave a network namespace");
	return fd;
}

/* ip -batch in namespace @ns with @script as its input. */
static int run_ip(int ns, const char *script)
{
	int in[2], status;
	size_t len = strlen(script);
	pid_t pid;

	if (pipe2(in, O_CLOEXEC))
		return fail("pipe");
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (!pid) {
		if (setns(ns, CLONE_NEWNET) || dup2(in[0], 0) < 0)
			_exit(126);
		execlp("ip", "ip", "-batch", "-", (char *)NULL);
		fprintf(stderr, "collrun: ip (package iproute2): %s\n", strerror(errno));
		_exit(127);
	}
	close(in[0]);
	signal(SIGPIPE, SIG_IGN);
	if (write(in[1], script, len) != (ssize_t)len)
		fail("write to ip");
	signal(SIGPIPE, SIG_DFL);
	close(in[1]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail("wait for ip");
	if (status) {
		fprintf(stderr, "collrun: ip could not set the nodes' network up\n");
		return -1;
	}
	return 0;
}

#define MAC	"02:c0:11:00:00:%02x"	/* of a node's eth0 */

/*
 * Add all other nodes as permanent neighbours. All namespaces of the kernel share one table of
 * neighbours, which has room for 1024 (gc_thresh3) that ARP has found: with 33 nodes or more,
 * connections would be lost at random. Permanent neighbours do not count.
 */
static int add_neighbours(const struct network *net, int node)
{
	char *script = NULL;
	size_t len = 0;
	int i, ret;
	FILE *f = open_memstream(&script, &len);

	if (!f)
		return fail("neighbours");
	for (i = 0; i < net->nodes; i++)
		if (i != node)
			fprintf(f, "neigh add 10.193.0.%d lladdr " MAC " dev eth0 nud permanent\n",
				i + 1, i + 1);
	if (fclose(f)) {
		free(script);
		return fail("neighbours");
	}
	ret = run_ip(net->ns[node], script);
	free(script);
	return ret;
}

static int connect_node(int bridge, const struct network *net, int node)
{
	char script[512];

	snprintf(script, sizeof(script),
		 "link add port%d type veth peer name eth0 address " MAC
		 " netns /proc/%d/fd/%d\n"
		 "link set port%d master bridge0 up\n",
		 node, node + 1, (int)getpid(), net->ns[node], node);
	if (run_ip(bridge, script))
		return -1;
	snprintf(script, sizeof(script),
		 "link set lo up\n"
		 "addr add 10.193.0.%d/24 dev eth0\n"
		 "link set eth0 up\n", node + 1);
	if (run_ip(net->ns[node], script))
		return -1;
	return add_neighbours(net, node);
}

static int make_nodes(struct network *net, int home)
{
	int bridge, i, ret;

	bridge = make_ns(home);
	if (bridge < 0)
		return -1;
	ret = run_ip(bridge, "link add bridge0 type bridge\nlink set bridge0 up\n");
	for (i = 0; i < net->nodes && !ret; i++) {
		net->ns[i] = make_ns(home);
		ret = net->ns[i] < 0 ? -1 : connect_node(bridge, net, i);
	}
	if (ret)
		close(bridge);
	else
		net->ns[net->nodes] = bridge;
	return ret;
}

/*
 * A port for rank 0. Bound and not listening, with SO_REUSEADDR, a socket keeps
 * the port from being drawn by others, and lets rank 0 bind it all the same.
 */
static int hold_port(struct network *net, const char *address)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int on = 1;

	inet_pton(AF_INET, address, &sin.sin_addr);
	net->hold = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (net->hold < 0)
		return fail("socket");
	setsockopt(net->hold, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(net->hold, (struct sockaddr *)&sin, sizeof(sin)) ||
	    getsockname(net->hold, (struct sockaddr *)&sin, &len))
		return fail("a port for the rendezvous");
	snprintf(net->rendezvous, sizeof(net->rendezvous), "%s:%d", address,
		 ntohs(sin.sin_port));
	return 0;
}

int network_create(struct network *net, int nodes)
{
	int home, ret, i;

	memset(net, 0, sizeof(*net));
	net->nodes = nodes;
	net->hold = -1;
	if (nodes == 1)
		return hold_port(net, "127.0.0.1");

	net->ns = malloc(((size_t)nodes + 1) * sizeof(*net->ns));
	home = open(OWN_NS, O_RDONLY | O_CLOEXEC);
	if (!net->ns || home < 0)
		return fail(OWN_NS);
	for (i = 0; i <= nodes; i++)
		net->ns[i] = -1;
	ret = make_nodes(net, home);
	if (!ret && setns(net->ns[0], CLONE_NEWNET))
		ret = fail("enter node 0");
	if (!ret)
		ret = hold_port(net, "10.193.0.1");
	if (setns(home, CLONE_NEWNET))
		ret = fail("leave node 0");
	close(home);
	if (ret)
		network_destroy(net);
	return ret;
}

int network_enter(const struct network *net, int node)
{
	return net->ns ? setns(net->ns[node], CLONE_NEWNET) : 0;
}

void network_destroy(struct network *net)
{
	int i;

	if (net->hold >= 0)
		close(net->hold);
	for (i = 0; net->ns && i <= net->nodes; i++)
		if (net->ns[i] >= 0)
			close(net->ns[i]);
	free(net->ns);
	net->ns = NULL;
	net->hold = -1;
}
