// SPDX-License-Identifier: GPL-2.0
/* Callers that may not post named collectives: another process, one without a rank or a link. */
#include <sys/wait.h>
#include <unistd.h>

#include "named_bad.h"

/* A forked child has the file, but not the right to use it. */
TEST_F(named_bad, foreign_process)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(post(self) != EPERM || wait_for(self) != EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST(not_joined)
{
	struct coll_tensor_result res;
	struct coll_tensor t;
	struct coll_cmd cmd;
	int fd = raw_open();

	ASSERT_LE(0, fd);
	raw_barrier(&cmd);
	raw_tensor(&t, "x", &cmd, 0);
	EXPECT_EQ(-ENOTCONN, raw_post(fd, &t, 1, NULL));
	EXPECT_EQ(-ENOTCONN, raw_collect(fd, &res, 1, 1, 0));
	close(fd);
}

TEST(no_link)
{
	struct coll_tensor t;
	struct raw_comm c;
	struct coll_cmd cmd;

	raw_plan(&c, 2, 2);
	c.flags = COLL_JOIN_NAMED;
	c.fd[0] = raw_open();
	ASSERT_EQ(0, raw_join(c.fd[0], &c, 0));
	raw_barrier(&cmd);
	raw_tensor(&t, "x", &cmd, 0);
	EXPECT_EQ(-ENOTCONN, raw_post(c.fd[0], &t, 1, NULL));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
