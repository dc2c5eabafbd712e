// SPDX-License-Identifier: GPL-2.0
/* Memory beyond RLIMIT_MEMLOCK is not registered, and nothing of it stays charged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define PAGES	16
#define PAGE	4096UL

static int reg(int fd, void *addr, uint64_t len, struct coll_register *r)
{
	memset(r, 0, sizeof(*r));
	r->addr = (uintptr_t)addr;
	r->len = len;
	r->flags = COLL_REG_WRITE;
	return ioctl(fd, COLL_IOC_REGISTER, r) < 0 ? -errno : 0;
}

static int unreg(int fd, uint32_t id)
{
	struct coll_unregister u = { .id = id };

	return ioctl(fd, COLL_IOC_UNREGISTER, &u) < 0 ? -errno : 0;
}

TEST(register_up_to_the_limit)
{
	struct coll_register r;
	struct coll_status s;
	char *mem = test_memory((PAGES + 1) * PAGE);
	uint32_t ids[PAGES];
	int fd, i, round;

	ASSERT_EQ(0, test_become_nobody(PAGES * PAGE));
	fd = raw_open();
	ASSERT_GE(fd, 0);
	for (round = 0; round < 3; round++) {
		EXPECT_EQ(-ENOMEM, reg(fd, mem, PAGES * PAGE + 1, &r));
		/* one byte on each side of a border counts both pages */
		EXPECT_EQ(-ENOMEM, reg(fd, mem + 1, PAGES * PAGE, &r));
		EXPECT_EQ(-ENOMEM, reg(fd, mem, (PAGES + 1) * PAGE, &r));
		ASSERT_EQ(0, raw_status(fd, &s));
		EXPECT_EQ(0, s.pinned);
		/* nothing stayed charged: exactly the limit fits */
		EXPECT_EQ(0, reg(fd, mem, PAGES * PAGE, &r));
		ids[0] = r.id;
		EXPECT_EQ(-ENOMEM, reg(fd, mem, 1, &r));
		EXPECT_EQ(0, unreg(fd, ids[0]));
	}
	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(0, reg(fd, mem + i * PAGE, PAGE, &r));
		ids[i] = r.id;
	}
	EXPECT_EQ(-ENOMEM, reg(fd, mem, 1, &r));
	/* a fault in the middle, after pages have been pinned already */
	for (i = 0; i < PAGES; i++)
		EXPECT_EQ(0, unreg(fd, ids[i]));
	munmap(mem + 5 * PAGE, PAGE);
	EXPECT_EQ(-EFAULT, reg(fd, mem, PAGES * PAGE, &r));
	EXPECT_EQ(0, reg(fd, mem + 6 * PAGE, (PAGES - 5) * PAGE, &r));
	EXPECT_EQ(0, reg(fd, mem, 5 * PAGE, &r));
	EXPECT_EQ(-ENOMEM, reg(fd, mem, 1, &r));
	close(fd);
	/* and the file took its registrations with it */
	fd = raw_open();
	EXPECT_EQ(0, reg(fd, mem + 6 * PAGE, (PAGES - 5) * PAGE, &r));
	EXPECT_EQ(0, reg(fd, mem, 5 * PAGE, &r));
	close(fd);
}

/* The limit is the user's, not the process's. */
TEST(processes_share_the_limit)
{
	struct coll_register r;
	char *mem = test_memory(PAGES * PAGE);
	int fd, status;
	pid_t pid;

	ASSERT_EQ(0, test_become_nobody(PAGES * PAGE));
	fd = raw_open();
	ASSERT_EQ(0, reg(fd, mem, PAGES / 2 * PAGE, &r));
	pid = fork();
	if (!pid) {
		int bad = 0;

		fd = raw_open();
		bad |= (reg(fd, mem, (PAGES / 2 + 1) * PAGE, &r) != -ENOMEM) << 0;
		bad |= (reg(fd, mem, PAGES / 2 * PAGE, &r) != 0) << 1;
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, reg(fd, mem, PAGES / 2 * PAGE, &r));
	close(fd);
}

TEST(root_has_no_limit)
{
	struct rlimit rl = { PAGE, PAGE };
	struct coll_register r;
	char *mem = test_memory(PAGES * PAGE);
	int fd;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &rl));
	fd = raw_open();
	EXPECT_EQ(0, reg(fd, mem, PAGES * PAGE, &r));
	close(fd);
}

/*
 * A buffer registered for reading before its first write: the pin must not hold
 * the zero page, which the write leaves behind (kernels before 6.2 do that).
 */
TEST(registered_before_the_first_write)
{
	int32_t *in = (int32_t *)test_memory(4 * PAGE), *out = (int32_t *)test_memory(4 * PAGE);
	struct coll_register r = { .addr = (uintptr_t)in, .len = 4 * PAGE };
	uint32_t i, n = 4 * PAGE / sizeof(*in);
	struct coll_cmd cmd;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_EQ(0, ioctl(c.fd[0], COLL_IOC_REGISTER, &r));
	for (i = 0; i < n; i++)
		in[i] = i + 1;
	raw_allreduce(&cmd, in, out, n, COLL_I32, COLL_OP_SUM);
	cmd.flags = COLL_CMD_REG_SEND;
	cmd.send_buf = r.id;
	EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
	for (i = 0; i < n; i++)
		ASSERT_EQ((int32_t)i + 1, out[i]);
	raw_stop(&c);
}

/* One rank, in and out of place. */
static int sum_alone(struct raw_comm *c, void *in, void *out, uint64_t pages)
{
	struct coll_cmd cmd;

	raw_allreduce(&cmd, in, out, pages * PAGE / sizeof(int32_t), COLL_I32, COLL_OP_SUM);
	return raw_submit(c->fd[0], &cmd);
}

/*
 * Pages that stay pinned from one op to the next are unpinned for pages that do not fit the limit,
 * but only if that helps.
 */
TEST(kept_pins_give_way_if_that_helps)
{
	char *in = test_memory(PAGES * PAGE), *out = test_memory(PAGES * PAGE);
	uint64_t limit = PAGES * PAGE, kept = PAGES / 2 * PAGE;
	char *large = test_memory(3 * PAGES * PAGE);
	struct coll_register r;
	struct coll_status s;
	struct raw_comm c;

	/* A page that exists only since it was pinned is not kept: so write to all pages first. */
	memset(in, 1, PAGES * PAGE);
	ASSERT_EQ(0, test_become_nobody(limit));
	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_EQ(0, sum_alone(&c, in, out, PAGES / 4));
	/* windows: dropping what is kept would not have made room for either vector */
	ASSERT_EQ(0, sum_alone(&c, large, large + limit + limit / 2, PAGES + PAGES / 2));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(limit + limit / 2 + kept, s.memlock_wanted);
	EXPECT_EQ(0, reg(c.fd[0], large, limit, &r));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
