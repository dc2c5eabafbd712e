// SPDX-License-Identifier: GPL-2.0
/*
 * A process with registered buffers is killed. A child of it has inherited the file and lives on,
 * as helpers that load data do. The memory of the dead process does not stay pinned for that long.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "pages.h"
#include "raw.h"
#include "util.h"

#define BYTES	(16UL << 20)
#define PAGES	(long)(BYTES / 4096)

/* Register, leave the file to a child, and wait to be killed. */
static void rank(int ready)
{
	struct coll_register reg = { .len = BYTES, .flags = COLL_REG_WRITE };
	struct raw_comm c;
	pid_t child;

	raw_plan(&c, 1, 1);
	c.fd[0] = raw_open();
	reg.addr = (uintptr_t)mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (raw_join(c.fd[0], &c, 0) || ioctl(c.fd[0], COLL_IOC_REGISTER, &reg))
		_exit(1);
	child = fork();
	if (child > 0 && write(ready, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	for (;;)
		pause();
}

TEST(of_a_rank)
{
	long before = pages_pinned();
	int ready[2], status, i;
	pid_t pid, child;

	if (before < 0 || !(raw_features() & COLL_FEAT_DEATH_NOTICE))
		SKIP(return, "this kernel does not tell of the end of an address space");
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		rank(ready[1]);
	close(ready[1]);
	ASSERT_EQ(sizeof(child), read(ready[0], &child, sizeof(child)));
	EXPECT_LE(before + PAGES, pages_pinned());
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	for (i = 0; i < 500 && pages_pinned() >= before + PAGES; i++)
		test_sleep_us(20000);
	EXPECT_GT(before + PAGES, pages_pinned());
	/* The child is there, and has the file. */
	EXPECT_EQ(0, kill(child, 0));
	kill(child, SIGKILL);
	close(ready[0]);
}

TEST_HARNESS_MAIN
