// SPDX-License-Identifier: GPL-2.0
/*
 * A user's own processes play the peers of its ranks, and send control frames without end: offers
 * of messages that they withdraw at once. Workers answer them, and no control group is charged for
 * workers. So the workers must run at nice 19 most of the time, and the deadlines of another user
 * must not be late. The priority is looked at, and not what a loop gets: the clock of the scheduler
 * of user-mode Linux is too coarse for that.
 *
 * All workers of the user run on one CPU, which also has a loop of another user, so that they
 * always want it. The user's processes run on another CPU.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "other.h"
#include "peer.h"
#include "util.h"
#include "wire_msg.h"

#define DEADLINE	500000000ULL
#define LOCKED		65536UL
#define QUEUE		"coll-65534"
#define CPUMASK		"/sys/devices/virtual/workqueue/" QUEUE "/cpumask"
#define FLOODS		4
#define PAIRS		256
#define PAIR		(2 * COLL_WIRE_HDR + COLL_WIRE_RTS)
/* Rounds after which the flood is under way. */
#define ROUNDS		20
/*
 * How often to look at workers, and how often they may be seen at normal priority then, in percent.
 * They always want the CPU, and have 20 percent of it at normal priority (COLL_USER_SHARE, for
 * control frames and for the rest). They may wait as long for it, because the loop has the other
 * half. So 40 percent is right; without a limit it is nearly 100.
 */
#define LOOKS		1000
#define LOOKS_MOST	30000
#define MOST		65

static uint8_t flood[PAIRS * PAIR];

/* @PAIRS offers, each with its withdrawal. */
static void put_pairs(const struct peer *p, uint64_t *id)
{
	uint8_t *at = flood;
	struct coll_frame f;
	int i;

	for (i = 0; i < PAIRS; i++) {
		peer_frame(p, &f, COLL_FRAME_RTS, COLL_WIRE_RTS);
		f.seq = ++*id;
		coll_wire_put_header(at, &f);
		coll_wire_put_rts(at + COLL_WIRE_HDR, &offer);
		at += COLL_WIRE_HDR + COLL_WIRE_RTS;
		peer_frame(p, &f, COLL_FRAME_CANCEL, 0);
		f.seq = *id;
		coll_wire_put_header(at, &f);
		at += COLL_WIRE_HDR;
	}
}

/* Discard the answers that have come. Return: false if the stream has ended. */
static bool drain(const struct peer *p)
{
	static uint8_t answers[1 << 16];
	ssize_t n;

	do {
		n = recv(p->sock[0], answers, sizeof(answers), MSG_DONTWAIT);
	} while (n > 0);
	return n < 0 && errno == EAGAIN;
}

static bool stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* A child. Writes a byte to @ready when the flood is under way. */
static void play(int ready)
{
	uint64_t id = 0, round;
	struct peer p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (peer_start(&p, true))
		_exit(1);
	for (round = 0; ; round++) {
		put_pairs(&p, &id);
		if (!peer_write(&p, 0, flood, sizeof(flood)) || !drain(&p))
			_exit(1);
		if (round == ROUNDS && (write(ready, "", 1) != 1 || close(ready)))
			_exit(1);
	}
}

/* In the other's process. */
static int begin_flood(void *arg)
{
	int ready[2], i;
	char c;

	(void)arg;
	if (!stay_on(1) || test_become_nobody(LOCKED) || pipe(ready))
		return -EPERM;
	for (i = 0; i < FLOODS; i++)
		if (!fork())
			play(ready[1]);
	close(ready[1]);
	for (i = 0; i < FLOODS; i++)
		if (read(ready[0], &c, 1) != 1)
			return -EPIPE;
	return 0;
}

/* In the bystander's process. */
static int begin_loop(void *arg)
{
	(void)arg;
	if (fork())
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!stay_on(0))
		_exit(1);
	for (;;)
		;
}

/* Does this worker work for the other user, and want a CPU? Then @nice is set. */
static bool read_worker(const char *pid, int *nice)
{
	char path[64], line[512], state;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	if (!test_get(path, line, sizeof(line)) || !strstr(line, "+" QUEUE ")"))
		return false;
	/* Fields 3 and 19 of proc(5) */
	return sscanf(strrchr(line, ')'),
		      ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %d",
		      &state, nice) == 2 && state == 'R';
}

/* Look at all workers once: how many are at normal priority, and at nice 19? */
static void look(unsigned int *normal, unsigned int *low)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int nice;

	while (proc && (d = readdir(proc))) {
		if (!isdigit(d->d_name[0]) || !read_worker(d->d_name, &nice))
			continue;
		*normal += !nice;
		*low += nice == 19;
	}
	if (proc)
		closedir(proc);
}

TEST(control_frames_of_another_user)
{
	struct other o = { }, loop = { };
	char cpus[64];
	unsigned int normal = 0, low = 0, i;
	uint64_t late;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	ASSERT_TRUE(stay_on(1));
	ASSERT_EQ(0, other_start(&loop, begin_loop, NULL));
	ASSERT_EQ(0, other_start(&o, begin_flood, NULL));
	ASSERT_TRUE(test_get(CPUMASK, cpus, sizeof(cpus)));
	ASSERT_TRUE(test_put(CPUMASK, "1"));
	for (i = 0; i < LOOKS_MOST && normal + low < LOOKS; i++) {
		test_sleep_us(1000);
		look(&normal, &low);
	}
	late = other_time_deadline(DEADLINE);
	/* The queue may serve the next test of this user, too. */
	test_put(CPUMASK, cpus);
	other_stop(&o);
	other_stop(&loop);
	TH_LOG("of %u looks at a worker that wants the CPU %u saw normal priority; a deadline of 500 ms came after %llu ms",
	       normal + low, normal, (unsigned long long)late / 1000000);
	EXPECT_GE(normal + low, LOOKS);
	EXPECT_LE(normal * 100, (normal + low) * MOST);
	EXPECT_GE(late, DEADLINE);
	EXPECT_LE(late, DEADLINE + test_bound_ms() * 1000000ULL);
}

TEST_HARNESS_MAIN
