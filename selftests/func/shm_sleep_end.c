// SPDX-License-Identifier: GPL-2.0
/*
 * A rank sleeps until all ranks of the node have come to a position in their shared memory, and one
 * does not come: a close, a rank that leaves, a failure, a deadline or a signal ends the sleep.
 */
#include <signal.h>

#include "shm_sleeper.h"

/* Another thread closes the file, of which the sleeper holds the last reference. */
TEST_F(shm, close_ends_a_sleep)
{
	struct sleeper s;

	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	close_rank(&self->c, 0);
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(EHOSTDOWN, header(&self->v[1])->failed);
}

TEST_F(shm, a_sleeper_hears_of_who_leaves)
{
	struct sleeper s;

	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	close_rank(&self->c, 1);
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(0, header(&self->v[0])->failed);
}

TEST_F(shm, a_sleeper_hears_of_a_failure)
{
	struct sleeper s;

	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	ASSERT_EQ(0, raw_abort(self->v[1].fd, 1));
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(ESHUTDOWN, header(&self->v[0])->failed);
}

TEST_F(shm, a_deadline_ends_the_communicator)
{
	struct coll_status st;
	struct sleeper s;

	put_pos(&self->v[0], 1);
	put_pos(&self->v[2], 1);
	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	ASSERT_EQ(0, raw_status(self->v[0].fd, &st));
	EXPECT_EQ(1, st.late_rank);
	EXPECT_EQ(1, st.nr_late);
	EXPECT_EQ(-ETIMEDOUT, shm_wait(self->v[2].fd, 1, 100 * MS));
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(ETIMEDOUT, header(&self->v[0])->failed);
	ASSERT_EQ(0, raw_status(self->v[0].fd, &st));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, st.cause.kind);
	EXPECT_EQ(1, st.cause.rank);
	EXPECT_EQ(1, st.cause.seq);
}

static void nothing(int sig)
{
}

TEST_F(shm, a_signal_ends_the_sleep)
{
	struct sigaction act = { .sa_handler = nothing };
	struct sleeper s;

	sigaction(SIGUSR1, &act, NULL);
	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	pthread_kill(s.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, sleep_end(&s));
}

TEST_HARNESS_MAIN
