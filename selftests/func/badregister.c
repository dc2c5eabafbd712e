// SPDX-License-Identifier: GPL-2.0
/* Registrations with wrong arguments. */
#include <sys/ioctl.h>

#include "harness.h"
#include "util.h"

/* Return: 0 or -errno. */
static int ioc(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

TEST(register_arguments)
{
	struct coll_register r;
	struct coll_unregister u = { };
	int fd = raw_open();
	char *map;

	map = mmap(NULL, 65536 + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, munmap(map + 65536, 4096));
#define REG_REFUSED(error, change) do {					\
	memset(&r, 0, sizeof(r));					\
	r.addr = (uintptr_t)map;					\
	r.len = 65536;							\
	change;								\
	EXPECT_EQ(-(error), ioc(fd, COLL_IOC_REGISTER, &r)) {		\
		TH_LOG("%s", #change);					\
	}								\
} while (0)
	REG_REFUSED(EFAULT, r.flags = COLL_REG_WRITE);
	REG_REFUSED(EINVAL, r.flags = 2);
	REG_REFUSED(EINVAL, r.flags = 1U << 31);
	REG_REFUSED(EINVAL, r.len = 0);
	REG_REFUSED(EFAULT, r.len = 65537);
	REG_REFUSED(EFAULT, r.addr = 0);
	REG_REFUSED(EFAULT, r.addr = 0xffff888000000000ULL);
	REG_REFUSED(EFAULT, r.addr = ~0ULL - 4095);
	REG_REFUSED(EINVAL, r.reserved[0] = 1);
	REG_REFUSED(EINVAL, r.reserved[1] = 1);
	EXPECT_EQ(-ENOENT, ioc(fd, COLL_IOC_UNREGISTER, &u));
	u.id = ~0U;
	EXPECT_EQ(-ENOENT, ioc(fd, COLL_IOC_UNREGISTER, &u));
	u.id = 1;
	EXPECT_EQ(-ENOENT, ioc(fd, COLL_IOC_UNREGISTER, &u));
	u.reserved[2] = 1;
	EXPECT_EQ(-EINVAL, ioc(fd, COLL_IOC_UNREGISTER, &u));
	close(fd);
}

/* If the result cannot be written, nothing stays registered. */
TEST(register_unwritable_struct)
{
	struct coll_register *r;
	struct coll_status s;
	int fd = raw_open();

	r = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r->addr = (uintptr_t)&s & ~4095UL;
	r->len = 4096;
	ASSERT_EQ(0, mprotect(r, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, ioc(fd, COLL_IOC_REGISTER, r));
	EXPECT_EQ(0, raw_status(fd, &s));
	EXPECT_EQ(0, s.pinned);
	close(fd);
}

TEST(register_until_full)
{
	struct coll_register r;
	static char page[4096] __attribute__((aligned(4096)));
	int fd = raw_open(), ret, n = 0;
	struct coll_status s;

	do {
		memset(&r, 0, sizeof(r));
		r.addr = (uintptr_t)page;
		r.len = 1;
		ret = ioc(fd, COLL_IOC_REGISTER, &r);
		n += !ret;
	} while (!ret && n < 100000);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(0, raw_status(fd, &s));
	EXPECT_EQ(n * 4096, s.pinned);
	close(fd);
}

/* A registered buffer is not what now lies at its addresses. */
TEST(registered_input_at_the_place_of_the_output)
{
	static float x[16];
	struct coll_register r = {
		.addr = (uintptr_t)x, .len = sizeof(x), .flags = COLL_REG_WRITE,
	};
	struct raw_comm c;
	struct coll_cmd cmd;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_EQ(0, ioc(c.fd[0], COLL_IOC_REGISTER, &r));
	raw_allreduce(&cmd, x, x, 16, COLL_F32, COLL_OP_SUM);
	cmd.flags = COLL_CMD_REG_SEND;
	cmd.send_buf = r.id;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	cmd.flags = COLL_CMD_REG_RECV;
	cmd.send_buf = 0;
	cmd.recv_buf = r.id;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	cmd.flags |= COLL_CMD_REG_SEND;
	cmd.send_buf = r.id;
	EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
