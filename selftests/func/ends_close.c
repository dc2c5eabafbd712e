// SPDX-License-Identifier: GPL-2.0
/*
 * The last close() of a file ends its rank: while another thread is in a call on the file, or when
 * another descriptor of the process or of a child has kept it open.
 */
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

#define REGISTER_BYTES	(96UL << 20)

/**
 * struct beside - another thread, which is in a call on the file when the file is closed
 * @fd: the file
 * @mem: memory to register
 * @in: the call begins
 * @out: the call has ended
 * @reg: the call is COLL_IOC_REGISTER, else fstat()
 */
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

/* A descriptor of a child keeps the file open, although the child cannot use it. */
TEST(close_by_a_child)
{
	struct io_uring ring;
	struct raw_comm c;
	uint64_t when;
	pid_t child;
	int go[2], status;
	char byte;

	ASSERT_EQ(0, pipe(go));
	begin(_metadata, &c, &ring);
	child = fork();
	if (!child) {
		/* The child must not keep the ring open. */
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
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	expect_closed(_metadata, &c, &ring, when);
	close(go[0]);
	io_uring_queue_exit(&ring);
	raw_stop(&c);
}

/* Another thread waits in a blocking call. The last close() ends this call. */
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

TEST_HARNESS_MAIN
