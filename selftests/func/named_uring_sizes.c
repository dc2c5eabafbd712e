// SPDX-License-Identifier: GPL-2.0
/* Named collectives by io_uring: sizes of the structs that an SQE points to. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define FILL	0x5a5a5a5aU

static struct coll_tensor_result res;
static struct coll_cmd barrier;
static struct coll_tensor tensor;

/* One SQE. Return: res of its CQE. */
static int go(struct io_uring *ring, int fd, uint32_t op, void *arg, uint32_t len)
{
	struct io_uring_cqe *cqe;
	int ret;

	ring_prep_op(io_uring_get_sqe(ring), fd, op, arg, len, len);
	ret = io_uring_submit_and_wait(ring, 1);
	if (ret != 1 || io_uring_wait_cqe(ring, &cqe))
		return -EXFULL;
	ret = cqe->user_data == len ? cqe->res : -EXDEV;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static struct coll_tensor_post *make_post(void *at)
{
	struct coll_tensor_post p = {
		.tensors = (uintptr_t)&tensor, .nr = 1, .size = sizeof(tensor),
	};

	return memcpy(at, &p, sizeof(p));
}

static struct coll_tensor_wait *make_wait(void *at)
{
	struct coll_tensor_wait w = { .results = (uintptr_t)&res, .nr = 1 };

	return memcpy(at, &w, sizeof(w));
}

FIXTURE(size)
{
	struct raw_comm c;
	struct io_uring ring;
	size_t page;
	char *mem;		/* three pages of zeroes */
};

FIXTURE_SETUP(size)
{
	ASSERT_EQ(0, raw_start_named(&self->c, 1, 1));
	ASSERT_EQ(0, io_uring_queue_init(4, &self->ring, 0));
	raw_barrier(&barrier);
	raw_tensor(&tensor, "sized", &barrier, 7);
	self->page = (size_t)sysconf(_SC_PAGESIZE);
	self->mem = mmap(NULL, 3 * self->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(size)
{
	munmap(self->mem, 3 * self->page);
	io_uring_queue_exit(&self->ring);
	raw_stop(&self->c);
}

/* A struct that is cut: nothing is done, and nothing is written behind it. */
TEST_F(size, too_small)
{
	struct coll_tensor_post *p = make_post(self->mem);
	struct coll_tensor_wait *w = make_wait(self->mem + self->page);
	uint32_t len;

	p->posted = FILL;
	w->got = FILL;
	for (len = 0; len < sizeof(*p); len += 8) {
		EXPECT_EQ(-EINVAL, go(&self->ring, self->c.fd[0], COLL_URING_TENSOR_POST, p, len));
		EXPECT_EQ(FILL, p->posted);
	}
	for (len = 0; len < sizeof(*w); len += 8) {
		EXPECT_EQ(-EINVAL, go(&self->ring, self->c.fd[0], COLL_URING_TENSOR_WAIT, w, len));
		EXPECT_EQ(FILL, w->got);
	}
	EXPECT_EQ(0, raw_collect(self->c.fd[0], &res, 1, 0, 0));
}

/* A later version of a struct may be as large as a page, if what this kernel does not know is 0. */
TEST_F(size, as_large_as_a_page)
{
	int fd = self->c.fd[0];

	EXPECT_EQ(0, go(&self->ring, fd, COLL_URING_TENSOR_POST, make_post(self->mem), self->page));
	EXPECT_EQ(1, go(&self->ring, fd, COLL_URING_TENSOR_WAIT, make_wait(self->mem), self->page));
	EXPECT_EQ(7, res.tag);
	self->mem[self->page - 1] = 1;
	EXPECT_EQ(-E2BIG, go(&self->ring, fd, COLL_URING_TENSOR_POST, make_post(self->mem),
			     self->page));
	EXPECT_EQ(-E2BIG, go(&self->ring, fd, COLL_URING_TENSOR_WAIT, make_wait(self->mem),
			     self->page));
}

/* The kernel does not read more than that, although it would find zeroes. */
TEST_F(size, larger_than_a_page)
{
	const uint32_t len[] = { self->page + 1, 2 * self->page, 3 * self->page, 1U << 31, ~0U };
	int fd = self->c.fd[0];
	size_t i;

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		EXPECT_EQ(-E2BIG, go(&self->ring, fd, COLL_URING_TENSOR_POST, make_post(self->mem),
				     len[i])) {
			TH_LOG("%u", len[i]);
		}
		EXPECT_EQ(-E2BIG, go(&self->ring, fd, COLL_URING_TENSOR_WAIT, make_wait(self->mem),
				     len[i])) {
			TH_LOG("%u", len[i]);
		}
	}
	EXPECT_EQ(0, raw_collect(fd, &res, 1, 0, 0));
}

TEST_HARNESS_MAIN
