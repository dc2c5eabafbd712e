// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that cannot be pinned for long, or not at all: the command is refused, does not
 * count, and nothing stays pinned.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

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

/* Neither registered nor sent, both with @error; the communicator is as it was. */
static void refused(struct __test_metadata *_metadata, void *mem, unsigned long len, int error,
		    const char *what)
{
	struct coll_status s;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	EXPECT_EQ(error, -try_register(&c, mem, len)) TH_LOG("%s registered", what);
	EXPECT_EQ(error, -try_send(&c, mem, len)) TH_LOG("%s sent", what);
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
	refused(_metadata, mem, LEN, EFAULT, "secret memory");
	munmap(mem, LEN);
	close(fd);
}

/* Pages of a driver or of the kernel: they have no struct page, or one that must not be held. */
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
	refused(_metadata, (void *)from, to - from, EFAULT, "[vvar]");
}

/* An allreduce of one rank, whose output is a shared mapping of @fd. */
static int write_to(struct __test_metadata *_metadata, int fd)
{
	struct coll_cmd cmd;
	struct raw_comm c;
	void *mem;
	int ret;

	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	EXPECT_EQ(0, raw_start(&c, 1, 1));
	raw_allreduce(&cmd, NULL, mem, LEN / 4, COLL_I32, COLL_OP_SUM);
	ret = raw_submit(c.fd[0], &cmd);
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	munmap(mem, LEN);
	return ret;
}

/* A file in @dir is an output, or not. */
static void write_to_file(struct __test_metadata *_metadata, const char *dir, int error)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s/coll-XXXXXX", dir);
	fd = mkstemp(name);
	ASSERT_LE(0, fd);
	unlink(name);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	EXPECT_EQ(error, -write_to(_metadata, fd));
	close(fd);
}

/* tmpfs is memory, and good. */
TEST(file_in_memory)
{
	struct statfs fs;

	if (statfs("/dev/shm", &fs) || fs.f_type != TMPFS_MAGIC)
		SKIP(return, "no tmpfs in /dev/shm");
	write_to_file(_metadata, "/dev/shm", 0);
}

/*
 * A page cache of another file system: it may be written back, and a receive would make pages dirty
 * without its knowledge. ramfs is one that any machine has.
 */
TEST(file_of_another_fs)
{
	char dir[] = "/tmp/coll-XXXXXX";

	ASSERT_NE(NULL, mkdtemp(dir));
	if (mount("coll", dir, "ramfs", 0, NULL)) {
		rmdir(dir);
		SKIP(return, "ramfs cannot be mounted");
	}
	write_to_file(_metadata, dir, EFAULT);
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* The file system of its node is one in memory, but the pages are those of the device. */
TEST(block_device)
{
	static const char *const names[] = { "/dev/loop0", "/dev/ram0", "/dev/ubda", "/dev/vda" };
	int fd = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && fd < 0; i++)
		fd = open(names[i], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no block device");
	EXPECT_EQ(-EFAULT, write_to(_metadata, fd)) TH_LOG("%s", names[i - 1]);
	close(fd);
}

TEST_HARNESS_MAIN
