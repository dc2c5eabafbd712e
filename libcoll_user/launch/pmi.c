// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * PMI-1 as its wire protocol: lines of "name=value" words over the descriptor PMI_FD, one
 * answer to each. mpirun of MPICH, srun --mpi=pmi2 and Flux speak it. There is no library
 * of it that all of them have.
 *
 * A process can speak it once: where MPI has been initialized the descriptor is MPI's, and
 * coll_init() needs coll_config.exchange instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/env.h"
#include "base/forks.h"
#include "hex.h"
#include "launch.h"
#include "net/sock.h"

#define LINE_LEN	4096
#define NAME_LEN	256
#define START_MS	10000	/* for answers that need no other rank */
#define FINALIZE	"cmd=finalize\n"
#define BARRIER_IN	"cmd=barrier_in\n"
#define BARRIER_OUT	"barrier_out"

/**
 * struct pmi - the process manager of this process
 * @lock: protects all of it; held for a whole exchange
 * @rank: PMI_RANK; set once, before the first exchange
 * @fd: PMI_FD, -1: not begun
 * @forks: forks_count() in the process that has begun
 * @serial: exchanges so far; each has a key of its own
 * @max: bytes of a value
 * @kvs: name of the space of keys
 * @line: the last answer
 * @have: bytes of an answer in @line whose rest has not come
 * @owed: answer of a call that has timed out: it comes before that of the next call; NULL: none
 */
static struct pmi {
	pthread_mutex_t lock;
	uint32_t rank;
	int fd;
	uint32_t forks;
	unsigned int serial;
	uint32_t max;
	char kvs[NAME_LEN];
	char line[LINE_LEN];
	size_t have;
	const char *owed;
} pmi = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static int read_line(struct deadline d)
{
	int ret;

	for (;;) {
		ret = sock_wait(pmi.fd, POLLIN, d);
		if (ret)
			return ret;
		/* Byte by byte: nothing may be read that belongs to the next answer. */
		if (read(pmi.fd, pmi.line + pmi.have, 1) != 1)
			return -ECONNRESET;
		if (pmi.line[pmi.have] == '\n')
			break;
		if (++pmi.have == LINE_LEN) {
			pmi.have = 0;
			return -EPROTO;
		}
	}
	pmi.line[pmi.have] = '\0';
	pmi.have = 0;
	return 0;
}

/* The value of @name in the last answer, and all that follows it; NULL: there is no value. */
static char *word(const char *name)
{
	size_t len = strlen(name);
	char *p = pmi.line;

	for (; p; p = strchr(p, ' ')) {
		p += strspn(p, " ");
		if (strncmp(p, name, len) || p[len] != '=')
			continue;
		p += len + 1;
		return p;
	}
	return NULL;
}

/* The process manager may have closed its end: that is an error, and no signal. */
static ssize_t put(const char *ask, size_t len)
{
	ssize_t n = send(pmi.fd, ask, len, MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(pmi.fd, ask, len) : n;
}

/* Wait for the answer @expect to @ask. */
static int answer(const char *ask, const char *expect, struct deadline d)
{
	size_t n = strlen(expect);
	const char *cmd, *rc;
	int ret = read_line(d);

	pmi.owed = ret == -ETIMEDOUT ? expect : NULL;
	if (ret) {
		coll_explain("PMI_FD %d, %.*s: %s", pmi.fd, (int)strcspn(ask, " \n"), ask,
			     strerror(-ret));
		return ret;
	}
	cmd = word("cmd");
	rc = word("rc");
	if (cmd && !strncmp(cmd, expect, n) && (!cmd[n] || cmd[n] == ' ') &&
	    (!rc || atoi(rc) == 0))
		return 0;
	coll_explain("PMI_FD %d, %.*s: the answer is \"%.100s\"", pmi.fd,
		     (int)strcspn(ask, " \n"), ask, pmi.line);
	return -EPROTO;
}

/* Send @ask, and wait for the answer @expect. */
static int call(const char *ask, const char *expect, struct deadline d)
{
	size_t len = strlen(ask);

	/* The answer of an earlier call comes first. */
	if (pmi.owed) {
		int ret = answer("cmd=late", pmi.owed, d);

		if (ret == -ETIMEDOUT || ret == -ECONNRESET)
			return ret;
	}
	if (put(ask, len) == (ssize_t)len)
		return answer(ask, expect, d);
	coll_explain("PMI_FD %d, %.*s: %s", pmi.fd, (int)strcspn(ask, " \n"), ask,
		     strerror(ECONNRESET));
	return -ECONNRESET;
}

/*
 * If a process ends without this, the process manager takes that for a crash. The end of a forked
 * child is no end of the rank.
 */
static void finalize(void)
{
	if (pmi.forks != forks_count())
		return;
	pthread_mutex_lock(&pmi.lock);
	/* The owed answer may never come: tell the process manager, and do not wait. */
	if (pmi.fd >= 0 && pmi.owed)
		put(FINALIZE, strlen(FINALIZE));
	else if (pmi.fd >= 0)
		call(FINALIZE, "finalize_ack", deadline_in(START_MS));
	pmi.fd = -1;
	pthread_mutex_unlock(&pmi.lock);
}

static bool mpi_is_there(void)
{
	int (*initialized)(int *flag) = NULL;
	int flag = 0;

	*(void **)&initialized = dlsym(RTLD_DEFAULT, "MPI_Initialized");
	return initialized && !initialized(&flag) && flag;
}

static int say_hello(struct deadline d)
{
	const char *v;
	int ret;

	ret = call("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", d);
	if (!ret)
		ret = call("cmd=get_maxes\n", "maxes", d);
	v = ret ? NULL : word("vallen_max");
	pmi.max = v ? (uint32_t)strtoul(v, NULL, 10) : 0;
	if (!ret)
		ret = call("cmd=get_my_kvsname\n", "my_kvsname", d);
	v = ret ? NULL : word("kvsname");
	if (!v)
		return ret ? ret : -EPROTO;
	snprintf(pmi.kvs, sizeof(pmi.kvs), "%.*s", (int)strcspn(v, " "), v);
	return 0;
}

/* Once in a process. */
static int start(struct deadline d)
{
	uint32_t fd;
	int ret;

	if (pmi.fd >= 0 && pmi.forks == forks_count())
		return 0;
	if (pmi.fd >= 0) {
		coll_explain("PMI_FD is used by the parent of this process");
		return -EBUSY;
	}
	if (mpi_is_there()) {
		coll_explain("PMI_FD is used by MPI: give coll_config.exchange a function that calls MPI_Allgather");
		return -EBUSY;
	}
	ret = env_u32("PMI_FD", 0, INT32_MAX, &fd);
	if (ret)
		return ret;
	if (fcntl((int)fd, F_GETFD) < 0) {
		coll_explain("PMI_FD is %u, which is not open", fd);
		return -EBADF;
	}
	ret = forks_watch();
	if (ret)
		return ret;
	pmi.forks = forks_count();
	pmi.fd = (int)fd;
	ret = say_hello(deadline_min(deadline_in(START_MS), d));
	if (ret)
		pmi.fd = -1;
	else
		atexit(finalize);
	return ret;
}

static bool is_barrier_owed(void)
{
	return pmi.owed && !strcmp(pmi.owed, BARRIER_OUT);
}

/* Get the blob that rank 0 has put before the last barrier. */
static int take(uint8_t *blob, size_t len, struct deadline d)
{
	char ask[LINE_LEN / 2];
	char *value;
	int ret;

	snprintf(ask, sizeof(ask), "cmd=get kvsname=%s key=coll-%u\n", pmi.kvs, pmi.serial);
	ret = call(ask, "get_result", deadline_min(deadline_in(START_MS), d));
	if (ret)
		return ret;
	value = word("value");
	if (!value)
		return -EPROTO;
	value[strcspn(value, " ")] = '\0';
	return hex_get(value, blob, len);
}

/*
 * A barrier that has timed out is still to be passed: it counts for the process manager. All ranks
 * pass the same number of barriers. A rank that is late there takes what rank 0 has put before it,
 * and rank 0 puts something new before the next one.
 */
static int late_barrier(bool give, uint8_t *blob, size_t len, struct deadline d)
{
	int ret = answer(BARRIER_IN, BARRIER_OUT, d);

	return ret || give ? ret : take(blob, len, d);
}

static int share(bool give, uint8_t *blob, size_t len, struct deadline d)
{
	char ask[LINE_LEN / 2], text[LINE_LEN / 4];
	int ret, met;

	if (2 * len + 1 > sizeof(text) || 2 * len >= pmi.max) {
		coll_explain("the process manager takes values of %u bytes only", pmi.max);
		return -EOPNOTSUPP;
	}
	if (is_barrier_owed()) {
		ret = late_barrier(give, blob, len, d);
		if (ret || !give)
			return ret;
	}
	pmi.serial++;
	ret = 0;
	if (give) {
		hex_put(text, blob, len);
		snprintf(ask, sizeof(ask), "cmd=put kvsname=%s key=coll-%u value=%s\n", pmi.kvs,
			 pmi.serial, text);
		ret = call(ask, "put_result", deadline_min(deadline_in(START_MS), d));
	}
	/* Also after an error of the put: the others wait there. */
	met = call(BARRIER_IN, BARRIER_OUT, d);
	ret = ret ? ret : met;
	return ret || give ? ret : take(blob, len, d);
}

/* Only the data of rank 0 is passed on: coll_init() looks at no other. */
static int pmi_exchange(void *ctx, const void *mine, void *all, size_t len, uint32_t timeout_ms)
{
	struct deadline d = deadline_in(timeout_ms);
	int ret;

	(void)ctx;
	pthread_mutex_lock(&pmi.lock);
	if (!pmi.rank)
		memcpy(all, mine, len);
	ret = start(d);
	if (!ret)
		ret = share(!pmi.rank, all, len, d);
	pthread_mutex_unlock(&pmi.lock);
	return ret;
}

static bool pmi_present(void)
{
	return env_get("PMI_FD");
}

static int pmi_configure(struct coll_config *cfg)
{
	int ret;

	ret = env_u32("PMI_SIZE", 1, COLL_MAX_SIZE, &cfg->size);
	if (!ret)
		ret = env_u32("PMI_RANK", 0, cfg->size - 1, &cfg->rank);
	if (ret == -ENOENT) {
		coll_explain("PMI_FD is set, but PMI_RANK or PMI_SIZE is not");
		return -EINVAL;
	}
	if (ret)
		return ret;
	pmi.rank = cfg->rank;
	cfg->exchange = pmi_exchange;
	return 0;
}

const struct launcher launch_pmi = {
	.name = "PMI (PMI_FD)",
	.present = pmi_present,
	.configure = pmi_configure,
};
