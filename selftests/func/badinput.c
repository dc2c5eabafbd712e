// SPDX-License-Identifier: GPL-2.0
/* Fields of a command that have a wrong number, or that must be zero. */
#include <sys/ioctl.h>

#include "badinput.h"

TEST_F(bad, numbers)
{
	unsigned int i;

	REFUSED(EINVAL, cmd.collective = 0);
	REFUSED(EINVAL, cmd.collective = COLL_NR_COLLECTIVES);
	REFUSED(EINVAL, cmd.collective = 0xffff);
	REFUSED(EINVAL, cmd.op = COLL_OP_NONE);
	REFUSED(EINVAL, cmd.op = COLL_NR_OPS);
	REFUSED(EINVAL, cmd.op = 0xffff);
	REFUSED(EINVAL, cmd.dtype = COLL_DTYPE_NONE);
	REFUSED(EINVAL, cmd.dtype = COLL_NR_DTYPES);
	REFUSED(EINVAL, cmd.dtype = 0xffff);
	REFUSED(EINVAL, cmd.algorithm = COLL_NR_ALGS);
	REFUSED(EINVAL, cmd.algorithm = 0xffff);
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_RING | COLL_ALG_RADIX(4));
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_KNOMIAL | COLL_ALG_RADIX(1));
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_AUTO | COLL_ALG_RADIX(4));
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_BINOMIAL);
	BROADCAST_REFUSED(EINVAL, cmd.algorithm = COLL_ALG_RING);
	BARRIER_REFUSED(EINVAL, cmd.algorithm = COLL_ALG_RING);
	for (i = 6; i < 32; i++)
		if (1U << i != COLL_CMD_NODE)	/* see shm_nodes.c */
			REFUSED(EINVAL, cmd.flags |= 1U << i);
	REFUSED(EINVAL, cmd.flags = COLL_CMD_SPIN | COLL_CMD_SLEEP);
	BARRIER_REFUSED(EINVAL, cmd.flags = COLL_CMD_SPIN | COLL_CMD_SLEEP);
	BARRIER_REFUSED(EINVAL, cmd.flags = COLL_CMD_NARROW);
	REFUSED(EINVAL, cmd.root = 1);
	BROADCAST_REFUSED(EINVAL, cmd.root = 2);
	BROADCAST_REFUSED(EINVAL, cmd.root = ~0U);
	BARRIER_REFUSED(EINVAL, cmd.root = 1);
}

TEST_F(bad, fields_that_must_be_zero)
{
	REFUSED(EINVAL, cmd.send_tag = 1);
	REFUSED(EINVAL, cmd.recv_tag = 1U << 31);
	REFUSED(EINVAL, cmd.source = 1);
	REFUSED(EINVAL, cmd.recv_dtype = COLL_I32);
	REFUSED(EINVAL, cmd.recv_count = 1ULL << 63);
	REFUSED(EINVAL, cmd.message_addr = (uintptr_t)self->in);
	REFUSED(EINVAL, cmd.counts_addr = (uintptr_t)self->in);
	REFUSED(EINVAL, cmd.displs_addr = (uintptr_t)self->in);
	REFUSED(EINVAL, cmd.scalar = 1);
	REFUSED(EINVAL, cmd.send_buf = 1);
	REFUSED(EINVAL, cmd.recv_buf = 1);
	REFUSED(EINVAL, cmd.flags = COLL_CMD_INPLACE);	/* with send_addr */
	BROADCAST_REFUSED(EINVAL, cmd.op = COLL_OP_SUM);
	BROADCAST_REFUSED(EINVAL, cmd.send_addr = (uintptr_t)self->in);
	BROADCAST_REFUSED(EINVAL, cmd.flags = COLL_CMD_INPLACE);
	BROADCAST_REFUSED(EINVAL, cmd.flags = COLL_CMD_REG_SEND);
	BROADCAST_REFUSED(EINVAL, cmd.flags = COLL_CMD_NARROW);
	BARRIER_REFUSED(EINVAL, cmd.op = COLL_OP_SUM);
	BARRIER_REFUSED(EINVAL, cmd.dtype = COLL_I32);
	BARRIER_REFUSED(EINVAL, cmd.count = 1);
	BARRIER_REFUSED(EINVAL, cmd.flags = COLL_CMD_INPLACE);
	BARRIER_REFUSED(EINVAL, cmd.send_addr = (uintptr_t)self->in);
	BARRIER_REFUSED(EINVAL, cmd.recv_addr = (uintptr_t)self->out);
}

/* A collective that the version masks do not announce is refused. */
TEST_F(bad, not_there)
{
	struct coll_version v;
	unsigned int i;

	ASSERT_EQ(0, ioctl(self->c.fd[0], COLL_IOC_VERSION, &v));
	for (i = 1; i < COLL_NR_COLLECTIVES; i++)
		if (!(v.collectives & 1ULL << i))
			REFUSED(EOPNOTSUPP, cmd.collective = i);
	for (i = 1; i < COLL_NR_OPS; i++)
		if (!(v.ops & 1ULL << i))
			REFUSED(EOPNOTSUPP, cmd.op = i);
	for (i = 1; i < COLL_NR_DTYPES; i++)
		if (!(v.dtypes & 1ULL << i))
			REFUSED(EOPNOTSUPP, cmd.dtype = i);
	REFUSED(EOPNOTSUPP, cmd.op = COLL_OP_BAND; cmd.dtype = COLL_F32);
	REFUSED(EOPNOTSUPP, cmd.dtype = COLL_BYTE);
}

TEST_HARNESS_MAIN
