// SPDX-License-Identifier: GPL-2.0
/*
 * A rank closes its file, or aborts, while named collectives are pending. Each pending one of the
 * other rank ends with an error, once.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "named_pair.h"
#include "util.h"

TEST(a_rank_leaves)
{
	struct coll_tensor_result res;
	struct coll_status s;
	uint32_t nodes, leaver;
	bool before;
	struct pair p;
	int n;

	for (n = 0; n < 8; n++) {
		nodes = 1 + n % 2;
		leaver = n / 2 % 2;
		before = n / 4;
		ASSERT_EQ(0, pair_start(&p, nodes));
		expect_sum(_metadata, &p, "first");
		pair_make(&p, "never", 3);
		if (before)
			ASSERT_EQ(0, raw_post(p.c.fd[!leaver], &p.t[!leaver], 1, NULL));
		close(p.c.fd[leaver]);
		p.c.fd[leaver] = -1;
		if (!before)
			ASSERT_EQ(0, raw_post(p.c.fd[!leaver], &p.t[!leaver], 1, NULL));
		expect_result(_metadata, &p, !leaver, EHOSTDOWN, &res);
		EXPECT_EQ(COLL_BAD_NONE, res.cause);
		ASSERT_EQ(0, raw_status(p.c.fd[!leaver], &s));
		EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
		EXPECT_EQ(leaver, s.cause.rank);
		raw_stop(&p.c);
	}
}

TEST(abort_ends_all)
{
	struct coll_tensor_result res;
	uint32_t nodes, r;
	struct pair p;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, pair_start(&p, nodes));
			pair_make(&p, "pending", 3000);
			ASSERT_EQ(0, raw_post(p.c.fd[r], &p.t[r], 1, NULL));
			ASSERT_EQ(0, raw_abort(p.c.fd[!r], 5));
			expect_result(_metadata, &p, r, ESHUTDOWN, &res);
			EXPECT_EQ(-ESHUTDOWN, raw_post(p.c.fd[r], &p.t[r], 1, NULL));
			raw_stop(&p.c);
		}
	}
}

TEST(closing_with_pending_ones)
{
	struct coll_tensor_result res;
	uint32_t nodes, r;
	struct pair p;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, pair_start(&p, nodes));
			pair_make(&p, "mine", 3000);
			ASSERT_EQ(0, raw_post(p.c.fd[r], &p.t[r], 1, NULL));
			pair_make(&p, "yours", 2000);
			ASSERT_EQ(0, raw_post(p.c.fd[!r], &p.t[!r], 1, NULL));
			close(p.c.fd[r]);
			p.c.fd[r] = -1;
			expect_result(_metadata, &p, !r, EHOSTDOWN, &res);
			raw_stop(&p.c);
		}
	}
}

static volatile pid_t waiter;

/* Wait without limit for one result. Return: that result; 1000: there is none; or -errno. */
static void *wait_for_result(void *arg)
{
	struct coll_tensor_result res;
	struct coll_tensor_wait w = {
		.results = (uintptr_t)&res, .nr = 1, .min = 1, .timeout_ns = 0,
	};

	waiter = syscall(SYS_gettid);
	if (ioctl(*(int *)arg, COLL_IOC_TENSOR_WAIT, &w))
		return (void *)(long)-errno;
	return (void *)(long)(w.got == 1 ? res.result : 1000);
}

/*
 * Another thread waits in TENSOR_WAIT when the last descriptor is closed. The other rank, which waits
 * for something else, hears of it, and so does that thread.
 */
TEST(closing_while_another_waits)
{
	struct coll_status s;
	uint32_t nodes;
	struct pair p;
	pthread_t t;
	void *ret;
	int fd;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		pair_make(&p, "mine", 3000);
		fd = p.c.fd[0];
		ASSERT_EQ(0, raw_post(fd, &p.t[0], 1, NULL));
		waiter = 0;
		ASSERT_EQ(0, pthread_create(&t, NULL, wait_for_result, &fd));
		while (!waiter)
			test_sleep_us(200);
		ASSERT_TRUE(test_asleep(waiter));
		close(fd);
		p.c.fd[0] = -1;
		ASSERT_EQ(0, raw_status_failed(p.c.fd[1], &s)) TH_LOG("%u nodes", nodes);
		EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
		EXPECT_EQ(0, s.cause.rank);
		pthread_join(t, &ret);
		EXPECT_EQ(-ECANCELED, (long)ret);
		raw_stop(&p.c);
	}
}

TEST_HARNESS_MAIN
