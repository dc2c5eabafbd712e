// SPDX-License-Identifier: GPL-2.0
/*
 * Events that do not end a rank: a thread with a table of descriptors of its own ends, the first
 * thread of the process ends before the others, a process that shares its memory is killed, an
 * execve() fails. And how a program ends that a rank has executed after its last op.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

/* A thread with its own table of descriptors. It closes its copy of the file, or just ends. */
static void *leave_alone(void *arg)
{
	struct raw_comm *c = arg;

	if (unshare(CLONE_FILES))
		return c;
	if (c->key[0] & 1)
		close(c->fd[0]);
	return NULL;
}

TEST(thread_with_descriptors_of_its_own)
{
	struct io_uring ring;
	struct raw_comm c;
	pthread_t t;
	void *ret;
	int i;

	for (i = 0; i < 2; i++) {
		begin(_metadata, &c, &ring);
		c.key[0] = i;
		ASSERT_EQ(0, pthread_create(&t, NULL, leave_alone, &c));
		pthread_join(t, &ret);
		EXPECT_EQ(NULL, ret);
		end_well(_metadata, &c, &ring);
		/* The same with nothing in flight. */
		ASSERT_EQ(0, raw_start(&c, 2, 1));
		c.key[0] = i;
		ASSERT_EQ(0, pthread_create(&t, NULL, leave_alone, &c));
		pthread_join(t, &ret);
		EXPECT_EQ(0, test_good(&c));
		raw_stop(&c);
	}
}

/* The first thread of a process ends. Another thread starts two ranks and uses them. */
static struct __test_metadata *meta;
static pthread_t leader;

static void *go_on(void *arg)
{
	struct io_uring ring;
	struct raw_comm c;

	pthread_join(leader, NULL);
	begin(meta, &c, &ring);
	end_well(meta, &c, &ring);
	_exit(meta->exit_code);
}

TEST(leader_ends_first)
{
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (!pid) {
		meta = _metadata;
		leader = pthread_self();
		pthread_create(&t, NULL, go_on, NULL);
		pthread_exit(NULL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* The first thread ends while an op is in flight that another thread has posted. */
static struct raw_comm comm;

static void *go_on_with(void *arg)
{
	struct io_uring *ring = arg;

	pthread_join(leader, NULL);
	end_well(meta, &comm, ring);
	_exit(meta->exit_code);
}

static struct io_uring leaders_ring;

static void *begin_and_go_on(void *arg)
{
	begin(meta, &comm, &leaders_ring);
	*(volatile int *)arg = 1;
	return go_on_with(&leaders_ring);
}

TEST(leader_ends_with_one_in_flight)
{
	volatile int begun = 0;
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (!pid) {
		meta = _metadata;
		leader = pthread_self();
		pthread_create(&t, NULL, begin_and_go_on, (void *)&begun);
		while (!begun)
			test_sleep_us(200);
		pthread_exit(NULL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A process that shares the memory waits in an op, and is killed. */
static int submit_shared(void *arg)
{
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	return !!raw_submit(*(int *)arg, &cmd);
}

TEST(killed_process_that_shares_memory)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct coll_cmd cmd;
	struct raw_comm c;
	pid_t pid;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	pid = clone(submit_shared, stack + sizeof(stack), CLONE_VM | SIGCHLD, &c.fd[0]);
	ASSERT_LT(0, pid);
	while (test_posted(&c, 0) != 1)
		test_sleep_us(200);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	expect_alive(_metadata, &c);
	/* The command of the killed process goes on. */
	raw_barrier(&cmd);
	EXPECT_EQ(0, raw_submit(c.fd[1], &cmd));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

/* An execve() that fails */
TEST(exec_fails)
{
	static char *argv[] = { "none", NULL }, *envp[] = { NULL };
	struct io_uring ring;
	struct raw_comm c;
	uint64_t since;

	begin(_metadata, &c, &ring);
	since = test_now_ns();
	while (test_now_ns() - since < 3 * WATCH_MS * 1000000ULL)
		execve("/no/such/program", argv, envp);
	end_well(_metadata, &c, &ring);
}

/* Rank 1 of three joins, and executes a program that keeps the file, and fails. */
static int become_another(const struct raw_comm *c)
{
	int fd = open("/dev/coll", O_RDWR);

	if (fd < 0 || raw_join(fd, c, 1))
		return 1;
	execl("/bin/sh", "sh", "-c", "sleep 0.3; exit 3", NULL);
	return 2;
}

/* A rank has executed another program. How this program ends does not matter to the group. */
TEST(another_program_fails)
{
	struct coll_status s;
	struct raw_comm c;
	uint32_t r;
	int status;
	pid_t pid;

	raw_plan(&c, 3, 1);
	for (r = 0; r < 3; r += 2) {
		c.fd[r] = raw_open();
		ASSERT_LE(0, c.fd[r]);
		ASSERT_EQ(0, raw_join(c.fd[r], &c, r));
	}
	pid = fork();
	if (!pid)
		_exit(become_another(&c));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(3, WEXITSTATUS(status));
	test_sleep_us(2 * WATCH_MS * 1000);
	ASSERT_EQ(0, raw_status(c.fd[2], &s));
	EXPECT_NE(COLL_STATE_FAILED, s.state) {
		TH_LOG("cause %u of rank %d, code %u", s.cause.kind, (int)s.cause.rank, s.cause.code);
	}
	raw_stop(&c);
}

TEST_HARNESS_MAIN
