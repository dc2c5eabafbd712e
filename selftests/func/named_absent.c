// SPDX-License-Identifier: GPL-2.0
/*
 * A parent that lies starts tensors on a node whose ranks have all joined: without end, or one of
 * any length. No rank has posted them, so nothing else bounds the memory that they take.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "say.h"
#include "util.h"

#define CGROUP	"/sys/fs/cgroup/coll-absent"
#define LIMIT	"67108864"

#define HONEST	64	/* any root may have so many in flight */
#define MANY	1000

static bool starts(struct peer *p, uint32_t from, uint32_t to)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 0, 0);
	char name[16];

	say_sum(&r, 9);
	r.contributors = 1;
	for (r.id = from + 1; r.id <= to; r.id++) {
		snprintf(name, sizeof(name), "n%u", r.id);
		say_rename(&r, name);
		if (!say_one(p, &r))
			return false;
	}
	return true;
}

TEST(tensors_without_end)
{
	const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };
	struct coll_tensor_result res;
	struct coll_status s;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, raw_post(p.c.fd[0], &join, 1, NULL));
	ASSERT_TRUE(starts(&p, 0, HONEST));
	test_sleep_us(100000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_NE(COLL_STATE_FAILED, s.state);
	starts(&p, HONEST, MANY);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	peer_stop(&p);
}

static bool starts_long(struct peer *p, uint64_t count)
{
	const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 1, 0);

	say_sum(&r, count);
	r.contributors = 1;
	return !peer_start_named(p, 1) && !raw_post(p->c.fd[0], &join, 1, NULL) && say_one(p, &r);
}

/* In a control group: nobody is killed, but the communicator fails. Return: 0 if so. */
static int has_no_memory(void)
{
	struct coll_tensor_result res;
	struct coll_status s;
	struct peer p;

	/* For a moment there is no memory for this process either: it waits, and is not killed. */
	if (!test_put("/proc/self/oom_score_adj", "-1000") ||
	    !test_put(CGROUP "/cgroup.procs", "0") || !starts_long(&p, 1 << 28))
		return 1;
	if (raw_status_failed(p.c.fd[0], &s) || s.cause.kind != COLL_CAUSE_MEMORY)
		return 2;
	if (say_result(&p, &res) != -ENOMEM)
		return 3;
	peer_stop(&p);
	return 0;
}

TEST(a_long_one)
{
	int status;
	pid_t pid;

	test_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) || !test_put(CGROUP "/memory.max", LIMIT)) {
		rmdir(CGROUP);
		SKIP(return, "no control groups for memory");
	}
	pid = fork();
	if (!pid)
		_exit(has_no_memory());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_TRUE(test_remove_group(CGROUP));
	test_put("/sys/fs/cgroup/cgroup.subtree_control", "-memory");
}

/* The rank goes while the long tensor is being made: close() does not wait for the rest. */
TEST(the_rank_goes)
{
	uint64_t since;
	struct peer p;
	int i;

	/* test_late() excuses one event, which the machine may have delayed. */
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(starts_long(&p, 100 << 20));
		test_sleep_us(20000);
		since = test_now_ns();
		close(p.c.fd[0]);
		p.c.fd[0] = -1;
		TH_LOG("close() took %llu us", (unsigned long long)(test_now_ns() - since) / 1000);
		EXPECT_FALSE(test_late(since, test_now_ns()));
		peer_stop(&p);
	}
}

TEST_HARNESS_MAIN
