// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sock.h"

static int sock_open(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	return fd < 0 ? -errno : fd;
}

static int bind_and_listen(int fd, const struct sock_addr *a)
{
	int on = 1;
	int ret;

	/* A job that starts again must not wait for the old one's TIME_WAIT. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&a->sa, a->len) || listen(fd, SOMAXCONN)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

int sock_listen(const struct sock_addr *a)
{
	int fd = sock_open(a->sa.ss_family);

	return fd < 0 ? fd : bind_and_listen(fd, a);
}

/* One socket for both families if this kernel has IPv6. */
static int open_wildcard(struct sock_addr *a, uint16_t port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&a->sa;
	int off = 0;
	int fd;

	memset(a, 0, sizeof(*a));
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	a->len = sizeof(*in6);
	fd = sock_open(AF_INET6);
	if (fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)))
		return fd;
	if (fd >= 0)
		close(fd);
	memset(a, 0, sizeof(*a));
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	a->len = sizeof(*in);
	return sock_open(AF_INET);
}

int sock_listen_all(uint16_t port)
{
	struct sock_addr a;
	int fd = open_wildcard(&a, port);

	return fd < 0 ? fd : bind_and_listen(fd, &a);
}

/* A connection on which nothing is sent breaks 25 s after the host of the peer has died. */
#define KEEP_IDLE_S	10
#define KEEP_EACH_S	5
#define KEEP_TIMES	3

static void set_tcp(int fd, int what, int value)
{
	setsockopt(fd, IPPROTO_TCP, what, &value, sizeof(value));
}

void sock_tune(int fd)
{
	int on = 1;

	set_tcp(fd, TCP_NODELAY, on);
	set_tcp(fd, TCP_KEEPIDLE, KEEP_IDLE_S);
	set_tcp(fd, TCP_KEEPINTVL, KEEP_EACH_S);
	set_tcp(fd, TCP_KEEPCNT, KEEP_TIMES);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void sock_close(int fd)
{
	shutdown(fd, SHUT_RDWR);
	close(fd);
}

int sock_connect_start(const struct sock_addr *a)
{
	int ret;
	int fd;

	fd = sock_open(a->sa.ss_family);
	if (fd < 0)
		return fd;
	sock_tune(fd);
	if (connect(fd, (const struct sockaddr *)&a->sa, a->len) && errno != EINPROGRESS) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

int sock_connect_result(int fd)
{
	socklen_t len = sizeof(int);
	struct sock_addr here, there;
	int err = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	if (err)
		return -err;
	/*
	 * If nobody listens at the port yet, the kernel may choose it as our own port. Then
	 * TCP connects the socket with itself, and keeps the port from its owner.
	 */
	if (sock_local(fd, &here) || sock_peer(fd, &there))
		return -ENOTCONN;
	if (here.len == there.len && !memcmp(&here.sa, &there.sa, here.len))
		return -ECONNREFUSED;
	return 0;
}

int sock_wait(int fd, short events, struct deadline d)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int left = deadline_left(d);
		int n = poll(&p, 1, left);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n && !deadline_left(d))
			return -ETIMEDOUT;
	}
}

int sock_send_all(int fd, const void *buf, size_t len, struct deadline d)
{
	const uint8_t *p = buf;
	int ret;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		ret = sock_wait(fd, POLLOUT, d);
		if (ret)
			return ret;
	}
	return 0;
}

int sock_recv_all(int fd, void *buf, size_t len, struct deadline d)
{
	uint8_t *p = buf;
	int ret;

	while (len) {
		ssize_t n = recv(fd, p, len, MSG_DONTWAIT);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (!n)
			return -ENODATA;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		ret = sock_wait(fd, POLLIN, d);
		if (ret)
			return ret;
	}
	return 0;
}

int sock_local(int fd, struct sock_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->len = sizeof(a->sa);
	return getsockname(fd, (struct sockaddr *)&a->sa, &a->len) ? -errno : 0;
}

void sock_unmap(struct sock_addr *a)
{
	const struct sockaddr_in6 in6 = *(const struct sockaddr_in6 *)&a->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&a->sa;

	if (a->sa.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return;
	memset(a, 0, sizeof(*a));
	in->sin_family = AF_INET;
	in->sin_port = in6.sin6_port;
	memcpy(&in->sin_addr, in6.sin6_addr.s6_addr + 12, 4);
	a->len = sizeof(*in);
}

int sock_peer(int fd, struct sock_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->len = sizeof(a->sa);
	return getpeername(fd, (struct sockaddr *)&a->sa, &a->len) ? -errno : 0;
}

void sock_set_port(struct sock_addr *a, uint16_t port)
{
	if (a->sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&a->sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&a->sa)->sin_port = htons(port);
}

uint16_t sock_port(const struct sock_addr *a)
{
	if (a->sa.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&a->sa)->sin6_port);
	return ntohs(((const struct sockaddr_in *)&a->sa)->sin_port);
}

bool sock_is_loopback(const struct sock_addr *a)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&a->sa;

	if (a->sa.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return a->sa.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

bool sock_same_host(const struct sock_addr *a, const struct sock_addr *b)
{
	if (a->sa.ss_family != b->sa.ss_family)
		return false;
	if (a->sa.ss_family == AF_INET)
		return ((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&b->sa)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)&a->sa)->sin6_addr,
				  &((const struct sockaddr_in6 *)&b->sa)->sin6_addr);
}

/* Can other hosts reach this host at @sa? A link-local address is valid on its own link only. */
static bool is_global(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

	if (sa->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 16 != 0xa9fe;
	return sa->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

static bool is_known(const struct sock_addr *addrs, int nr, const struct sock_addr *a)
{
	int i;

	for (i = 0; i < nr; i++)
		if (sock_same_host(&addrs[i], a))
			return true;
	return false;
}

int sock_interfaces(struct sock_addr *addrs, int nr, int max)
{
	struct ifaddrs *list, *i;

	if (getifaddrs(&list))
		return nr;
	for (i = list; i && nr < max; i = i->ifa_next) {
		struct sock_addr a = { .len = 0 };

		if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK ||
		    !is_global(i->ifa_addr))
			continue;
		a.len = i->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
							     sizeof(struct sockaddr_in);
		memcpy(&a.sa, i->ifa_addr, a.len);
		if (!is_known(addrs, nr, &a))
			addrs[nr++] = a;
	}
	freeifaddrs(list);
	return nr;
}

const char *sock_text(const struct sock_addr *a, char *text)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->sa;
	const void *addr = &((const struct sockaddr_in *)&a->sa)->sin_addr;
	char host[INET6_ADDRSTRLEN] = "?";

	if (a->sa.ss_family == AF_INET6) {
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			inet_ntop(AF_INET, in6->sin6_addr.s6_addr + 12, host, sizeof(host));
			snprintf(text, SOCK_TEXT, "%s:%u", host, sock_port(a));
			return text;
		}
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
	} else {
		inet_ntop(AF_INET, addr, host, sizeof(host));
	}
	snprintf(text, SOCK_TEXT, a->sa.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 sock_port(a));
	return text;
}
