// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that wait in COLL_IOC_SUBMIT are frozen, by their control group or with the whole
 * system. Their call goes on when they are thawed.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stops.h"
#include "waiting.h"

static void freeze_in(struct __test_metadata *_metadata, uint32_t nodes, uint64_t count)
{
	struct procs p = { };

	waiting_begin(_metadata, &p, nodes, count);
	if (!stops_group(p.pid[0])) {
		procs_stop(&p);
		SKIP(return, "no cgroup of version 2");
	}
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "1"));
	EXPECT_TRUE(stops_frozen()) TH_LOG("a rank that waits cannot be frozen");
	waiters->post = 1;
	test_sleep_us(50000);
	EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "0"));
	waiting_end(_metadata, &p);
	rmdir(STOPS_GROUP);
}

TEST(frozen_in_a_barrier)	{ freeze_in(_metadata, 1, 0); }
TEST(frozen_in_a_large_op)	{ freeze_in(_metadata, 2, WAITING_COUNT); }

/* Freeze all processes but the caller, as suspend does. */
#define SNAPSHOT_FREEZE		_IO('3', 1)
#define SNAPSHOT_UNFREEZE	_IO('3', 2)

TEST(system_freezes)
{
	struct procs p = { };
	int fd;

	fd = open("/dev/snapshot", O_RDONLY);
	if (fd < 0)
		SKIP(return, "this kernel has no /dev/snapshot");
	waiting_begin(_metadata, &p, 1, 0);
	EXPECT_EQ(0, ioctl(fd, SNAPSHOT_FREEZE)) TH_LOG("processes cannot be frozen");
	EXPECT_EQ(0, ioctl(fd, SNAPSHOT_UNFREEZE));
	close(fd);
	waiting_end(_metadata, &p);
}

TEST_HARNESS_MAIN
