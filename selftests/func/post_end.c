// SPDX-License-Identifier: GPL-2.0
/* Posted commands are cancelled, or their file is closed, or their process is killed. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "post.h"

TEST_F(post, cancelled)
{
	int32_t v = 7, o[2] = { };
	uint32_t i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post_recv(1, 0, i, &o[i], 4, NULL));
	EXPECT_EQ(0, raw_cancel(c.fd[1], 1));
	EXPECT_EQ(-ECANCELED, post_result(c.fd[1], 0));
	ASSERT_EQ(1, post_send(0, 1, 1, &v, 4));
	EXPECT_EQ(0, post_result(c.fd[1], 1));
	EXPECT_EQ(0, post_result(c.fd[0], 1));
	EXPECT_EQ(-ENOENT, raw_cancel(c.fd[1], 2));
	EXPECT_EQ(0, o[0]);
	EXPECT_EQ(7, o[1]);
	ASSERT_EQ(1, post_send(0, 1, 2, &v, 4));
	EXPECT_EQ(0, raw_cancel(c.fd[0], 3));
	EXPECT_EQ(-ECANCELED, post_result(c.fd[0], 2));
	EXPECT_EQ(0, test_good(&c));
}

/* Close the file while the main thread waits. Return: @arg; NULL: it did not wait. */
static void *close_later(void *arg)
{
	bool waits = test_asleep(getpid());

	close(*(int *)arg);
	return waits ? arg : NULL;
}

/* Another thread closes the file while a thread waits: the wait ends, and the others hear of it. */
TEST_F(post, closed_under)
{
	struct coll_completion got = { };
	struct coll_status s;
	int32_t o = 0;
	pthread_t t;
	void *waits;

	ASSERT_EQ(1, post_recv(1, 0, 0, &o, 4, NULL));
	ASSERT_EQ(0, pthread_create(&t, NULL, close_later, &c.fd[1]));
	EXPECT_EQ(1, raw_collect_cmds(c.fd[1], &got, 1, 1, 10000 * MS));
	EXPECT_GT(0, got.result);
	pthread_join(t, &waits);
	EXPECT_NE(NULL, waits);
	c.fd[1] = -1;
	ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
}

/* With commands in flight, and completions that nobody has collected. */
TEST_F(post, closed_with_pending)
{
	static uint8_t big[1 << 20];
	struct coll_status s;
	struct coll_cmd cmd;
	int32_t v = 1, o[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, post_recv(1, 0, i, &o[i], 4, NULL));
	ASSERT_EQ(1, post_send(1, 0, 9, big, sizeof(big)));
	raw_allreduce(&cmd, big, big + sizeof(big) / 2, 1000, COLL_I32, COLL_OP_SUM);
	ASSERT_EQ(1, post_cmds(c.fd[1], &cmd, 1, 3));
	ASSERT_EQ(1, post_send(0, 1, 1, &v, 4));
	EXPECT_EQ(0, post_result(c.fd[0], 1));
	close(c.fd[1]);
	c.fd[1] = -1;
	ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
}

/* A child that dies while it waits: its file was its own. */
TEST_F(post, killed)
{
	int pipe_fd[2], status;
	struct raw_comm two;
	struct coll_status s;
	char byte;
	pid_t pid;

	raw_plan(&two, 2, 1);
	two.fd[0] = raw_open();
	ASSERT_LE(0, two.fd[0]);
	ASSERT_EQ(0, raw_join(two.fd[0], &two, 0));
	ASSERT_EQ(0, pipe(pipe_fd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct coll_completion got;
		struct coll_cmd cmd;
		int32_t o;

		two.fd[1] = raw_open();
		if (raw_join(two.fd[1], &two, 1))
			_exit(1);
		raw_recv(&cmd, &o, 4, COLL_BYTE, 0, 0, NULL);
		if (post_cmds(two.fd[1], &cmd, 1, 0) != 1 || write(pipe_fd[1], "x", 1) != 1)
			_exit(2);
		raw_collect_cmds(two.fd[1], &got, 1, 1, COLL_COLLECT_FOREVER);
		_exit(3);
	}
	ASSERT_EQ(1, read(pipe_fd[0], &byte, 1));
	ASSERT_TRUE(test_asleep(pid));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(0, raw_status_failed(two.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_EXIT, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
	EXPECT_EQ(SIGKILL, s.cause.signal);
	close(two.fd[0]);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

TEST_HARNESS_MAIN
