// SPDX-License-Identifier: GPL-2.0
/*
 * COLL_IOC_STRIPE: wrong arguments, and calls at a wrong moment, are refused.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stripes.h"

static int ioc_stripe(int fd, struct coll_stripe *s)
{
	return ioctl(fd, COLL_IOC_STRIPE, s) ? -errno : 0;
}

struct posted {
	pthread_t thread;
	struct coll_cmd cmd;
	int fd, result;
};

static void *post(void *arg)
{
	struct posted *p = arg;

	p->result = raw_submit(p->fd, &p->cmd);
	return NULL;
}

TEST(arguments)
{
	struct raw_comm c;
	struct coll_stripe s = { .links = 2 };
	struct posted p = { .fd = -1 };
	int fd = raw_open(), i;

	EXPECT_EQ(-ENOTCONN, raw_stripe(fd, 1, 0));
	close(fd);
	ASSERT_EQ(0, raw_start_links(&c, 2, 2, 1));
	EXPECT_EQ(-EINVAL, raw_stripe(c.fd[0], 0, 0));
	EXPECT_EQ(-EINVAL, raw_stripe(c.fd[0], COLL_MAX_LINKS + 1, 0));
	EXPECT_EQ(-EINVAL, raw_stripe(c.fd[0], ~0U, 0));
	for (i = 0; i < 32; i++) {
		s.flags = 1U << i;
		EXPECT_EQ(-EINVAL, ioc_stripe(c.fd[0], &s));
	}
	s.flags = 0;
	for (i = 0; i < 2; i++) {
		s.reserved[i] = 1;
		EXPECT_EQ(-EINVAL, ioc_stripe(c.fd[0], &s));
		s.reserved[i] = 0;
	}
	/* While an op is posted, the setting cannot be changed, but it can be set again. */
	EXPECT_EQ(0, raw_stripes(&c, COLL_MAX_LINKS, ~0ULL));
	p.fd = c.fd[0];
	raw_barrier(&p.cmd);
	ASSERT_EQ(0, pthread_create(&p.thread, NULL, post, &p));
	while (test_posted(&c, 0) != 1)
		test_sleep_us(1000);
	EXPECT_EQ(-EBUSY, raw_stripe(c.fd[0], 2, ~0ULL));
	EXPECT_EQ(-EBUSY, raw_stripe(c.fd[0], COLL_MAX_LINKS, 1));
	EXPECT_EQ(0, raw_stripe(c.fd[0], COLL_MAX_LINKS, ~0ULL));
	raw_barrier(&p.cmd);
	EXPECT_EQ(0, raw_submit(c.fd[1], &p.cmd));
	pthread_join(p.thread, NULL);
	EXPECT_EQ(0, p.result);
	EXPECT_EQ(0, raw_stripes(&c, 1, 0));
	EXPECT_EQ(0, sum(&c, COUNT));
	EXPECT_EQ(0, raw_abort(c.fd[0], 1));
	EXPECT_EQ(-ESHUTDOWN, raw_stripe(c.fd[0], 2, 0));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
