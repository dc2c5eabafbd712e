// SPDX-License-Identifier: GPL-2.0
/*
 * A rank sleeps until all ranks of the node have come to a position in their shared memory: it is
 * woken then, or sees it by itself.
 */
#include "shm_sleeper.h"

TEST_F(shm, a_sleeper_is_woken_when_all_are_there)
{
	struct view *v = self->v;
	struct sleeper s;

	put_pos(&v[0], 7);
	ASSERT_TRUE(sleep_begin(&s, v[0].fd, 7, 0));
	EXPECT_EQ(1, s.result);
	put_pos(&v[1], 7);
	EXPECT_EQ(0, shm_wake(v[1].fd));
	test_sleep_us(50000);
	EXPECT_EQ(1, s.result);
	put_pos(&v[2], 7);
	EXPECT_EQ(0, shm_wake(v[2].fd));
	EXPECT_EQ(0, sleep_end(&s));
}

TEST_F(shm, a_sleeper_hears_of_who_goes_by_the_kernel)
{
	struct coll_cmd cmd, cmds[RANKS];
	int results[RANKS];
	struct sleeper s;

	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	raw_barrier(&cmd);
	ASSERT_EQ(1, raw_post_cmd(self->v[2].fd, &cmd, 0));
	EXPECT_EQ(0, sleep_end(&s));
	/* The op of rank 2 was its first one: the others post theirs, too. */
	raw_barrier(&cmds[0]);
	raw_barrier(&cmds[1]);
	self->c.size = 2;
	EXPECT_EQ(0, raw_all(&self->c, cmds, results));
	self->c.size = RANKS;
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(0, results[1]);
	EXPECT_EQ(1, rank_of(&self->v[0], 2)->completed);
}

/* The slots say it all, but whoever came last has been stopped before it could wake anybody. */
TEST_F(shm, a_sleeper_looks_by_itself)
{
	struct sleeper s;
	uint32_t r;

	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	for (r = 0; r < RANKS; r++)
		put_pos(&self->v[r], 1);
	EXPECT_EQ(0, sleep_end(&s));
}

/* Another thread of this rank has given an op to the kernel: both ranks have posted one now. */
TEST_F(shm, a_sleeper_knows_what_was_posted_before)
{
	struct coll_cmd cmd;
	struct sleeper s;

	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	raw_barrier(&cmd);
	ASSERT_EQ(1, raw_post_cmd(self->v[0].fd, &cmd, 0));
	test_sleep_us(50000);
	EXPECT_EQ(1, s.result);
	ASSERT_EQ(1, raw_post_cmd(self->v[2].fd, &cmd, 0));
	EXPECT_EQ(0, sleep_end(&s));
}

/* Another thread of this rank has ended the op, and has begun one that has the same slot. */
TEST_F(shm, a_sleeper_is_late)
{
	struct sleeper s;
	uint32_t r;

	put_pos(&self->v[0], 1);
	ASSERT_TRUE(sleep_begin(&s, self->v[0].fd, 1, 0));
	EXPECT_EQ(1, s.result);
	for (r = 0; r < RANKS; r++)
		put_pos(&self->v[r], 1 + COLL_SHM_SLOTS);
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(0, shm_wait(self->v[0].fd, 1, 10 * SECOND));
	EXPECT_EQ(0, header(&self->v[0])->failed);
}

TEST_F(shm, a_look_ends_and_nothing_else)
{
	struct coll_shm_wait w = {
		.pos = 1, .timeout_ns = 20 * MS, .flags = COLL_SHM_WAIT_LOOK,
	};

	put_pos(&self->v[0], 1);
	put_pos(&self->v[2], 1);
	ASSERT_EQ(-1, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
	EXPECT_EQ(ETIME, errno);
	EXPECT_EQ(0, header(&self->v[0])->failed);
	put_pos(&self->v[1], 1);
	EXPECT_EQ(0, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
}

TEST_F(shm, few_may_sleep)
{
	struct sleeper s[COLL_SHM_SLEEPERS];
	int i;

	for (i = 0; i < COLL_SHM_SLEEPERS; i++)
		ASSERT_TRUE(sleep_begin(&s[i], self->v[0].fd, 1, 0));
	EXPECT_EQ(-EBUSY, shm_wait(self->v[0].fd, 1, 0));
	EXPECT_EQ(-ETIMEDOUT, shm_wait(self->v[1].fd, 1, MS));
	for (i = 0; i < COLL_SHM_SLEEPERS; i++)
		EXPECT_EQ(0, sleep_end(&s[i]));
}

TEST_HARNESS_MAIN
