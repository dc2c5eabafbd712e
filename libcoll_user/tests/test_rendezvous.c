// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The rendezvous by itself, over loopback, no kernel module: ranks are threads
 * of this process, strangers are sockets it opens. Every case has a time limit
 * that a rendezvous which waits for a stranger would miss.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coll/coll.h>

#include "net/handshake.h"
#include "net/resolve.h"
#include "rendezvous/rendezvous.h"
#include "tap.h"

#define MAX_RANKS	64
#define MANY_RANKS	200
#define MAX_STRANGERS	600
/* On a busy machine a case may take this long. A wait for a stranger takes longer. */
#define BOUND_MS	15000
/* The same where ranks disconnect and come back, because descriptors are few. */
#define FEW_BOUND_MS	120000
static uint64_t seed;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

/* A port nobody listens at now. */
static int free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) ||
	    getsockname(fd, (struct sockaddr *)&sin, &len))
		abort();
	close(fd);
	return ntohs(sin.sin_port);
}

/**
 * struct rank - one participant
 * @delay_ms: before it comes
 * @rounds: how many it takes part in
 * @fail_round: in this one its status is -ENOSPC
 * @leave_round: it goes away instead of taking part in this one
 * @opened: rdv_open() has returned
 * @result: of rdv_open() or of the last round
 * @ended_ms: when that was there
 * @took_ms: from coming to the result
 * @wrong: blobs that were not what their rank gave
 */
struct rank {
	pthread_t thread;
	struct rdv_config cfg;
	struct job_secret secret;
	char spec[64];
	uint32_t timeout_ms;
	unsigned int delay_ms;
	int rounds, fail_round, leave_round;
	_Atomic bool opened;
	int result;
	int64_t ended_ms, took_ms;
	int wrong;
	uint8_t job[AUTH_LEN];
	char said[256];
};

static void fill_blob(uint8_t *blob, uint32_t rank, int round)
{
	int i;

	for (i = 0; i < RDV_BLOB; i++)
		blob[i] = (uint8_t)(rank * 7 + (uint32_t)round * 31 + (uint32_t)i);
}

static int take_rounds(struct rank *r, struct rendezvous *rdv)
{
	static const uint8_t zero[RDV_BLOB];
	uint8_t *all = malloc((size_t)r->cfg.size * RDV_BLOB);
	uint8_t mine[RDV_BLOB], want[RDV_BLOB];
	int ret = 0, round;
	uint32_t i;

	for (round = 1; round <= r->rounds && !ret; round++) {
		bool plain = round % 3 == 0;	/* every third without a result */

		if (round == r->leave_round)
			break;
		fill_blob(mine, r->cfg.rank, round);
		ret = rdv_round(rdv, round == r->fail_round ? -ENOSPC : 0,
				plain ? zero : mine, plain ? NULL : all);
		for (i = 0; !ret && !plain && i < r->cfg.size; i++) {
			fill_blob(want, i, round);
			r->wrong += !!memcmp(all + (size_t)i * RDV_BLOB, want, RDV_BLOB);
		}
	}
	free(all);
	return ret;
}

static void *rank_main(void *arg)
{
	struct rank *r = arg;
	struct rendezvous *rdv;
	int64_t begin;

	usleep(r->delay_ms * 1000);
	begin = now_ms();
	r->cfg.deadline = deadline_in(r->timeout_ms);
	r->result = rdv_open(&rdv, &r->cfg);
	r->ended_ms = now_ms();
	r->opened = true;
	if (!r->result) {
		r->result = take_rounds(r, rdv);
		r->ended_ms = now_ms();
		memcpy(r->job, rdv_job(rdv), AUTH_LEN);
		rdv_close(rdv);
	}
	r->took_ms = r->ended_ms - begin;
	snprintf(r->said, sizeof(r->said), "%s", coll_last_error());
	return NULL;
}

static void set_rank(struct rank *r, uint32_t rank, uint32_t size, int port, const char *key)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->spec, sizeof(r->spec), "127.0.0.1:%d", port);
	auth_secret(&r->secret, key);
	r->cfg.rank = rank;
	r->cfg.size = size;
	r->cfg.spec = r->spec;
	r->cfg.secret = &r->secret;
	r->cfg.stranger_ms = 1000;
	r->timeout_ms = 20000;
	r->rounds = 4;
}

static void start(struct rank *r)
{
	if (pthread_create(&r->thread, NULL, rank_main, r))
		abort();
}

static void start_all(struct rank *r, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		start(&r[i]);
}

/* Wait until rank 0 listens, or until another rank has been accepted or has failed. */
static void wait_open(const struct rank *r)
{
	while (!r->opened)
		usleep(1000);
}

static void join(struct rank *r)
{
	pthread_join(r->thread, NULL);
}

static void join_all(struct rank *r, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		join(&r[i]);
}

/* Do all ranks have @result and the same job, nothing wrong, within @ms? */
static bool all_are(const struct rank *r, uint32_t n, int result, int64_t ms)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (r[i].result == result && r[i].took_ms <= ms && !r[i].wrong &&
		    (result || !memcmp(r[i].job, r[0].job, AUTH_LEN)))
			continue;
		printf("# rank %u: result %d, %lld ms, %d wrong\n", r[i].cfg.rank, r[i].result,
		       (long long)r[i].took_ms, r[i].wrong);
		good = false;
	}
	return good;
}

/* ---- strangers ---- */

/* Connect as the host @from, an address of the loopback network. Return: -1: nobody listens. */
static int knock_once(int port, in_addr_t from)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(from) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -1;
	if (!bind(fd, (struct sockaddr *)&here, sizeof(here)) &&
	    !connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

static int knock(int port)
{
	int fd = -1, i;

	for (i = 0; i < 200 && fd < 0; i++) {
		fd = knock_once(port, INADDR_LOOPBACK);
		if (fd < 0)
			usleep(5000);
	}
	return fd;
}

/* A kind of stranger: silent, hung up, garbage of some length, a good start. */
static void misbehave(int fd)
{
	struct linger reset = { 1, 0 };
	uint8_t junk[4096];
	size_t i, len;

	switch (draw() % 5) {
	case 0:
		return;				/* silent */
	case 1:
		shutdown(fd, SHUT_WR);		/* half-closed */
		return;
	case 2:
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		return;				/* reset when closed */
	case 3:
		len = 1 + draw() % sizeof(junk);
		for (i = 0; i < len; i++)
			junk[i] = (uint8_t)draw();
		break;
	default:				/* our magic, then too little */
		memcpy(junk, "cHS1\1\0\1\0", 8);
		len = 8 + draw() % 70;
		memset(junk + 8, 1, len - 8);
		break;
	}
	send(fd, junk, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void test_plain(uint32_t n, const char *name)
{
	struct rank r[MAX_RANKS];
	int port = free_port();
	uint32_t i;

	for (i = 0; i < n; i++)
		set_rank(&r[i], i, n, port, "secret");
	start_all(r, n);
	join_all(r, n);
	ok(all_are(r, n, 0, BOUND_MS), name);
}

/* As with the default of 1024 and as many ranks, on a smaller scale. */
static void test_descriptors(void)
{
	struct rlimit before, few, after;
	struct rank r[MAX_RANKS];
	int port = free_port();
	uint32_t i;

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 48;
	setrlimit(RLIMIT_NOFILE, &few);
	for (i = 0; i < MAX_RANKS; i++)
		set_rank(&r[i], i, MAX_RANKS, port, "secret");
	start(&r[0]);
	wait_open(&r[0]);	/* their descriptors are this process's, too */
	start_all(r + 1, MAX_RANKS - 1);
	join_all(r, MAX_RANKS);
	getrlimit(RLIMIT_NOFILE, &after);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(all_are(r, MAX_RANKS, 0, BOUND_MS) && after.rlim_cur == 48,
	   "more ranks than descriptors, of which more may be had");
}

/* Two threads are rank 0 of a job each. The first job ends while the other one begins. */
static void test_descriptors_twice(void)
{
	static struct rank first[MAX_RANKS], second[MAX_RANKS];
	int ports[2] = { free_port(), free_port() };
	struct rlimit before, few, after;
	uint32_t i;

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 48;
	setrlimit(RLIMIT_NOFILE, &few);
	for (i = 0; i < MAX_RANKS; i++) {
		set_rank(&first[i], i, MAX_RANKS, ports[0], "secret");
		set_rank(&second[i], i, MAX_RANKS, ports[1], "secret");
	}
	start(&first[0]);
	wait_open(&first[0]);
	start(&second[0]);
	wait_open(&second[0]);
	start_all(first + 1, MAX_RANKS - 1);
	join_all(first, MAX_RANKS);
	start_all(second + 1, MAX_RANKS - 1);
	join_all(second, MAX_RANKS);
	getrlimit(RLIMIT_NOFILE, &after);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(all_are(first, MAX_RANKS, 0, BOUND_MS) && after.rlim_cur == 48,
	   "two jobs with rank 0 in one process, one after the other");
	ok(all_are(second, MAX_RANKS, 0, 2 * BOUND_MS), "the second of them");
}

/*
 * Rank 0 in a process of its own, with so few descriptors that a third of the ranks can be
 * connected at a time.
 */
static pid_t start_poor(struct rank *zero, rlim_t files)
{
	struct rlimit few = { files, files };
	pid_t pid = fork();

	if (pid)
		return pid;
	/* Those of the parent would count. */
	close_range(3, ~0U, 0);
	if (setrlimit(RLIMIT_NOFILE, &few))
		_exit(99);
	rank_main(zero);
	if (zero->wrong || zero->took_ms > FEW_BOUND_MS)
		_exit(98);
	_exit(-zero->result & 0x7f);
}

/* The result of rank 0: 0 or an error, as its process told. */
static int end_poor(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return -WEXITSTATUS(status);
}

static void set_poor(struct rank *r, uint32_t n)
{
	int port = free_port();
	uint32_t i;

	for (i = 0; i < n; i++) {
		set_rank(&r[i], i, n, port, "secret");
		/* threads of a busy machine need that long to prove the key */
		r[i].cfg.stranger_ms = 5000;
		r[i].timeout_ms = 150000;
	}
}

static void test_few_descriptors(uint32_t n, rlim_t files, const char *name)
{
	static struct rank r[MANY_RANKS];
	pid_t zero;
	int ret;

	set_poor(r, n);
	zero = start_poor(&r[0], files);
	start_all(r + 1, n - 1);
	join_all(r + 1, n - 1);
	ret = end_poor(zero);
	if (ret)
		printf("# rank 0: %d\n", ret);
	ok(all_are(r + 1, n - 1, 0, FEW_BOUND_MS) && !ret, name);
}

/* A rank that comes and goes fails, or ends, in @round. */
static void test_few_fail(uint32_t who, int round, int want, const char *name)
{
	static struct rank r[MAX_RANKS];
	bool leaves = want == -ETIMEDOUT;
	pid_t zero;
	int ret;

	set_poor(r, MAX_RANKS);
	if (leaves)
		r[who].leave_round = round;
	else
		r[who].fail_round = round;
	r[0].timeout_ms = leaves ? 15000 : 60000;
	zero = start_poor(&r[0], 40);
	start_all(r + 1, MAX_RANKS - 1);
	join_all(r + 1, MAX_RANKS - 1);
	ret = end_poor(zero);
	if (leaves)
		r[who].result = want;
	if (ret != want)
		printf("# rank 0: %d\n", ret);
	ok(all_are(r + 1, MAX_RANKS - 1, want, FEW_BOUND_MS) && ret == want, name);
}

/* @ms: the time in which the offender can come */
static bool few_offender(unsigned int ms)
{
	static struct rank r[MAX_RANKS + 1];
	struct rank *offender = &r[MAX_RANKS], *last = &r[MAX_RANKS - 1];
	uint32_t i;
	pid_t zero;
	int ret;

	set_poor(r, MAX_RANKS);
	*offender = r[40];
	zero = start_poor(&r[0], 40);
	start_all(r + 1, MAX_RANKS - 2);
	/* Each of them has been taken: most have made room since. */
	for (i = 1; i < MAX_RANKS - 1; i++)
		wait_open(&r[i]);
	start(offender);
	usleep(ms * 1000);
	start(last);
	join_all(r + 1, MAX_RANKS);
	ret = end_poor(zero);
	if (offender->result != -EEXIST || ret)
		printf("# rank 0: %d, offender: %d\n", ret, offender->result);
	return all_are(r + 1, MAX_RANKS - 1, 0, FEW_BOUND_MS) && !ret &&
	       offender->result == -EEXIST;
}

/*
 * A rank has made room for others, and will come back. Another process claims to be this rank: it
 * is refused, and the rank is not. If the job is complete before that process comes, the test is
 * repeated, with more time.
 */
static void test_few_offender(void)
{
	unsigned int ms;
	bool good = false;

	for (ms = 1500; ms <= 24000 && !good; ms *= 4)
		good = few_offender(ms);
	ok(good, "a rank that has made room is not to be replaced");
}

static void test_late_zero(void)
{
	struct rank r[4];
	int port = free_port();
	uint32_t i;

	for (i = 0; i < 4; i++)
		set_rank(&r[i], i, 4, port, "secret");
	r[0].delay_ms = 700;
	start_all(r, 4);
	join_all(r, 4);
	ok(all_are(r, 4, 0, BOUND_MS), "rank 0 comes last");
}

/* Strangers come before, while and after the ranks; more than there is room for. */
static void test_strangers(int nr, unsigned int room, const char *name)
{
	struct rank r[8];
	int port = free_port(), fds[MAX_STRANGERS], i;

	for (i = 0; i < 8; i++) {
		set_rank(&r[i], (uint32_t)i, 8, port, "secret");
		r[i].cfg.max_strangers = room;
		r[i].timeout_ms = 4 * BOUND_MS;
		r[i].delay_ms = i ? draw() % 400 : 0;
	}
	start(&r[0]);
	for (i = 0; i < nr; i++) {
		fds[i] = knock(port);
		if (fds[i] >= 0)
			misbehave(fds[i]);
		if (i == nr / 2)
			start_all(r + 1, 7);
	}
	join_all(r, 8);
	for (i = 0; i < nr; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	/* Those that keep silent have few places in turn, for a second each. */
	ok(all_are(r, 8, 0, 4 * BOUND_MS), name);
}

/* So few that there is one, or none, when rank 0 has its own. A stranger comes. */
static void test_no_descriptors(void)
{
	struct rank r[2];
	rlim_t files;
	bool good = true, listened = false;
	int fd, ret;
	pid_t zero;

	for (files = 6; files <= 9; files++) {
		set_poor(r, 2);
		r[0].timeout_ms = 1500;
		zero = start_poor(&r[0], files);
		fd = knock(atoi(strrchr(r[0].spec, ':') + 1));
		ret = end_poor(zero);
		if (fd >= 0)
			close(fd);
		good &= ret == -EMFILE || ret == -ETIMEDOUT;
		listened |= ret == -ETIMEDOUT;
		if (ret != -EMFILE && ret != -ETIMEDOUT)
			printf("# %d descriptors: %d\n", (int)files, ret);
	}
	ok(good && listened, "rank 0 has no descriptors left");
}

/* Has rank 0 hung up? Wait up to @ms for that. */
static bool hung_up(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char greeting[256];

	while (poll(&p, 1, ms) == 1)
		if (recv(fd, greeting, sizeof(greeting), MSG_DONTWAIT) <= 0)
			return true;
	return false;
}

/* One host takes all places, again and again. A client of another host keeps its own. */
static void test_crowd(void)
{
	int port = free_port(), fds[MAX_STRANGERS], quiet, i;
	struct rank r[2];
	bool good;

	for (i = 0; i < 2; i++) {
		set_rank(&r[i], (uint32_t)i, 2, port, "secret");
		r[i].cfg.max_strangers = 16;
		r[i].cfg.stranger_ms = 4 * BOUND_MS;
	}
	start(&r[0]);
	wait_open(&r[0]);
	quiet = knock_once(port, INADDR_LOOPBACK + 1);
	for (i = 0; i < MAX_STRANGERS; i++)
		fds[i] = knock(port);
	/* All have been accepted when the last but 16 has had to go. */
	good = quiet >= 0 && hung_up(fds[MAX_STRANGERS - 17], BOUND_MS) && !hung_up(quiet, 0);
	start(&r[1]);
	join_all(r, 2);
	for (i = 0; i < MAX_STRANGERS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(quiet);
	ok(good && all_are(r, 2, 0, BOUND_MS), "600 strangers of one host, and one of another");
}

/*
 * A child that has been forked, and does not exec, has copies of all sockets. Nevertheless a rank
 * that leaves is noticed, and the port of rank 0 is free again.
 */
static void test_forked(void)
{
	struct rank r[3], again[3];
	int port = free_port();
	uint32_t i;
	pid_t child;
	bool good;

	for (i = 0; i < 3; i++)
		set_rank(&r[i], i, 3, port, "secret");
	memcpy(again, r, sizeof(r));
	r[1].leave_round = 2;
	start_all(r, 2);
	wait_open(&r[0]);
	wait_open(&r[1]);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	start(&r[2]);
	join_all(r, 3);
	r[1].result = -EHOSTDOWN;
	good = all_are(r, 3, -EHOSTDOWN, BOUND_MS);
	start_all(again, 3);
	join_all(again, 3);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	ok(child > 0 && good && all_are(again, 3, 0, BOUND_MS), "a child has copies of all sockets");
}

/* A process that must be refused: the ranks of the job never notice. */
static void test_offender(uint32_t rank, uint32_t size, const char *key, int want,
			  const char *name)
{
	struct rank r[9];
	int port = free_port();
	uint32_t i;
	bool good;

	for (i = 0; i < 8; i++)
		set_rank(&r[i], i, 8, port, "secret");
	set_rank(&r[8], rank, size, port, key);
	start_all(r, 7);
	wait_open(&r[3]);
	start(&r[8]);
	join(&r[8]);
	start(&r[7]);			/* the job has been incomplete until now */
	join_all(r, 8);
	good = r[8].result == want && r[8].took_ms < BOUND_MS;
	if (!good)
		printf("# offender: %d after %lld ms\n", r[8].result, (long long)r[8].took_ms);
	ok(good && all_are(r, 8, 0, BOUND_MS), name);
}

/* Deadlines, one after the other: on a busy machine the other ranks miss a short one. */
#define FOR_DEADLINES(ms, good) \
	for (ms = 500, good = false; ms <= 8000 && !good; ms *= 4)

static void test_missing(void)
{
	struct rank r[3];
	uint32_t i, ms;
	bool good;

	FOR_DEADLINES(ms, good) {
		int port = free_port();

		for (i = 0; i < 3; i++) {
			set_rank(&r[i], i, 4, port, "secret");	/* the fourth never comes */
			r[i].timeout_ms = i ? 20000 : ms;
		}
		start_all(r, 3);
		join_all(r, 3);
		good = all_are(r, 3, -ETIMEDOUT, BOUND_MS);
	}
	ok(good, "a rank never comes: rank 0's deadline ends it for all");
}

static void test_no_zero(void)
{
	struct rank r;
	uint32_t ms;
	bool good;

	FOR_DEADLINES(ms, good) {
		set_rank(&r, 1, 2, free_port(), "secret");
		r.timeout_ms = ms;
		start(&r);
		join(&r);
		good = all_are(&r, 1, -ECONNREFUSED, BOUND_MS);
	}
	ok(good, "rank 0 never comes");
}

static void test_failure(uint32_t who, int round, const char *name)
{
	struct rank r[8];
	int port = free_port();
	uint32_t i;

	for (i = 0; i < 8; i++)
		set_rank(&r[i], i, 8, port, "secret");
	r[who].fail_round = round;
	r[5].delay_ms = 300;
	start_all(r, 8);
	join_all(r, 8);
	ok(all_are(r, 8, -ENOSPC, BOUND_MS), name);
}

static void test_death(uint32_t who, int round, const char *name)
{
	struct rank r[8];
	int port = free_port();
	uint32_t i;
	bool good = true;

	for (i = 0; i < 8; i++)
		set_rank(&r[i], i, 8, port, "secret");
	r[who].leave_round = round;
	start_all(r, 8);
	join_all(r, 8);
	for (i = 0; i < 8; i++)
		if (i != who)
			good &= all_are(&r[i], 1, -EHOSTDOWN, BOUND_MS);
	ok(good, name);
}

/* A server that sends rubbish, or says nothing, must not hold a client. */
static void test_false_server(bool silent)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int port = free_port(), on = 1;
	int lfd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rank r;
	int fd;

	sin.sin_port = htons((uint16_t)port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(lfd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(lfd, (struct sockaddr *)&sin, sizeof(sin)) || listen(lfd, 64))
		abort();
	set_rank(&r, 1, 2, port, "secret");
	/* A rank that reads too late tries again, and nobody answers then. */
	r.cfg.stranger_ms = silent ? 200 : 20000;
	r.timeout_ms = silent ? 1000 : 20000;
	start(&r);
	fd = accept(lfd, NULL, NULL);
	if (!silent)
		send(fd, "HTTP/1.1 400 Bad Request, and some more text to fill it\r\n", 57, 0);
	join(&r);
	close(fd);
	close(lfd);
	ok(all_are(&r, 1, silent ? -ETIMEDOUT : -EPROTO, BOUND_MS),
	   silent ? "a silent server" : "a server of something else");
}

/* Flip one bit of any message of a handshake: it must fail, and at once. */
static bool handshake_survives(int flip, int *total)
{
	struct hs_ask ask = { HS_PURPOSE_LINK, 1, 2, 1 };
	struct handshake c, s;
	struct job_secret secret;
	uint8_t job[AUTH_LEN] = { 42 };
	static const int lens[3] = { HS_GREETING, HS_HELLO, HS_WELCOME };
	int pair[2], step, rc = 0, rs = 0, at = 0, i;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		abort();
	auth_secret(&secret, "k");
	hs_start_server(&s, pair[0], &secret, job);
	hs_start_client(&c, pair[1], &secret, &ask, job);
	*total = (lens[0] + lens[1] + lens[2]) * 8;
	for (i = 0; i < 3; at += lens[i++] * 8) {
		struct handshake *from = i == 1 ? &c : &s;
		int *rfrom = i == 1 ? &rc : &rs;
		uint8_t msg[HS_HELLO];
		int to = i == 1 ? pair[0] : pair[1];
		ssize_t n;

		step = hs_step(from);
		if (step == HS_ASKED) {
			if (hs_answer(from, 0))
				break;
			step = hs_step(from);
		}
		*rfrom = step;
		if (step < 0)
			break;
		/* Take the message off the wire, and put it back damaged. */
		n = recv(to, msg, sizeof(msg), MSG_DONTWAIT);
		if (n != lens[i])
			break;
		if (flip >= at && flip < at + lens[i] * 8)
			msg[(flip - at) / 8] ^= (uint8_t)(1 << (flip - at) % 8);
		if (send(to == pair[1] ? pair[0] : pair[1], msg, (size_t)n, 0) != n)
			break;
	}
	if (i == 3)
		rc = hs_step(&c);
	close(pair[0]);
	close(pair[1]);
	return rc == HS_DONE && rs == HS_DONE && !memcmp(c.session, s.session, AUTH_LEN) &&
	       s.ask.a == 1 && s.ask.b == 2 && s.ask.c == 1;
}

static void test_bits(void)
{
	int total, i, bad = 0;

	ok(handshake_survives(-1, &total), "an undamaged handshake");
	for (i = 0; i < total; i++)
		bad += handshake_survives(i, &total);
	printf("# %d single-bit damages, %d of them unnoticed\n", total, bad);
	ok(!bad, "no handshake survives a damaged bit");
}

static void test_specs(void)
{
	static const char *const bad[] = {
		"", "host", ":1", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:99999", "::1:5",
		"[]:5", "[::1:5", "1.2.3.4:12x", "1.2.3.4:5-", "1.2.3.4:5-4", "1.2.3.4:-5",
		"1.2.3.4:5-70000", "1.2.3.4:5-37", "1.2.3.4:5-6-7",
	};
	struct sock_addr a[4];
	bool good = true;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (resolve_until(bad[i], deadline_in(1000), a, 4) >= 0) {
			printf("# taken: %s\n", bad[i]);
			good = false;
		}
	good &= resolve_until("127.0.0.1:5", deadline_in(1000), a, 4) == 1 && sock_port(&a[0]) == 5;
	good &= resolve_until("[::1]:65535", deadline_in(1000), a, 4) == 1 && sock_port(&a[0]) == 65535 &&
		a[0].sa.ss_family == AF_INET6;
	good &= resolve_until("127.0.0.1:5-7", deadline_in(1000), a, 4) == 3 &&
		sock_port(&a[0]) == 5 && sock_port(&a[2]) == 7;
	good &= resolve_until("127.0.0.1:5-36", deadline_in(1000), a, 4) == 4;
	ok(good, "addresses");
}

/* ---- names ---- */

static _Atomic int64_t name_from_ms;	/* the name is there from then on */
static _Atomic unsigned int name_blocks_ms;
static char name_is[64] = "127.0.0.1";
static _Atomic bool no_localhost;

/* In the place of the C library's: "late.test" has the addresses that the test wants it to have. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **list)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
		(int (*)(const char *, const char *, const struct addrinfo *,
			 struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
	char names[sizeof(name_is)], *one, *rest;

	if (no_localhost && !strcmp(host, "localhost"))
		return EAI_NONAME;
	if (strcmp(host, "late.test") || hints->ai_flags & AI_NUMERICHOST)
		return real(host, port, hints, list);
	usleep(name_blocks_ms * 1000);
	if (now_ms() < name_from_ms)
		return EAI_NONAME;
	*list = NULL;
	strcpy(names, name_is);
	/* freeaddrinfo() frees one after the other. */
	for (one = strtok_r(names, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
		while (*list)
			list = &(*list)->ai_next;
		if (real(one, port, hints, list))
			abort();
	}
	return 0;
}

static void set_name(struct rank *r, int port)
{
	snprintf(r->spec, sizeof(r->spec), "late.test:%d", port);
}

/* @address: what the name is then; rank 0 listens at all of them */
static void test_late_name(const char *address, int64_t ms, const char *text)
{
	struct rank r[4];
	int port = free_port();
	uint32_t i;

	name_from_ms = now_ms() + ms;
	strcpy(name_is, address);
	for (i = 0; i < 4; i++) {
		set_rank(&r[i], i, 4, port, "secret");
		set_name(&r[i], port);
	}
	start_all(r, 4);
	join_all(r, 4);
	ok(all_are(r, 4, 0, BOUND_MS) && r[1].ended_ms >= name_from_ms, text);
}

/*
 * Rank 0 is late, and its name has a second address, to which connect() fails at once. The ranks try
 * the first one again soon, however long they would wait for one that does not answer.
 */
static void test_unreachable(void)
{
	struct rank r[4];
	int port = free_port();
	uint32_t i;

	name_from_ms = 0;
	strcpy(name_is, "127.0.0.1 255.255.255.255");
	for (i = 0; i < 4; i++) {
		set_rank(&r[i], i, 4, port, "secret");
		set_name(&r[i], port);
		r[i].cfg.stranger_ms = r[i].timeout_ms = 4 * BOUND_MS;
	}
	r[0].delay_ms = 700;
	start_all(r, 4);
	join_all(r, 4);
	ok(all_are(r, 4, 0, BOUND_MS), "another address of rank 0 fails at once");
}

/*
 * All addresses connect, and nobody answers. The deadline ends the pass before the last address has
 * been tried: the descriptors of the application are not closed.
 */
static void test_untried(void)
{
	struct sock_addr a = { .len = sizeof(struct sockaddr_in) };
	struct sockaddr_in *in = (struct sockaddr_in *)&a.sa;
	int port, lfd, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rank r;

	dup2(null, 0);
	if (null)
		close(null);
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_ANY);
	do {
		port = free_port();
		sock_set_port(&a, (uint16_t)port);
		lfd = sock_listen(&a);
	} while (lfd < 0);
	name_from_ms = 0;
	strcpy(name_is, "127.0.0.1 127.0.0.2 127.0.0.3");
	set_rank(&r, 1, 2, port, "secret");
	set_name(&r, port);
	r.timeout_ms = 700;	/* the first address has 500 ms of it */
	start(&r);
	join(&r);
	strcpy(name_is, "127.0.0.1");
	close(lfd);
	ok(all_are(&r, 1, -ETIMEDOUT, BOUND_MS) && fcntl(0, F_GETFD) >= 0,
	   "the deadline comes before the last address is tried: descriptor 0 stays open");
}

static void test_no_name(bool blocks)
{
	struct rank r;
	uint32_t ms;
	bool good;

	name_from_ms = INT64_MAX;
	name_blocks_ms = blocks ? BOUND_MS + 5000 : 0;
	FOR_DEADLINES(ms, good) {
		int port = free_port();

		set_rank(&r, 1, 2, port, "secret");
		set_name(&r, port);
		r.timeout_ms = ms;
		start(&r);
		join(&r);
		good = all_are(&r, 1, blocks ? -ETIMEDOUT : -EHOSTUNREACH, BOUND_MS) &&
		       strstr(r.said, "late.test");
	}
	ok(good, blocks ? "a look-up that blocks ends at the deadline" :
	   "a name that never comes is what the user reads");
	name_blocks_ms = 0;
}

/* All ports are looked up at all addresses: the first port at each address, then the next port. */
static void test_many_ports(void)
{
	static const char *const hosts[] = { "127.0.0.3", "127.0.0.2", "127.0.0.1" };
	struct sock_addr *a = calloc(RESOLVE_MAX, sizeof(*a));
	const struct sockaddr_in *in;
	bool good;
	int i;

	name_from_ms = 0;
	strcpy(name_is, "127.0.0.3 127.0.0.2 127.0.0.1");
	good = resolve_until("late.test:100-131", deadline_in(BOUND_MS), a, RESOLVE_MAX) == 3 * 32;
	for (i = 0; i < 3 * 32 && good; i++) {
		in = (const struct sockaddr_in *)&a[i].sa;
		good = sock_port(&a[i]) == 100 + i / 3 &&
		       in->sin_addr.s_addr == inet_addr(hosts[i % 3]);
	}
	ok(good, "32 ports of three addresses");
	good = resolve_until("late.test:100", deadline_in(BOUND_MS), a, RESOLVE_MAX) == 3;
	ok(good, "one port of three addresses");
	strcpy(name_is, "127.0.0.1");
	free(a);
}

/* Others have the first two ports of a range, and say nothing. */
static void test_range(void)
{
	struct sock_addr a = { .len = sizeof(struct sockaddr_in) };
	struct sockaddr_in *in = (struct sockaddr_in *)&a.sa;
	struct rank r[4];
	int held[2], port;
	char spec[64];
	uint32_t i;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_ANY);
	do {
		port = free_port();
		for (i = 0; i < 2; i++) {
			sock_set_port(&a, (uint16_t)(port + i));
			held[i] = sock_listen(&a);
		}
	} while (held[0] < 0 || held[1] < 0);
	snprintf(spec, sizeof(spec), "127.0.0.1:%d-%d", port, port + 7);
	for (i = 0; i < 4; i++) {
		set_rank(&r[i], i, 4, port, "secret");
		strcpy(r[i].spec, spec);
	}
	start_all(r, 4);
	join_all(r, 4);
	ok(all_are(r, 4, 0, BOUND_MS), "rank 0 listens at the third port of a range");
	close(held[0]);
	close(held[1]);
}

/*
 * Another program has the port, for less time than rank 0 tries. @addresses: of the name of rank 0;
 * NULL: there is no such name.
 */
static void test_busy_port(const char *addresses, const char *text)
{
	struct sock_addr a = { .len = sizeof(struct sockaddr_in) };
	struct sockaddr_in *in = (struct sockaddr_in *)&a.sa;
	struct rank r[2];
	int held, port;
	uint32_t i;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	do {
		port = free_port();
		sock_set_port(&a, (uint16_t)port);
		held = sock_listen(&a);
	} while (held < 0);
	name_from_ms = addresses ? 0 : INT64_MAX;
	if (addresses)
		strcpy(name_is, addresses);
	for (i = 0; i < 2; i++)
		set_rank(&r[i], i, 2, port, "secret");
	set_name(&r[0], port);
	start_all(r, 2);
	usleep(300 * 1000);
	close(held);
	join_all(r, 2);
	strcpy(name_is, "127.0.0.1");
	ok(all_are(r, 2, 0, BOUND_MS), text);
}

/* Rank 0 listens at localhost only, and this name has no address. */
static void test_no_localhost(void)
{
	struct rank r;
	int port = free_port();

	set_rank(&r, 0, 2, port, "secret");
	snprintf(r.spec, sizeof(r.spec), "localhost:%d", port);
	no_localhost = true;
	start(&r);
	join(&r);
	no_localhost = false;
	ok(all_are(&r, 1, -EHOSTUNREACH, BOUND_MS) && strstr(r.said, "localhost"),
	   "rank 0 cannot look up the name at which it is to listen");
}

/* ---- ranks that leave before all are there ---- */

static void test_comes_again(uint32_t who, const char *text)
{
	struct rank r[6], again;
	int port = free_port();
	uint32_t i;

	for (i = 0; i < 6; i++)
		set_rank(&r[i], i, 6, port, "secret");
	again = r[who];
	r[who].leave_round = 1;			/* comes, proves the key, and goes */
	/* A rank that has sent its message, and leaves before the round is over. */
	if (who == 3) {
		r[3].leave_round = 0;
		r[3].timeout_ms = 500;
	}
	start_all(r, 5);
	join(&r[who]);
	start(&again);
	wait_open(&again);
	start(&r[5]);				/* all are there only then */
	for (i = 0; i < 6; i++)
		if (i != who)
			join(&r[i]);
	join(&again);
	r[who] = again;
	ok(all_are(r, 6, 0, BOUND_MS), text);
}

/*
 * Rank 2 fails before rank 3 is there. Ranks 1 and 2 call again, while rank 0 still waits to tell
 * rank 3. They are in the next attempt, which rank 0 begins then.
 */
static void test_second_attempt(void)
{
	struct rank r[4], again[4];
	int port = free_port();
	uint32_t i;
	bool good;

	for (i = 0; i < 4; i++)
		set_rank(&r[i], i, 4, port, "secret");
	memcpy(again, r, sizeof(r));
	r[2].fail_round = 1;
	start_all(r, 3);
	join(&r[1]);
	join(&r[2]);
	start(&again[1]);
	start(&again[2]);
	/* Longer than a rank whose number is taken tries. */
	usleep(1500 * 1000);
	start(&r[3]);
	join(&r[0]);
	join(&r[3]);
	start(&again[0]);
	start(&again[3]);
	join_all(again, 4);
	good = all_are(r, 4, -ENOSPC, BOUND_MS);
	ok(good && all_are(again, 4, 0, BOUND_MS), "a second attempt after a failure");
}

/* ---- what rank 0 says about those who are missing ---- */

static void test_who_is_missing(uint32_t rank, uint32_t size, const char *key, int want,
				const char *what)
{
	struct rank r[4];
	uint32_t i, ms;
	bool good;

	FOR_DEADLINES(ms, good) {
		int port = free_port();

		for (i = 0; i < 3; i++)
			set_rank(&r[i], i, 4, port, "secret");
		set_rank(&r[3], rank, size, port, key);
		r[0].timeout_ms = ms;
		start_all(r, 4);
		join_all(r, 4);
		good = all_are(r, 3, want, BOUND_MS);
		for (i = 0; i < 3; i++)
			good &= strstr(r[i].said, "rank 3") && strstr(r[i].said, what);
		if (!good)
			printf("# said: \"%s\", \"%s\"\n", r[0].said, r[1].said);
	}
	ok(good, what);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 4096, 4096 };

	setrlimit(RLIMIT_NOFILE, &files);
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	if (!seed && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		abort();
	seed |= 1;
	printf("TAP version 13\n# seed 0x%llx\n", (unsigned long long)seed);
	test_specs();
	test_bits();
	test_plain(2, "2 ranks");
	test_plain(8, "8 ranks");
	test_plain(MAX_RANKS, "64 ranks");
	test_descriptors();
	test_descriptors_twice();
	test_few_descriptors(MANY_RANKS, 64, "200 ranks, a hard limit of 64 descriptors");
	test_few_descriptors(70, 24, "70 ranks, a hard limit of 24");
	test_few_fail(60, 1, -ENOSPC, "few descriptors: one that comes and goes fails in round 1");
	test_few_fail(50, 3, -ENOSPC, "it fails in round 3");
	test_few_fail(63, 2, -ETIMEDOUT, "it does not come back for round 2");
	test_few_offender();
	test_no_descriptors();
	test_late_zero();
	test_strangers(100, 0, "8 ranks among 100 strangers");
	test_strangers(MAX_STRANGERS, 16, "8 ranks among 600 strangers, room for 16");
	test_crowd();
	test_forked();
	test_offender(3, 8, "wrong", -EKEYREJECTED, "a wrong key");
	test_offender(3, 8, "secret", -EEXIST, "a rank that is there already");
	test_offender(3, 9, "secret", -EINVAL, "another idea of the size");
	test_missing();
	test_no_zero();
	test_failure(0, 1, "rank 0 fails before the others are there");
	test_failure(3, 1, "rank 3 fails in round 1");
	test_failure(5, 4, "rank 5 fails in round 4");
	test_failure(0, 3, "rank 0 fails in round 3");
	test_death(4, 2, "rank 4 dies before round 2");
	test_death(0, 2, "rank 0 dies before round 2");
	test_late_name("127.0.0.1", 700, "a name that can be resolved only later");
	test_late_name("::1", 0, "rank 0 can be reached by IPv6, too");
	test_late_name("127.0.1.1", 0, "its name may be an address it would not listen at");
	test_unreachable();
	test_untried();
	test_range();
	test_many_ports();
	test_busy_port("127.0.0.1 192.0.2.1", "a port that is busy for a moment");
	test_busy_port("192.0.2.1", "the same, and the name is the address of no interface");
	test_busy_port(NULL, "the same, and there is no such name");
	test_no_localhost();
	test_no_name(false);
	test_no_name(true);
	test_comes_again(2, "rank 2 leaves before all are there, and comes again");
	test_comes_again(3, "rank 3 does, after it has given its message");
	test_comes_again(0, "rank 0 does");
	test_second_attempt();
	test_who_is_missing(3, 4, "wrong", -EKEYREJECTED, "another key");
	test_who_is_missing(3, 5, "secret", -EINVAL, "expects 5 ranks");
	test_false_server(false);
	test_false_server(true);
	return ok_done();
}
