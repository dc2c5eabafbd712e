// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives that must be refused: each with its error, nothing posted by it, and
 * no harm to what is posted next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL

static char text[300];

FIXTURE(named_bad) {
	struct raw_comm c;
	int32_t in[8], out[8];
	struct coll_cmd cmd;
	struct coll_tensor t;
	struct coll_tensor_post p;
	struct coll_tensor_result res[4];
	struct coll_tensor_wait w;
	void *hole;
};

FIXTURE_VARIANT(named_bad) {
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(named_bad, one_node) { .nodes = 1 };
FIXTURE_VARIANT_ADD(named_bad, two_nodes) { .nodes = 2 };

/* A right one, from which each case differs in one thing. */
static void make(FIXTURE_DATA(named_bad) *self)
{
	raw_allreduce(&self->cmd, self->in, self->out, 8, COLL_I32, COLL_OP_SUM);
	self->cmd.timeout_ns = 5 * SECOND;
	raw_tensor(&self->t, "right", &self->cmd, 1);
	self->p = (struct coll_tensor_post){
		.tensors = (uintptr_t)&self->t,
		.nr = 1,
		.size = sizeof(self->t),
	};
	self->w = (struct coll_tensor_wait){
		.results = (uintptr_t)self->res,
		.nr = 4,
	};
}

static int post(FIXTURE_DATA(named_bad) *self)
{
	return ioctl(self->c.fd[0], COLL_IOC_TENSOR_POST, &self->p) ? errno : 0;
}

static int wait_for(FIXTURE_DATA(named_bad) *self)
{
	return ioctl(self->c.fd[0], COLL_IOC_TENSOR_WAIT, &self->w) ? errno : 0;
}

FIXTURE_SETUP(named_bad)
{
	memset(text, 'n', sizeof(text));
	ASSERT_EQ(0, raw_start_named(&self->c, 2, variant->nodes));
	self->hole = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->hole);
	make(self);
}

/* After each refusal the name is free, and the communicator is as it was. */
FIXTURE_TEARDOWN(named_bad)
{
	uint32_t r;

	make(self);
	for (r = 0; r < 2; r++)
		EXPECT_EQ(0, raw_post(self->c.fd[r], &self->t, 1, NULL));
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(1, raw_collect(self->c.fd[r], self->res, 4, 1, 10 * SECOND));
		EXPECT_EQ(0, self->res[0].result);
		EXPECT_EQ(0, raw_collect(self->c.fd[r], self->res, 4, 0, 0));
	}
	raw_stop(&self->c);
}

#define REFUSED(error, ...) do {				\
	make(self);						\
	__VA_ARGS__;						\
	EXPECT_EQ(error, post(self)) { TH_LOG("%s", #__VA_ARGS__); }	\
	EXPECT_EQ(0, self->p.posted);				\
} while (0)

TEST_F(named_bad, names)
{
	REFUSED(EINVAL, self->t.name_len = 0);
	REFUSED(EINVAL, self->t.name = (uintptr_t)text, self->t.name_len = 256);
	REFUSED(EINVAL, self->t.name = (uintptr_t)text, self->t.name_len = ~0U);
	REFUSED(EINVAL, self->t.name = (uintptr_t)"a\0b", self->t.name_len = 3);
	REFUSED(EINVAL, self->t.name = (uintptr_t)"ab", self->t.name_len = 3);
	REFUSED(EFAULT, self->t.name = 0);
	REFUSED(EFAULT, self->t.name = (uintptr_t)self->hole);
	REFUSED(EFAULT, self->t.name = ~0ULL);
	/* The longest one works. */
	make(self);
	self->t.name = (uintptr_t)text;
	self->t.name_len = 255;
	EXPECT_EQ(0, post(self));
	EXPECT_EQ(0, raw_post(self->c.fd[1], &self->t, 1, NULL));
	EXPECT_EQ(1, raw_collect(self->c.fd[0], self->res, 4, 1, 10 * SECOND));
	EXPECT_EQ(0, self->res[0].result);
	EXPECT_EQ(1, raw_collect(self->c.fd[1], self->res, 4, 1, 10 * SECOND));
}

TEST_F(named_bad, shapes)
{
	uint32_t k;

	REFUSED(EINVAL, self->t.ndim = 9);
	REFUSED(EINVAL, self->t.ndim = ~0U);
	/* A shape of another number of elements */
	REFUSED(EINVAL, self->t.ndim = 1);
	REFUSED(EINVAL, self->t.ndim = 1, self->t.dims[0] = 7);
	REFUSED(EINVAL, self->t.ndim = 2, self->t.dims[0] = 8);
	for (k = 0; k < 8; k++)
		REFUSED(EINVAL, self->t.dims[k] = 1);
	REFUSED(EINVAL, self->t.ndim = 1, self->t.dims[0] = 8, self->t.dims[7] = 1);
	REFUSED(EOVERFLOW, self->t.ndim = 2, self->t.dims[0] = 1ULL << 32,
		self->t.dims[1] = 1ULL << 32);
	REFUSED(EOVERFLOW, self->t.ndim = 8, memset(self->t.dims, 0xff, sizeof(self->t.dims)));
	/* 0 makes it small, wherever it stands: no overflow, and another count */
	REFUSED(EINVAL, self->t.ndim = 2, self->t.dims[0] = 0, self->t.dims[1] = ~0ULL);
	REFUSED(EINVAL, self->t.priority = COLL_TENSOR_PRIORITY_MAX + 1);
	REFUSED(EINVAL, self->t.priority = ~0U);
	REFUSED(EINVAL, self->t.flags = 1U << 31);
	REFUSED(EINVAL, self->t.group = 5);
	REFUSED(EINVAL, self->t.members = 1);
	REFUSED(EINVAL, self->t.group = 5, self->t.members = COLL_TENSOR_CALL_MAX + 1);
}

TEST_F(named_bad, commands)
{
	REFUSED(EINVAL, self->t.cmd_len = 0);
	REFUSED(EINVAL, self->t.cmd_len = 119);
	REFUSED(EINVAL, self->t.cmd_len = ~0U);
	REFUSED(EFAULT, self->t.cmd = 0);
	REFUSED(EFAULT, self->t.cmd = (uintptr_t)self->hole);
	REFUSED(EINVAL, self->cmd.collective = 0);
	REFUSED(EINVAL, self->cmd.collective = COLL_NR_COLLECTIVES);
	REFUSED(EINVAL, self->cmd.dtype = COLL_NR_DTYPES);
	REFUSED(EINVAL, self->cmd.op = COLL_NR_OPS);
	REFUSED(EINVAL, self->cmd.root = 2);
	REFUSED(EINVAL, self->cmd.flags = 1U << 31);
	REFUSED(EFAULT, self->cmd.send_addr = (uintptr_t)self->hole);
	REFUSED(EFAULT, self->cmd.recv_addr = (uintptr_t)self->hole);
	REFUSED(EFAULT, self->cmd.recv_addr = (uintptr_t)self->hole, self->cmd.count = 8000,
		self->cmd.send_addr = (uintptr_t)self->hole + 32768);
	REFUSED(EOPNOTSUPP, self->cmd.collective = COLL_SEND);
	REFUSED(EOPNOTSUPP, self->cmd.collective = COLL_RECV);
	REFUSED(EOPNOTSUPP, self->cmd.collective = COLL_MPROBE);
}

TEST_F(named_bad, posts)
{
	REFUSED(EINVAL, self->p.nr = 0);
	REFUSED(EINVAL, self->p.nr = COLL_TENSOR_CALL_MAX + 1);
	REFUSED(EINVAL, self->p.nr = ~0U);
	REFUSED(EINVAL, self->p.size = 0);
	REFUSED(EINVAL, self->p.size = offsetof(struct coll_tensor, prescale) - 1);
	REFUSED(EINVAL, self->p.size = ~0U);
	REFUSED(EINVAL, self->p.flags = 1);
	REFUSED(EINVAL, self->p.reserved[0] = 1);
	REFUSED(EINVAL, self->p.reserved[1] = 1);
	REFUSED(EFAULT, self->p.tensors = 0);
	REFUSED(EFAULT, self->p.tensors = (uintptr_t)self->hole);
	REFUSED(EFAULT, self->p.tensors = ~0ULL - 64);
	make(self);
	self->p.posted = 1;
	EXPECT_EQ(EINVAL, post(self));
}

/* A struct that has grown, with what this kernel does not know. */
TEST_F(named_bad, larger)
{
	struct {
		struct coll_tensor t;
		uint64_t more;
	} large = { };
	struct {
		struct coll_tensor_post p;
		uint64_t more;
	} call = { };

	large.t = self->t;
	large.more = 1;
	REFUSED(E2BIG, self->p.tensors = (uintptr_t)&large, self->p.size = sizeof(large));
	make(self);
	call.p = self->p;
	call.more = 1;
	EXPECT_EQ(-1, ioctl(self->c.fd[0], _IOC(_IOC_READ | _IOC_WRITE, COLL_IOC_MAGIC,
						_IOC_NR(COLL_IOC_TENSOR_POST), sizeof(call)),
			    &call));
	EXPECT_EQ(E2BIG, errno);
	EXPECT_EQ(-1, ioctl(self->c.fd[0], _IOC(_IOC_READ | _IOC_WRITE, COLL_IOC_MAGIC,
						_IOC_NR(COLL_IOC_TENSOR_POST), 32), &call));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(self->c.fd[0], _IOC(_IOC_WRITE, COLL_IOC_MAGIC,
						_IOC_NR(COLL_IOC_TENSOR_POST), sizeof(call.p)),
			    &call));
	EXPECT_EQ(ENOTTY, errno);
}

/* The entries before the wrong one are posted, those behind it are not. */
TEST_F(named_bad, in_the_middle)
{
	struct coll_tensor t[3];
	uint32_t posted, k;

	for (k = 0; k < 3; k++)
		raw_tensor(&t[k], k ? k > 1 ? "c" : "b" : "a", &self->cmd, k);
	t[1].priority = ~0U;
	EXPECT_EQ(-EINVAL, raw_post(self->c.fd[0], t, 3, &posted));
	EXPECT_EQ(1, posted);
	t[1].priority = 0;
	EXPECT_EQ(0, raw_post(self->c.fd[0], t + 1, 2, &posted));
	EXPECT_EQ(2, posted);
	EXPECT_EQ(0, raw_post(self->c.fd[1], t, 3, &posted));
	for (k = 0; k < 2; k++)
		EXPECT_EQ(3, raw_collect(self->c.fd[k], self->res, 4, 3, 10 * SECOND));
}

#define WAIT_REFUSED(error, ...) do {				\
	make(self);						\
	__VA_ARGS__;						\
	EXPECT_EQ(error, wait_for(self)) { TH_LOG("%s", #__VA_ARGS__); }	\
} while (0)

TEST_F(named_bad, waits)
{
	WAIT_REFUSED(EINVAL, self->w.nr = 0);
	WAIT_REFUSED(EINVAL, self->w.nr = COLL_TENSOR_CALL_MAX + 1);
	WAIT_REFUSED(EINVAL, self->w.min = 5);
	WAIT_REFUSED(EINVAL, self->w.got = 1);
	WAIT_REFUSED(EINVAL, self->w.flags = 1);
	WAIT_REFUSED(EINVAL, self->w.reserved[0] = 1);
	WAIT_REFUSED(EINVAL, self->w.reserved[1] = 1);
	/* A result that cannot be told is not lost. */
	make(self);
	EXPECT_EQ(0, raw_post(self->c.fd[0], &self->t, 1, NULL));
	EXPECT_EQ(0, raw_post(self->c.fd[1], &self->t, 1, NULL));
	WAIT_REFUSED(EFAULT, self->w.min = 1, self->w.results = (uintptr_t)self->hole);
	WAIT_REFUSED(EFAULT, self->w.min = 1, self->w.results = 0);
	EXPECT_EQ(1, raw_collect(self->c.fd[0], self->res, 4, 1, 10 * SECOND));
	EXPECT_EQ(0, self->res[0].result);
	EXPECT_EQ(1, self->res[0].tag);
	EXPECT_EQ(1, raw_collect(self->c.fd[1], self->res, 4, 1, 10 * SECOND));
}

/* A buffer is unmapped while its tensor waits: no harm, the kernel has its pages. */
TEST_F(named_bad, unmapped_meanwhile)
{
	size_t bytes = 1 << 20;
	int32_t *mem = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t *in = calloc(1, bytes), *out = calloc(1, bytes);
	int result;

	ASSERT_NE(MAP_FAILED, mem);
	mem[0] = 5;
	in[0] = 7;
	raw_allreduce(&self->cmd, mem, mem + bytes / 4, bytes / 4, COLL_I32, COLL_OP_SUM);
	ASSERT_EQ(0, raw_post(self->c.fd[0], &self->t, 1, NULL));
	munmap(mem, 2 * bytes);
	raw_allreduce(&self->cmd, in, out, bytes / 4, COLL_I32, COLL_OP_SUM);
	ASSERT_EQ(0, raw_post(self->c.fd[1], &self->t, 1, NULL));
	EXPECT_EQ(1, raw_collect(self->c.fd[0], self->res, 4, 1, 10 * SECOND));
	result = self->res[0].result;
	EXPECT_EQ(1, raw_collect(self->c.fd[1], self->res, 4, 1, 10 * SECOND));
	EXPECT_EQ(result, self->res[0].result);
	/* Pinned whole, or seen through windows: then EFAULT, on all ranks. */
	EXPECT_TRUE(result == 0 || result == -EFAULT) {
		TH_LOG("%d", result);
	}
	if (!result)
		EXPECT_EQ(12, out[0]);
	free(in);
	free(out);
}

/* A forked child has the file, but not the right to use it. */
TEST_F(named_bad, foreign_process)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(post(self) != EPERM || wait_for(self) != EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST(not_joined)
{
	struct coll_tensor_result res;
	struct coll_tensor t;
	struct coll_cmd cmd;
	int fd = raw_open();

	ASSERT_LE(0, fd);
	raw_barrier(&cmd);
	raw_tensor(&t, "x", &cmd, 0);
	EXPECT_EQ(-ENOTCONN, raw_post(fd, &t, 1, NULL));
	EXPECT_EQ(-ENOTCONN, raw_collect(fd, &res, 1, 1, 0));
	close(fd);
}

TEST(no_link)
{
	struct coll_tensor t;
	struct raw_comm c;
	struct coll_cmd cmd;

	raw_plan(&c, 2, 2);
	c.flags = COLL_JOIN_NAMED;
	c.fd[0] = raw_open();
	ASSERT_EQ(0, raw_join(c.fd[0], &c, 0));
	raw_barrier(&cmd);
	raw_tensor(&t, "x", &cmd, 0);
	EXPECT_EQ(-ENOTCONN, raw_post(c.fd[0], &t, 1, NULL));
	raw_stop(&c);
}

/* Far too many results that nobody collects. */
TEST(nobody_collects)
{
	static struct coll_tensor t[4096];
	uint32_t posted, all = 0, k;
	struct raw_comm c;
	struct coll_cmd cmd;
	int ret;

	raw_barrier(&cmd);
	for (k = 0; k < 4096; k++)
		raw_tensor(&t[k], "again", &cmd, k);
	ASSERT_EQ(0, raw_start_named(&c, 1, 1));
	do {
		ret = raw_post(c.fd[0], t, 64, &posted);
		all += posted;
		/* The name is free again when it has started, which is at the end of a call. */
		if (ret == -EEXIST)
			ret = 0;
	} while (!ret && all <= 200000);
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_EQ(65536, all);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
