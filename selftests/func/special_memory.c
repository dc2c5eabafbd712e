// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that cannot be pinned for long, or not at all: the command is refused, does not
 * count, and nothing stays pinned.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "harness.h"
#include "util.h"

#define LEN	16384UL

static int try_send(struct raw_comm *c, void *mem, unsigned long len)
{
	static int32_t out[LEN / 4];
	struct coll_cmd cmd;

	/* Too large for a slot, so that it is pinned. */
	raw_allreduce(&cmd, mem, out, len / 4, COLL_I32, COLL_OP_SUM);
	cmd.timeout_ns = 1000000000ULL;
	return raw_submit(c->fd[0], &cmd);
}

static int try_register(struct raw_comm *c, void *mem, unsigned long len)
{
	struct coll_register r = { .addr = (uintptr_t)mem, .len = len };

	return ioctl(c->fd[0], COLL_IOC_REGISTER, &r) ? -errno : 0;
}

/* Neither registered nor sent; the communicator is as it was. */
static void refused(struct __test_metadata *_metadata, void *mem, unsigned long len,
		    const char *what)
{
	struct coll_status s;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	EXPECT_GT(0, try_register(&c, mem, len)) TH_LOG("%s registered", what);
	EXPECT_GT(0, try_send(&c, mem, len)) TH_LOG("%s sent", what);
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(0, s.posted);
	EXPECT_EQ(0, s.pinned);
	EXPECT_EQ(COLL_STATE_READY, s.state);
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

TEST(secret_memory)
{
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
	int fd = syscall(SYS_memfd_secret, 0);
	void *mem;

	if (fd < 0)
		SKIP(return, "no memfd_secret()");
	ASSERT_EQ(0, ftruncate(fd, LEN));
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		SKIP(return, "secret memory cannot be locked here");
	memset(mem, 1, LEN);
	refused(_metadata, mem, LEN, "secret memory");
	munmap(mem, LEN);
	close(fd);
}

/* Pages of a driver's or of the kernel's: no struct page, or not one to be held. */
TEST(pfn_map)
{
	unsigned long from, to;
	char line[256];
	FILE *f = fopen("/proc/self/maps", "r");
	bool found = false;

	ASSERT_NE(NULL, f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "[vvar]") && sscanf(line, "%lx-%lx", &from, &to) == 2;
	fclose(f);
	if (!found)
		SKIP(return, "no [vvar] here");
	refused(_metadata, (void *)from, to - from, "[vvar]");
}

/*
 * Pages of a page cache that is written back: a receive would make pages dirty without its
 * knowledge.
 */
TEST(file_of_a_disk)
{
	char name[] = "/var/tmp/coll-XXXXXX";
	struct raw_comm c;
	struct coll_cmd cmd;
	int fd = mkstemp(name), ret;
	void *mem;

	if (fd < 0 || ftruncate(fd, LEN))
		SKIP(return, "no file");
	unlink(name);
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		SKIP(return, "no shared mapping of a file");
	memset(mem, 1, LEN);
	ASSERT_EQ(0, raw_start(&c, 1, 1));
	raw_allreduce(&cmd, NULL, mem, LEN / 4, COLL_I32, COLL_OP_SUM);
	ret = raw_submit(c.fd[0], &cmd);
	/* tmpfs is memory, and good; what is on a disk is not. */
	TH_LOG("a shared mapping of a file: %d", ret);
	EXPECT_TRUE(!ret || ret == -EFAULT || ret == -EOPNOTSUPP);
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	munmap(mem, LEN);
	close(fd);
}

TEST_HARNESS_MAIN
