// SPDX-License-Identifier: GPL-2.0
/*
 * wait_rank: two ranks of a job, for wait.sh. Rank 1 comes to every collective when rank 0 has
 * waited: by coll_wait_for(), and with a function of coll_comm_set_idle().
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

#define LATE_US		1000000
#define SHORT_NS	50000000ULL
#define LONG_NS		60000000000ULL
/* Calls with a function that pauses for a second: if a pause delayed the end, this many seconds. */
#define PAUSES		8

static coll_comm_t *comm;
static unsigned int calls;
static uint64_t last_ns;
static pid_t other;
static bool told;

static void die(const char *what, int64_t n)
{
	fprintf(stderr, "rank %u: %s: %lld\n", coll_comm_rank(comm), what, (long long)n);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static uint64_t idle(void *arg, uint64_t waited_ns)
{
	if (arg != &calls)
		die("argument of the function", 0);
	if (waited_ns < last_ns)
		die("time that has passed", (int64_t)waited_ns);
	last_ns = waited_ns;
	calls++;
	if (!told && calls >= 3 && waited_ns >= SHORT_NS)
		told = !kill(other, SIGUSR1);
	return 10000000;
}

/* Rank 1 goes on when rank 0 has come so far. */
static void after_rank_0(void)
{
	uint32_t word = 0;
	int ret;

	if (coll_comm_rank(comm) == 1)
		ret = coll_recv(comm, &word, 1, COLL_U32, 0, 0, NULL);
	else
		ret = coll_send(comm, &word, 1, COLL_U32, 1, 0);
	if (ret)
		die("a message", ret);
}

/* Rank 1 goes on when the function of rank 0 says so. */
static void await_idle(void)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (coll_comm_rank(comm) == 1 && sigwait(&set, &got))
		die("sigwait", errno);
}

/* Called before any thread is made: threads inherit the mask. */
static void block_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void exchange_pids(void)
{
	uint32_t peer = !coll_comm_rank(comm);
	int32_t pid = getpid(), got = 0;
	coll_request_t *req;
	int ret;

	ret = coll_isend(comm, &pid, 1, COLL_I32, peer, 0, &req);
	ret = ret ? ret : coll_recv(comm, &got, 1, COLL_I32, peer, 0, NULL);
	ret = ret ? ret : coll_wait(req);
	if (ret)
		die("pids", ret);
	other = got;
}

/* The time passes, the collective goes on, and the next wait has its end. */
static void timed(void)
{
	coll_request_t *req;
	int ret, done = 1;
	uint64_t begin;

	if (coll_comm_rank(comm))
		after_rank_0();
	begin = now_ns();
	ret = coll_ibarrier(comm, &req);
	if (ret)
		die("coll_ibarrier", ret);
	if (!coll_comm_rank(comm)) {
		ret = coll_wait_for(req, SHORT_NS, &done);
		if (ret || done)
			die("coll_wait_for: over, and the other rank has not come", ret);
		if (now_ns() - begin < SHORT_NS)
			die("coll_wait_for: too short", (int64_t)(now_ns() - begin));
		after_rank_0();
	}
	ret = coll_wait_for(req, LONG_NS, &done);
	if (ret || !done)
		die("coll_wait_for: not over", ret);
	if (now_ns() - begin > LONG_NS / 2)
		die("coll_wait_for: too long", (int64_t)(now_ns() - begin));
}

/* Blocking calls call the function, and end when the other rank comes. */
static void with_idle(uint64_t count)
{
	float *x = calloc(count, sizeof(*x));
	int ret;

	if (!x)
		die("memory", (int64_t)count);
	x[0] = x[count - 1] = 1;
	calls = 0;
	last_ns = 0;
	told = coll_comm_rank(comm);
	await_idle();
	coll_comm_set_idle(comm, idle, &calls);
	ret = coll_allreduce(comm, COLL_IN_PLACE, x, count, COLL_F32, COLL_OP_SUM);
	coll_comm_set_idle(comm, NULL, NULL);
	if (ret)
		die("coll_allreduce", ret);
	if (x[0] != 2 || x[count - 1] != 2)
		die("sum", (int64_t)x[0]);
	if (!coll_comm_rank(comm) && (calls < 3 || last_ns < SHORT_NS))
		die("calls of the function", calls);
	free(x);
}

/* Its result asks not to be called again for a second. */
static uint64_t idle_once(void *arg, uint64_t waited_ns)
{
	(void)arg;
	(void)waited_ns;
	if (!told)
		told = !kill(other, SIGUSR1);
	return 999999999;
}

/* The last rank ends a wait, however long the function wants to be left alone. */
static void with_pauses(void)
{
	uint64_t begin = now_ns();
	int i, ret;

	coll_comm_set_idle(comm, idle_once, NULL);
	for (i = 0; i < PAUSES; i++) {
		told = coll_comm_rank(comm);
		await_idle();
		ret = coll_barrier(comm);
		if (ret)
			die("coll_barrier", ret);
	}
	coll_comm_set_idle(comm, NULL, NULL);
	if (now_ns() - begin > PAUSES * 999999999ULL / 2)
		die("calls that pause last too long", (int64_t)(now_ns() - begin));
}

/* A deadline holds as without the function. It ends the communicator. */
static void past_deadline(void)
{
	int ret;

	after_rank_0();
	if (coll_comm_rank(comm))
		usleep(LATE_US);
	told = true;
	coll_comm_set_timeout(comm, SHORT_NS);
	coll_comm_set_idle(comm, idle, &calls);
	last_ns = 0;
	ret = coll_barrier(comm);
	/* In shared memory the barrier is complete for the rank that comes last. */
	if (!ret && coll_comm_rank(comm))
		ret = coll_barrier(comm);
	if (ret != -ETIMEDOUT)
		die("coll_barrier past its deadline", ret);
}

int main(void)
{
	int ret;

	block_signal();
	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "coll_init: %s; %s\n", coll_strerror(ret), coll_last_error());
		return 1;
	}
	if (coll_comm_size(comm) != 2)
		die("ranks", coll_comm_size(comm));
	exchange_pids();
	timed();
	with_idle(2);
	with_idle(1 << 18);
	with_pauses();
	past_deadline();
	coll_finalize(comm);
	return 0;
}
