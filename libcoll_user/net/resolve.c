// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/debug.h"
#include "ports.h"
#include "resolve.h"

#define HOST_LEN	256

/**
 * struct lookup - shared by the caller and the thread that looks up
 * @lock: protects the fields down to @nr
 * @ended: signalled when @done is set
 * @done: the thread has ended, or there was none: the caller frees
 * @dropped: the caller has given up: the thread frees
 * @addrs: what was found
 * @nr: number of @addrs, or a negative errno
 * @host: what is looked up; not changed while the thread runs
 * @ports: an address is found with each of them
 */
struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done, dropped;
	struct sock_addr addrs[RESOLVE_MAX];
	int nr;
	char host[HOST_LEN];
	struct ports ports;
};

/* Cut "host:port" into its halves; brackets around the host are dropped. */
static int split_spec(const char *spec, char *host, struct ports *ports)
{
	const char *colon = strrchr(spec, ':');
	size_t n;

	if (!colon || colon == spec || !ports_parse(colon + 1, &ports->first, &ports->last) ||
	    ports->last - ports->first >= RESOLVE_PORTS)
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
	if (n >= HOST_LEN)
		return -EINVAL;
	memcpy(host, spec, n);
	host[n] = '\0';
	return 0;
}

static bool is_inet(const struct addrinfo *ai)
{
	return ai->ai_family == AF_INET || ai->ai_family == AF_INET6;
}

/* Fill in up to @hosts addresses with @port. Return: how many. */
static int add_hosts(const struct addrinfo *ai, int hosts, uint16_t port, struct sock_addr *addrs)
{
	int n = 0;

	for (; ai && n < hosts; ai = ai->ai_next) {
		if (!is_inet(ai))
			continue;
		memset(&addrs[n], 0, sizeof(addrs[n]));
		memcpy(&addrs[n].sa, ai->ai_addr, ai->ai_addrlen);
		addrs[n].len = ai->ai_addrlen;
		sock_set_port(&addrs[n++], port);
	}
	return n;
}

/*
 * Fill in the first port at all addresses, then the next one: rank 0 most likely has the first, and
 * an address that does not answer delays the others once for each port. Return: how many of @max.
 */
static int add_all(const struct addrinfo *list, const struct ports *ports,
		   struct sock_addr *addrs, int max)
{
	int hosts = max / (ports->last - ports->first + 1), n = 0;
	uint32_t port;

	if (hosts > RESOLVE_HOSTS)
		hosts = RESOLVE_HOSTS;
	if (!hosts)
		hosts = 1;
	for (port = ports->first; port <= ports->last && n + hosts <= max; port++)
		n += add_hosts(list, hosts, (uint16_t)port, addrs + n);
	return n;
}

static int look_up(const char *host, const struct ports *ports, int flags,
		   struct sock_addr *addrs, int max)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags,
	};
	struct addrinfo *list;
	int n, ret;

	ret = getaddrinfo(host, NULL, &hints, &list);
	if (ret) {
		if (!flags)
			coll_debug("%s: %s", host, gai_strerror(ret));
		return ret == EAI_MEMORY ? -ENOMEM : -EHOSTUNREACH;
	}
	n = add_all(list, ports, addrs, max);
	freeaddrinfo(list);
	return n ? n : -EHOSTUNREACH;
}

int resolve_ports(const char *spec, struct ports *ports)
{
	char host[HOST_LEN];
	struct sock_addr a;
	int ret;

	ret = split_spec(spec, host, ports);
	if (ret)
		return ret;
	ret = look_up(host, ports, AI_NUMERICHOST, &a, 1);
	ports->local = ret > 0 ? sock_is_loopback(&a) : !strcasecmp(host, "localhost");
	return 0;
}

static void free_lookup(struct lookup *l)
{
	pthread_cond_destroy(&l->ended);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void *lookup_thread(void *arg)
{
	struct lookup *l = arg;
	struct sock_addr addrs[RESOLVE_MAX];
	bool dropped;
	int nr;

	nr = look_up(l->host, &l->ports, 0, addrs, RESOLVE_MAX);
	pthread_mutex_lock(&l->lock);
	l->nr = nr;
	if (nr > 0)
		memcpy(l->addrs, addrs, (size_t)nr * sizeof(*addrs));
	l->done = true;
	dropped = l->dropped;
	pthread_cond_signal(&l->ended);
	pthread_mutex_unlock(&l->lock);
	if (dropped)
		free_lookup(l);
	return NULL;
}

/* The application's signals are not for this thread. */
static int start_thread(struct lookup *l)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&thread, &attr, lookup_thread, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return ret ? -ENOMEM : 0;
}

int lookup_begin(struct lookup **out, const char *spec)
{
	struct lookup *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;
	int ret;

	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->ended, &attr);
	pthread_condattr_destroy(&attr);
	ret = split_spec(spec, l->host, &l->ports);
	if (!ret) {
		l->nr = look_up(l->host, &l->ports, AI_NUMERICHOST, l->addrs, RESOLVE_MAX);
		l->done = l->nr > 0;
		if (!l->done)
			ret = start_thread(l);
	}
	if (ret) {
		free_lookup(l);
		return ret;
	}
	*out = l;
	return 0;
}

int lookup_wait(struct lookup **lp, struct deadline d, struct sock_addr *addrs, int max)
{
	const struct timespec until = {
		.tv_sec = d.at_ms / 1000, .tv_nsec = (long)(d.at_ms % 1000) * 1000000,
	};
	struct lookup *l = *lp;
	int nr, ret = 0;

	pthread_mutex_lock(&l->lock);
	while (!l->done && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&l->ended, &l->lock, &until);
	if (!l->done) {
		pthread_mutex_unlock(&l->lock);
		return -EAGAIN;
	}
	nr = l->nr < max ? l->nr : max;
	if (nr > 0)
		memcpy(addrs, l->addrs, (size_t)nr * sizeof(*addrs));
	pthread_mutex_unlock(&l->lock);
	free_lookup(l);
	*lp = NULL;
	return nr;
}

void lookup_drop(struct lookup **lp)
{
	struct lookup *l = *lp;
	bool done;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	done = l->done;
	l->dropped = true;
	pthread_mutex_unlock(&l->lock);
	if (done)
		free_lookup(l);
	*lp = NULL;
}

int resolve_until(const char *spec, struct deadline d, struct sock_addr *addrs, int max)
{
	struct lookup *l;
	int ret;

	ret = lookup_begin(&l, spec);
	if (ret)
		return ret;
	ret = lookup_wait(&l, d, addrs, max);
	lookup_drop(&l);
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}
