// SPDX-License-Identifier: GPL-2.0
/* Buffers at addresses where a user may not read or write, and buffers that overlap. */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "badinput.h"

TEST_F(bad, addresses)
{
	uint64_t kernel = 0xffff888000000000ULL;
	struct test_guarded g;
	void *ro, *none, *gone;

	ro = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	none = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	gone = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, munmap(gone, 65536));
	ASSERT_TRUE(test_guard(&g, COUNT * 4, true));

	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)ro);
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)none);
	REFUSED(EFAULT, cmd.send_addr = (uintptr_t)none);
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)gone);
	REFUSED(EFAULT, cmd.send_addr = (uintptr_t)gone);
	REFUSED(EFAULT, cmd.recv_addr = kernel);
	REFUSED(EFAULT, cmd.send_addr = kernel);
	REFUSED(EFAULT, cmd.recv_addr = 0);
	REFUSED(EFAULT, cmd.send_addr = 0);
	REFUSED(EFAULT, cmd.recv_addr = ~0ULL - 7);
	REFUSED(EFAULT, cmd.send_addr = ~0ULL - 7);
	REFUSED(EFAULT, cmd.send_addr = ~0ULL - COUNT * 4 + 1);
	/* in place, by flag and by giving the same address twice */
	REFUSED(EFAULT, cmd.flags = COLL_CMD_INPLACE; cmd.send_addr = 0;
		cmd.recv_addr = (uintptr_t)ro);
	REFUSED(EFAULT, cmd.recv_addr = cmd.send_addr = (uintptr_t)ro);
	/* one byte beyond the end, one page before the beginning */
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)g.mem + 1);
	REFUSED(EFAULT, cmd.send_addr = (uintptr_t)g.mem + 1);
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)g.mem - self->page);
	BROADCAST_REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)none);
	BROADCAST_REFUSED(EFAULT, cmd.recv_addr = kernel);
	EXPECT_EQ(0, test_guard_hurt(&g));
	test_unguard(&g);
}

TEST_F(bad, hole_in_the_middle)
{
	char *map = mmap(NULL, 8 * self->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(0, munmap(map + 3 * self->page, self->page));
	REFUSED(EFAULT, cmd.count = 2 * self->page;
		cmd.recv_addr = (uintptr_t)map; cmd.send_addr = 0;
		cmd.flags = COLL_CMD_INPLACE);
}

TEST_F(bad, overlap)
{
	uintptr_t in = (uintptr_t)self->in;

	REFUSED(EINVAL, cmd.recv_addr = in + 4; cmd.count = 2);
	REFUSED(EINVAL, cmd.recv_addr = in + 1; cmd.count = 1);
	REFUSED(EINVAL, cmd.recv_addr = in; cmd.send_addr = in + 4; cmd.count = 2);
	REFUSED(EINVAL, cmd.recv_addr = in + 2000; cmd.count = 501);
}

TEST_F(bad, registered)
{
	struct coll_register reg = {
		.addr = (uintptr_t)self->in, .len = COUNT * 4,
	};
	struct coll_unregister un = { };
	int fd = self->c.fd[0];

	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND);
	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = 1);
	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = ~0U);
	ASSERT_EQ(0, ioctl(fd, COLL_IOC_REGISTER, &reg));
	/* not writable, and outside */
	REFUSED(EFAULT, cmd.flags = COLL_CMD_REG_RECV; cmd.recv_buf = reg.id;
		cmd.recv_addr = reg.addr; cmd.send_addr = (uintptr_t)self->out);
	REFUSED(EFAULT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = reg.id;
		cmd.send_addr = reg.addr + 4);
	REFUSED(EFAULT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = reg.id;
		cmd.send_addr = reg.addr - 4);
	un.id = reg.id;
	ASSERT_EQ(0, ioctl(fd, COLL_IOC_UNREGISTER, &un));
	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = reg.id;
		cmd.send_addr = reg.addr);
}

TEST_HARNESS_MAIN
