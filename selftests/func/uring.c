// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives as plain 64-byte SQEs of an application's own ring: linked, overwritten after the
 * submission, in turns with ioctl, and wrong ones.
 */
#include "uring.h"

/* Links: the next SQE is issued when the one before has completed. */
TEST(linked)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint64_t ud;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (r = 0; r < 2; r++) {
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, 8, 300, 16, 0));
		for (i = 0; i < 8; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&u[r].ring);

			ring_prep(sqe, c.fd[r], &u[r].cmds[i], i);
			if (i < 7)
				sqe->flags |= IOSQE_IO_LINK;
		}
		ASSERT_EQ(8, io_uring_submit(&u[r].ring));
	}
	/* this task has both rings: it has to enter both, so that their links go on */
	for (i = 0; i < 8; i++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, next_cqe(&u[r].ring, &ud));
			EXPECT_EQ(i, ud);
		}
	}
	EXPECT_EQ(0, urank_wrong(&u[0], 2));
	for (r = 0; r < 2; r++)
		urank_exit(&u[r]);
	raw_stop(&c);
}

/* The command runs as it was submitted, whatever happens to its memory then. */
TEST(overwritten_right_after_submit)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++) {
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, 16, 2000, 16, 0));
		for (i = 0; i < 16; i++)
			ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r],
				  &u[r].cmds[i], i);
		ASSERT_EQ(16, io_uring_submit(&u[r].ring));
		memset(u[r].cmds, 0xff, 16 * sizeof(struct coll_cmd));
		memset(u[r].ring.sq.sqes, 0xff, 16 * 64);
	}
	for (r = 0; r < 2; r++) {
		EXPECT_TRUE(all_good(&u[r].ring, 0, 1, 16));
		EXPECT_EQ(0, urank_wrong(&u[r], 2));
		urank_exit(&u[r]);
	}
	raw_stop(&c);
}

/* ioctl and io_uring in turns are one sequence. */
TEST(mixed_with_ioctl)
{
	struct urank u;
	struct raw_comm c;
	unsigned int i;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_TRUE(urank_init(&u, c.fd[0], 0, 40, 100, 8, 0));
	for (i = 0; i < 40; i++) {
		if (i & 1) {
			EXPECT_EQ(0, raw_submit(c.fd[0], &u.cmds[i]));
			continue;
		}
		ring_prep(io_uring_get_sqe(&u.ring), c.fd[0], &u.cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u.ring));
	}
	EXPECT_TRUE(all_good(&u.ring, 0, 2, 20));
	EXPECT_EQ(0, urank_wrong(&u, 1));
	EXPECT_EQ(40, test_posted(&c, 0));
	urank_exit(&u);
	raw_stop(&c);
}

/* Bad commands: one CQE each, with the error, and no harm done. */
TEST(bad_commands)
{
	struct coll_sqe good = { .len = sizeof(struct coll_cmd) };
	struct io_uring_sqe *sqe;
	struct coll_sqe cs;
	struct urank u;
	struct raw_comm c;
	uint32_t op;
	uint64_t ud;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_TRUE(urank_init(&u, c.fd[0], 0, 1, 10, 8, 0));
	good.arg = (uintptr_t)u.cmds;
#define BAD(error, change) do {						\
	sqe = io_uring_get_sqe(&u.ring);				\
	ring_prep(sqe, c.fd[0], u.cmds, 9);				\
	cs = good;							\
	op = COLL_URING_SUBMIT;						\
	change;								\
	memcpy((char *)sqe + RING_CMD_BYTES, &cs, sizeof(cs));		\
	memcpy((char *)sqe + RING_CMD_OP, &op, sizeof(op));		\
	ASSERT_EQ(1, io_uring_submit(&u.ring));				\
	EXPECT_EQ(-(error), next_cqe(&u.ring, &ud)) TH_LOG("%s", #change); \
	EXPECT_EQ(9, ud);						\
} while (0)
	BAD(EINVAL, cs.flags = 1);
	BAD(EINVAL, cs.flags = 1U << 31);
	BAD(EINVAL, cs.len = 0);
	BAD(EINVAL, cs.len = 119);
	BAD(EINVAL, cs.len = ~0U);
	BAD(EFAULT, cs.arg = 0);
	BAD(EFAULT, cs.arg = ~0ULL - 7);
	BAD(EFAULT, cs.arg = 0xffff888000000000ULL);
	BAD(EOPNOTSUPP, op = 0);
	BAD(EOPNOTSUPP, op = COLL_IOC_SUBMIT);
	EXPECT_TRUE(quiet(&u.ring));
	BAD(0, (void)0);
	EXPECT_EQ(1, test_posted(&c, 0));
	urank_exit(&u);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
