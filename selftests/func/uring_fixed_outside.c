// SPDX-License-Identifier: GPL-2.0
/* Vectors that are not whole inside the buffer of the ring are refused. */
#include <errno.h>
#include <sys/ioctl.h>

#include "uring_fixed.h"
#include "util.h"

/* Ranges that are not all inside: refused, and the command does not count. */
TEST_F(fixed, outside)
{
	uint32_t size = variant->size;
	struct fixed *f = self->f;
	char *mem = f->mem, *end = f->mem + f->bytes;
	static char other[8192];

#define BAD(send, recv, count, index) do {				\
	raw_allreduce(&f->cmd, send, recv, count, COLL_I32, COLL_OP_SUM); \
	ASSERT_EQ(0, fixed_post(f, index));				\
	EXPECT_EQ(-EFAULT, fixed_result(f)) TH_LOG("%s, %s", #send, #recv); \
} while (0)
	BAD(NULL, mem - 4, 10, 0);
	BAD(NULL, mem - 40, 10, 0);
	BAD(NULL, end - 39, 10, 0);
	BAD(NULL, end, 10, 0);
	BAD(NULL, mem, f->bytes / 4 + 1, 0);
	BAD(NULL, other, 10, 0);
	BAD(mem, other, 10, 0);
	BAD(other, mem, 10, 0);
	BAD(other, mem, 2000, 0);
	BAD(NULL, (char *)0 - 4, 1, 0);
	BAD(NULL, (char *)0 - 8, 1000, 0);
	BAD(NULL, (char *)0xffff888000000000UL, 10, 0);
	BAD(NULL, mem, 10, 1);
	BAD(NULL, mem, 10, 65535);
	EXPECT_EQ(0, test_posted(&self->c, 0));
	EXPECT_EQ(0, fixed_sum(f, size, 0, 4000, 1000));
	/* a buffer that is registered by COLL_IOC_REGISTER need not lie in that of the ring */
	for (uint32_t r = 0; r < size; r++) {
		struct coll_register reg = { .addr = (uintptr_t)other, .len = sizeof(other) };

		ASSERT_EQ(0, ioctl(f[r].fd, COLL_IOC_REGISTER, &reg));
		raw_allreduce(&f[r].cmd, other, f[r].mem, 100, COLL_I32, COLL_OP_SUM);
		f[r].cmd.flags |= COLL_CMD_REG_SEND;
		f[r].cmd.send_buf = reg.id;
	}
	EXPECT_EQ(0, fixed_run(f, size));
	EXPECT_EQ(0, test_good(&self->c));
}

TEST_HARNESS_MAIN
