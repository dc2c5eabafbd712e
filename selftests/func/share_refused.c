// SPDX-License-Identifier: GPL-2.0
/* Links that communicators share: wrong calls of COLL_LINK_SHARE, which harm nobody. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share.h"

/* Each end says that it is a link to somebody else. */
TEST(wrong_peer)
{
	struct raw_comm parent, c;
	struct coll_status s;

	ASSERT_EQ(0, raw_start(&parent, NODES, NODES));
	ASSERT_EQ(0, join_all(&c, 3, 3));
	ASSERT_EQ(0, raw_share(c.fd[0], 1, parent.fd[0], 2));
	ASSERT_EQ(0, raw_share(c.fd[2], 0, parent.fd[2], 0));
	/* when the handshakes of the parent's streams are complete */
	ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
	EXPECT_EQ(-EPROTO, test_good(&c));
	EXPECT_EQ(0, test_good(&parent));
	raw_stop(&c);
	EXPECT_EQ(0, test_good(&parent));
	raw_stop(&parent);
}

FIXTURE(bad) {
	struct raw_comm parent, c;
};

FIXTURE_SETUP(bad)
{
	ASSERT_EQ(0, raw_start(&self->parent, 2, 2));
	ASSERT_EQ(0, join_all(&self->c, 2, 2));
}

/* Nothing of it has done any harm. */
FIXTURE_TEARDOWN(bad)
{
	EXPECT_EQ(0, share_all(&self->c, &self->parent));
	EXPECT_EQ(0, test_good(&self->c));
	EXPECT_EQ(0, test_good(&self->parent));
	raw_stop(&self->c);
	raw_stop(&self->parent);
}

static int ioc_link(int fd, struct coll_link_add *l)
{
	return ioctl(fd, COLL_IOC_LINK, l) ? -errno : 0;
}

TEST_F(bad, numbers)
{
	int fd = self->c.fd[0], parent = self->parent.fd[0];
	struct coll_link_add l = {
		.peer = 1, .fd = parent, .flags = COLL_LINK_SHARE, .parent_peer = 1,
	}, bad;
	int i;

	EXPECT_EQ(-EINVAL, raw_share(fd, 0, parent, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 2, parent, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, ~0U, parent, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, parent, 0));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, parent, 2));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, parent, ~0U));
	for (i = 1; i < 32; i++) {
		bad = l;
		bad.flags |= 1U << i;
		EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
	}
	for (i = 0; i < 3; i++) {
		bad = l;
		bad.reserved[i] = 1;
		EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
	}
	bad = l;
	bad.stripe = 1;
	EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
	/* @parent_peer without COLL_LINK_SHARE */
	bad = l;
	bad.flags = 0;
	EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
}

TEST_F(bad, files)
{
	int fd = self->c.fd[0], fresh = raw_open(), null = open("/dev/null", O_RDWR);
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-EBADF, raw_share(fd, 1, -1, 1));
	EXPECT_EQ(-EBADF, raw_share(fd, 1, 999, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, null, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, pipes[0], 1));
	/* not joined, on either side; itself; one without links */
	EXPECT_EQ(-ENOTCONN, raw_share(fd, 1, fresh, 1));
	EXPECT_EQ(-ENOTCONN, raw_share(fresh, 1, fd, 1));
	EXPECT_EQ(-ENOTCONN, raw_share(fd, 1, fd, 1));
	EXPECT_EQ(-ENOTCONN, raw_share(fd, 1, self->c.fd[1], 0));
	close(fresh);
	close(null);
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(bad, twice)
{
	struct raw_comm other;

	/* the same communicator, by the parent's own link */
	EXPECT_EQ(-EEXIST, raw_share(self->parent.fd[0], 1, self->parent.fd[0], 1));
	/* a link that is there */
	ASSERT_EQ(0, start_other(&other, &self->parent));
	EXPECT_EQ(-EEXIST, raw_share(other.fd[0], 1, self->parent.fd[0], 1));
	EXPECT_EQ(0, test_good(&other));
	raw_stop(&other);
}

/* Share a link of @parent with a communicator that ends at once. Return: what that said. */
static int try_share(struct raw_comm *parent)
{
	struct raw_comm c;
	int ret = join_all(&c, 2, 2) ?: raw_share(c.fd[0], 1, parent->fd[0], 1);

	raw_stop(&c);
	return ret;
}

/* A parent that has failed, and one whose other end has gone. */
TEST_F(bad, parents)
{
	struct raw_comm dead;
	int i;

	ASSERT_EQ(0, raw_start(&dead, 2, 2));
	EXPECT_EQ(0, raw_abort(dead.fd[0], 1));
	EXPECT_EQ(-ESHUTDOWN, raw_share(self->c.fd[0], 1, dead.fd[0], 1));
	raw_stop(&dead);
	ASSERT_EQ(0, raw_start(&dead, 2, 2));
	close(dead.fd[1]);
	dead.fd[1] = -1;
	for (i = 0; i < 1000 && try_share(&dead) != -ENOTCONN; i++)
		test_sleep_us(10000);		/* the news travels */
	EXPECT_EQ(-ENOTCONN, raw_share(self->c.fd[0], 1, dead.fd[0], 1));
	raw_stop(&dead);
}

/* Somebody else's files: of another process, of another user. */
TEST_F(bad, owners)
{
	int status, pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		/* its own child communicator, the parent of another process */
		struct raw_comm mine;
		int ret = join_all(&mine, 2, 2);

		if (!ret)
			ret = raw_share(mine.fd[0], 1, self->parent.fd[0], 1);
		if (ret == -EPERM)
			ret = raw_share(self->c.fd[0], 1, self->parent.fd[0], 1);
		_exit(ret == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
