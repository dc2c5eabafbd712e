// SPDX-License-Identifier: GPL-2.0
/* Links with wrong arguments. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "harness.h"
#include "util.h"

/* Return: 0 or -errno. */
static int ioc(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

FIXTURE(links) {
	struct raw_comm c;
	int fd;
	int sv[2];
};

FIXTURE_SETUP(links)
{
	raw_plan(&self->c, 2, 2);
	self->fd = raw_open();
	ASSERT_EQ(0, raw_join(self->fd, &self->c, 0));
	ASSERT_EQ(0, raw_tcp_pair(self->sv));
}

/* No refusal has damaged the socket pair: the link can still be made. */
FIXTURE_TEARDOWN(links)
{
	struct coll_status s;

	EXPECT_EQ(0, raw_status(self->fd, &s));
	EXPECT_EQ(COLL_STATE_JOINING, s.state);
	EXPECT_EQ(0, raw_link(self->fd, 1, self->sv[0], 0));
	close(self->sv[0]);
	close(self->sv[1]);
	close(self->fd);
}

TEST_F(links, numbers)
{
	struct coll_link_add l = { .peer = 1, .fd = self->sv[0] };
	int i;

	EXPECT_EQ(-EINVAL, raw_link(self->fd, 0, self->sv[0], 0));
	EXPECT_EQ(-EINVAL, raw_link(self->fd, 2, self->sv[0], 0));
	EXPECT_EQ(-EINVAL, raw_link(self->fd, ~0U, self->sv[0], 0));
	EXPECT_EQ(-EINVAL, raw_link(self->fd, 1, self->sv[0], COLL_MAX_STRIPES));
	EXPECT_EQ(-EINVAL, raw_link(self->fd, 1, self->sv[0], ~0U));
	for (i = 0; i < 32; i++) {
		l.flags = 1U << i;
		EXPECT_EQ(-EINVAL, ioc(self->fd, COLL_IOC_LINK, &l));
	}
	l.flags = 0;
	l.reserved[1] = 1;
	EXPECT_EQ(-EINVAL, ioc(self->fd, COLL_IOC_LINK, &l));
}

TEST_F(links, descriptors)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int udp, un[2], lis, fresh, file, pipes[2];

	udp = socket(AF_INET, SOCK_DGRAM, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons(9);
	ASSERT_EQ(0, connect(udp, (void *)&a, sizeof(a)));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, un));
	lis = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_EQ(0, listen(lis, 1));
	fresh = socket(AF_INET, SOCK_STREAM, 0);
	file = open("/dev/null", O_RDWR);
	ASSERT_EQ(0, pipe(pipes));

	EXPECT_EQ(-EPROTOTYPE, raw_link(self->fd, 1, udp, 0));
	EXPECT_EQ(-EPROTOTYPE, raw_link(self->fd, 1, un[0], 0));
	EXPECT_EQ(-ENOTCONN, raw_link(self->fd, 1, lis, 0));
	EXPECT_EQ(-ENOTCONN, raw_link(self->fd, 1, fresh, 0));
	EXPECT_EQ(-ENOTSOCK, raw_link(self->fd, 1, file, 0));
	EXPECT_EQ(-ENOTSOCK, raw_link(self->fd, 1, pipes[0], 0));
	EXPECT_EQ(-ENOTSOCK, raw_link(self->fd, 1, self->fd, 0));
	EXPECT_EQ(-EBADF, raw_link(self->fd, 1, 999, 0));
	EXPECT_EQ(-EBADF, raw_link(self->fd, 1, -1, 0));
}

TEST_F(links, shut_down_here)
{
	int sv[2];

	ASSERT_EQ(0, raw_tcp_pair(sv));
	shutdown(sv[0], SHUT_RDWR);
	EXPECT_EQ(-ENOTCONN, raw_link(self->fd, 1, sv[0], 0));
	close(sv[1]);
	close(sv[0]);
}

TEST_F(links, claimed)
{
	struct raw_comm d;
	int sv[2], fd2;

	/* by another communicator */
	raw_plan(&d, 2, 2);
	fd2 = raw_open();
	ASSERT_EQ(0, raw_join(fd2, &d, 0));
	ASSERT_EQ(0, raw_tcp_pair(sv));
	ASSERT_EQ(0, raw_link(fd2, 1, sv[0], 0));
	EXPECT_EQ(-EBUSY, raw_link(self->fd, 1, sv[0], 0));
	/* by the other stripe of the same link */
	EXPECT_EQ(-EBUSY, raw_link(fd2, 1, sv[0], 1));
	EXPECT_EQ(-EEXIST, raw_link(fd2, 1, sv[1], 0));
	close(fd2);
	close(sv[0]);
	close(sv[1]);
}

/* A refused link does not exist: ops do not wait for it. */
TEST_F(links, refused_leaves_nothing)
{
	struct raw_comm d;
	struct coll_status s;
	int sv[2], fd2, fd3;
	struct coll_cmd cmd;

	raw_plan(&d, 2, 2);
	fd2 = raw_open();
	fd3 = raw_open();
	ASSERT_EQ(0, raw_join(fd2, &d, 0));
	ASSERT_EQ(0, raw_tcp_pair(sv));
	ASSERT_EQ(0, raw_link(fd2, 1, sv[0], 0));
	raw_plan(&d, 2, 2);
	ASSERT_EQ(0, raw_join(fd3, &d, 0));
	EXPECT_EQ(-EBUSY, raw_link(fd3, 1, sv[0], 0));
	raw_barrier(&cmd);
	cmd.timeout_ns = 300000000;
	EXPECT_EQ(-ENOTCONN, raw_submit(fd3, &cmd));
	EXPECT_EQ(0, raw_status(fd3, &s));
	close(fd3);
	close(fd2);
	close(sv[0]);
	close(sv[1]);
}

TEST_F(links, peer_closed)
{
	struct coll_status s;
	struct raw_comm d;
	int sv[2], fd2, ret;

	raw_plan(&d, 2, 2);
	fd2 = raw_open();
	ASSERT_EQ(0, raw_join(fd2, &d, 0));
	ASSERT_EQ(0, raw_tcp_pair(sv));
	close(sv[1]);
	ret = raw_link(fd2, 1, sv[0], 0);
	EXPECT_TRUE(ret == 0 || ret == -ENOTCONN) TH_LOG("%d", ret);
	if (!ret) {
		EXPECT_EQ(0, raw_status_failed(fd2, &s));
		EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
		EXPECT_EQ(EHOSTDOWN, s.cause.error);
		EXPECT_EQ(1, s.cause.node);
	}
	close(sv[0]);
	close(fd2);
}

TEST(stripes)
{
	struct raw_comm c;
	int sv[2], fd = raw_open(), i;

	raw_plan(&c, 2, 2);
	ASSERT_EQ(0, raw_join(fd, &c, 0));
	ASSERT_EQ(0, raw_tcp_pair(sv));
	/* the last stripe is good, once, and none beyond it; a socket cannot be given twice */
	for (i = COLL_MAX_STRIPES; i < COLL_MAX_STRIPES + 3; i++)
		EXPECT_EQ(-EINVAL, raw_link(fd, 1, sv[0], i)) TH_LOG("stripe %d", i);
	EXPECT_EQ(0, raw_link(fd, 1, sv[0], COLL_MAX_STRIPES - 1));
	EXPECT_EQ(-EEXIST, raw_link(fd, 1, sv[1], COLL_MAX_STRIPES - 1));
	EXPECT_EQ(-EBUSY, raw_link(fd, 1, sv[0], COLL_MAX_STRIPES - 2));
	close(sv[0]);
	close(sv[1]);
	close(fd);
}

TEST_HARNESS_MAIN
