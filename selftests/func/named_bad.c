// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives that must be refused, for their name, shape or command: each with its error,
 * and nothing posted by it.
 */
#include <string.h>

#include "named_bad.h"

/* A name that is longer than a name may be. */
static char text[300] = { [0 ... 299] = 'n' };

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
	/* A dimension of 0 makes the product 0: it does not overflow, but the count is wrong. */
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

TEST_HARNESS_MAIN
