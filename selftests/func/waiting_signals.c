// SPDX-License-Identifier: GPL-2.0
/* Signals for a thread that waits in COLL_IOC_SUBMIT: their handler runs, and the call goes on. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

/* Threads of one process as ranks. */
static struct raw_comm comm;
static volatile int result, nested;
static volatile uint32_t handled;
static sigjmp_buf env;

static void on_signal(int sig)
{
	handled++;
}

static void *wait_in_barrier(void *arg)
{
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	sigsetjmp(env, 1);
	result = raw_submit(comm.fd[0], &cmd);
	return NULL;
}

static void handlers(struct __test_metadata *_metadata, void (*handler)(int), int signals,
		     int64_t posted)
{
	/* Without SA_RESTART: the call goes on nevertheless. */
	struct sigaction sa = { .sa_handler = handler };
	struct coll_cmd cmd;
	pthread_t t;
	int i;

	sigaction(SIGUSR1, &sa, NULL);
	handled = 0;
	result = 1;
	ASSERT_EQ(0, raw_start(&comm, 2, 1));
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_in_barrier, NULL));
	while (test_posted(&comm, 0) != 1)
		test_sleep_us(200);
	for (i = 1; i <= signals; i++) {
		test_sleep_us(20000);
		pthread_kill(t, SIGUSR1);
		test_wait_count(&handled, i);
		EXPECT_EQ(i, handled) TH_LOG("the handler does not run");
	}
	/* The handler may post, after it has counted. */
	for (i = 0; i < 10000 && test_posted(&comm, 0) != posted; i++)
		test_sleep_us(1000);
	EXPECT_EQ(posted, test_posted(&comm, 0));
	raw_barrier(&cmd);
	for (i = 0; i < posted; i++)
		EXPECT_EQ(0, raw_submit(comm.fd[1], &cmd));
	pthread_join(t, NULL);
	EXPECT_EQ(0, result);
	EXPECT_EQ(posted, test_posted(&comm, 0));
	EXPECT_EQ(0, test_good(&comm));
	raw_stop(&comm);
}

TEST(handler_runs)	{ handlers(_metadata, on_signal, 3, 1); }

/* The same command again, on the same file, by the same thread: but another call. */
static void on_signal_nested(int sig)
{
	struct coll_cmd cmd;

	on_signal(sig);
	raw_barrier(&cmd);
	nested = raw_submit(comm.fd[0], &cmd);
}

TEST(handler_calls)
{
	nested = 1;
	handlers(_metadata, on_signal_nested, 1, 2);
	EXPECT_EQ(0, nested);
}

/* The command stays in flight, and the next call goes on with it. */
static void on_signal_jump(int sig)
{
	on_signal(sig);
	siglongjmp(env, 1);
}

TEST(handler_jumps)	{ handlers(_metadata, on_signal_jump, 2, 1); }

/* Calls of one thread that it may leave by a jump while they are in flight. */
#define LEFT_MOST	256
#define ROUNDS		300

/* Microseconds. */
static suseconds_t jump_after = 3000;

/* Submit a barrier of rank 0, and jump out of the call. Return: 0, or why it was refused. */
static int leave_by_jump(struct coll_cmd *cmd)
{
	const struct itimerval soon = { .it_value = { .tv_usec = jump_after } }, never = { };
	int64_t posted = test_posted(&comm, 0);
	volatile int ret = 0;

	/*
	 * The signal may come before the call has posted. Or the call may resume a command that an
	 * earlier jump left.
	 */
	while (!ret && test_posted(&comm, 0) == posted) {
		if (sigsetjmp(env, 1))
			continue;
		setitimer(ITIMER_REAL, &soon, NULL);
		ret = raw_submit(comm.fd[0], cmd);
		setitimer(ITIMER_REAL, &never, NULL);
	}
	return ret;
}

/* A program that ends calls of its own by a jump, as a time limit, and never comes back to them. */
TEST(jumps_away)
{
	struct sigaction sa = { .sa_handler = on_signal_jump };
	static struct coll_cmd cmds[LEFT_MOST + 1], cmd;
	int i, ret = 0;

	sigaction(SIGALRM, &sa, NULL);
	ASSERT_EQ(0, raw_start(&comm, 2, 1));
	raw_barrier(&cmd);
	for (i = 0; i <= LEFT_MOST && !ret; i++) {
		raw_barrier(&cmds[i]);
		ret = leave_by_jump(&cmds[i]);
	}
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(LEFT_MOST, test_posted(&comm, 0));
	for (i = 0; i < LEFT_MOST; i++)
		EXPECT_EQ(0, raw_submit(comm.fd[1], &cmd));
	/* All are done. There is room for any number of further ones. */
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, leave_by_jump(&cmds[i % LEFT_MOST]));
		ASSERT_EQ(0, raw_submit(comm.fd[1], &cmd));
	}
	EXPECT_EQ(0, test_good(&comm));
	raw_stop(&comm);
}

/* The same for all threads of a file. */
#define LEFT_ALL	4096

static void *leave_and_end(void *arg)
{
	static struct coll_cmd cmds[LEFT_MOST];
	sigset_t alarm;
	int *ret = arg, i;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	for (i = 0; i < LEFT_MOST && !*ret; i++) {
		raw_barrier(&cmds[i]);
		*ret = leave_by_jump(&cmds[i]);
	}
	return NULL;
}

/* Threads that jump out of their calls, and end: no walk over the calls of a file gets long. */
TEST(threads_jump_and_end)
{
	struct sigaction sa = { .sa_handler = on_signal_jump };
	static struct coll_cmd cmd;
	sigset_t alarm;
	pthread_t t;
	int i, ret = 0;

	jump_after = 1000;
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	ASSERT_EQ(0, raw_start(&comm, 2, 1));
	raw_barrier(&cmd);
	for (i = 0; i <= LEFT_ALL / LEFT_MOST && !ret; i++) {
		ASSERT_EQ(0, pthread_create(&t, NULL, leave_and_end, &ret));
		pthread_join(t, NULL);
	}
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(LEFT_ALL, test_posted(&comm, 0));
	for (i = 0; i < LEFT_ALL; i++)
		EXPECT_EQ(0, raw_submit(comm.fd[1], &cmd));
	/* All are done: there is room again. */
	ret = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, leave_and_end, &ret));
	pthread_join(t, NULL);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(LEFT_ALL + LEFT_MOST, test_posted(&comm, 0));
	raw_stop(&comm);
}

TEST_HARNESS_MAIN
