// SPDX-License-Identifier: GPL-2.0
/* Named collectives by io_uring: arrays of posts, waits, and exactly one CQE for each SQE. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define NAMES	200
#define SECOND	1000000000ULL
#define NONE	(-ETIME)

/**
 * struct job - two ranks on two nodes, with a ring each
 * @sent: SQEs that the kernel has taken
 * @got: CQEs that have come
 */
static struct job {
	struct raw_comm c;
	struct io_uring ring[2];
	uint32_t sent[2], got[2];
	char names[NAMES][24];
	struct coll_cmd cmd[2][NAMES];
	struct coll_tensor t[2][NAMES];
	struct coll_tensor_post post[2];
	struct coll_tensor_wait wait[2];
	struct coll_tensor_result res[2][NAMES];
	int32_t in[2][NAMES], out[2][NAMES];
} job;

static void start(struct __test_metadata *_metadata)
{
	uint32_t r, k, at;

	memset(&job, 0, sizeof(job));
	ASSERT_EQ(0, raw_start_named(&job.c, 2, 2));
	for (r = 0; r < 2; r++) {
		ASSERT_EQ(0, io_uring_queue_init(16, &job.ring[r], 0));
		for (k = 0; k < NAMES; k++) {
			snprintf(job.names[k], sizeof(job.names[k]), "w%u", k);
			job.in[r][k] = (int32_t)(k + 1000 * r);
			raw_allreduce(&job.cmd[r][k], &job.in[r][k], &job.out[r][k], 1, COLL_I32,
				      COLL_OP_SUM);
			/* 7 and 200 have no common divisor */
			at = r ? k * 7 % NAMES : NAMES - 1 - k;
			raw_tensor(&job.t[r][at], job.names[k], &job.cmd[r][k], k);
		}
	}
}

static void stop(void)
{
	io_uring_queue_exit(&job.ring[0]);
	io_uring_queue_exit(&job.ring[1]);
	raw_stop(&job.c);
}

static struct io_uring_sqe *prep(uint32_t r, uint32_t op, void *arg, uint32_t len)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&job.ring[r]);

	ring_prep_op(sqe, job.c.fd[r], op, arg, len, ++job.sent[r]);
	return sqe;
}

static struct io_uring_sqe *prep_post(uint32_t r, uint32_t from, uint32_t nr)
{
	job.post[r] = (struct coll_tensor_post){
		.tensors = (uintptr_t)&job.t[r][from],
		.nr = nr,
		.size = sizeof(job.t[r][0]),
	};
	return prep(r, COLL_URING_TENSOR_POST, &job.post[r], sizeof(job.post[r]));
}

static struct io_uring_sqe *prep_wait(uint32_t r, uint32_t nr, uint32_t min, uint64_t ns)
{
	job.wait[r] = (struct coll_tensor_wait){
		.results = (uintptr_t)job.res[r],
		.nr = nr,
		.min = min,
		.timeout_ns = ns,
	};
	return prep(r, COLL_URING_TENSOR_WAIT, &job.wait[r], sizeof(job.wait[r]));
}

/* The next CQE, which is that of the last SQE; NONE: none within @ms. */
static int cqe(uint32_t r, uint32_t ms)
{
	struct __kernel_timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	struct io_uring_cqe *c;
	int ret = io_uring_wait_cqe_timeout(&job.ring[r], &c, &ts);

	if (ret)
		return ret;
	ret = c->user_data == job.sent[r] && !c->flags ? c->res : -EXDEV;
	job.got[r]++;
	io_uring_cqe_seen(&job.ring[r], c);
	return ret;
}

static int go(uint32_t r)
{
	int ret = io_uring_submit(&job.ring[r]);

	return ret == 1 ? cqe(r, 20000) : -EXFULL;
}

/* Not one more than there were SQEs. */
static void one_each(struct __test_metadata *_metadata, uint32_t r)
{
	EXPECT_EQ(NONE, cqe(r, 20));
	EXPECT_EQ(job.sent[r], job.got[r]);
}

/* Collect all results of a rank by several SQEs. Each result comes once, and is right. */
static void collect_all(struct __test_metadata *_metadata, uint32_t r)
{
	bool seen[NAMES] = { };
	uint32_t k, all = 0;
	int n, i;

	while (all < NAMES) {
		prep_wait(r, 64, 1, 20 * SECOND);
		n = go(r);
		ASSERT_LE(1, n);
		ASSERT_GE(64, n);
		EXPECT_EQ(n, (int)job.wait[r].got);
		for (i = 0; i < n; i++) {
			k = job.res[r][i].tag;
			ASSERT_GT(NAMES, k);
			EXPECT_FALSE(seen[k]);
			EXPECT_EQ(0, job.res[r][i].result);
			EXPECT_EQ(2 * (int)k + 1000, job.out[r][k]);
			seen[k] = true;
		}
		all += n;
	}
	EXPECT_EQ(NAMES, all);
}

TEST(an_array_by_one_sqe)
{
	uint32_t r;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSORS_URING);
	start(_metadata);
	for (r = 0; r < 2; r++) {
		prep_post(r, 0, NAMES);
		EXPECT_EQ(0, go(r));
		EXPECT_EQ(NAMES, job.post[r].posted);
	}
	for (r = 0; r < 2; r++)
		collect_all(_metadata, r);
	for (r = 0; r < 2; r++) {
		/* Nothing is posted any more: nothing to wait for. */
		prep_wait(r, 1, 1, 0);
		EXPECT_EQ(0, go(r));
		one_each(_metadata, r);
	}
	stop();
}

/* Submitting does not wait, and the CQE comes with the other rank. */
TEST(a_wait_in_flight)
{
	start(_metadata);
	prep_post(0, 0, 1);
	EXPECT_EQ(0, go(0));
	prep_wait(0, NAMES, 1, 0);
	EXPECT_EQ(1, io_uring_submit(&job.ring[0]));
	EXPECT_EQ(NONE, cqe(0, 50));
	prep_post(1, 0, NAMES)->flags |= IOSQE_ASYNC;
	EXPECT_EQ(0, go(1));
	EXPECT_EQ(1, cqe(0, 20000));
	EXPECT_EQ(NAMES - 1, job.res[0][0].tag);
	prep_wait(0, 1, 0, 0);
	EXPECT_EQ(0, go(0));
	one_each(_metadata, 0);
	prep_wait(1, NAMES, NAMES, 3 * SECOND);
	EXPECT_EQ(1, go(1));
	prep_wait(1, NAMES, 1, SECOND / 10);
	EXPECT_EQ(-ETIMEDOUT, go(1));
	one_each(_metadata, 1);
	stop();
}

TEST(what_is_refused)
{
	struct coll_tensor_post *p = &job.post[0];
	struct io_uring_sqe *sqe;
	struct coll_sqe c;
	int ret;

	start(_metadata);
	prep_post(0, 0, 0);
	EXPECT_EQ(-EINVAL, go(0));
	prep_post(0, 0, 1);
	p->flags = 1;
	EXPECT_EQ(-EINVAL, go(0));
	prep_post(0, 0, 1);
	p->tensors = 8;
	EXPECT_EQ(-EFAULT, go(0));
	prep(0, COLL_URING_TENSOR_POST, (void *)8, sizeof(*p));
	EXPECT_EQ(-EFAULT, go(0));
	prep(0, COLL_URING_TENSOR_WAIT, (void *)8, sizeof(job.wait[0]));
	EXPECT_EQ(-EFAULT, go(0));
	prep_wait(0, 0, 0, 0);
	EXPECT_EQ(-EINVAL, go(0));
	sqe = prep_post(0, 0, 1);
	c = (struct coll_sqe){ (uintptr_t)p, sizeof(*p), 1 };
	memcpy((char *)sqe + RING_CMD_BYTES, &c, sizeof(c));
	EXPECT_EQ(-EINVAL, go(0));
	sqe = prep_post(0, 0, 1);
	sqe->rw_flags = 1;	/* IORING_URING_CMD_FIXED */
	ret = go(0);
	/* Some kernels look first whether there is a registered buffer of that number. */
	EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT) TH_LOG("%d", ret);
	/* The first tensor that is refused ends the command; the tensors before it stay posted. */
	job.t[0][1] = job.t[0][0];
	prep_post(0, 0, 3);
	EXPECT_EQ(-EEXIST, go(0));
	EXPECT_EQ(1, p->posted);
	prep_wait(0, 1, 0, 0);
	EXPECT_EQ(0, go(0));
	one_each(_metadata, 0);
	stop();
}

/* The ring is closed with a wait in flight: the results can be collected by ioctl. */
TEST(a_ring_goes)
{
	struct coll_tensor_result res = { .tag = NAMES };
	int k, got = 0;

	start(_metadata);
	/* The kernel cancels the wait some time after the ring: it may still take the result. */
	for (k = 0; k < 20 && !got; k++) {
		prep_post(0, NAMES - 1, 1);
		EXPECT_EQ(0, go(0));
		prep_wait(0, NAMES, 1, 0);
		EXPECT_EQ(1, io_uring_submit(&job.ring[0]));
		EXPECT_EQ(NONE, cqe(0, 20));
		io_uring_queue_exit(&job.ring[0]);
		usleep(k * 20000);
		prep_post(1, 0, 1);
		EXPECT_EQ(0, go(1));
		got = raw_collect(job.c.fd[0], &res, 1, 1, 20 * SECOND);
		ASSERT_EQ(0, io_uring_queue_init(16, &job.ring[0], 0));
	}
	EXPECT_EQ(1, got);
	EXPECT_EQ(0, res.tag);
	stop();
}

/* The file is closed with a wait in flight, which keeps it: the other rank is told. */
TEST(a_file_is_closed)
{
	start(_metadata);
	prep_post(0, 0, 1);
	EXPECT_EQ(0, go(0));
	prep_wait(0, NAMES, 1, 0);
	EXPECT_EQ(1, io_uring_submit(&job.ring[0]));
	EXPECT_EQ(NONE, cqe(0, 20));
	prep_post(1, 0, NAMES);
	EXPECT_EQ(0, go(1));
	/* The first tensor may have started. The others end because rank 0 ends. */
	close(job.c.fd[0]);
	job.c.fd[0] = -1;
	prep_wait(1, NAMES, NAMES, 20 * SECOND);
	EXPECT_EQ(NAMES, go(1));
	EXPECT_EQ(-EHOSTDOWN, job.res[1][NAMES - 1].result);
	stop();
}

TEST_HARNESS_MAIN
