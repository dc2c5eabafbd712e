// SPDX-License-Identifier: GPL-2.0
/* What netlink lists of communicators, for how long, and to whom. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"
#include "stalls.h"
#include "util.h"

/* One message has room for about 90. */
#define GROUPS	200U
#define MORE	150U

static struct raw_comm comms[GROUPS], more[MORE];
static uint32_t met, last;

/* Events show tensors of all users. */
TEST(listeners)
{
	int fd = stalls_open(), status;
	pid_t child;

	if (fd < 0)
		SKIP(return, "no netlink family");
	close(fd);
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(2);
		fd = stalls_open();
		_exit(fd >= 0 ? 3 : errno != EPERM);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

static void start_more(uint32_t id, void *arg)
{
	uint32_t i, *failed = arg;

	(void)id;
	for (i = 0; i < MORE && !met; i++)
		*failed |= !!raw_start(&more[i], 1, 1);
	met++;
}

/* A list ends, however many communicators begin meanwhile. */
TEST(groups_begin_while_they_are_listed)
{
	uint32_t i, failed = 0;
	int fd = stalls_open();

	if (fd < 0)
		SKIP(return, "no netlink family");
	for (i = 0; i < GROUPS; i++)
		ASSERT_EQ(0, raw_start(&comms[i], 1, 1)) TH_LOG("group %u", i);
	met = 0;
	EXPECT_EQ(GROUPS, stalls_groups(start_more, &failed));
	EXPECT_EQ(0, failed);
	for (i = 0; i < GROUPS; i++)
		raw_stop(&comms[i]);
	for (i = 0; i < MORE; i++)
		raw_stop(&more[i]);
	close(fd);
}

static void note(uint32_t id, void *arg)
{
	(void)arg;
	last = id;
}

/* A reader of two lists does not take a group for one that has ended. */
TEST(ids)
{
	int fd = stalls_open(), i;
	struct raw_comm c;
	uint32_t before;

	if (fd < 0)
		SKIP(return, "no netlink family");
	for (i = 0, before = 0; i < 20; i++, before = last) {
		ASSERT_EQ(0, raw_start(&c, 1, 1));
		ASSERT_EQ(1, stalls_groups(note, NULL));
		EXPECT_LT(before, last);
		raw_stop(&c);
	}
	close(fd);
}

static void *in_other_host(void *arg)
{
	static const char name[] = "a\033[7mb \xc3\xa4";
	struct raw_comm *c = arg;
	long ret = -1;

	if (!unshare(CLONE_NEWUTS) && !sethostname(name, sizeof(name) - 1))
		ret = raw_start(c, 2, 1);
	return (void *)ret;
}

/* A user may choose the name of the host: no escape sequence gets to a terminal. */
TEST(host_name)
{
	struct coll_status s;
	struct raw_comm c;
	pthread_t t;
	void *ret;

	ASSERT_EQ(0, pthread_create(&t, NULL, in_other_host, &c));
	ASSERT_EQ(0, pthread_join(t, &ret));
	ASSERT_EQ(NULL, ret);
	EXPECT_EQ(0, raw_abort(c.fd[0], 1));
	ASSERT_EQ(0, raw_status(c.fd[1], &s));
	EXPECT_STREQ("a?[7mb???", s.cause.host);
	raw_stop(&c);
}

/* A rank that has left is not one that has not come yet. */
TEST(state_after_a_rank_has_left)
{
	struct coll_status s;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state);
	close(c.fd[1]);
	c.fd[1] = -1;
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(1, s.nr_joined);
	EXPECT_EQ(COLL_STATE_READY, s.state);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
