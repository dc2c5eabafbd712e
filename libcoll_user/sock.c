// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sock.h"

/* Cut "host:port" into its halves; brackets around the host are dropped. */
static int split_spec(const char *spec, char *host, size_t hostlen, const char **port)
{
	const char *colon = strrchr(spec, ':');
	char *end;
	size_t n;

	if (!colon || colon == spec || colon[1] < '1' || colon[1] > '9')
		return -EINVAL;
	/* getaddrinfo() would take 99999 for another port. */
	if (strtoul(colon + 1, &end, 10) > 65535 || *end)
		return -EINVAL;
	n = (size_t)(colon - spec);
	if (spec[0] == '[') {
		if (n < 3 || spec[n - 1] != ']')
			return -EINVAL;
		spec++;
		n -= 2;
	} else if (memchr(spec, ':', n)) {
		return -EINVAL;		/* IPv6 without brackets is ambiguous */
	}
	if (n >= hostlen)
		return -EINVAL;
	memcpy(host, spec, n);
	host[n] = '\0';
	*port = colon + 1;
	return 0;
}

int sock_resolve(const char *spec, struct sock_addr *addrs, int max)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV,
	};
	struct addrinfo *list, *ai;
	const char *port;
	char host[256];
	int n = 0;
	int ret;

	ret = split_spec(spec, host, sizeof(host), &port);
	if (ret)
		return ret;
	ret = getaddrinfo(host, port, &hints, &list);
	if (ret)
		return ret == EAI_MEMORY ? -ENOMEM : -EHOSTUNREACH;
	for (ai = list; ai && n < max; ai = ai->ai_next) {
		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		memset(&addrs[n], 0, sizeof(addrs[n]));
		memcpy(&addrs[n].sa, ai->ai_addr, ai->ai_addrlen);
		addrs[n++].len = ai->ai_addrlen;
	}
	freeaddrinfo(list);
	return n ? n : -EHOSTUNREACH;
}

static int sock_open(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	return fd < 0 ? -errno : fd;
}

int sock_listen(const struct sock_addr *a)
{
	int on = 1;
	int ret;
	int fd;

	fd = sock_open(a->sa.ss_family);
	if (fd < 0)
		return fd;
	/* A job that starts again must not wait for the old one's TIME_WAIT. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&a->sa, a->len) || listen(fd, SOMAXCONN)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

void sock_tune(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
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
	 * A port nobody listens at yet may be drawn as our own: TCP then joins
	 * the socket with itself, and keeps the port from its owner.
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
