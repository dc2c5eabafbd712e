// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays a child or a parent node whose record is wrong in one thing. The communicator
 * fails with a protocol error at once.
 */
#include <errno.h>

#include "named_wire.h"

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
CHANGE(join_ahead, r->kind = COLL_JOIN; r->serial = 1)
CHANGE(got_ahead, r->kind = COLL_GOT; r->serial = 1)
CHANGE(got_behind, r->kind = COLL_GOT; r->serial = ~0U)
CHANGE(got, r->kind = COLL_GOT)
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
CHANGE(total_of_none, r->params.field[COLL_FIELD_TOTAL] = 5)
CHANGE(total_huge, r->params.field[COLL_FIELD_COUNTS] = 1;
	      r->params.field[COLL_FIELD_TOTAL] = ~0ULL)
CHANGE(cause, r->bad.cause = COLL_NR_BAD)
CHANGE(field, r->bad.cause = COLL_BAD_MISMATCH; r->bad.field = COLL_NR_FIELDS)

#undef CHANGE
/* Changes of the bytes of the frame */
#define BYTES(name, statement) \
	static void name(struct coll_coord_rec *r, struct say *t) \
	{ uint8_t *b = t->buf + COLL_WIRE_HDR; (void)b; statement; }

BYTES(flags, b[1] |= 0x10)
BYTES(flags_most, b[1] |= 0x80)
BYTES(reserved, b[3] = 1)
BYTES(reserved_end, b[23] = 1)
BYTES(no_number, memset(b + 20, 0, 4))
BYTES(name_longer, b[2] = 255)
BYTES(name_shorter, b[2]--)
BYTES(cut, t->len--)
BYTES(header_only, t->len = COLL_WIRE_HDR + 24)
BYTES(one_byte, t->len = COLL_WIRE_HDR + 1)
BYTES(empty, t->len = COLL_WIRE_HDR)
BYTES(one_more, t->len++)
BYTES(too_long, t->len = COLL_WIRE_HDR + COLL_WIRE_TENSOR_MAX + 1)

/* A change; @late: of bytes, else of the record; @ok: the protocol allows it. */
#define W(what, late, ok) { #what, what, late, ok }

struct wrong {
	const char *name;
	void (*change)(struct coll_coord_rec *r, struct say *t);
	bool late;	/* changes bytes, after the record has been written */
	bool ok;	/* the protocol allows it */
};

static const struct wrong of_child[] = {
	W(kind0, 0, 0), W(kind_beyond, 0, 0), W(kind_most, 0, 0), W(join_of_nobody, 0, 0),
	W(join_ahead, 0, 0), W(got_ahead, 0, 0), W(got_behind, 0, 0), W(got, 0, 1), W(leave, 0, 0),
	W(joined, 0, 0), W(left, 0, 0), W(start, 0, 0), W(bad, 0, 0), W(fail, 0, 0),
	W(no_name, 0, 0), W(unknown_id, 0, 0), W(name_and_new_id, 0, 0), W(nul_in_name, 0, 0),
	W(other_name, 0, 1), W(future, 0, 0), W(far_future, 0, 0), W(past, 0, 1),
	W(nobody, 0, 0), W(crowd, 0, 0), W(one_too_many, 0, 0), W(no_params, 0, 0), W(ndim, 0, 0),
	W(ndim_huge, 0, 0),
	W(collective0, 0, 0), W(collective_huge, 0, 0), W(priority, 0, 0), W(dims_behind, 0, 0),
	W(shape, 0, 0), W(dtype_huge, 0, 0), W(algorithm_huge, 0, 0), W(wire_huge, 0, 0),
	W(wire_beyond, 0, 0), W(group_of_none, 0, 0), W(total_of_none, 0, 0), W(total_huge, 0, 0),
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
	W(no_number, 1, 0), W(got, 0, 0), W(nobody, 0, 0), W(crowd, 0, 0), W(one_too_many, 0, 0),
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
	ASSERT_EQ(0, say_post(&p, SAY_NAME, w->ok ? 200 * MS : 20 * SECOND));
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

TEST(a_parent_that_is_wrong)
{
	size_t i;

	for (i = 0; i < sizeof(of_parent) / sizeof(of_parent[0]); i++)
		one_wrong(_metadata, 1, &of_parent[i]);
}

TEST_HARNESS_MAIN
