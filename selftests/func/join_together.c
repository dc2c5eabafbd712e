// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that join at the same time. Each may make the group, and one of them is used. So a user with
 * room for one communicator can have it, whatever the order of the ranks.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"
#include "util.h"

#define RANKS	4
#define ROUNDS	60
/* Each round has a user of its own: groups count until they have really gone. */
#define FIRST_UID	300000

static struct raw_comm comm;
static atomic_int here;
static int result[RANKS];

static void *join(void *arg)
{
	uint32_t r = (uint32_t)(uintptr_t)arg;

	here++;
	while (here < RANKS)
		sched_yield();
	result[r] = raw_join(comm.fd[r], &comm, r);
	return NULL;
}

/* Return: number of ranks that could not join, or RANKS + 1. */
static int join_all(uid_t uid)
{
	pthread_t thread[RANKS];
	int bad = 0;
	uintptr_t r;

	if (setresuid(uid, uid, uid))
		return RANKS + 1;
	raw_plan(&comm, RANKS, 1);
	for (r = 0; r < RANKS; r++) {
		comm.fd[r] = raw_open();
		if (comm.fd[r] < 0)
			return RANKS + 1;
	}
	for (r = 0; r < RANKS; r++)
		if (pthread_create(&thread[r], NULL, join, (void *)r))
			return RANKS + 1;
	for (r = 0; r < RANKS; r++) {
		pthread_join(thread[r], NULL);
		bad += result[r] != 0;
	}
	return bad;
}

TEST(one_group_is_counted)
{
	int status, round;
	struct stat st;
	pid_t pid;

	ASSERT_EQ(0, stat("/dev/coll", &st));
	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	ASSERT_TRUE(test_put("/sys/module/coll/parameters/max_groups", "1"));
	for (round = 0; round < ROUNDS; round++) {
		pid = fork();
		if (!pid)
			_exit(join_all(FIRST_UID + round));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFEXITED(status));
		EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("round %d", round);
	}
	EXPECT_TRUE(test_put("/sys/module/coll/parameters/max_groups", "16384"));
	EXPECT_EQ(0, chmod("/dev/coll", st.st_mode & 07777));
}

TEST_HARNESS_MAIN
