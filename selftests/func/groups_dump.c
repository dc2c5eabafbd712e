// SPDX-License-Identifier: GPL-2.0
/*
 * Communicators end while all of them are listed by netlink, in several messages. Each one that
 * lives all the time is listed once.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"
#include "stalls.h"
#include "util.h"

/* One message has room for about 90. */
#define GROUPS	500U
/* These end when the first one has been read. */
#define END	150U

static struct raw_comm comms[GROUPS];
static uint32_t ids[GROUPS], listed[GROUPS];
static uint32_t met;

static void note(uint32_t id, void *arg)
{
	(void)arg;
	if (met < GROUPS)
		ids[met] = id;
	met++;
}

static void end_some(uint32_t id, void *arg)
{
	uint32_t i;

	(void)arg;
	for (i = 0; i < GROUPS; i++)
		if (ids[i] == id)
			listed[i]++;
	for (i = 0; i < END && !met; i++)
		raw_stop(&comms[i]);
	met++;
}

TEST(groups_end_while_they_are_listed)
{
	struct rlimit files = { 4096, 4096 };
	uint32_t i, wrong = 0;
	int fd;

	setrlimit(RLIMIT_NOFILE, &files);
	fd = stalls_open();
	if (fd < 0)
		SKIP(return, "no netlink family");
	for (i = 0; i < GROUPS; i++)
		ASSERT_EQ(0, raw_start(&comms[i], 1, 1)) TH_LOG("group %u", i);
	/* They are listed in the order in which they began. */
	ASSERT_EQ(GROUPS, stalls_groups(note, NULL));
	met = 0;
	EXPECT_LE(GROUPS - END, stalls_groups(end_some, NULL));
	for (i = END; i < GROUPS; i++)
		wrong += listed[i] != 1;
	EXPECT_EQ(0, wrong);
	/* A group that has ended is listed once at most. */
	for (i = 0; i < END; i++)
		EXPECT_GE(1, listed[i]);
	for (i = END; i < GROUPS; i++)
		raw_stop(&comms[i]);
	close(fd);
}

TEST_HARNESS_MAIN
