// SPDX-License-Identifier: GPL-2.0
/*
 * Setup verbs with wrong arguments: joins, links, registrations.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "harness.h"
#include "util.h"

/* Return: 0 or -errno. */
static int ioc(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

static void good_join(struct coll_join *j, const uint32_t *node_of)
{
	memset(j, 0, sizeof(*j));
	memset(j->key, 0x42, sizeof(j->key));
	j->size = 4;
	j->nr_nodes = 2;
	j->node_of = (uintptr_t)node_of;
}

static const uint32_t two_nodes[] = { 0, 0, 1, 1 };

/* A right join with one thing wrong, on a file that has not joined. */
#define JOIN_REFUSED(error, change) do {				\
	struct coll_join j;						\
	int fd = raw_open();						\
									\
	ASSERT_GE(fd, 0);						\
	good_join(&j, two_nodes);					\
	change;								\
	EXPECT_EQ(-(error), ioc(fd, COLL_IOC_JOIN, &j)) {		\
		TH_LOG("%s", #change);					\
	}								\
	close(fd);							\
} while (0)

TEST(join_numbers)
{
	int i;

	JOIN_REFUSED(EINVAL, j.size = 0);
	JOIN_REFUSED(EINVAL, j.size = COLL_MAX_SIZE + 1);
	JOIN_REFUSED(EINVAL, j.size = ~0U);
	JOIN_REFUSED(EINVAL, j.rank = 4);
	JOIN_REFUSED(EINVAL, j.rank = ~0U);
	JOIN_REFUSED(EINVAL, j.rank = 2);		/* of another node */
	JOIN_REFUSED(EINVAL, j.node = 1);		/* likewise */
	JOIN_REFUSED(EINVAL, j.node = 2);
	JOIN_REFUSED(EINVAL, j.node = ~0U);
	JOIN_REFUSED(EINVAL, j.nr_nodes = 0);
	JOIN_REFUSED(EINVAL, j.nr_nodes = 1);
	JOIN_REFUSED(EINVAL, j.nr_nodes = 3);		/* one is not in use */
	JOIN_REFUSED(EINVAL, j.nr_nodes = 5);
	JOIN_REFUSED(EINVAL, j.nr_nodes = ~0U);
	for (i = 0; i < 32; i++)
		if (!(1U << i & (COLL_JOIN_EXISTING | COLL_JOIN_NAMED)))
			JOIN_REFUSED(EINVAL, j.flags = 1U << i);
	JOIN_REFUSED(EINVAL, j.reserved[0] = 1);
	JOIN_REFUSED(EINVAL, j.reserved[1] = 1ULL << 63);
	JOIN_REFUSED(EFAULT, j.node_of = 0);
	JOIN_REFUSED(EFAULT, j.node_of = ~0ULL - 3);
	JOIN_REFUSED(EFAULT, j.node_of = 0xffff888000000000ULL);
	JOIN_REFUSED(ENOENT, j.flags = COLL_JOIN_EXISTING);
}

TEST(join_node_maps)
{
	static const uint32_t bad[][4] = {
		{ 0, 0, 0, 2 },		/* node 1 not in use */
		{ 0, 0, 1, 2 },		/* beyond nr_nodes */
		{ 0, 0, 0, ~0U },
		{ 0, 0, 0, 0 },		/* node 1 not in use */
		{ 1, 0, 0, 1 },		/* rank 0 elsewhere */
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		JOIN_REFUSED(EINVAL, j.node_of = (uintptr_t)bad[i]);
}

TEST(nodes_in_any_order)
{
	static const uint32_t nodes[] = { 1, 0, 2, 1 };
	struct coll_join j;
	int fd = raw_open();

	ASSERT_GE(fd, 0);
	good_join(&j, nodes);
	j.nr_nodes = 3;
	j.node = 1;
	EXPECT_EQ(0, ioc(fd, COLL_IOC_JOIN, &j));
	close(fd);
}

static int join_sized(int fd, void *arg, unsigned int size)
{
	return ioc(fd, _IOC(_IOC_WRITE, COLL_IOC_MAGIC, 0x01, size), arg);
}

TEST(join_struct_sizes)
{
	char buf[256] = { };
	struct coll_join *j = (struct coll_join *)buf;
	int fd = raw_open(), ret;

	good_join(j, two_nodes);
	ret = join_sized(fd, buf, sizeof(*j) - 8);
	EXPECT_TRUE(ret == -EINVAL || ret == -ENOTTY) TH_LOG("%d", ret);
	buf[sizeof(*j) + 100] = 1;
	EXPECT_EQ(-E2BIG, join_sized(fd, buf, 256));
	buf[sizeof(*j) + 100] = 0;
	EXPECT_EQ(-EFAULT, join_sized(fd, NULL, sizeof(*j)));
	EXPECT_EQ(0, join_sized(fd, buf, 256));
	close(fd);
}

/* Out structs: a caller of another age gets what fits, and zeros beyond. */
TEST(out_struct_sizes)
{
	unsigned char buf[512];
	int fd = raw_open();
	unsigned int i;

	memset(buf, 0xa5, sizeof(buf));
	EXPECT_EQ(0, ioc(fd, _IOC(_IOC_READ, COLL_IOC_MAGIC, 0x00, 256), buf));
	for (i = sizeof(struct coll_version); i < 256 && !buf[i]; i++)
		;
	EXPECT_EQ(256, i) TH_LOG("bytes the kernel does not know must read as zero");
	for (i = 256; i < 512; i++)
		ASSERT_EQ(0xa5, buf[i]);
	EXPECT_EQ(-EFAULT, ioc(fd, COLL_IOC_VERSION, NULL));
	EXPECT_EQ(-EFAULT, ioc(fd, COLL_IOC_STATUS, (void *)-4096L));
	close(fd);
}

TEST(join_twice_and_taken)
{
	struct coll_join j;
	struct coll_status s;
	uint32_t other[] = { 0, 0, 0, 1 };
	int a = raw_open(), b = raw_open();

	good_join(&j, two_nodes);
	ASSERT_EQ(0, ioc(a, COLL_IOC_JOIN, &j));
	EXPECT_EQ(-EEXIST, ioc(a, COLL_IOC_JOIN, &j));
	j.rank = 1;
	EXPECT_EQ(-EEXIST, ioc(a, COLL_IOC_JOIN, &j));
	j.rank = 0;
	EXPECT_EQ(-EEXIST, ioc(b, COLL_IOC_JOIN, &j));
	j.rank = 1;
	j.size = 3;
	EXPECT_EQ(-EINVAL, ioc(b, COLL_IOC_JOIN, &j));
	j.size = 4;
	j.epoch = 1;
	EXPECT_EQ(-EINVAL, ioc(b, COLL_IOC_JOIN, &j));
	j.epoch = 0;
	j.node_of = (uintptr_t)other;
	EXPECT_EQ(-EINVAL, ioc(b, COLL_IOC_JOIN, &j));
	j.node_of = (uintptr_t)two_nodes;
	j.key[15] ^= 1;
	j.flags = COLL_JOIN_EXISTING;
	EXPECT_EQ(-ENOENT, ioc(b, COLL_IOC_JOIN, &j));
	j.key[15] ^= 1;
	EXPECT_EQ(0, ioc(b, COLL_IOC_JOIN, &j));
	ASSERT_EQ(0, raw_status(b, &s));
	EXPECT_EQ(1, s.rank);
	EXPECT_EQ(2, s.nr_joined);
	EXPECT_EQ(COLL_STATE_JOINING, s.state);
	/* a rank has left: the place is not given again */
	close(b);
	b = raw_open();
	EXPECT_EQ(-ESHUTDOWN, ioc(b, COLL_IOC_JOIN, &j));
	close(a);
	/* nobody is left: the same name means a new one */
	j.flags = 0;
	EXPECT_EQ(0, ioc(b, COLL_IOC_JOIN, &j));
	close(b);
}

TEST(join_foreign_uid)
{
	struct coll_join j;
	int a = raw_open(), status, fd, passed;
	pid_t pid;

	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	good_join(&j, two_nodes);
	passed = raw_open();
	ASSERT_EQ(0, ioc(a, COLL_IOC_JOIN, &j));
	pid = fork();
	if (!pid) {
		int bad = 0;

		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(100);
		fd = raw_open();
		j.rank = 1;
		bad |= (ioc(fd, COLL_IOC_JOIN, &j) != -EPERM) << 0;
		j.flags = COLL_JOIN_EXISTING;
		bad |= (ioc(fd, COLL_IOC_JOIN, &j) != -EPERM) << 1;
		/* a file that root has opened gives no right either */
		bad |= (ioc(passed, COLL_IOC_JOIN, &j) != -EPERM) << 2;
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	close(passed);
	close(a);
}

TEST(not_joined)
{
	struct coll_cmd cmd;
	struct coll_status s;
	int fd = raw_open();

	raw_barrier(&cmd);
	EXPECT_EQ(-ENOTCONN, raw_submit(fd, &cmd));
	EXPECT_EQ(-ENOTCONN, raw_link(fd, 1, 0, 0));
	EXPECT_EQ(-ENOTCONN, raw_abort(fd, 0));
	ASSERT_EQ(0, raw_status(fd, &s));
	EXPECT_EQ(COLL_STATE_NEW, s.state);
	EXPECT_EQ(0, s.posted);
	close(fd);
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

/* The socket pair was refused nowhere for good: the link still gets made. */
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

/* A link that was refused is not there: ops do not wait for it. */
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
	/* of the last link: taken, once, and what is taken cannot be given twice */
	for (i = COLL_MAX_STRIPES; i < COLL_MAX_STRIPES + 3; i++)
		EXPECT_EQ(-EINVAL, raw_link(fd, 1, sv[0], i)) TH_LOG("stripe %d", i);
	EXPECT_EQ(0, raw_link(fd, 1, sv[0], COLL_MAX_STRIPES - 1));
	EXPECT_EQ(-EEXIST, raw_link(fd, 1, sv[1], COLL_MAX_STRIPES - 1));
	EXPECT_EQ(-EBUSY, raw_link(fd, 1, sv[0], COLL_MAX_STRIPES - 2));
	close(sv[0]);
	close(sv[1]);
	close(fd);
}

TEST(register_arguments)
{
	struct coll_register r;
	struct coll_unregister u = { };
	int fd = raw_open();
	char *map;

	map = mmap(NULL, 65536 + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, munmap(map + 65536, 4096));
#define REG_REFUSED(error, change) do {					\
	memset(&r, 0, sizeof(r));					\
	r.addr = (uintptr_t)map;					\
	r.len = 65536;							\
	change;								\
	EXPECT_EQ(-(error), ioc(fd, COLL_IOC_REGISTER, &r)) {		\
		TH_LOG("%s", #change);					\
	}								\
} while (0)
	REG_REFUSED(EFAULT, r.flags = COLL_REG_WRITE);
	REG_REFUSED(EINVAL, r.flags = 2);
	REG_REFUSED(EINVAL, r.flags = 1U << 31);
	REG_REFUSED(EINVAL, r.len = 0);
	REG_REFUSED(EFAULT, r.len = 65537);
	REG_REFUSED(EFAULT, r.addr = 0);
	REG_REFUSED(EFAULT, r.addr = 0xffff888000000000ULL);
	REG_REFUSED(EFAULT, r.addr = ~0ULL - 4095);
	REG_REFUSED(EINVAL, r.reserved[0] = 1);
	REG_REFUSED(EINVAL, r.reserved[1] = 1);
	EXPECT_EQ(-ENOENT, ioc(fd, COLL_IOC_UNREGISTER, &u));
	u.id = ~0U;
	EXPECT_EQ(-ENOENT, ioc(fd, COLL_IOC_UNREGISTER, &u));
	u.id = 1;
	EXPECT_EQ(-ENOENT, ioc(fd, COLL_IOC_UNREGISTER, &u));
	u.reserved[2] = 1;
	EXPECT_EQ(-EINVAL, ioc(fd, COLL_IOC_UNREGISTER, &u));
	close(fd);
}

/* The result cannot be written: nothing stays registered. */
TEST(register_unwritable_struct)
{
	struct coll_register *r;
	struct coll_status s;
	int fd = raw_open();

	r = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r->addr = (uintptr_t)&s & ~4095UL;
	r->len = 4096;
	ASSERT_EQ(0, mprotect(r, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, ioc(fd, COLL_IOC_REGISTER, r));
	EXPECT_EQ(0, raw_status(fd, &s));
	EXPECT_EQ(0, s.pinned);
	close(fd);
}

TEST(register_until_full)
{
	struct coll_register r;
	static char page[4096] __attribute__((aligned(4096)));
	int fd = raw_open(), ret, n = 0;
	struct coll_status s;

	do {
		memset(&r, 0, sizeof(r));
		r.addr = (uintptr_t)page;
		r.len = 1;
		ret = ioc(fd, COLL_IOC_REGISTER, &r);
		n += !ret;
	} while (!ret && n < 100000);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(0, raw_status(fd, &s));
	EXPECT_EQ(n * 4096, s.pinned);
	close(fd);
}

TEST(too_many_communicators)
{
	char limit[16] = "";
	int fds[200], i, ret = 0;
	struct raw_comm c;

	ASSERT_TRUE(test_get(TEST_MAX_GROUPS, limit, sizeof(limit)));
	ASSERT_TRUE(test_put(TEST_MAX_GROUPS, "100"));
	for (i = 0; i < 200 && !ret; i++) {
		raw_plan(&c, 1, 1);
		fds[i] = raw_open();
		ASSERT_GE(fds[i], 0);
		ret = raw_join(fds[i], &c, 0);
	}
	test_put(TEST_MAX_GROUPS, limit);
	EXPECT_EQ(-EMFILE, ret);
	EXPECT_LE(i, 101);
	while (i)
		close(fds[--i]);
}

TEST_HARNESS_MAIN
