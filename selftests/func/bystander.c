// SPDX-License-Identifier: GPL-2.0
/*
 * A user with cpu.max 10 % has large messages within the node under way, out of little memory.
 * Workers copy them, and no control group is charged for workers. The ops and deadlines of
 * another user must not be late.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "other.h"
#include "ring.h"
#include "util.h"

#define MESSAGES	40
#define PART		(2UL << 20)
#define PARTS		1000UL
#define BYTES		(PART * PARTS)
#define DEADLINE	500000000ULL
/*
 * The most that it may take, in percent of its time alone. Workers may take 10 percent of a CPU at
 * the priority of their user (COLL_USER_SHARE) and 12 percent at nice 19 (COLL_USER_WORKERS), so
 * 126 is allowed. One worker that keeps its priority makes it 200.
 */
#define MOST		160

static struct raw_comm comm;
static struct io_uring ring;
static struct coll_cmd cmds[2 * MESSAGES];

/* @PART bytes of memory, mapped again and again. */
static void *map_often(void)
{
	int fd = memfd_create("part", 0);
	size_t at;
	char *mem;

	if (fd < 0 || ftruncate(fd, PART))
		return NULL;
	mem = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return NULL;
	for (at = 0; at < BYTES; at += PART)
		if (mmap(mem + at, PART, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			return NULL;
	memset(mem, 1, PART);
	return mem;
}

/* In the other's process. */
static int begin_messages(void *arg)
{
	char *from, *to;
	int i, ret;

	(void)arg;
	/* Not every kernel has cpu.max. The measurement does not depend on it. */
	ret = other_enter_cgroup("coll_slow", "cpu.max", "10000 100000");
	if (ret && ret != -EOPNOTSUPP)
		return ret;
	ret = test_become_nobody(65536);
	if (ret)
		return ret;
	from = map_often();
	to = map_often();
	if (!from || !to)
		return -ENOMEM;
	ret = raw_start(&comm, 2, 1);
	if (!ret)
		ret = io_uring_queue_init(2 * MESSAGES, &ring, 0);
	if (ret)
		return ret;
	for (i = 0; i < MESSAGES; i++) {
		raw_recv(&cmds[2 * i], to, BYTES, COLL_BYTE, 0, i, NULL);
		ring_prep(io_uring_get_sqe(&ring), comm.fd[1], &cmds[2 * i], i);
		raw_send(&cmds[2 * i + 1], from, BYTES, COLL_BYTE, 1, i);
		ring_prep(io_uring_get_sqe(&ring), comm.fd[0], &cmds[2 * i + 1], i);
	}
	ret = io_uring_submit(&ring);
	if (ret != 2 * MESSAGES)
		return -EIO;
	/* The messages take far longer: a CQE now is an error. */
	test_sleep_us(100000);
	return io_uring_cq_ready(&ring) ? -EIO : 0;
}

/*
 * In the other's process: as many loops at nice 19 as there are CPUs. They show what the
 * scheduler costs a bystander, and the machine that a virtual one runs on.
 */
static int begin_idlers(void *arg)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	(void)arg;
	while (n-- > 0) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (nice(19) == -1)
			_exit(1);
		for (;;)
			;
	}
	return 0;
}

TEST(messages_of_another_user)
{
	unsigned int alone, idlers, beside = 0;
	struct other o = { };
	uint64_t late;
	int i;

	ASSERT_EQ(0, other_start(&o, begin_idlers, NULL));
	idlers = other_loop_percent();
	other_stop(&o);
	alone = other_loop_percent();
	if (idlers > alone)
		alone = idlers;
	ASSERT_EQ(0, other_start(&o, begin_messages, NULL));
	/* Other work of the machine disturbs some of the loops, too. */
	for (i = 0; i < 5 && (!i || beside * 100 > alone * MOST); i++)
		beside = other_loop_percent();
	late = other_time_deadline(DEADLINE);
	other_stop(&o);
	TH_LOG("time in percent of CPU time: alone, or beside idle loops, %u, beside messages %u; a deadline of 500 ms came after %llu ms",
	       alone, beside, (unsigned long long)late / 1000000);
	EXPECT_LE(beside * 100, alone * MOST);
	EXPECT_GE(late, DEADLINE);
	EXPECT_LE(late, DEADLINE + test_bound_ms() * 1000000ULL);
}

TEST_HARNESS_MAIN
