// SPDX-License-Identifier: GPL-2.0
/* Collectives in every kind of ring: one CQE each, and the right result. */
#include "uring.h"

/* Kinds of rings. Those a kernel does not have are passed over. */
struct kind {
	const char *name;
	unsigned int setup;
	unsigned int sqe;
	bool fixed;
};

static const struct kind kinds[] = {
	{ "plain", 0, 0, false },
	{ "fixed file", 0, 0, true },
	{ "async", 0, IOSQE_ASYNC, false },
	{ "async, fixed file", 0, IOSQE_ASYNC, true },
	{ "SQE128", IORING_SETUP_SQE128, 0, false },
	{ "CQE32", IORING_SETUP_CQE32, 0, false },
	{ "COOP_TASKRUN", IORING_SETUP_COOP_TASKRUN, 0, false },
	{ "DEFER_TASKRUN", IORING_SETUP_SINGLE_ISSUER |
	  IORING_SETUP_DEFER_TASKRUN, 0, false },
	{ "SQPOLL", IORING_SETUP_SQPOLL, 0, false },
	{ "SQPOLL, fixed file", IORING_SETUP_SQPOLL, 0, true },
	{ "IOPOLL", IORING_SETUP_IOPOLL, 0, false },
};

/*
 * Was the SQE given to the kernel? io_uring_submit() returns how many SQEs the kernel has not
 * taken off the ring. The thread of SQPOLL takes one off after its CQE, so that the SQE
 * before this one may count as well.
 */
static bool submit_kind(struct urank *u, const struct kind *k, unsigned int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	int ret;

	ring_prep(sqe, k->fixed ? 0 : u->fd, &u->cmds[i], i);
	if (k->setup & IORING_SETUP_SQE128)
		memset((char *)sqe + 64, 0, 64);
	sqe->flags |= k->sqe | (k->fixed ? IOSQE_FIXED_FILE : 0);
	ret = io_uring_submit(&u->ring);
	return ret == 1 || (ret == 2 && k->setup & IORING_SETUP_SQPOLL);
}

static void try_kind(struct __test_metadata *_metadata, const struct kind *k)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint64_t ud;
	uint32_t r;
	int ret[2];

	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++) {
		/* All kernels from 6.1 on have them. */
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, 3, 5000, 8, k->setup)) {
			TH_LOG("%s", k->name);
		}
		if (k->fixed)
			ASSERT_EQ(0, io_uring_register_files(&u[r].ring, &c.fd[r], 1));
	}
	for (i = 0; i < 3; i++) {
		for (r = 0; r < 2; r++)
			ASSERT_TRUE(submit_kind(&u[r], k, i)) TH_LOG("%s", k->name);
		for (r = 0; r < 2; r++) {
			ret[r] = next_cqe(&u[r].ring, &ud);
			EXPECT_EQ(i, ud);
		}
		EXPECT_EQ(ret[0], ret[1]);
		EXPECT_TRUE(ret[0] == 0 || (ret[0] == -EOPNOTSUPP &&
					    k->setup & IORING_SETUP_IOPOLL)) {
			TH_LOG("%s: %d", k->name, ret[0]);
		}
	}
	for (r = 0; r < 2; r++) {
		if (!(k->setup & IORING_SETUP_IOPOLL))
			EXPECT_TRUE(quiet(&u[r].ring)) TH_LOG("%s", k->name);
		if (!ret[0])
			EXPECT_EQ(0, urank_wrong(&u[r], 2)) TH_LOG("%s", k->name);
		urank_exit(&u[r]);
	}
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

TEST(kinds_of_rings)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		try_kind(_metadata, &kinds[i]);
}

TEST_HARNESS_MAIN
