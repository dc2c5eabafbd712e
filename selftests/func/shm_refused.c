// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the ranks of a node: calls that are refused. The communicator has none, not all
 * ranks have asked for it, or an argument is wrong.
 */
#include "shm.h"

TEST(who_has_none)
{
	struct coll_shm s;
	struct raw_comm c;
	int fd = raw_open();

	EXPECT_EQ(-ENOTCONN, shm_ioctl(fd, &s));
	EXPECT_EQ(-ENOTCONN, shm_wait(fd, 1, 0));
	EXPECT_EQ(-ENOTCONN, shm_wake(fd));
	EXPECT_EQ(-ENODEV, try_map(fd, 4096, 0, PROT_READ, MAP_SHARED));
	close(fd);

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	EXPECT_EQ(-EOPNOTSUPP, shm_ioctl(c.fd[0], &s));
	raw_stop(&c);
	ASSERT_EQ(0, raw_start(&c, 2, 2));
	EXPECT_EQ(-EOPNOTSUPP, shm_ioctl(c.fd[0], &s));
	raw_stop(&c);
	ASSERT_EQ(0, raw_start_named(&c, 2, 1));
	EXPECT_EQ(-EOPNOTSUPP, shm_ioctl(c.fd[0], &s));
	raw_stop(&c);
}

TEST(all_have_to_ask)
{
	struct coll_shm s[2];
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	EXPECT_EQ(-ENODEV, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-ENOTCONN, shm_wait(c.fd[0], 1, 0));
	ASSERT_EQ(0, shm_ioctl(c.fd[0], &s[0]));
	EXPECT_EQ(-EAGAIN, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-ENOTCONN, shm_wait(c.fd[0], 1, 0));
	/* Again: the same, and it does not count as another rank's. */
	ASSERT_EQ(0, shm_ioctl(c.fd[0], &s[1]));
	EXPECT_EQ(0, memcmp(&s[0], &s[1], sizeof(s[0])));
	EXPECT_EQ(-EAGAIN, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, shm_ioctl(c.fd[1], &s[1]));
	EXPECT_LT(0, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, raw_abort(c.fd[0], 0));
	EXPECT_EQ(-ESHUTDOWN, shm_ioctl(c.fd[0], &s[0]));
	raw_stop(&c);
}

#define REFUSED(what, ...)				\
do {							\
	memset(&s, 0, sizeof(s));			\
	memset(&w, 0, sizeof(w));			\
	w.pos = 1;					\
	__VA_ARGS__;					\
	EXPECT_EQ(-1, ioctl(c.fd[0], what, arg));	\
	EXPECT_EQ(EINVAL, errno);			\
} while (0)

TEST(bad_arguments)
{
	struct coll_shm_wait w;
	struct coll_shm s;
	struct raw_comm c;
	void *arg;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	arg = &s;
	REFUSED(COLL_IOC_SHM, s.flags = 1);
	REFUSED(COLL_IOC_SHM, s.local = 1);
	REFUSED(COLL_IOC_SHM, s.size = 1);
	REFUSED(COLL_IOC_SHM, s.reserved[1] = 1);
	arg = &w;
	REFUSED(COLL_IOC_SHM_WAIT, w.pos = 0);
	REFUSED(COLL_IOC_SHM_WAIT, w.flags = COLL_SHM_WAIT_FINISHED << 1);
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_SHM, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_SHM_WAIT, NULL));
	EXPECT_EQ(EFAULT, errno);
	raw_stop(&c);
}

TEST_F(shm, posted_is_checked)
{
	struct coll_shm_wait w = { .pos = 1, .posted = 1 };

	EXPECT_EQ(-1, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
