// SPDX-License-Identifier: GPL-2.0
/* Joins with wrong arguments. */
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

/* A join with one wrong field, on a file that has not joined. */
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
	JOIN_REFUSED(EINVAL, j.node = 1);		/* not the node of the rank */
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

/* Out structs: a caller with another size gets the bytes that fit, and zeros beyond. */
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
	EXPECT_EQ(0, status);
	close(passed);
	close(a);
}

/* A rank that has given up its rights. Return: bits of what is wrong. */
static int become_another(void)
{
	static int32_t v[4] = { 1, 2, 3, 4 };
	struct coll_register reg = { .addr = (uintptr_t)v, .len = sizeof(v) };
	struct coll_abort end = { .code = 1 };
	struct coll_select select = { };
	struct coll_shm shm = { };
	struct coll_cmd cmd;
	struct raw_comm c;
	int bad = 0, fd;

	if (raw_start(&c, 1, 1))
		return 64;
	fd = c.fd[0];
	/* Not in a group that may do it. */
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return 65;
	bad |= (ioc(fd, COLL_IOC_REGISTER, &reg) != -EPERM) << 0;
	bad |= (ioc(fd, COLL_IOC_ABORT, &end) != -EPERM) << 1;
	bad |= (ioc(fd, COLL_IOC_SELECT, &select) != -EPERM) << 2;
	bad |= (ioc(fd, COLL_IOC_SHM, &shm) != -EPERM) << 3;
	errno = 0;
	bad |= (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED || errno != EPERM) << 4;
	raw_allreduce(&cmd, NULL, v, 4, COLL_I32, COLL_OP_SUM);
	bad |= (raw_submit(fd, &cmd) != 0 || v[3] != 4) << 5;
	return bad;
}

/* The rank submits as before, but changes nothing of the communicator. */
TEST(uid_changes)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(become_another());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
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
