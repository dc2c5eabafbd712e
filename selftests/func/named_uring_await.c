// SPDX-License-Identifier: GPL-2.0
/*
 * COLL_URING_TENSOR_WAIT occupies no thread: many may be in flight, and other commands do not wait
 * for them. Before Linux 6.7 it does occupy one.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
#define WAITS	12	/* more than io_uring has workers for a ring of two entries */
#define MOST	64	/* that occupy no thread */
#define GROUP	0x1234567

FIXTURE(await)
{
	struct raw_comm c;
	struct io_uring ring;
	struct coll_cmd barrier;
	struct coll_tensor_wait wait[MOST + 6];
	struct coll_tensor_result res[MOST + 6][4];
	struct coll_tensor_post post;
};

/* Threads of this process with such a name */
static int threads(const char *name)
{
	char path[300], text[64];
	struct dirent *e;
	int n = 0;
	FILE *f;
	DIR *d = opendir("/proc/self/task");

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(text, sizeof(text), f))
			n += !strncmp(text, name, strlen(name));
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

static bool waits_in_threads(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 ||
	       major < 6 || (major == 6 && minor < 7);
}

FIXTURE_SETUP(await)
{
	memset(self, 0, sizeof(*self));
	/* The first ring of the thread sets the number of workers. */
	ASSERT_EQ(0, io_uring_queue_init(2, &self->ring, 0));
	ASSERT_EQ(0, raw_start_named(&self->c, 2, 1));
	raw_barrier(&self->barrier);
}

FIXTURE_TEARDOWN(await)
{
	raw_stop(&self->c);
	if (self->ring.ring_fd >= 0)
		io_uring_queue_exit(&self->ring);
}

/* Rank @r posts @name by ioctl; its result has tag @tag. */
static int post(FIXTURE_DATA(await) *self, uint32_t r, const char *name, uint64_t tag)
{
	struct coll_tensor t;

	raw_tensor(&t, name, &self->barrier, tag);
	return raw_post(self->c.fd[r], &t, 1, NULL);
}

/* Wait @k of rank 0 */
static int submit_wait(FIXTURE_DATA(await) *self, uint32_t k, uint32_t min, uint64_t ns)
{
	self->wait[k] = (struct coll_tensor_wait){
		.results = (uintptr_t)self->res[k], .nr = 4, .min = min, .timeout_ns = ns,
	};
	ring_prep_op(io_uring_get_sqe(&self->ring), self->c.fd[0], COLL_URING_TENSOR_WAIT,
		     &self->wait[k], sizeof(self->wait[k]), k);
	return io_uring_submit(&self->ring);
}

/* The next CQE within 5 s; -ETIME: there is none. */
static int next(FIXTURE_DATA(await) *self, uint64_t *which)
{
	struct __kernel_timespec ts = { .tv_sec = 5 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(&self->ring, &cqe, &ts);

	if (ret)
		return ret;
	*which = cqe->user_data;
	ret = cqe->res;
	io_uring_cqe_seen(&self->ring, cqe);
	return ret;
}

TEST_F(await, no_thread)
{
	uint64_t which = 99;

	ASSERT_EQ(0, post(self, 0, "x", 7));
	ASSERT_EQ(1, submit_wait(self, 0, 1, 0));
	test_sleep_us(20000);
	if (waits_in_threads())
		SKIP(return, "before Linux 6.7 it waits in a thread");
	EXPECT_EQ(0, threads("iou-wrk"));
	ASSERT_EQ(0, post(self, 1, "x", 8));
	EXPECT_EQ(1, next(self, &which));
	EXPECT_EQ(0, which);
	EXPECT_EQ(7, self->res[0][0].tag);
	EXPECT_EQ(1, self->wait[0].got);
}

/* Many waits, and behind them a group, which a thread of io_uring posts. */
TEST_F(await, many_before_a_group)
{
	struct coll_tensor t[2], other[2];
	uint32_t k, results = 0;
	uint64_t which;
	int ret;

	ASSERT_EQ(0, post(self, 0, "x", 1));
	for (k = 0; k < WAITS; k++)
		ASSERT_EQ(1, submit_wait(self, k, 1, 0));
	test_sleep_us(20000);
	if (waits_in_threads())
		SKIP(return, "before Linux 6.7 it waits in a thread");
	for (k = 0; k < 2; k++) {
		raw_tensor(&t[k], k ? "b" : "a", &self->barrier, 2 + k);
		t[k].group = GROUP;
		t[k].members = 2;
		other[k] = t[k];
	}
	self->post = (struct coll_tensor_post){
		.tensors = (uintptr_t)t, .nr = 2, .size = sizeof(t[0]),
	};
	ring_prep_op(io_uring_get_sqe(&self->ring), self->c.fd[0], COLL_URING_TENSOR_POST,
		     &self->post, sizeof(self->post), WAITS);
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	ASSERT_EQ(0, next(self, &which)) TH_LOG("the post waits for a thread");
	EXPECT_EQ(WAITS, which);
	ASSERT_EQ(0, raw_post(self->c.fd[1], other, 2, NULL));
	ASSERT_EQ(0, post(self, 1, "x", 1));
	/* All have ended: each wait gets some results, or there are none left. */
	for (k = 0; k < WAITS; k++) {
		ret = next(self, &which);
		ASSERT_LE(0, ret);
		ASSERT_GT(WAITS, which);
		EXPECT_EQ(ret, (int)self->wait[which].got);
		results += ret;
	}
	EXPECT_EQ(3, results);
}

/* A wait by a ring whose thread cannot make a progress thread */
TEST_F(await, no_thread_of_a_polled_ring)
{
	struct io_uring plain = self->ring;
	uint64_t which = 99;

	ASSERT_EQ(0, io_uring_queue_init(4, &self->ring, IORING_SETUP_SQPOLL));
	ASSERT_EQ(0, post(self, 0, "x", 7));
	ASSERT_EQ(1, submit_wait(self, 0, 1, 0));
	test_sleep_us(50000);
	if (!waits_in_threads())
		EXPECT_EQ(0, threads("iou-wrk"));
	ASSERT_EQ(0, post(self, 1, "x", 8));
	EXPECT_EQ(1, next(self, &which));
	io_uring_queue_exit(&self->ring);
	self->ring = plain;
}

/* Two tensors of one group */
static void group_of_two(FIXTURE_DATA(await) *self, struct coll_tensor *t)
{
	raw_tensor(&t[0], "g0", &self->barrier, 0);
	raw_tensor(&t[1], "g1", &self->barrier, 1);
	t[0].group = t[1].group = GROUP;
	t[0].members = t[1].members = 2;
}

/*
 * A post of a group goes on in a thread of io_uring. The application may use the SQE again as soon as
 * it has been submitted.
 */
TEST_F(await, sqe_used_again)
{
	struct io_uring plain = self->ring, *ring = &self->ring;
	struct coll_tensor t[2];
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	int i, k;

	group_of_two(self, t);
	/* One entry: the next SQE is in the same place. */
	ASSERT_EQ(0, io_uring_queue_init(1, ring, 0));
	for (i = 0; i < 100; i++) {
		self->post = (struct coll_tensor_post){
			.tensors = (uintptr_t)t, .nr = 2, .size = sizeof(t[0]),
		};
		ring_prep_op(io_uring_get_sqe(ring), self->c.fd[0], COLL_URING_TENSOR_POST,
			     &self->post, sizeof(self->post), 1);
		ASSERT_EQ(1, io_uring_submit(ring));
		sqe = io_uring_get_sqe(ring);
		memset(sqe, 0xff, sizeof(*sqe));
		io_uring_prep_nop(sqe);
		sqe->user_data = 2;
		ASSERT_EQ(1, io_uring_submit(ring));
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, io_uring_wait_cqe(ring, &cqe));
			EXPECT_EQ(0, cqe->res) TH_LOG("command %llu", cqe->user_data);
			io_uring_cqe_seen(ring, cqe);
		}
		ASSERT_EQ(2, self->post.posted);
		ASSERT_EQ(0, raw_post(self->c.fd[1], t, 2, NULL));
		ASSERT_EQ(0, raw_collect_all(&self->c, 2));
	}
	io_uring_queue_exit(ring);
	self->ring = plain;
}

/* The last ones wait in threads of io_uring, if there are threads enough. */
TEST_F(await, more_than_may_be)
{
	uint32_t k, results = 0;
	uint64_t which;
	int ret;

	ASSERT_EQ(0, post(self, 0, "x", 7));
	for (k = 0; k < MOST + 6; k++)
		ASSERT_EQ(1, submit_wait(self, k, 1, 0));
	test_sleep_us(20000);
	ASSERT_EQ(0, post(self, 1, "x", 8));
	for (k = 0; k < MOST + 6; k++) {
		ret = next(self, &which);
		ASSERT_LE(0, ret);
		results += ret;
	}
	EXPECT_EQ(1, results);
}

TEST_F(await, timeout)
{
	uint64_t begin = test_now_ns(), which = 99;

	ASSERT_EQ(0, post(self, 0, "x", 1));
	ASSERT_EQ(1, submit_wait(self, 3, 1, SECOND / 20));
	EXPECT_EQ(-ETIMEDOUT, next(self, &which));
	EXPECT_EQ(3, which);
	EXPECT_LE(SECOND / 20, test_now_ns() - begin);
	/* The tensor has not ended. */
	ASSERT_EQ(0, post(self, 1, "x", 1));
	EXPECT_EQ(1, raw_collect(self->c.fd[0], self->res[0], 4, 1, 5 * SECOND));
}

/* Others take the results of a wait: the wait goes on. */
TEST_F(await, taken_by_others)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	uint64_t which = 99;
	uint32_t k;

	for (k = 0; k < 4; k++)
		ASSERT_EQ(0, post(self, 0, names[k], k));
	ASSERT_EQ(1, submit_wait(self, 0, 2, 0));
	for (k = 0; k < 2; k++) {
		ASSERT_EQ(0, post(self, 1, names[k], k));
		ASSERT_EQ(1, raw_collect(self->c.fd[0], self->res[1], 1, 1, 5 * SECOND));
	}
	for (; k < 4; k++)
		ASSERT_EQ(0, post(self, 1, names[k], k));
	EXPECT_EQ(2, next(self, &which));
	EXPECT_EQ(5, self->res[0][0].tag + self->res[0][1].tag);
}

/* The ring ends before the wait. The tensors do not end. */
TEST_F(await, ring_ends)
{
	struct coll_status s;

	ASSERT_EQ(0, post(self, 0, "x", 1));
	ASSERT_EQ(1, submit_wait(self, 0, 1, 0));
	io_uring_queue_exit(&self->ring);
	self->ring.ring_fd = -1;
	ASSERT_EQ(0, post(self, 1, "x", 1));
	/* On Linux 6.1 the result may go to the wait. */
	EXPECT_LE(0, raw_collect(self->c.fd[0], self->res[0], 4, 1, 5 * SECOND));
	ASSERT_EQ(0, raw_status(self->c.fd[1], &s));
	EXPECT_NE(COLL_STATE_FAILED, s.state);
}

/* A rank of its own: it posts, waits by its ring, and ends when @go is closed. */
static int end_while_waiting(struct raw_comm *c, int go)
{
	FIXTURE_DATA(await) self = { .c = *c };
	char byte;

	self.c.fd[0] = raw_open();
	raw_barrier(&self.barrier);
	if (raw_join(self.c.fd[0], &self.c, 0) || io_uring_queue_init(4, &self.ring, 0) ||
	    post(&self, 0, "x", 1) || submit_wait(&self, 0, 1, 0) != 1 ||
	    submit_wait(&self, 1, 1, 20 * SECOND) != 1)
		return 1;
	return read(go, &byte, 1);
}

/* The process ends with waits in flight. The other rank learns why its tensor ends. */
TEST(process_ends)
{
	struct coll_tensor_result res;
	struct coll_cmd barrier;
	struct coll_tensor t;
	struct coll_status s;
	struct raw_comm c;
	int go[2], status;
	pid_t child;

	raw_plan(&c, 2, 1);
	c.flags = COLL_JOIN_NAMED;
	ASSERT_EQ(0, pipe(go));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		close(go[1]);
		_exit(end_while_waiting(&c, go[0]));
	}
	close(go[0]);
	c.fd[1] = raw_open();
	ASSERT_EQ(0, raw_join(c.fd[1], &c, 1));
	raw_barrier(&barrier);
	raw_tensor(&t, "y", &barrier, 7);
	ASSERT_EQ(0, raw_post(c.fd[1], &t, 1, NULL));
	/* Rank 0 has not ended yet. */
	EXPECT_EQ(-ETIMEDOUT, raw_collect(c.fd[1], &res, 1, 1, SECOND / 5));
	close(go[1]);
	ASSERT_EQ(1, raw_collect(c.fd[1], &res, 1, 1, 20 * SECOND));
	EXPECT_EQ(-EHOSTDOWN, res.result);
	EXPECT_EQ(7, res.tag);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, raw_status(c.fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_EXIT, s.cause.kind);
	EXPECT_EQ(0, s.cause.rank);
	EXPECT_EQ(child, s.cause.pid);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
