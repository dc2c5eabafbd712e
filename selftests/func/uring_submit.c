// SPDX-License-Identifier: GPL-2.0
/* A command in an application's own ring may complete before its submission returns. */
#include <pthread.h>

#include "uring.h"

#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

/*
 * The rank that comes last has its CQE when the submission returns. In such a ring, what is left
 * for the task comes only with a call that waits for it.
 */
TEST(complete_when_submitted)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (r = 0; r < 2; r++)
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, MANY, 10, 8, DEFER));
	for (i = 0; i < MANY; i++) {
		r = i % 2;
		ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r], &u[r].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[r].ring));
		EXPECT_EQ(0, io_uring_cq_ready(&u[r].ring));
		r = !r;
		ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r], &u[r].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[r].ring));
		EXPECT_EQ(1, io_uring_cq_ready(&u[r].ring));
		for (r = 0; r < 2; r++)
			EXPECT_TRUE(all_good(&u[r].ring, i, 1, 1));
	}
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, urank_wrong(&u[r], 2));
		urank_exit(&u[r]);
	}
	raw_stop(&c);
}

#define SPINS	300

static void *submit_by_ioctl(void *arg)
{
	struct urank *u = arg;
	unsigned int i;

	for (i = 0; i < SPINS; i++)
		if (raw_submit(u->fd, &u->cmds[i]))
			return u;
	return NULL;
}

/* With COLL_CMD_SPIN the rank that comes first has its CQE then, too, if the other comes soon. */
TEST(awake_when_submitted)
{
	unsigned int i, ready = 0;
	struct urank u[2];
	struct raw_comm c;
	pthread_t thread;
	void *failed;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_TRUE(urank_init(&u[0], c.fd[0], 0, SPINS, 10, 8, DEFER));
	ASSERT_TRUE(urank_init(&u[1], c.fd[1], 1, SPINS, 10, 8, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_by_ioctl, &u[1]));
	for (i = 0; i < SPINS; i++) {
		u[0].cmds[i].flags |= COLL_CMD_SPIN;
		ring_prep(io_uring_get_sqe(&u[0].ring), c.fd[0], &u[0].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[0].ring));
		ready += io_uring_cq_ready(&u[0].ring);
		EXPECT_TRUE(all_good(&u[0].ring, i, 1, 1));
	}
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
	TH_LOG("%u of %u CQEs came with the submission", ready, SPINS);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, urank_wrong(&u[i], 2));
		urank_exit(&u[i]);
	}
	/* The other one does not come: that has an end. */
	ASSERT_TRUE(urank_init(&u[0], c.fd[0], 0, 1, 10, 8, 0));
	u[0].cmds[0].flags |= COLL_CMD_SPIN;
	ring_prep(io_uring_get_sqe(&u[0].ring), c.fd[0], &u[0].cmds[0], 0);
	ASSERT_EQ(1, io_uring_submit(&u[0].ring));
	EXPECT_EQ(0, io_uring_cq_ready(&u[0].ring));
	EXPECT_EQ(0, raw_abort(c.fd[1], 1));
	urank_exit(&u[0]);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
