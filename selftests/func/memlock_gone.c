// SPDX-License-Identifier: GPL-2.0
/* Memory of an op in windows is unmapped, or ends, while the op runs. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "pages.h"
#include "raw.h"
#include "util.h"

#define PAGE	4096UL
#define SECOND	1000000000ULL

struct unmapper {
	pthread_t thread;
	int fd;
	char *mem;
	size_t bytes;
	unsigned int delay;
};

static void *unmap_later(void *arg)
{
	struct unmapper *u = arg;
	struct coll_status s;

	/* Earlier, the command itself would be refused. */
	while (!raw_status(u->fd, &s) && !s.posted)
		test_sleep_us(100);
	test_sleep_us(u->delay);
	munmap(u->mem, u->bytes);
	return NULL;
}

/* Elements of a rank's memory that are not the sum of all four. */
static uint64_t wrong_sums(const int32_t *v, uint64_t count)
{
	uint64_t i, n = 0;

	for (i = 0; i < count; i++)
		n += v[i] != test_value_sum(4, i);
	return n;
}

/* If a window is not mapped any more the communicator fails, and nothing worse happens. */
TEST(window_unmapped_on_the_way)
{
	const uint64_t bytes = 1 << 20;
	uint64_t seed = test_seed(), begin, took = 20000, i;
	uint32_t r, n, hit = 0, bad;
	struct coll_cmd cmds[4];
	struct unmapper u;
	struct raw_comm c;
	int results[4];

	ASSERT_EQ(0, test_become_nobody(0));
	for (n = 0; n < test_scale(20) || (!hit && n < 500); n++) {
		ASSERT_EQ(0, raw_start(&c, 4, 1 + n % 3));
		for (r = 0; r < 4; r++) {
			char *mem = test_memory(bytes);

			for (i = 0; i < bytes / 4; i++)
				((int32_t *)mem)[i] = test_value(r, i);
			raw_allreduce(&cmds[r], NULL, mem, bytes / 4, COLL_I32,
				      COLL_OP_SUM);
			cmds[r].timeout_ns = 20 * SECOND;
			u.mem = mem;
			u.fd = c.fd[r];
		}
		u.bytes = bytes;
		/* While the op runs, which takes about as long as the last one that was not hit. */
		u.delay = test_below(&seed, (uint32_t)took + 1);
		ASSERT_EQ(0, pthread_create(&u.thread, NULL, unmap_later, &u));
		begin = test_now_ns();
		ASSERT_EQ(0, raw_all(&c, cmds, results));
		took = (test_now_ns() - begin) / 1000;
		pthread_join(u.thread, NULL);
		for (r = 0, bad = 0; r < 4; r++) {
			EXPECT_TRUE(results[r] == 0 || results[r] == -EFAULT) {
				TH_LOG("rank %u: %d", r, results[r]);
			}
			bad += results[r] != 0;
		}
		hit += bad > 0;
		/* The memory of the last rank has been unmapped. */
		for (r = 0; r < 3 && !bad; r++)
			EXPECT_EQ(0, wrong_sums((void *)cmds[r].recv_addr, bytes / 4));
		for (r = 0; r < 4; r++)
			munmap((void *)cmds[r].recv_addr, bytes);
		raw_stop(&c);
	}
	EXPECT_NE(0, hit) TH_LOG("no op of %u was hit", n);
}

/* Mapped all through, but some pages in the middle are behind the end of a file. */
static char *memory_that_ends(uint64_t bytes)
{
	char *mem = test_memory(bytes);
	int fd = memfd_create("coll", 0);

	if (fd < 0 || ftruncate(fd, 5 * PAGE) ||
	    mmap(mem, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != mem)
		return MAP_FAILED;
	close(fd);
	return mem;
}

/* Rank 0 sends such memory. Neither its mappings nor its first and last page show that. */
static int send_what_ends(void)
{
	const uint64_t bytes = 64 * PAGE;
	struct coll_cmd cmds[2];
	int results[2], ret;
	struct raw_comm c;
	uint32_t r;

	if (test_become_nobody(0) || raw_start(&c, 2, 2))
		return -1;
	for (r = 0; r < 2; r++) {
		raw_broadcast(&cmds[r], r ? test_memory(bytes) : memory_that_ends(bytes), bytes,
			      COLL_BYTE, 0);
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(&c, cmds, results);
	raw_stop(&c);
	return !ret && results[0] == -EFAULT && results[1] == -EFAULT ? 0 : -1;
}

/* The pages before the missing ones have been pinned. They must be unpinned, once. */
TEST(window_that_ends)
{
	long before = pages_pinned();
	int i, status;
	pid_t child;

	ASSERT_LE(0, before);
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(send_what_ends() ? 1 : 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* Pages of the test before may be unpinned meanwhile, too. */
	for (i = 0; i < 2000 && pages_pinned() > before; i++)
		test_sleep_us(10000);
	EXPECT_GE(before, pages_pinned());
}

TEST_HARNESS_MAIN
