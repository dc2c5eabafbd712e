// SPDX-License-Identifier: GPL-2.0
/*
 * Which node reports a tensor that waits, and ends it with the parameter stall_end. The test plays
 * the other node. A tensor that all ranks have posted, and that only waits for earlier ops, is
 * neither reported nor ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/coll_nl.h>

#include "named_wire.h"
#include "stalls.h"

#define AFTER	"/sys/module/coll/parameters/stall_after"
#define END	"/sys/module/coll/parameters/stall_end"
#define WAIT_MS	20000
/* More than the root lets start besides others */
#define LARGE	(4U << 20)
#define DIGEST	0x1234567800000001ULL

FIXTURE(turn) {
	struct peer p;
	int events;
};

FIXTURE_SETUP(turn)
{
	ASSERT_TRUE(test_put(AFTER, "1"));
	ASSERT_TRUE(test_put(END, "2"));
	self->events = stalls_open();
	ASSERT_LE(0, self->events);
}

FIXTURE_TEARDOWN(turn)
{
	peer_stop(&self->p);
	close(self->events);
	test_put(AFTER, "60");
	test_put(END, "0");
}

/* Wait until the timer has run for both parameters. */
static bool has_looked(int64_t before)
{
	uint64_t end = test_now_ns() + WAIT_MS * MS;

	while (stalls_looks() < before + 2) {
		if (test_now_ns() > end)
			return false;
		test_sleep_us(10000);
	}
	return true;
}

/* The next record that the real node sends; others are skipped until one is of @kind. */
static bool hears(struct peer *p, uint8_t kind, struct coll_coord_rec *r)
{
	struct coll_frame f;

	while (peer_read(p, 0, &f, WAIT_MS))
		if (f.type == COLL_FRAME_TENSOR && coll_coord_get(p->payload, f.length, r) &&
		    r->kind == kind)
			return true;
	return false;
}

/* A large sum runs, and fills the window. A barrier is ready and waits for it. */
TEST_F(turn, all_have_posted)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	float *mem = calloc(LARGE, sizeof(*mem));
	struct coll_tensor_result res;
	struct coll_tensor t;
	struct stalls_one s;
	struct coll_cmd cmd;
	int64_t looks;

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, peer_start_named(&self->p, 0));
	raw_allreduce(&cmd, NULL, mem, LARGE, COLL_F32, COLL_OP_SUM);
	cmd.flags = COLL_CMD_INPLACE;
	raw_tensor(&t, "large", &cmd, 1);
	ASSERT_EQ(0, raw_post(self->p.c.fd[0], &t, 1, NULL));
	say_sum(&r, LARGE);
	say_rename(&r, "large");
	ASSERT_TRUE(say_one(&self->p, &r));
	ASSERT_TRUE(hears(&self->p, COLL_ORDER_START, &r));
	looks = stalls_looks();
	ASSERT_EQ(0, say_post(&self->p, SAY_NAME, 0));
	r = say_record(COLL_READY, 0, 0);
	ASSERT_TRUE(say_one(&self->p, &r));
	EXPECT_TRUE(has_looked(looks));
	EXPECT_FALSE(stalls_event(self->events, &s, 1000)) TH_LOG("state %u", s.state);
	EXPECT_EQ(0, stalls_dump(&s, 1));
	EXPECT_EQ(0, raw_collect(self->p.c.fd[0], &res, 1, 0, 0));
	ASSERT_EQ(0, raw_abort(self->p.c.fd[0], 0));
	EXPECT_EQ(-ESHUTDOWN, say_result(&self->p, &res));
	EXPECT_EQ(-ESHUTDOWN, say_result(&self->p, &res));
	peer_stop(&self->p);
	free(mem);
}

/* Both ranks have posted one of two members of a group. */
TEST_F(turn, a_group_is_not_whole)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	struct coll_tensor_result res;
	struct stalls_one s = { };
	struct coll_tensor t;
	struct coll_cmd cmd;

	ASSERT_EQ(0, peer_start_named(&self->p, 0));
	raw_barrier(&cmd);
	raw_tensor(&t, SAY_NAME, &cmd, SAY_TAG);
	t.group = DIGEST;
	t.members = 2;
	ASSERT_EQ(0, raw_post(self->p.c.fd[0], &t, 1, NULL));
	r.params.field[COLL_FIELD_GROUP] = DIGEST;
	r.params.field[COLL_FIELD_MEMBERS] = 2;
	ASSERT_TRUE(say_one(&self->p, &r));
	EXPECT_TRUE(stalls_event(self->events, &s, WAIT_MS));
	EXPECT_EQ(COLL_NL_STALL_STATE_GROUP, s.state);
	EXPECT_EQ(-ETIMEDOUT, say_result(&self->p, &res));
}

/* Only the child has posted it. The root ends it, and the child does not ask for that. */
TEST_F(turn, the_root_has_not_posted)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	struct coll_tensor_result res;

	ASSERT_EQ(0, peer_start_named(&self->p, 0));
	ASSERT_TRUE(say_one(&self->p, &r));
	ASSERT_TRUE(hears(&self->p, COLL_ORDER_BAD, &r));
	EXPECT_EQ(COLL_BAD_TIMEOUT, r.bad.cause);
	EXPECT_EQ(1, r.bad.rank[0]);
	ASSERT_EQ(0, say_post(&self->p, SAY_NAME, 0));
	EXPECT_EQ(-ETIMEDOUT, say_result(&self->p, &res));
	EXPECT_EQ(1, res.rank[0]);
}

/* All ranks of the real node have posted it, and the parent knows whether others have. */
TEST_F(turn, the_parent_knows_more)
{
	struct coll_tensor_result res;
	struct coll_coord_rec r;
	struct coll_frame f;
	struct stalls_one s;
	int64_t looks;

	ASSERT_EQ(0, peer_start_named(&self->p, 1));
	looks = stalls_looks();
	ASSERT_EQ(0, say_post(&self->p, SAY_NAME, 0));
	ASSERT_TRUE(hears(&self->p, COLL_READY, &r));
	EXPECT_TRUE(has_looked(looks));
	EXPECT_FALSE(peer_read(&self->p, 0, &f, 1000)) TH_LOG("type %u", f.type);
	EXPECT_FALSE(stalls_event(self->events, &s, 0));
	EXPECT_EQ(0, raw_collect(self->p.c.fd[0], &res, 1, 0, 0));
}

TEST_HARNESS_MAIN
