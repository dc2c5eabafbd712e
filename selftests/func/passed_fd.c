// SPDX-License-Identifier: GPL-2.0
/*
 * Files of coll that travel over unix sockets. The receiver of a file may look at its status and
 * do no more. A file in flight, or in a circle of sockets, is not a leak.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "harness.h"
#include "util.h"

static bool send_fd(int sock, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &m, 0) == 1;
}

static int recv_fd(int sock)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	int fd = -1;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/*
 * The receiver of the file tries its calls. Return: a bit for each call that should have been
 * refused.
 */
static int receiver(int sock, bool nobody)
{
	struct coll_cmd cmd;
	struct coll_status s;
	struct raw_comm d;
	int fd, bad = 0;

	if (nobody && test_become_nobody(65536))
		return 64;
	fd = recv_fd(sock);
	if (fd < 0)
		return 65;
	raw_barrier(&cmd);
	cmd.timeout_ns = 1000000000ULL;
	raw_plan(&d, 2, 1);
	bad |= (raw_submit(fd, &cmd) != -EPERM) << 0;
	bad |= (raw_abort(fd, 1) != -EPERM) << 1;
	bad |= (raw_join(fd, &d, 0) != -EPERM) << 2;
	bad |= (raw_status(fd, &s) != 0) << 3;
	return bad;
}

static void pass(struct __test_metadata *_metadata, bool nobody)
{
	int sv[2], status;
	struct raw_comm c;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = fork();
	if (!pid)
		_exit(receiver(sv[1], nobody));
	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_TRUE(send_fd(sv[0], c.fd[0]));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	close(sv[0]);
	close(sv[1]);
}

TEST(to_another_process)	{ pass(_metadata, false); }
TEST(to_another_user)		{ pass(_metadata, true); }

static long files(void)
{
	FILE *f = fopen("/proc/sys/fs/file-nr", "r");
	long n = -1;

	if (!f || fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* Each pair of sockets carries itself, and a file of coll. Then no process has them any more. */
static int make_circles(long n)
{
	int sv[2], fd;

	while (n--) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
			return 1;
		fd = raw_open();
		if (fd < 0 || !send_fd(sv[0], fd) || !send_fd(sv[0], sv[0]) ||
		    !send_fd(sv[1], sv[1]))
			return 2;
		close(fd);
		close(sv[0]);
		close(sv[1]);
	}
	return 0;
}

TEST(circles)
{
	const long n = 200;
	unsigned int k;
	long before = files(), now = before;
	int sv[2], status;
	pid_t pid = fork();

	if (!pid)
		_exit(make_circles(n));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	/* The collector of the kernel runs when another one is closed. */
	for (k = 0; k < 500; k++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
		close(sv[0]);
		close(sv[1]);
		now = files();
		/* The kernel counts files roughly. A circle has three files. */
		if (now - before < n)
			break;
		test_sleep_us(20000);
	}
	EXPECT_LT(now - before, n) TH_LOG("%ld files before, %ld after", before, now);
}

/* A unix socket is no link, so that no circle goes through coll. */
TEST(no_unix_sockets)
{
	int sv[2], fd = raw_open();
	struct raw_comm c;

	raw_plan(&c, 2, 2);
	ASSERT_EQ(0, raw_join(fd, &c, 0));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	ASSERT_TRUE(send_fd(sv[0], fd));
	EXPECT_EQ(-EPROTOTYPE, raw_link(fd, 1, sv[0], 0));
	close(sv[0]);
	close(sv[1]);
	close(fd);
}

TEST_HARNESS_MAIN
