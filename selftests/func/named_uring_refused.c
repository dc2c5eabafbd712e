// SPDX-License-Identifier: GPL-2.0
/*
 * A group that is posted by io_uring is refused, and the root, which the test plays, does not
 * answer. Meanwhile other commands of the ring go on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "ring.h"
#include "say.h"

#define MEMBERS	3U
#define DIGEST	0x1234567800000001ULL

enum { POSTS = 1, OTHER };

static char names[MEMBERS][8];
static struct coll_tensor group[MEMBERS];
static struct coll_tensor_post post;
static struct coll_cmd barrier;

static void make_group(void)
{
	uint32_t k;

	raw_barrier(&barrier);
	for (k = 0; k < MEMBERS; k++) {
		snprintf(names[k], sizeof(names[k]), "g%u", k);
		raw_tensor(&group[k], names[k], &barrier, k);
		group[k].group = DIGEST;
		group[k].members = MEMBERS;
	}
}

static void prep_post(struct io_uring *ring, int fd, uint32_t nr)
{
	post = (struct coll_tensor_post){
		.tensors = (uintptr_t)group, .nr = nr, .size = sizeof(group[0]),
	};
	ring_prep_op(io_uring_get_sqe(ring), fd, COLL_URING_TENSOR_POST, &post, sizeof(post), POSTS);
}

static void prep_other(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_nop(sqe);
	sqe->user_data = OTHER;
}

/* The next CQE. Return: its user_data; 0: none within 20 s. */
static uint64_t next(struct io_uring *ring, int *res)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	struct io_uring_cqe *cqe;
	uint64_t which;

	if (io_uring_wait_cqe_timeout(ring, &cqe, &ts))
		return 0;
	which = cqe->user_data;
	*res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return which;
}

/* Read until the real node has asked for the end of all members. */
static bool hear_fails(struct peer *p)
{
	struct coll_coord_rec r;
	struct coll_frame f;
	uint32_t at, n, fails = 0;

	while (fails < MEMBERS && peer_read(p, 0, &f, 10000)) {
		for (at = 0; f.type == COLL_FRAME_TENSOR && at < f.length; at += n) {
			n = coll_coord_get(p->payload + at, f.length - at, &r);
			if (!n)
				return false;
			fails += r.kind == COLL_FAIL;
		}
	}
	return fails == MEMBERS;
}

static void end_all(struct __test_metadata *_metadata, struct peer *p)
{
	struct coll_coord_rec r;
	uint32_t k;

	for (k = 0; k < MEMBERS; k++) {
		r = say_record(COLL_ORDER_BAD, k + 1, 0);
		say_rename(&r, names[k]);
		r.has_params = false;
		r.bad.cause = COLL_BAD_GROUP;
		r.bad.group[0] = DIGEST;
		ASSERT_TRUE(say_one(p, &r));
	}
}

static void refused(struct __test_metadata *_metadata, uint32_t flags)
{
	struct io_uring_params params = { .flags = flags };
	struct coll_tensor_result res[MEMBERS];
	struct io_uring ring;
	struct peer p;
	int ret = 0;

	make_group();
	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, io_uring_queue_init_params(8, &ring, &params));
	group[MEMBERS - 1].cmd = 0;
	prep_post(&ring, p.c.fd[0], MEMBERS);
	prep_other(&ring);
	ASSERT_EQ(2, io_uring_submit(&ring));
	/* The root has not answered yet. */
	EXPECT_EQ(OTHER, next(&ring, &ret));
	EXPECT_EQ(0, ret);
	ASSERT_TRUE(hear_fails(&p));
	prep_other(&ring);
	ASSERT_EQ(1, io_uring_submit(&ring));
	EXPECT_EQ(OTHER, next(&ring, &ret));
	end_all(_metadata, &p);
	EXPECT_EQ(POSTS, next(&ring, &ret));
	EXPECT_EQ(-EFAULT, ret);
	EXPECT_EQ(MEMBERS - 1, post.posted);
	EXPECT_EQ((int)MEMBERS - 1, raw_collect(p.c.fd[0], res, MEMBERS, MEMBERS - 1,
						20000000000ULL));
	EXPECT_EQ(-ECANCELED, res[0].result);
	/* As soon as the post is over, the group can be posted again. */
	group[MEMBERS - 1].cmd = (uintptr_t)&barrier;
	prep_post(&ring, p.c.fd[0], MEMBERS);
	EXPECT_EQ(1, io_uring_submit(&ring));
	EXPECT_EQ(POSTS, next(&ring, &ret));
	EXPECT_EQ(0, ret);
	EXPECT_EQ(MEMBERS, post.posted);
	io_uring_queue_exit(&ring);
	peer_stop(&p);
}

TEST(the_submitter_does_not_wait)
{
	refused(_metadata, 0);
}

TEST(nor_does_the_thread_that_polls)
{
	refused(_metadata, IORING_SETUP_SQPOLL);
}

TEST_HARNESS_MAIN
