/* SPDX-License-Identifier: GPL-2.0 */
/* Two ranks of one process. Rank 0 has an op in flight when something happens to it. */
#ifndef ENDS_H
#define ENDS_H

#include <stdint.h>

#include "harness.h"
#include "raw.h"
#include "ring.h"
#include "util.h"

#define WATCH_MS	100	/* longer than COLL_WATCH_FIRST of kmod/front/watch.c */

/* Start two ranks. Rank 0 has a barrier in flight in @ring. */
static inline void begin(struct __test_metadata *_metadata, struct raw_comm *c,
			 struct io_uring *ring)
{
	struct coll_cmd cmd;

	ASSERT_EQ(0, raw_start(c, 2, 1));
	ASSERT_EQ(0, io_uring_queue_init(4, ring, 0));
	raw_barrier(&cmd);
	ring_prep(io_uring_get_sqe(ring), c->fd[0], &cmd, 1);
	ASSERT_EQ(1, io_uring_submit(ring));
}

/* The result of the barrier, or 1 if there is none within 10 s. */
static inline int collect(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(ring, &cqe, &ts) ? 1 : cqe->res;
}

/* Both ranks learn, within the time of a look after @since, that rank 0 has closed its file. */
static inline void expect_closed(struct __test_metadata *_metadata, struct raw_comm *c,
				 struct io_uring *ring, uint64_t since)
{
	struct coll_status s;

	EXPECT_EQ(-ECANCELED, collect(ring)) TH_LOG("HANG: nobody has seen the last close()");
	EXPECT_FALSE(test_late(since + WATCH_MS * 1000000ULL, test_now_ns()));
	ASSERT_EQ(0, raw_status_failed(c->fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(0, s.cause.rank);
}

/* The kernel does not take rank 0 for ended. */
static inline void expect_alive(struct __test_metadata *_metadata, struct raw_comm *c)
{
	struct coll_status s;

	test_sleep_us(2 * WATCH_MS * 1000);
	ASSERT_EQ(0, raw_status(c->fd[1], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state) {
		TH_LOG("taken for the end: cause %u of rank %d", s.cause.kind, (int)s.cause.rank);
	}
}

/* Rank 0 has not ended: rank 1 posts, and the barrier ends well. */
static inline void end_well(struct __test_metadata *_metadata, struct raw_comm *c,
			    struct io_uring *ring)
{
	struct coll_cmd cmd;

	expect_alive(_metadata, c);
	raw_barrier(&cmd);
	EXPECT_EQ(0, raw_submit(c->fd[1], &cmd));
	EXPECT_EQ(0, collect(ring));
	io_uring_queue_exit(ring);
	raw_stop(c);
}

#endif /* ENDS_H */
