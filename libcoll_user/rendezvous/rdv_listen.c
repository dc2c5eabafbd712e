// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Makes the listening socket of rank 0, and raises its limit of descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <coll/coll.h>

#include "base/debug.h"
#include "net/resolve.h"
#include "rdv_listen.h"

#define BIND_RETRY_MS	2000	/* a job that has just ended may still hold the port */

/*
 * Listen at the first address of the name that this host has. If all of them fail, EADDRINUSE is
 * the most important error: the caller tries again. Return: a socket, or an error: EHOSTUNREACH and
 * ETIMEDOUT are from the look-up.
 */
static int listen_by_name(const struct rdv_config *cfg, struct deadline until)
{
	struct sock_addr *addrs = calloc(RESOLVE_MAX, sizeof(*addrs));
	bool busy = false;
	int n, i, fd = -EADDRINUSE;

	if (!addrs)
		return -ENOMEM;
	n = resolve_until(cfg->spec, until, addrs, RESOLVE_MAX);
	if (n < 0)
		fd = n;
	for (i = 0; i < n; i++) {
		fd = sock_listen(&addrs[i]);
		if (fd >= 0)
			break;
		busy |= fd == -EADDRINUSE;
	}
	free(addrs);
	return fd < 0 && busy ? -EADDRINUSE : fd;
}

/* Duplicate the socket of the caller, which keeps its own descriptor. */
static int dup_listening(int fd)
{
	int ret = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return ret < 0 ? -errno : ret;
}

/* Does this host not have the address, or not its family? */
static bool is_not_here(int err)
{
	return err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT;
}

static bool is_unknown(int err)
{
	return err == -EHOSTUNREACH || err == -ETIMEDOUT;
}

/* Listen at all addresses, at the first free port of the range. */
static int listen_everywhere(const struct ports *ports)
{
	uint32_t port;
	int fd = -EADDRINUSE;

	for (port = ports->first; port <= ports->last && fd == -EADDRINUSE; port++)
		fd = sock_listen_all((uint16_t)port);
	return fd;
}

/*
 * Listen at all addresses of this host, because other hosts may know it by another address: on
 * Debian a host looks up its own name as 127.0.1.1, and behind address translation no interface has
 * the public address. If the rendezvous is 127.0.0.1 or localhost, all ranks are on this host:
 * listen only there, so that no other host can connect.
 */
int rdv_listen(const struct rdv_config *cfg)
{
	struct deadline until = deadline_min(deadline_in(BIND_RETRY_MS), cfg->deadline);
	struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
	struct ports ports;
	bool busy;
	int fd;

	if (!cfg->spec)
		return dup_listening(cfg->lfd);
	fd = resolve_ports(cfg->spec, &ports);
	if (fd) {
		coll_explain("%s: no host and port", cfg->spec);
		return fd;
	}
	for (;;) {
		fd = ports.local ? -EADDRINUSE : listen_everywhere(&ports);
		busy = fd == -EADDRINUSE && !ports.local;
		/* Another program may have this port at another address only. */
		if (fd == -EADDRINUSE)
			fd = listen_by_name(cfg, until);
		/* The name is unknown, or of no interface: wait for a port at all addresses. */
		if (busy && (is_not_here(fd) || is_unknown(fd)))
			fd = -EADDRINUSE;
		if (fd != -EADDRINUSE || !deadline_left(until))
			break;
		nanosleep(&nap, NULL);
	}
	if (is_unknown(fd))
		coll_explain("%s: %s", cfg->spec, fd == -ETIMEDOUT ?
			     "the look-up took too long" : "no such name");
	else if (fd < 0)
		coll_explain("rank 0 cannot listen at %s: %s", cfg->spec, coll_strerror(fd));
	return fd;
}

#define CHUNK	256

/* Count the descriptors that are not open: one poll() checks many of them. */
static uint32_t nr_closed(int first, int end)
{
	struct pollfd p[CHUNK];
	uint32_t nr = 0;
	int i, n = end - first;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = first + i };
	if (poll(p, (nfds_t)n, 0) < 0)
		return 0;
	for (i = 0; i < n; i++)
		nr += !!(p[i].revents & POLLNVAL);
	return nr;
}

uint32_t rdv_free_files(uint32_t most)
{
	struct rlimit limit;
	uint32_t nr = 0;
	int end, first;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT_MAX)
		return most;
	/* Begin with the highest descriptors: they are most likely free. */
	for (end = (int)limit.rlim_cur; end > 0 && nr < most; end = first) {
		first = end > CHUNK ? end - CHUNK : 0;
		nr += nr_closed(first, end);
	}
	return nr < most ? nr : most;
}

/* Descriptors besides those for ranks: for strangers, and for files of library and application. */
#define MORE_FILES	128

/**
 * struct raised - the limit of the process; each of its threads may be rank 0 of another job
 * @users: rendezvous that have raised it
 * @before: the soft limit before the first of them
 */
static struct {
	pthread_mutex_t lock;
	unsigned int users;
	rlim_t before;
} raised = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Lock held. */
static bool raise_limit(uint32_t size)
{
	struct rlimit limit;
	rlim_t before, want;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return false;
	before = raised.users ? raised.before : limit.rlim_cur;
	/* Is it far away, and has the process not opened as many descriptors itself? */
	if (size + MORE_FILES <= before / 2 &&
	    rdv_free_files(size + MORE_FILES) == size + MORE_FILES)
		return false;
	/* All descriptors below the present limit may be open: add ours to it. */
	want = limit.rlim_cur + size + MORE_FILES;
	if (limit.rlim_max < want)
		want = limit.rlim_max;
	if (want < size + MORE_FILES)
		coll_debug("%u ranks, but no more than %llu descriptors (ulimit -Hn)", size,
			   (unsigned long long)want);
	limit.rlim_cur = want;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return false;
	raised.before = before;
	raised.users++;
	return true;
}

/*
 * Raise the soft limit, so that there is a descriptor for each rank. Shells and services usually
 * allow 1024, and a process may raise that to the hard limit. The application gets its old limit
 * back at the end of the last rendezvous, when the high descriptors are closed.
 */
bool rdv_raise_files(uint32_t size)
{
	bool done;

	pthread_mutex_lock(&raised.lock);
	done = raise_limit(size);
	pthread_mutex_unlock(&raised.lock);
	return done;
}

void rdv_restore_files(void)
{
	struct rlimit limit;

	pthread_mutex_lock(&raised.lock);
	if (!--raised.users && !getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = raised.before;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	pthread_mutex_unlock(&raised.lock);
}
