// SPDX-License-Identifier: GPL-2.0
/* What COLL_IOC_POST and COLL_IOC_COLLECT refuse: wrong fields, too many, a child. */
#include <sys/wait.h>
#include <unistd.h>

#include "post.h"

/* The first command that is refused ends the call; the commands before it are posted. */
TEST_F(post, refused)
{
	struct coll_post_entry e = { .tag = 1, .len = sizeof(struct coll_cmd) };
	struct coll_post p = { .entries = (uintptr_t)&e, .nr = 1 };
	struct coll_completion got[3];
	struct coll_cmd cmd[3];
	int32_t o = 0;
	int fd;

	e.arg = (uintptr_t)cmd;
	raw_recv(&cmd[0], &o, 4, COLL_BYTE, 1, 1, NULL);
	raw_recv(&cmd[1], &o, 4, COLL_BYTE, 7, 1, NULL);
	raw_recv(&cmd[2], &o, 4, COLL_BYTE, 1, 2, NULL);
	EXPECT_EQ(1, post_cmds(c.fd[0], cmd, 3, 5));
	EXPECT_EQ(-EINVAL, post_cmds(c.fd[0], &cmd[1], 2, 5));
	EXPECT_EQ(1, raw_cancel_receives(c.fd[0]));
	EXPECT_EQ(-ECANCELED, post_result(c.fd[0], 5));
	EXPECT_EQ(0, raw_collect_cmds(c.fd[0], got, 3, 0, 0));

#define REFUSED(err, change, back) do {						\
		change;								\
		EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_POST, &p));		\
		EXPECT_EQ(err, errno) TH_LOG(#change);				\
		back;								\
	} while (0)
	REFUSED(EINVAL, p.nr = 0, p.nr = 1);
	REFUSED(EINVAL, p.nr = COLL_POST_MAX + 1, p.nr = 1);
	REFUSED(EINVAL, p.flags = 1, p.flags = 0);
	REFUSED(EINVAL, p.reserved[0] = 1, p.reserved[0] = 0);
	REFUSED(EINVAL, p.reserved[1] = 1, p.reserved[1] = 0);
	REFUSED(EINVAL, e.flags = 1, e.flags = 0);
	REFUSED(EINVAL, e.len = 8, e.len = sizeof(struct coll_cmd));
	REFUSED(EINVAL, e.len = 1 << 20, e.len = sizeof(struct coll_cmd));
	REFUSED(EFAULT, e.arg = 8, e.arg = (uintptr_t)cmd);
	REFUSED(EFAULT, p.entries = 8, p.entries = (uintptr_t)&e);
	EXPECT_EQ(-EINVAL, raw_collect_cmds(c.fd[0], got, 0, 0, 0));
	EXPECT_EQ(-EINVAL, raw_collect_cmds(c.fd[0], got, COLL_POST_MAX + 1, 0, 0));
	EXPECT_EQ(-EINVAL, raw_collect_cmds(c.fd[0], got, 1, 2, 0));

	fd = raw_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTCONN, post_cmds(fd, cmd, 1, 0));
	EXPECT_EQ(0, raw_collect_cmds(fd, got, 1, 1, COLL_COLLECT_FOREVER));
	close(fd);
	EXPECT_EQ(0, test_good(&c));
}

/* Completions that nobody collects count. */
TEST_F(post, uncollected)
{
	static struct coll_completion got[COLL_POST_MAX];
	struct coll_cmd cmd;
	int old, ret, nr = 0;

	old = raw_max_inflight(10);
	ASSERT_LE(0, old);
	/* complete at once */
	raw_send(&cmd, NULL, 0, COLL_BYTE, COLL_RANK_NULL, 0);
	do {
		ret = post_cmds(c.fd[0], &cmd, 1, nr);
		nr += ret == 1;
	} while (ret == 1 && nr < COLL_POST_MAX);
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_EQ(RAW_INFLIGHT_FREE + 10, nr);
	EXPECT_EQ(nr, raw_collect_cmds(c.fd[0], got, COLL_POST_MAX, nr, 10000 * MS));
	EXPECT_EQ(1, post_cmds(c.fd[0], &cmd, 1, 0));
	EXPECT_EQ(0, post_result(c.fd[0], 0));
	raw_max_inflight(old);
}

/* A process that has not opened the file may neither post nor collect. */
TEST_F(post, not_the_owner)
{
	struct coll_completion got;
	struct coll_cmd cmd;
	int status;
	pid_t pid;

	raw_barrier(&cmd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(post_cmds(c.fd[0], &cmd, 1, 0) != -EPERM ||
		      raw_collect_cmds(c.fd[0], &got, 1, 0, 0) != -EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, test_good(&c));
}

TEST_HARNESS_MAIN
