// SPDX-License-Identifier: GPL-2.0
/* Calls of named collectives with wrong arguments: what is right in them is posted and not lost. */
#include <string.h>

#include "named_bad.h"

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

/* A larger struct, with fields that this kernel does not know. */
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
	WAIT_REFUSED(EINVAL, self->w.reserved = 1);
	WAIT_REFUSED(EINVAL, self->w.post = 8);
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

TEST_HARNESS_MAIN
