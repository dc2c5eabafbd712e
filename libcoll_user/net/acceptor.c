// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acceptor.h"
#include "base/debug.h"
#include "sock.h"

#define BATCH	64	/* events and new connections per pump */

struct stranger {
	struct handshake hs;
	uint64_t from;		/* host_of() its address */
	struct deadline until;
	short events;		/* what epoll waits for */
	bool accepted;		/* decide() said 0 */
	struct stranger *prev, *next;
};

static void unlink_stranger(struct acceptor *a, struct stranger *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		a->oldest = s->next;
	if (s->next)
		s->next->prev = s->prev;
	else
		a->newest = s->prev;
	a->nr--;
	epoll_ctl(a->epfd, EPOLL_CTL_DEL, s->hs.fd, NULL);
}

static void free_stranger(struct stranger *s)
{
	auth_wipe(s, sizeof(*s));
	free(s);
}

static void turn_away(struct acceptor *a, struct stranger *s, int err)
{
	coll_debug("turned a connection away: %s", strerror(-err));
	unlink_stranger(a, s);
	sock_close(s->hs.fd);
	if (s->accepted)
		a->ops->lost(a->ctx, &s->hs.ask);
	a->refused++;
	free_stranger(s);
}

/* Go on with one stranger; 0 or an error that ends it all. */
static int step_stranger(struct acceptor *a, struct stranger *s)
{
	struct epoll_event ev = { .data.ptr = s };
	int ret = hs_step(&s->hs);

	if (ret == HS_ASKED) {
		int status = -a->ops->decide(a->ctx, &s->hs.ask);

		s->accepted = !status;
		if (status && a->ops->refused)
			a->ops->refused(a->ctx, &s->hs, -status);
		ret = hs_answer(&s->hs, status);
		if (!ret)
			ret = hs_step(&s->hs);
	}
	if (ret < 0) {
		if ((ret == -EKEYREJECTED || ret == -EPROTONOSUPPORT) && a->ops->refused)
			a->ops->refused(a->ctx, &s->hs, ret);
		turn_away(a, s, ret);
		return 0;
	}
	if (ret == HS_DONE) {
		unlink_stranger(a, s);
		ret = a->ops->taken(a->ctx, &s->hs);
		free_stranger(s);
		return ret;
	}
	if (hs_events(&s->hs) != s->events) {
		s->events = hs_events(&s->hs);
		ev.events = (uint32_t)s->events;
		if (epoll_ctl(a->epfd, EPOLL_CTL_MOD, s->hs.fd, &ev))
			turn_away(a, s, -errno);
	}
	return 0;
}

/* The host that an address belongs to: an IPv4 address, or the network part of an IPv6 address. */
static uint64_t host_of(struct sock_addr *addr)
{
	uint64_t host = 0;

	sock_unmap(addr);
	if (addr->sa.ss_family == AF_INET6)
		memcpy(&host, &((const struct sockaddr_in6 *)&addr->sa)->sin6_addr, sizeof(host));
	else
		host = ((const struct sockaddr_in *)&addr->sa)->sin_addr.s_addr;
	return host;
}

/*
 * The stranger that makes room for a new one: the oldest of the host that has more than half of the
 * places, or else the oldest of all. So one host cannot drive out the others. If any host has more
 * than half, it is the one left over when pairs of different hosts are taken away.
 */
static struct stranger *least_wanted(const struct acceptor *a)
{
	struct stranger *s, *first = NULL;
	unsigned int left = 0, nr = 0;
	uint64_t host = 0;

	/* Only the oldest of all is known to have had its time. */
	if (a->least_ms)
		return a->oldest;
	for (s = a->oldest; s; s = s->next) {
		if (!left)
			host = s->from;
		left += s->from == host ? 1 : -1U;
	}
	for (s = a->newest; s; s = s->prev) {
		if (s->from != host)
			continue;
		first = s;
		nr++;
	}
	return nr > a->nr / 2 ? first : a->oldest;
}

static int add_stranger(struct acceptor *a, int fd, uint64_t from)
{
	struct epoll_event ev = { 0 };
	struct stranger *s;
	int ret;

	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	ret = hs_start_server(&s->hs, fd, a->secret, a->job);
	s->from = from;
	s->until = deadline_in(a->stranger_ms);
	s->events = hs_events(&s->hs);
	ev.events = (uint32_t)s->events;
	ev.data.ptr = s;
	if (!ret && epoll_ctl(a->epfd, EPOLL_CTL_ADD, fd, &ev))
		ret = -errno;
	if (ret) {
		close(fd);
		free_stranger(s);
		return ret;
	}
	s->prev = a->newest;
	if (s->prev)
		s->prev->next = s;
	else
		a->oldest = s;
	a->newest = s;
	a->nr++;
	return step_stranger(a, s);
}

/* Errors of accept() that belong to the connection, not to us (see accept(2)). */
static bool accept_error_passes(int err)
{
	switch (err) {
	case EINTR: case ECONNABORTED: case ENETDOWN: case EPROTO: case ENOPROTOOPT:
	case EHOSTDOWN: case ENONET: case EHOSTUNREACH: case EOPNOTSUPP:
	case ENETUNREACH: case EPERM: case ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

/* Until when the oldest one need not make room. */
static struct deadline oldest_stays(const struct acceptor *a)
{
	return (struct deadline){ a->oldest->until.at_ms - a->stranger_ms + a->least_ms };
}

static bool may_let_in(const struct acceptor *a)
{
	return a->nr < a->cap || !a->least_ms || !deadline_left(oldest_stays(a));
}

/* Stop accepting clients if @full: they wait in the kernel. Or begin again. */
static int set_full(struct acceptor *a, bool full)
{
	struct epoll_event ev = { .events = full ? 0 : EPOLLIN, .data.ptr = NULL };

	if (a->full == full)
		return 0;
	a->full = full;
	return epoll_ctl(a->epfd, EPOLL_CTL_MOD, a->lfd, &ev) ? -errno : 0;
}

static int accept_some(struct acceptor *a)
{
	int budget = BATCH;
	struct sock_addr addr;
	int ret;
	int fd;

	while (budget--) {
		if (!may_let_in(a))
			return set_full(a, true);
		if (a->nr >= a->cap)
			turn_away(a, least_wanted(a), -EBUSY);
		memset(&addr, 0, sizeof(addr));
		addr.len = sizeof(addr.sa);
		fd = accept4(a->lfd, (struct sockaddr *)&addr.sa, &addr.len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (errno == EAGAIN)
				return 0;
			if (accept_error_passes(errno))
				continue;
			/* Out of descriptors or memory: make room, or give up. */
			if (!a->nr)
				return -errno;
			turn_away(a, least_wanted(a), -errno);
			continue;
		}
		sock_tune(fd);
		ret = add_stranger(a, fd, host_of(&addr));
		if (ret)
			return ret;
	}
	return 0;
}

int acceptor_init(struct acceptor *a, int lfd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = NULL };
	int ret;

	a->lfd = lfd;
	a->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (a->epfd < 0) {
		ret = -errno;
		sock_close(lfd);
		a->lfd = -1;
		return ret;
	}
	if (epoll_ctl(a->epfd, EPOLL_CTL_ADD, lfd, &ev)) {
		ret = -errno;
		acceptor_destroy(a);
		return ret;
	}
	return 0;
}

void acceptor_destroy(struct acceptor *a)
{
	while (a->oldest)
		turn_away(a, a->oldest, -ECANCELED);
	if (a->lfd >= 0)
		sock_close(a->lfd);
	if (a->epfd >= 0)
		close(a->epfd);
	a->lfd = -1;
	a->epfd = -1;
}

int acceptor_pump(struct acceptor *a)
{
	struct epoll_event ev[BATCH];
	bool arrivals = false;
	int ret;
	int n;
	int i;

	n = epoll_wait(a->epfd, ev, BATCH, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	/*
	 * Strangers with news first: a step frees at most the one it is about,
	 * while arrivals and deadlines may free others that stand in ev[].
	 */
	for (i = 0; i < n; i++) {
		if (!ev[i].data.ptr) {
			arrivals = true;
			continue;
		}
		ret = step_stranger(a, ev[i].data.ptr);
		if (ret)
			return ret;
	}
	while (a->oldest && !deadline_left(a->oldest->until))
		turn_away(a, a->oldest, -ETIMEDOUT);
	if (a->full && may_let_in(a)) {
		ret = set_full(a, false);
		if (ret)
			return ret;
		arrivals = true;
	}
	return arrivals ? accept_some(a) : 0;
}

struct deadline acceptor_deadline(const struct acceptor *a, struct deadline d)
{
	if (!a->oldest)
		return d;
	if (a->full)
		d = deadline_min(d, oldest_stays(a));
	return deadline_min(d, a->oldest->until);
}
