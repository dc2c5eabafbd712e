// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the other node of a communicator with named collectives: the child of the real
 * one in the tree, or its parent. Its records are right, or wrong in one thing, or changed at
 * random.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "say.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL

/* One record on the control stream, which is open. */
static void say(struct __test_metadata *_metadata, struct peer *p, const struct coll_coord_rec *r)
{
	ASSERT_TRUE(say_one(p, r));
}

static void play_barrier(struct __test_metadata *_metadata, struct peer *p, uint64_t seq)
{
	struct coll_tensor_result res;
	uint8_t buf[4096];
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	ASSERT_TRUE(peer_write(p, 1, buf, peer_put_op(p, &cmd, seq, 4096, buf)));
	EXPECT_EQ(0, say_result(p, &res));
	EXPECT_EQ(SAY_TAG, res.tag);
}

TEST(a_child_that_is_right)
{
	struct coll_coord_rec r, got;
	uint32_t round;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
		r = say_record(COLL_READY, !round ? 0 : got.id, round);
		if (round) {
			r.name_len = 0;
			r.has_params = false;
		}
		say(_metadata, &p, &r);
		ASSERT_TRUE(say_hear(&p, &got));
		EXPECT_EQ(COLL_ORDER_START, got.kind);
		EXPECT_EQ(round, got.round);
		EXPECT_EQ(2, got.contributors);
		EXPECT_NE(0, got.id);
		/* Known parameters are not sent again. */
		EXPECT_EQ(!round, got.has_params);
		EXPECT_EQ(round ? 0 : strlen(SAY_NAME), got.name_len);
		play_barrier(_metadata, &p, round + 1);
	}
	peer_stop(&p);
}

TEST(a_parent_that_is_right)
{
	struct coll_coord_rec r, got;
	uint32_t round;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
		ASSERT_TRUE(say_hear(&p, &got));
		EXPECT_EQ(COLL_READY, got.kind);
		EXPECT_EQ(round, got.round);
		EXPECT_EQ(1, got.contributors);
		EXPECT_EQ(1, got.rank);
		EXPECT_EQ(round ? 77 : 0, got.id);
		EXPECT_EQ(!round, got.has_params);
		r = say_record(COLL_ORDER_START, 77, round);
		if (round) {
			r.name_len = 0;
			r.has_params = false;
		}
		say(_metadata, &p, &r);
		play_barrier(_metadata, &p, round + 1);
	}
	peer_stop(&p);
}

/* The parent ends a name that the child has not posted: the next post hears of it. */
TEST(bad_of_a_name_that_is_new)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_BAD, 3, 0);
	struct coll_tensor_result res;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	r.has_params = false;
	r.bad = (struct coll_coord_bad){
		.cause = COLL_BAD_MISMATCH, .field = COLL_FIELD_ROOT,
		.rank = { 0, 1 }, .value = { 4, 5 },
	};
	say(_metadata, &p, &r);
	test_sleep_us(100000);
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
	EXPECT_EQ(COLL_FIELD_ROOT, res.field);
	EXPECT_EQ(1, res.rank[1]);
	EXPECT_EQ(4, res.value[0]);
	EXPECT_EQ(5, res.value[1]);
	peer_stop(&p);
}

/* --- wrong in one thing --------------------------------------------------------- */

#define CHANGE(name, statement) \
	static void name(struct coll_coord_rec *r, struct say *t) { statement; }

CHANGE(kind0, r->kind = 0)
CHANGE(kind_beyond, r->kind = COLL_NR_KINDS)
CHANGE(kind_most, r->kind = 255)
CHANGE(join, r->kind = COLL_JOIN)
CHANGE(leave, r->kind = COLL_LEAVE)
CHANGE(joined, r->kind = COLL_ORDER_JOINED)
CHANGE(join_of_nobody, r->kind = COLL_JOIN; r->rank = 2)
CHANGE(left, r->kind = COLL_ORDER_LEFT)
CHANGE(ready, r->kind = COLL_READY)
CHANGE(fail, r->kind = COLL_FAIL)
CHANGE(start, r->kind = COLL_ORDER_START)
CHANGE(bad, r->kind = COLL_ORDER_BAD)
CHANGE(no_name, r->name_len = 0)
CHANGE(unknown_id, r->name_len = 0; r->id = 9)
CHANGE(name_and_new_id, r->id = 9)
CHANGE(no_id, r->id = 0)
CHANGE(nul_in_name, r->name = (const u8 *)"gr\0d")
CHANGE(other_name, r->name = (const u8 *)"darg")
CHANGE(future, r->round = 1)
CHANGE(far_future, r->round = 0x7fffffff)
CHANGE(past, r->round = 0xffffffff)
CHANGE(nobody, r->contributors = 0)
CHANGE(crowd, r->contributors = ~0U)
CHANGE(one_too_many, r->contributors = 3)
CHANGE(no_params, r->has_params = false)
CHANGE(ndim, r->params.field[COLL_FIELD_NDIM] = 9)
CHANGE(ndim_huge, r->params.field[COLL_FIELD_NDIM] = ~0ULL)
CHANGE(collective0, r->params.field[COLL_FIELD_COLLECTIVE] = 0)
CHANGE(collective_huge, r->params.field[COLL_FIELD_COLLECTIVE] = ~0ULL)
CHANGE(priority, r->params.field[COLL_FIELD_PRIORITY] = COLL_TENSOR_PRIORITY_MAX + 1)
CHANGE(dims_behind, r->params.field[COLL_FIELD_DIM0 + 3] = 1)
CHANGE(shape, r->params.field[COLL_FIELD_NDIM] = 2;
	      r->params.field[COLL_FIELD_DIM0] = 1ULL << 40;
	      r->params.field[COLL_FIELD_DIM0 + 1] = 1ULL << 40)
CHANGE(dtype_huge, r->params.field[COLL_FIELD_DTYPE] = ~0ULL)
CHANGE(algorithm_huge, r->params.field[COLL_FIELD_ALGORITHM] = ~0ULL)
CHANGE(wire_huge, r->params.field[COLL_FIELD_WIRE] = ~0ULL)
CHANGE(wire_beyond, r->params.field[COLL_FIELD_WIRE] = COLL_NR_DTYPES)
CHANGE(group_of_none, r->params.field[COLL_FIELD_GROUP] = 5)
CHANGE(cause, r->bad.cause = COLL_NR_BAD)
CHANGE(field, r->bad.cause = COLL_BAD_MISMATCH; r->bad.field = COLL_NR_FIELDS)

#undef CHANGE
/* Changes in the bytes of the record. */
#define BYTES(name, statement) \
	static void name(struct coll_coord_rec *r, struct say *t) \
	{ uint8_t *b = t->buf + COLL_WIRE_HDR; (void)b; statement; }

BYTES(flags, b[1] |= 0x10)
BYTES(flags_most, b[1] |= 0x80)
BYTES(reserved, b[3] = 1)
BYTES(reserved_end, b[23] = 1)
BYTES(name_longer, b[2] = 255)
BYTES(name_shorter, b[2]--)
BYTES(cut, t->len--)
BYTES(header_only, t->len = COLL_WIRE_HDR + 24)
BYTES(one_byte, t->len = COLL_WIRE_HDR + 1)
BYTES(empty, t->len = COLL_WIRE_HDR)
BYTES(one_more, t->len++)
BYTES(too_long, t->len = COLL_WIRE_HDR + COLL_WIRE_TENSOR_MAX + 1)

/* Frame or record; OK: no fault of the protocol. */
#define W(what, late, ok) { #what, what, late, ok }

struct wrong {
	const char *name;
	void (*change)(struct coll_coord_rec *r, struct say *t);
	bool late;	/* it changes bytes */
	bool ok;	/* that may be said */
};

static const struct wrong of_child[] = {
	W(kind0, 0, 0), W(kind_beyond, 0, 0), W(kind_most, 0, 0), W(join_of_nobody, 0, 0), W(leave, 0, 0),
	W(joined, 0, 0), W(left, 0, 0), W(start, 0, 0), W(bad, 0, 0), W(fail, 0, 0),
	W(no_name, 0, 0), W(unknown_id, 0, 0), W(name_and_new_id, 0, 0), W(nul_in_name, 0, 0),
	W(other_name, 0, 1), W(future, 0, 0), W(far_future, 0, 0), W(past, 0, 1),
	W(nobody, 0, 0), W(crowd, 0, 0), W(one_too_many, 0, 0), W(no_params, 0, 0), W(ndim, 0, 0),
	W(ndim_huge, 0, 0),
	W(collective0, 0, 0), W(collective_huge, 0, 0), W(priority, 0, 0), W(dims_behind, 0, 0),
	W(shape, 0, 0), W(dtype_huge, 0, 0), W(algorithm_huge, 0, 0), W(wire_huge, 0, 0),
	W(wire_beyond, 0, 0), W(group_of_none, 0, 0),
	W(cause, 0, 0), W(field, 0, 0), W(flags, 1, 0), W(flags_most, 1, 0), W(reserved, 1, 0),
	W(reserved_end, 1, 0), W(name_longer, 1, 0), W(name_shorter, 1, 0), W(cut, 1, 0),
	W(header_only, 1, 0), W(one_byte, 1, 0), W(empty, 1, 0), W(one_more, 1, 0),
	W(too_long, 1, 0),
};

static const struct wrong of_parent[] = {
	W(kind0, 0, 0), W(join, 0, 0), W(leave, 0, 0), W(joined, 0, 0), W(left, 0, 0),
	W(ready, 0, 0), W(fail, 0, 0), W(bad, 0, 0), W(no_name, 0, 0), W(no_id, 0, 0),
	W(nul_in_name, 0, 0), W(other_name, 0, 0), W(future, 0, 0), W(far_future, 0, 0),
	W(past, 0, 0), W(no_params, 0, 0), W(ndim, 0, 0), W(collective0, 0, 0), W(shape, 0, 0),
	W(cause, 0, 0), W(field, 0, 0), W(flags, 1, 0), W(reserved, 1, 0), W(cut, 1, 0),
	W(header_only, 1, 0), W(empty, 1, 0), W(one_more, 1, 0), W(too_long, 1, 0),
	W(nobody, 0, 0), W(crowd, 0, 0), W(one_too_many, 0, 0),
};

static void one_wrong(struct __test_metadata *_metadata, uint32_t rank, const struct wrong *w)
{
	struct coll_coord_rec r = say_record(rank ? COLL_ORDER_START : COLL_READY, rank ? 7 : 0, 0);
	struct coll_tensor_result res;
	struct coll_status s;
	uint64_t when;
	struct say t;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, rank));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, w->ok ? 200 * MS : 5 * SECOND));
	say_begin(&t);
	if (!w->late)
		w->change(&r, &t);
	say_add(&t, &r);
	if (w->late)
		w->change(&r, &t);
	when = test_now_ns();
	say_send(&t, &p, 0);
	EXPECT_EQ(w->ok ? ETIMEDOUT : EPROTO, -say_result(&p, &res)) {
		TH_LOG("%s", w->name);
	}
	EXPECT_FALSE(test_late(when + (w->ok ? 200 * MS : 0), test_now_ns())) {
		TH_LOG("%s", w->name);
	}
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(w->ok ? COLL_CAUSE_NONE : COLL_CAUSE_PROTO, s.cause.kind) {
		TH_LOG("%s", w->name);
	}
	peer_stop(&p);
}

TEST(a_child_that_is_wrong)
{
	size_t i;

	for (i = 0; i < sizeof(of_child) / sizeof(of_child[0]); i++)
		one_wrong(_metadata, 0, &of_child[i]);
}

/* --- a node whose rank has joined does what its parent says, if it can --------------- */

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
	{ COLL_FIELD_WIRE, COLL_F32 }, { COLL_FIELD_WIRE, COLL_I8 }, { COLL_FIELD_WIRE, COLL_OPAQUE },
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
		say(_metadata, &p, &r);
		EXPECT_EQ(-EBADE, say_result(&p, &res)) {
			TH_LOG("%zu", i);
		}
		ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
		peer_stop(&p);
	}
}

TEST(a_parent_that_is_wrong)
{
	size_t i;

	for (i = 0; i < sizeof(of_parent) / sizeof(of_parent[0]); i++)
		one_wrong(_metadata, 1, &of_parent[i]);
}

/* Two barriers, which nobody may fuse; and a fusion whose end never comes. */
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
	say(_metadata, &p, &r);
	r = say_record(COLL_ORDER_START, 8, 0);
	r.name = (const u8 *)"second";
	r.name_len = 6;
	say(_metadata, &p, &r);
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
	peer_stop(&p);

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	r = say_record(COLL_ORDER_START, 7, 0);
	r.last = false;
	say(_metadata, &p, &r);
	test_sleep_us(50000);
	EXPECT_EQ(0, raw_collect(p.c.fd[0], &res, 1, 0, 0));
	ASSERT_EQ(0, raw_abort(p.c.fd[0], 0));
	EXPECT_EQ(-ESHUTDOWN, say_result(&p, &res));
	peer_stop(&p);
}

/* The same twice, and orders before the child has said READY. */
TEST(out_of_turn)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	struct coll_tensor_result res;
	struct coll_status s;
	struct say t;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	say(_metadata, &p, &r);
	say(_metadata, &p, &r);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);

	ASSERT_EQ(0, peer_start_named(&p, 1));
	r = say_record(COLL_ORDER_START, 7, 0);
	say(_metadata, &p, &r);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);

	/* On the data stream, which is read when an op wants data. */
	ASSERT_EQ(0, peer_start_named(&p, 0));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 5 * SECOND));
	r = say_record(COLL_READY, 0, 0);
	say(_metadata, &p, &r);
	say_begin(&t);
	say_add(&t, &r);
	ASSERT_TRUE(say_send(&t, &p, 1));
	EXPECT_EQ(-EPROTO, say_result(&p, &res));
	peer_stop(&p);

	/* Where collectives are numbered. */
	ASSERT_EQ(0, peer_start(&p, true));
	say(_metadata, &p, &r);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);
}

/* A peer that makes up names without end. */
TEST(names_without_end)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	struct coll_status s;
	char name[32];
	uint32_t i, k;
	struct say t;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	for (i = 0; i < 70000; ) {
		say_begin(&t);
		for (k = 0; k < 4; k++, i++) {
			r.name_len = snprintf(name, sizeof(name), "n%u", i);
			r.name = (const u8 *)name;
			say_add(&t, &r);
		}
		if (!say_send(&t, &p, 0))
			break;
	}
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MEMORY, s.cause.kind);
	EXPECT_EQ(ENOSPC, s.cause.error);
	peer_stop(&p);
}

/* --- changed at random ------------------------------------------------------------ */

static void fuzz_once(struct __test_metadata *_metadata, uint64_t seed)
{
	uint32_t rank, i, n, at;
	struct coll_tensor_result res;
	struct coll_coord_rec r;
	uint64_t lots = seed, when;
	struct say t;
	struct peer p;
	int ret;

	rank = test_below(&lots, 2);
	ASSERT_EQ(0, peer_start_named(&p, rank));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 100 * MS));
	say_begin(&t);
	n = 1 + test_below(&lots, 2);
	for (i = 0; i < n; i++) {
		r = say_record(1 + test_below(&lots, 6), test_below(&lots, 3), test_below(&lots, 2));
		r.has_params = test_below(&lots, 4);
		if (!test_below(&lots, 3))
			r.name_len = 0;
		if (!test_below(&lots, 3))
			r.bad.cause = test_below(&lots, COLL_NR_BAD);
		say_add(&t, &r);
	}
	n = test_below(&lots, 4);
	for (i = 0; i < n; i++) {
		at = COLL_WIRE_HDR + test_below(&lots, t.len - COLL_WIRE_HDR);
		t.buf[at] = test_below(&lots, 2) ? test_rand(&lots) : test_below(&lots, 4);
	}
	if (t.len > COLL_WIRE_HDR + COLL_WIRE_TENSOR_MAX)
		t.len = COLL_WIRE_HDR + COLL_WIRE_TENSOR_MAX;
	when = test_now_ns();
	say_send(&t, &p, 0);
	/* Where the peer is the parent, only that can end the tensor: it hangs up instead. */
	test_sleep_us(1000);
	peer_close(&p, 0, false);
	peer_close(&p, 1, false);
	ret = say_result(&p, &res);
	EXPECT_TRUE(ret && ret != -ENODATA) {
		TH_LOG("seed %llu: %d", (unsigned long long)seed, ret);
	}
	EXPECT_FALSE(test_late(when + 100 * MS, test_now_ns())) {
		TH_LOG("seed %llu: %d", (unsigned long long)seed, ret);
	}
	peer_stop(&p);
}

TEST(changed_at_random)
{
	unsigned int i, n = test_scale(300);
	uint64_t lots = test_seed();

	for (i = 0; i < n; i++)
		fuzz_once(_metadata, test_rand(&lots) | 1);
}

TEST_HARNESS_MAIN
