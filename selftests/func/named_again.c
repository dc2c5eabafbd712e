// SPDX-License-Identifier: GPL-2.0
/*
 * A member of a group is refused, and the parent takes its time to end the others: the post waits
 * for that, so that the rank can post the group again at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "harness.h"
#include "say.h"

#define MS	1000000ULL
#define MEMBERS	3
#define BAD	1		/* this one is refused */
#define DIGEST	0x1234567800000001ULL
#define LATE	300		/* ms */

static char names[MEMBERS][8];
static struct coll_cmd cmds[MEMBERS];
static struct coll_tensor group[MEMBERS];

static void make_group(void)
{
	uint32_t k;

	for (k = 0; k < MEMBERS; k++) {
		snprintf(names[k], sizeof(names[k]), "g%u", k);
		raw_barrier(&cmds[k]);
		raw_tensor(&group[k], names[k], &cmds[k], k);
		group[k].group = DIGEST;
		group[k].members = MEMBERS;
	}
}

/* A parent: ends all members, some time after it could. Return: @arg, NULL: it could not. */
static void *end_late(void *arg)
{
	struct coll_coord_rec r;
	struct peer *p = arg;
	uint32_t k;

	test_sleep_us(LATE * 1000);
	for (k = 0; k < MEMBERS; k++) {
		r = say_record(COLL_ORDER_BAD, k + 1, 0);
		say_rename(&r, names[k]);
		r.has_params = false;
		r.bad.cause = COLL_BAD_GROUP;
		r.bad.rank[0] = 1;
		r.bad.group[0] = DIGEST;
		if (!say_one(p, &r))
			return NULL;
	}
	return p;
}

TEST(posted_again_at_once)
{
	struct coll_tensor_result res;
	uint32_t posted;
	pthread_t late;
	uint64_t since;
	struct peer p;
	void *said;

	make_group();
	ASSERT_EQ(0, peer_start_named(&p, 1));
	group[BAD].cmd = 0;
	since = test_now_ns();
	ASSERT_EQ(0, pthread_create(&late, NULL, end_late, &p));
	EXPECT_EQ(-EFAULT, raw_post(p.c.fd[0], group, MEMBERS, &posted));
	EXPECT_LE(LATE * MS, test_now_ns() - since);
	EXPECT_EQ(BAD, posted);
	group[BAD].cmd = (uintptr_t)&cmds[BAD];
	EXPECT_EQ(0, raw_post(p.c.fd[0], group, MEMBERS, &posted));
	EXPECT_EQ(MEMBERS, posted);
	pthread_join(late, &said);
	EXPECT_NE(NULL, said);
	EXPECT_EQ(-ECANCELED, say_result(&p, &res));
	EXPECT_EQ(0, res.tag);
	peer_stop(&p);
}

static volatile uint64_t hung_up;

/* The parent hangs up. Return: as end_late(). */
static void *hang_up_late(void *arg)
{
	struct peer *p = arg;

	test_sleep_us(LATE * 1000);
	hung_up = test_now_ns();
	peer_close(p, 0, true);
	return p;
}

/* The communicator fails meanwhile: no answer will come, and the post ends. */
TEST(the_parent_goes)
{
	struct coll_status s;
	uint64_t since, now;
	pthread_t late;
	struct peer p;

	make_group();
	ASSERT_EQ(0, peer_start_named(&p, 1));
	/* None is posted that could end and wake the post. */
	group[0].cmd = 0;
	since = test_now_ns();
	ASSERT_EQ(0, pthread_create(&late, NULL, hang_up_late, &p));
	EXPECT_EQ(-EFAULT, raw_post(p.c.fd[0], group, MEMBERS, NULL));
	now = test_now_ns();
	pthread_join(late, NULL);
	EXPECT_LE(LATE * MS, now - since);
	EXPECT_GT(4000 * MS, now - hung_up);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
	peer_stop(&p);
}

/* The parent never answers: the post ends after 5 s. */
TEST(no_answer)
{
	uint64_t since;
	uint32_t posted;
	struct peer p;

	make_group();
	ASSERT_EQ(0, peer_start_named(&p, 1));
	group[BAD].cmd = 0;
	since = test_now_ns();
	EXPECT_EQ(-EFAULT, raw_post(p.c.fd[0], group, MEMBERS, &posted));
	EXPECT_LE(since + 4900 * MS, test_now_ns());
	EXPECT_FALSE(test_late(since + 5000 * MS, test_now_ns()));
	peer_stop(&p);
}

TEST_HARNESS_MAIN
