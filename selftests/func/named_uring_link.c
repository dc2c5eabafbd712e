// SPDX-License-Identifier: GPL-2.0
/*
 * Commands for named tensors in links. If a thread of io_uring has done a request, it goes on
 * with the next one of the link, so it is the first to issue that command.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
#define ROUNDS	20
#define NOP	100	/* tag of a request that a thread does */

FIXTURE(link)
{
	struct raw_comm c;
	struct io_uring ring;
	struct coll_cmd barrier;
	struct coll_tensor t[3];
	struct coll_tensor_post post[3];
	struct coll_tensor_wait wait[3];
	struct coll_tensor_result res[3];
};

FIXTURE_SETUP(link)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, io_uring_queue_init(16, &self->ring, 0));
	ASSERT_EQ(0, raw_start_named(&self->c, 2, 1));
	raw_barrier(&self->barrier);
}

FIXTURE_TEARDOWN(link)
{
	raw_stop(&self->c);
	io_uring_queue_exit(&self->ring);
}

/* Rank 1 posts @name by ioctl, and later takes its result. */
static int post_other(FIXTURE_DATA(link) *self, const char *name)
{
	struct coll_tensor t;

	raw_tensor(&t, name, &self->barrier, 0);
	return raw_post(self->c.fd[1], &t, 1, NULL);
}

/* Take so many results of rank 1. */
static int take_other(FIXTURE_DATA(link) *self, uint32_t nr)
{
	struct coll_tensor_result res[3];
	struct coll_tensor_wait w = {
		.results = (uintptr_t)res, .nr = nr, .min = nr, .timeout_ns = 20 * SECOND,
	};

	return ioctl(self->c.fd[1], COLL_IOC_TENSOR_WAIT, &w) ? -errno : (int)w.got;
}

static struct io_uring_sqe *prep(FIXTURE_DATA(link) *self, uint32_t op, void *arg, uint32_t len,
				 uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	ring_prep_op(sqe, self->c.fd[0], op, arg, len, tag);
	sqe->flags |= IOSQE_IO_LINK;
	return sqe;
}

/* Tag @k: a post of rank 0 */
static void prep_post(FIXTURE_DATA(link) *self, uint32_t k, const char *name)
{
	raw_tensor(&self->t[k], name, &self->barrier, k);
	self->post[k] = (struct coll_tensor_post){
		.tensors = (uintptr_t)&self->t[k], .nr = 1, .size = sizeof(self->t[k]),
	};
	prep(self, COLL_URING_TENSOR_POST, &self->post[k], sizeof(self->post[k]), k);
}

/* Tag 10 + @k: a wait for one result of rank 0 */
static void prep_wait(FIXTURE_DATA(link) *self, uint32_t k)
{
	self->wait[k] = (struct coll_tensor_wait){
		.results = (uintptr_t)&self->res[k], .nr = 1, .min = 1, .timeout_ns = 20 * SECOND,
	};
	prep(self, COLL_URING_TENSOR_WAIT, &self->wait[k], sizeof(self->wait[k]), 10 + k);
}

static void prep_nop(FIXTURE_DATA(link) *self)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	io_uring_prep_nop(sqe);
	sqe->flags |= IOSQE_ASYNC | IOSQE_IO_LINK;
	sqe->user_data = NOP;
}

/* The result of the next CQE, which has this tag; -EXDEV: it has not, -ETIME: there is none. */
static int next(FIXTURE_DATA(link) *self, uint64_t tag)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(&self->ring, &cqe, &ts);

	if (ret)
		return ret;
	ret = cqe->user_data == tag ? cqe->res : -EXDEV;
	io_uring_cqe_seen(&self->ring, cqe);
	return ret;
}

TEST_F(link, posts_behind_waits)
{
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		memset(self->res, 0xff, sizeof(self->res));
		ASSERT_EQ(0, post_other(self, "a"));
		prep_post(self, 0, "a");
		prep_wait(self, 0);
		prep_post(self, 1, "b");
		prep_wait(self, 1);
		prep_post(self, 2, "c");
		prep_wait(self, 2);
		ASSERT_EQ(6, io_uring_submit(&self->ring));
		EXPECT_EQ(0, next(self, 0));
		EXPECT_EQ(1, next(self, 10));
		EXPECT_EQ(0, self->res[0].result);
		EXPECT_EQ(0, self->res[0].tag);
		EXPECT_EQ(0, next(self, 1));
		ASSERT_EQ(0, post_other(self, "b"));
		EXPECT_EQ(1, next(self, 11));
		EXPECT_EQ(1, self->res[1].tag);
		EXPECT_EQ(0, next(self, 2));
		ASSERT_EQ(0, post_other(self, "c"));
		EXPECT_EQ(1, next(self, 12));
		EXPECT_EQ(2, self->res[2].tag);
		ASSERT_EQ(3, take_other(self, 3));
		ASSERT_EQ(0, _metadata->exit_code);
	}
}

/* A thread does a NOP, and goes on with the command that is linked to it. */
TEST_F(link, behind_what_a_thread_does)
{
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, post_other(self, i % 2 ? "odd" : "even"));
		prep_nop(self);
		prep_post(self, 0, i % 2 ? "odd" : "even");
		prep_nop(self);
		prep_wait(self, 0);
		ASSERT_EQ(4, io_uring_submit(&self->ring));
		EXPECT_EQ(0, next(self, NOP));
		EXPECT_EQ(0, next(self, 0));
		EXPECT_EQ(0, next(self, NOP));
		EXPECT_EQ(1, next(self, 10));
		EXPECT_EQ(1, take_other(self, 1));
		ASSERT_EQ(0, _metadata->exit_code);
	}
}

TEST_HARNESS_MAIN
