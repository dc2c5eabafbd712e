// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the parent node. It starts a collective for a rank that has joined, or a fusion,
 * that its child cannot run.
 */
#include <errno.h>
#include <sys/socket.h>

#include "named_wire.h"

static const struct {
	uint32_t field;
	uint64_t value;
} never_joined[] = {
	{ COLL_FIELD_COLLECTIVE, COLL_ALLGATHER }, { COLL_FIELD_COLLECTIVE, COLL_SEND },
	{ COLL_FIELD_OP, COLL_OP_REPLACE }, { COLL_FIELD_OP, COLL_OP_BAND },
	{ COLL_FIELD_OP, COLL_NR_OPS }, { COLL_FIELD_OP, ~0U },
	{ COLL_FIELD_DTYPE, 0 }, { COLL_FIELD_DTYPE, ~0U }, { COLL_FIELD_DTYPE, COLL_OPAQUE },
	{ COLL_FIELD_ALGORITHM, COLL_ALG_BRUCK }, { COLL_FIELD_ALGORITHM, 1 << 16 },
	{ COLL_FIELD_DIM0, 1ULL << 40 },
	{ COLL_FIELD_WIRE, COLL_F32 }, { COLL_FIELD_WIRE, COLL_I8 },
	{ COLL_FIELD_WIRE, COLL_OPAQUE },
};

TEST(a_parent_starts_what_cannot_be_joined)
{
	const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };
	struct coll_tensor_result res;
	struct coll_coord_rec r;
	struct coll_status s;
	struct peer p;
	size_t i;

	for (i = 0; i < sizeof(never_joined) / sizeof(never_joined[0]); i++) {
		ASSERT_EQ(0, peer_start_named(&p, 1));
		ASSERT_EQ(0, raw_post(p.c.fd[0], &join, 1, NULL));
		r = say_record(COLL_ORDER_START, 7, 0);
		say_sum(&r, 9);
		r.contributors = 1;
		r.params.field[never_joined[i].field] = never_joined[i].value;
		send_record(_metadata, &p, &r);
		EXPECT_EQ(-EBADE, say_result(&p, &res)) {
			TH_LOG("%zu", i);
		}
		ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
		peer_stop(&p);
	}
}

/* A fusion of two barriers, which is not allowed; and a fusion without its last tensor. */
TEST(a_parent_that_fuses_wrong)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 7, 0);
	struct coll_tensor_result res;
	struct coll_status s;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_EQ(0, say_post(&p, "second", 0));
	r.last = false;
	send_record(_metadata, &p, &r);
	r = say_record(COLL_ORDER_START, 8, 0);
	r.name = (const u8 *)"second";
	r.name_len = 6;
	send_record(_metadata, &p, &r);
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
	peer_stop(&p);

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	r = say_record(COLL_ORDER_START, 7, 0);
	r.last = false;
	send_record(_metadata, &p, &r);
	test_sleep_us(50000);
	EXPECT_EQ(0, raw_collect(p.c.fd[0], &res, 1, 0, 0));
	ASSERT_EQ(0, raw_abort(p.c.fd[0], 0));
	EXPECT_EQ(-ESHUTDOWN, say_result(&p, &res));
	peer_stop(&p);
}

static bool start_sum(struct peer *p, uint32_t id, const char *name, bool last)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, id, 0);

	say_rename(&r, name);
	say_sum(&r, 9);
	r.last = last;
	return say_one(p, &r);
}

/*
 * The rank has joined and lacks the second tensor of a fusion. The communicator fails. The third
 * one, which the rank has, comes in another frame: it must not be added to what is left of the
 * fusion, and no op must run.
 */
TEST(a_parent_that_goes_on_after_a_wrong_fusion)
{
	const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };
	static const char * const names[] = { "one", "two", "three" };
	struct coll_tensor_result res;
	static float in[9], out[9];
	struct coll_tensor t;
	struct coll_status s;
	struct coll_cmd cmd;
	struct peer p;
	char byte;
	int i;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	raw_allreduce(&cmd, in, out, 9, COLL_F32, COLL_OP_SUM);
	for (i = 0; i < 3; i += 2) {
		raw_tensor(&t, names[i], &cmd, SAY_TAG);
		ASSERT_EQ(0, raw_post(p.c.fd[0], &t, 1, NULL));
	}
	ASSERT_EQ(0, raw_post(p.c.fd[0], &join, 1, NULL));
	ASSERT_TRUE(start_sum(&p, 7, names[0], false));
	ASSERT_TRUE(start_sum(&p, 8, names[1], false));
	/* The communicator may have failed before this one. */
	start_sum(&p, 9, names[2], true);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EBADE, say_result(&p, &res));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
	EXPECT_GE(0, recv(p.sock[1], &byte, 1, MSG_DONTWAIT));
	peer_stop(&p);
}

TEST_HARNESS_MAIN
