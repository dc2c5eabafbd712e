// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives among the other things an application's ring does: in a chain with reads and
 * writes, cancelled, and waited for together.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
#define COUNT	5000
#define BYTES	(COUNT * 4)
#define WAVE	16
/* Elements of a vector that no caller works on itself. */
#define LARGE	(1 << 17)

/* Two ranks on two nodes, one ring each, and a file for what goes in and comes out. */
static struct flow {
	struct io_uring ring;
	int fd;
	int file;
	struct coll_cmd cmd;
	int32_t in[COUNT];
	int32_t out[COUNT];
} flows[2];

static void start(struct __test_metadata *_metadata, struct raw_comm *c)
{
	uint32_t r;
	int32_t v;
	unsigned int i;

	memset(flows, 0, sizeof(flows));
	ASSERT_EQ(0, raw_start(c, 2, 2));
	for (r = 0; r < 2; r++) {
		struct flow *f = &flows[r];

		f->fd = c->fd[r];
		ASSERT_EQ(0, io_uring_queue_init(8, &f->ring, 0));
		f->file = memfd_create("flow", 0);
		ASSERT_LE(0, f->file);
		for (i = 0; i < COUNT; i++) {
			v = test_value(r, i);
			ASSERT_EQ(4, pwrite(f->file, &v, 4, i * 4));
		}
		raw_allreduce(&f->cmd, f->in, f->out, COUNT, COLL_I32, COLL_OP_SUM);
		f->cmd.timeout_ns = 20 * SECOND;
	}
}

static void stop(struct raw_comm *c)
{
	uint32_t r;

	for (r = 0; r < 2; r++) {
		io_uring_queue_exit(&flows[r].ring);
		close(flows[r].file);
	}
	raw_stop(c);
}

/* The CQE of @user_data, which is the next one; -ETIME if none comes for ten seconds. */
static int result(struct flow *f, uint64_t user_data)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(&f->ring, &cqe, &ts);

	if (ret)
		return ret;
	ret = cqe->user_data == user_data ? cqe->res : -EXDEV;
	io_uring_cqe_seen(&f->ring, cqe);
	return ret;
}

/* Read what goes in, sum it up, write what comes out: one submission. */
static void chain(struct flow *f, int from)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&f->ring);

	io_uring_prep_read(sqe, from, f->in, BYTES, 0);
	sqe->user_data = 1;
	sqe->flags |= IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(&f->ring);
	ring_prep(sqe, f->fd, &f->cmd, 2);
	sqe->flags |= IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(&f->ring);
	io_uring_prep_write(sqe, f->file, f->out, BYTES, BYTES);
	sqe->user_data = 3;
}

TEST(read_sum_write)
{
	struct raw_comm c;
	uint32_t r, i;
	int32_t v;

	start(_metadata, &c);
	for (r = 0; r < 2; r++) {
		chain(&flows[r], flows[r].file);
		ASSERT_EQ(3, io_uring_submit(&flows[r].ring));
	}
	/* this task has both rings: it has to enter both, so that their chains go on */
	for (i = 1; i <= 3; i++)
		for (r = 0; r < 2; r++)
			ASSERT_EQ(i == 2 ? 0 : BYTES, result(&flows[r], i)) TH_LOG("%u", i);
	for (r = 0; r < 2; r++) {
		for (i = 0; i < COUNT; i++) {
			ASSERT_EQ(4, pread(flows[r].file, &v, 4, BYTES + i * 4));
			ASSERT_EQ(test_value_sum(2, i), v);
		}
	}
	stop(&c);
}

/* The link before it fails: the command has never been posted, and can be posted later. */
TEST(broken_chain)
{
	struct raw_comm c;
	uint32_t r;

	start(_metadata, &c);
	chain(&flows[0], -1);
	ASSERT_EQ(3, io_uring_submit(&flows[0].ring));
	EXPECT_EQ(-EBADF, result(&flows[0], 1));
	EXPECT_EQ(-ECANCELED, result(&flows[0], 2));
	EXPECT_EQ(-ECANCELED, result(&flows[0], 3));
	EXPECT_EQ(0, test_posted(&c, 0));
	for (r = 0; r < 2; r++) {
		ring_prep(io_uring_get_sqe(&flows[r].ring), flows[r].fd, &flows[r].cmd, 4);
		ASSERT_EQ(1, io_uring_submit(&flows[r].ring));
	}
	EXPECT_EQ(0, result(&flows[0], 4));
	EXPECT_EQ(0, result(&flows[1], 4));
	stop(&c);
}

/* A command cannot be taken back by one rank alone: the other ranks need it. */
TEST(not_cancelled)
{
	struct io_uring_sqe *sqe;
	struct raw_comm c;
	int ret;

	start(_metadata, &c);
	ring_prep(io_uring_get_sqe(&flows[0].ring), flows[0].fd, &flows[0].cmd, 1);
	ASSERT_EQ(1, io_uring_submit(&flows[0].ring));
	sqe = io_uring_get_sqe(&flows[0].ring);
	io_uring_prep_cancel(sqe, (void *)1, 0);
	sqe->user_data = 2;
	ASSERT_EQ(1, io_uring_submit(&flows[0].ring));
	ret = result(&flows[0], 2);
	EXPECT_TRUE(ret == -ENOENT || ret == -EALREADY) TH_LOG("%d", ret);
	ring_prep(io_uring_get_sqe(&flows[1].ring), flows[1].fd, &flows[1].cmd, 1);
	ASSERT_EQ(1, io_uring_submit(&flows[1].ring));
	EXPECT_EQ(0, result(&flows[0], 1));
	EXPECT_EQ(0, result(&flows[1], 1));
	EXPECT_EQ(0, test_good(&c));
	stop(&c);
}

/* Somebody who posts WAVE barriers and waits for all of them. */
struct waiter {
	volatile bool posted;
	long switches;
	int ret;
};

static void *wait_for_all(void *arg)
{
	struct flow *f = &flows[0];
	struct waiter *w = arg;
	struct coll_cmd cmd;
	struct rusage before, after;
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	struct io_uring ring;
	unsigned int i;

	raw_barrier(&cmd);
	/* With SINGLE_ISSUER, the ring has to be made by the thread that uses it. */
	w->ret = io_uring_queue_init_params(WAVE, &ring, &params);
	if (w->ret)
		return NULL;
	for (i = 0; i < WAVE; i++)
		ring_prep(io_uring_get_sqe(&ring), f->fd, &cmd, i);
	w->ret = io_uring_submit(&ring) == WAVE ? 0 : -EIO;
	getrusage(RUSAGE_THREAD, &before);
	w->posted = true;
	if (!w->ret)
		w->ret = io_uring_submit_and_wait(&ring, WAVE);
	getrusage(RUSAGE_THREAD, &after);
	w->switches = after.ru_nvcsw - before.ru_nvcsw;
	if (w->ret >= 0)
		w->ret = io_uring_cq_ready(&ring) == WAVE ? 0 : -EIO;
	io_uring_queue_exit(&ring);
	return NULL;
}

/* Can the module tell io_uring not to wake for each completion a task that waits for many? */
static bool can_be_lazy(void)
{
	unsigned int major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 5));
}

TEST(woken_once)
{
	struct waiter w = { };
	struct coll_cmd cmd;
	struct raw_comm c;
	pthread_t thread;
	unsigned int i;

	start(_metadata, &c);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_all, &w));
	while (!w.posted && !w.ret)
		test_sleep_us(1000);
	raw_barrier(&cmd);
	for (i = 0; i < WAVE && !w.ret; i++) {
		ASSERT_EQ(0, raw_submit(c.fd[1], &cmd));
		test_sleep_us(5000);
	}
	pthread_join(thread, NULL);
	ASSERT_EQ(0, w.ret);
	if (can_be_lazy())
		EXPECT_GT(WAVE / 2, w.switches);
	stop(&c);
}

/*
 * A rank that is alone posts many large ops at once: the thread that ends one starts the next, with
 * the same plan. There is one rank, so the plan has one work item.
 */
TEST(large_ones_of_one_rank)
{
	static int32_t in[WAVE][LARGE], out[WAVE][LARGE];
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct coll_cmd cmd[WAVE];
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct raw_comm c;
	unsigned int i;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_EQ(0, io_uring_queue_init(WAVE, &ring, 0));
	for (i = 0; i < WAVE; i++) {
		in[i][LARGE - 1] = i + 1;
		raw_allreduce(&cmd[i], in[i], out[i], LARGE, COLL_I32, COLL_OP_SUM);
		ring_prep(io_uring_get_sqe(&ring), c.fd[0], &cmd[i], i);
	}
	ASSERT_EQ(WAVE, io_uring_submit(&ring));
	for (i = 0; i < WAVE; i++) {
		ASSERT_EQ(0, io_uring_wait_cqe_timeout(&ring, &cqe, &ts)) TH_LOG("%u", i);
		ASSERT_EQ(0, cqe->res);
		io_uring_cqe_seen(&ring, cqe);
		ASSERT_EQ((int)i + 1, out[i][LARGE - 1]);
	}
	io_uring_queue_exit(&ring);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
