// SPDX-License-Identifier: GPL-2.0
/* A command in an application's own ring may complete before its submission returns. */
#include <pthread.h>

#include "uring.h"

#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

/*
 * The rank that comes last has its CQE when the submission returns. With DEFER_TASKRUN, a CQE that
 * is left to the task comes only with a call that waits for it.
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

#define SPIN_US	"/sys/module/coll/parameters/spin_us"
#define SPINS	300
/* How long the other rank waits before it submits: longer than a submission takes. */
#define LATER_NS	200000

/* Commands that rank 0 has begun to submit. */
static unsigned int begun;

static void *submit_later(void *arg)
{
	struct urank *u = arg;
	unsigned int i;
	uint64_t now;

	for (i = 0; i < SPINS; i++) {
		while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) <= i)
			;
		for (now = test_now_ns(); test_now_ns() < now + LATER_NS; )
			;
		if (raw_submit(u->fd, &u->cmds[i]))
			return u;
	}
	return NULL;
}

/* Return: how many CQEs came with the submission, though the other rank comes later. */
static unsigned int ready_at_once(struct __test_metadata *_metadata, struct urank *u)
{
	unsigned int i, ready = 0;
	pthread_t thread;
	void *failed;

	begun = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_later, &u[1]));
	for (i = 0; i < SPINS; i++) {
		u[0].cmds[i].flags |= COLL_CMD_SPIN;
		ring_prep(io_uring_get_sqe(&u[0].ring), u[0].fd, &u[0].cmds[i], i);
		__atomic_store_n(&begun, i + 1, __ATOMIC_RELEASE);
		ASSERT_EQ(1, io_uring_submit(&u[0].ring));
		ready += io_uring_cq_ready(&u[0].ring);
		EXPECT_TRUE(all_good(&u[0].ring, i, 1, 1));
	}
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
	TH_LOG("%u of %u CQEs came with the submission", ready, SPINS);
	return ready;
}

/* With COLL_CMD_SPIN the rank that comes first has its CQE then, too, if the other comes soon. */
TEST(awake_when_submitted)
{
	unsigned int i, ready = 0;
	struct urank u[2];
	struct raw_comm c;

	/* The measured time may be shorter than the other rank waits. */
	ASSERT_TRUE(test_put(SPIN_US, "1000"));
	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_TRUE(urank_init(&u[0], c.fd[0], 0, SPINS, 10, 8, DEFER));
	ASSERT_TRUE(urank_init(&u[1], c.fd[1], 1, SPINS, 10, 8, 0));
	/* On a loaded machine other threads may want the CPU: then it does not poll. */
	for (i = 0; i < 5 && ready < SPINS / 10; i++)
		ready = ready_at_once(_metadata, u);
	/* With one CPU the other rank cannot run while this one polls. */
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		EXPECT_LE(SPINS / 10, ready);
	test_put(SPIN_US, "-1");
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, urank_wrong(&u[i], 2));
		urank_exit(&u[i]);
	}
	/* The other rank does not come: the submission still returns. */
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
