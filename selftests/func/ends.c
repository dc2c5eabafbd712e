// SPDX-License-Identifier: GPL-2.0
/*
 * Which events end a rank, and which do not: the last close() beside other calls; threads with
 * descriptors of their own that end; a leader that ends before its threads; an exec that fails.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"
#include "raw.h"
#include "ring.h"
#include "util.h"

#define REGISTER_BYTES	(96UL << 20)
#define WATCH_MS	100	/* how often the kernel looks, and some */

/* Rank 0 has a barrier in flight in @ring. */
static void begin(struct __test_metadata *_metadata, struct raw_comm *c, struct io_uring *ring)
{
	struct coll_cmd cmd;

	ASSERT_EQ(0, raw_start(c, 2, 1));
	ASSERT_EQ(0, io_uring_queue_init(4, ring, 0));
	raw_barrier(&cmd);
	ring_prep(io_uring_get_sqe(ring), c->fd[0], &cmd, 1);
	ASSERT_EQ(1, io_uring_submit(ring));
}

/* The result of the barrier, or 1: there is none. */
static int collect(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(ring, &cqe, &ts) ? 1 : cqe->res;
}

static void expect_closed(struct __test_metadata *_metadata, struct raw_comm *c,
			  struct io_uring *ring, uint64_t since)
{
	struct coll_status s;

	EXPECT_EQ(-ECANCELED, collect(ring)) TH_LOG("HANG: nobody has seen the last close()");
	EXPECT_FALSE(test_late(since + WATCH_MS * 1000000ULL, test_now_ns()));
	ASSERT_EQ(0, raw_status_failed(c->fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(0, s.cause.rank);
}

static void expect_alive(struct __test_metadata *_metadata, struct raw_comm *c)
{
	struct coll_status s;

	test_sleep_us(2 * WATCH_MS * 1000);
	ASSERT_EQ(0, raw_status(c->fd[1], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state) {
		TH_LOG("taken for the end: cause %u of rank %d", s.cause.kind, (int)s.cause.rank);
	}
}

/* It was none: rank 1 comes, and all is well. */
static void end_well(struct __test_metadata *_metadata, struct raw_comm *c,
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

/* Another thread, which is in a call on the file when it is closed. */
struct beside {
	int fd;
	char *mem;
	volatile int in, out;
	bool reg;
};

static void *be_beside(void *arg)
{
	struct beside *b = arg;
	struct coll_register r = { .addr = (uintptr_t)b->mem, .len = REGISTER_BYTES };
	struct stat st;

	b->in = 1;
	if (b->reg)
		ioctl(b->fd, COLL_IOC_REGISTER, &r);
	else
		while (!fstat(b->fd, &st))
			;
	b->out = 1;
	return NULL;
}

static void close_beside(struct __test_metadata *_metadata, bool reg)
{
	struct beside b = { .reg = reg };
	unsigned int n, hit = 0;
	struct io_uring ring;
	struct raw_comm c;
	uint64_t when;
	pthread_t t;

	b.mem = mmap(NULL, REGISTER_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, b.mem);
	for (n = 0; n < 8; n++) {
		begin(_metadata, &c, &ring);
		b.fd = c.fd[0];
		b.in = 0;
		b.out = 0;
		ASSERT_EQ(0, pthread_create(&t, NULL, be_beside, &b));
		while (!b.in)
			;
		test_sleep_us(200 * n);
		hit += !b.out;
		when = test_now_ns();
		close(c.fd[0]);
		c.fd[0] = -1;
		pthread_join(t, NULL);
		expect_closed(_metadata, &c, &ring, b.reg ? test_now_ns() : when);
		io_uring_queue_exit(&ring);
		raw_stop(&c);
		madvise(b.mem, REGISTER_BYTES, MADV_DONTNEED);
	}
	EXPECT_LT(0, hit) TH_LOG("never in the middle of the other call");
	munmap(b.mem, REGISTER_BYTES);
}

TEST(close_beside_register)	{ close_beside(_metadata, true); }
TEST(close_beside_fstat)	{ close_beside(_metadata, false); }

/* A second descriptor keeps the file open, and its close() is the last one. */
TEST(close_of_two)
{
	struct io_uring ring;
	struct raw_comm c;
	uint64_t when;
	int fd;

	begin(_metadata, &c, &ring);
	fd = dup(c.fd[0]);
	close(c.fd[0]);
	c.fd[0] = -1;
	expect_alive(_metadata, &c);
	when = test_now_ns();
	close(fd);
	expect_closed(_metadata, &c, &ring, when);
	io_uring_queue_exit(&ring);
	raw_stop(&c);
}

/* So does one of a child, which cannot use it. */
TEST(close_by_a_child)
{
	struct io_uring ring;
	struct raw_comm c;
	uint64_t when;
	pid_t child;
	int go[2];
	char byte;

	ASSERT_EQ(0, pipe(go));
	begin(_metadata, &c, &ring);
	child = fork();
	if (!child) {
		/* The ring is not to be kept open by us. */
		close(ring.ring_fd);
		close(c.fd[1]);
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	close(c.fd[0]);
	c.fd[0] = -1;
	expect_alive(_metadata, &c);
	when = test_now_ns();
	close(go[1]);
	waitpid(child, NULL, 0);
	expect_closed(_metadata, &c, &ring, when);
	close(go[0]);
	io_uring_queue_exit(&ring);
	raw_stop(&c);
}

/* Another thread waits in a blocking call: it holds the file, but that does not count. */
static void *block(void *arg)
{
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	return (void *)(long)raw_submit(*(int *)arg, &cmd);
}

TEST(close_while_another_waits)
{
	struct coll_status s;
	struct raw_comm c;
	pthread_t t;
	void *ret;
	int fd;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	fd = c.fd[0];
	ASSERT_EQ(0, pthread_create(&t, NULL, block, &fd));
	while (test_posted(&c, 0) != 1)
		test_sleep_us(200);
	close(fd);
	c.fd[0] = -1;
	pthread_join(t, &ret);
	EXPECT_EQ(-ECANCELED, (long)ret);
	ASSERT_EQ(0, raw_status_failed(c.fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	raw_stop(&c);
}

/* Ends with descriptors of its own, or closes them. */
static void *leave_alone(void *arg)
{
	struct raw_comm *c = arg;

	if (unshare(CLONE_FILES))
		return c;
	if (c->key[0] & 1)
		close(c->fd[0]);
	return NULL;
}

TEST(thread_with_descriptors_of_its_own)
{
	struct io_uring ring;
	struct raw_comm c;
	pthread_t t;
	void *ret;
	int i;

	for (i = 0; i < 2; i++) {
		begin(_metadata, &c, &ring);
		c.key[0] = i;
		ASSERT_EQ(0, pthread_create(&t, NULL, leave_alone, &c));
		pthread_join(t, &ret);
		EXPECT_EQ(NULL, ret);
		end_well(_metadata, &c, &ring);
		/* Nothing in flight. */
		ASSERT_EQ(0, raw_start(&c, 2, 1));
		c.key[0] = i;
		ASSERT_EQ(0, pthread_create(&t, NULL, leave_alone, &c));
		pthread_join(t, &ret);
		EXPECT_EQ(0, test_good(&c));
		raw_stop(&c);
	}
}

/* The process lives on without its first thread, with commands in flight. */
static struct __test_metadata *meta;
static pthread_t leader;

static void *go_on(void *arg)
{
	struct io_uring ring;
	struct raw_comm c;

	pthread_join(leader, NULL);
	begin(meta, &c, &ring);
	end_well(meta, &c, &ring);
	_exit(meta->exit_code);
}

TEST(leader_ends_first)
{
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (!pid) {
		meta = _metadata;
		leader = pthread_self();
		pthread_create(&t, NULL, go_on, NULL);
		pthread_exit(NULL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* The leader opens the file, and its threads use it when it has gone. */
static struct raw_comm comm;

static void *go_on_with(void *arg)
{
	struct io_uring *ring = arg;

	pthread_join(leader, NULL);
	end_well(meta, &comm, ring);
	_exit(meta->exit_code);
}

static struct io_uring leaders_ring;

static void *begin_and_go_on(void *arg)
{
	begin(meta, &comm, &leaders_ring);
	*(volatile int *)arg = 1;
	return go_on_with(&leaders_ring);
}

TEST(leader_ends_with_one_in_flight)
{
	volatile int begun = 0;
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (!pid) {
		meta = _metadata;
		leader = pthread_self();
		pthread_create(&t, NULL, begin_and_go_on, (void *)&begun);
		while (!begun)
			test_sleep_us(200);
		pthread_exit(NULL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* An exec that does not happen. */
TEST(exec_fails)
{
	static char *argv[] = { "none", NULL }, *envp[] = { NULL };
	struct io_uring ring;
	struct raw_comm c;
	uint64_t since;

	begin(_metadata, &c, &ring);
	since = test_now_ns();
	while (test_now_ns() - since < 3 * WATCH_MS * 1000000ULL)
		execve("/no/such/program", argv, envp);
	end_well(_metadata, &c, &ring);
}

TEST_HARNESS_MAIN
