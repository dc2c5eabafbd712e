// SPDX-License-Identifier: GPL-2.0
/*
 * A thread submits commands and exits before they end. Another thread of the process reads the
 * completion queue. The results lie in the memory of the process all the same: io_uring completes
 * the commands in a worker then, which has no user memory of its own.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
#define COUNT	100	/* small: the result is copied when the op has ended */
#define LARGE	5000
#define TAG	7

static struct thread_job {
	struct io_uring ring;
	struct coll_cmd cmd[3];
	int fd;
	int submitted;
	pid_t tid;
} job;

static void *submit(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; i < 3; i++)
		ring_prep(io_uring_get_sqe(&job.ring), job.fd, &job.cmd[i], i);
	job.submitted = io_uring_submit(&job.ring);
	job.tid = syscall(SYS_gettid);
	return NULL;
}

/* The task of a thread ends some time after pthread_join(): wait for ten seconds at most. */
static bool has_ended(pid_t tid)
{
	char path[64];
	int i;

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	for (i = 0; i < 10000 && !access(path, F_OK); i++)
		test_sleep_us(1000);
	return i < 10000;
}

/* The result of each command of the thread, in the order of @res. */
static void reap(struct __test_metadata *_metadata, int res[3])
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, io_uring_wait_cqe_timeout(&job.ring, &cqe, &ts));
		ASSERT_LT(cqe->user_data, 3);
		res[cqe->user_data] = cqe->res;
		io_uring_cqe_seen(&job.ring, cqe);
	}
}

/* @page: where the small result and struct coll_message go. */
static void leaves(struct __test_metadata *_metadata, unsigned char *page, const int want[3])
{
	int32_t *small = (int32_t *)(page + 8), in[COUNT], out[COUNT];
	struct coll_message *got = (struct coll_message *)(page + 1024);
	static int32_t large[LARGE], large_in[LARGE], large_out[LARGE], heard[4];
	struct coll_cmd other[3];
	int res[3] = { 1, 1, 1 };
	struct raw_comm c;
	pthread_t thread;
	unsigned int i;

	memset(&job, 0, sizeof(job));
	ASSERT_EQ(0, raw_start(&c, 2, 1));
	job.fd = c.fd[0];
	ASSERT_EQ(0, io_uring_queue_init(8, &job.ring, 0));
	for (i = 0; i < LARGE; i++) {
		large[i] = test_value(0, i);
		large_in[i] = test_value(1, i);
	}
	for (i = 0; i < COUNT; i++) {
		small[i] = test_value(0, i);
		in[i] = test_value(1, i);
	}
	raw_allreduce(&job.cmd[0], NULL, small, COUNT, COLL_I32, COLL_OP_SUM);
	raw_allreduce(&job.cmd[1], NULL, large, LARGE, COLL_I32, COLL_OP_SUM);
	raw_recv(&job.cmd[2], heard, 4, COLL_I32, 1, TAG, got);
	raw_allreduce(&other[0], in, out, COUNT, COLL_I32, COLL_OP_SUM);
	raw_allreduce(&other[1], large_in, large_out, LARGE, COLL_I32, COLL_OP_SUM);
	raw_send(&other[2], large_in, 3, COLL_I32, 0, TAG);
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit, NULL));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(3, job.submitted);
	ASSERT_TRUE(has_ended(job.tid));
	if (want[0])
		ASSERT_EQ(0, munmap(page, 4096));
	for (i = 0; i < 3; i++) {
		other[i].timeout_ns = 20 * SECOND;
		EXPECT_EQ(0, raw_submit(c.fd[1], &other[i])) TH_LOG("%u", i);
	}
	reap(_metadata, res);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(want[i], res[i]) TH_LOG("command %u", i);
	for (i = 0; i < LARGE; i++)
		ASSERT_EQ(test_value_sum(2, i), large[i]);
	for (i = 0; i < COUNT && !want[0]; i++)
		ASSERT_EQ(test_value_sum(2, i), small[i]);
	if (!want[2]) {
		EXPECT_EQ(1, got->source);
		EXPECT_EQ(TAG, got->tag);
		EXPECT_EQ(3 * sizeof(*heard), got->bytes);
	}
	io_uring_queue_exit(&job.ring);
	raw_stop(&c);
}

static void *a_page(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST(results_arrive)
{
	void *page = a_page();

	ASSERT_NE(MAP_FAILED, page);
	leaves(_metadata, page, (int[]){ 0, 0, 0 });
	munmap(page, 4096);
}

TEST(memory_is_gone)
{
	void *page = a_page();

	ASSERT_NE(MAP_FAILED, page);
	leaves(_metadata, page, (int[]){ -EFAULT, 0, -EFAULT });
}

TEST_HARNESS_MAIN
