// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, which sends a wrong frame of a message. The communicator fails with
 * a protocol error.
 */
#include "wire_msg.h"

#define RTS(...)	send_rts(p, 1, (struct coll_rts){ __VA_ARGS__ })

static void foreign_source(struct peer *p)	{ RTS(0, 0, TAG, COLL_BYTE, 4); }
static void source_beyond(struct peer *p)	{ RTS(2, 0, TAG, COLL_BYTE, 4); }
static void foreign_dest(struct peer *p)	{ RTS(1, 1, TAG, COLL_BYTE, 4); }
static void dest_beyond(struct peer *p)	{ RTS(1, COLL_RANK_NONE, TAG, COLL_BYTE, 4); }
static void odd_tag(struct peer *p)		{ RTS(1, 0, COLL_TAG_ANY, COLL_BYTE, 4); }
static void no_dtype(struct peer *p)		{ RTS(1, 0, TAG, COLL_DTYPE_NONE, 4); }
static void opaque(struct peer *p)		{ RTS(1, 0, TAG, COLL_OPAQUE, 4); }
static void half_element(struct peer *p)	{ RTS(1, 0, TAG, COLL_I32, 6); }
static void too_long(struct peer *p)		{ RTS(1, 0, TAG, COLL_BYTE, 1ULL << 60); }
static void later_id(struct peer *p)		{ send_rts(p, 2, offer); }
static void no_id(struct peer *p)		{ send_rts(p, 0, offer); }

static void same_id(struct peer *p)
{
	send_rts(p, 1, offer);
	send_rts(p, 1, offer);
}

static void after_bye(struct peer *p)
{
	uint8_t buf[256];

	peer_write(p, 0, buf, peer_put_bye(p, 1, 0, buf));
	send_rts(p, 1, offer);
}

static void early_cancel(struct peer *p)	{ send_cancel(p, 1); }
static void no_cancel(struct peer *p)		{ send_cancel(p, 0); }
static void unasked_cts(struct peer *p)	{ send_cts(p, 1, 0); }
static void unasked_msg(struct peer *p)	{ send_msg(p, 1, 1, 0, 10); }
static void msg_on_control(struct peer *p)	{ send_msg(p, 0, 1, 0, 10); }

/* These come after an offer with TAG, for which a receive waits. */
static void other_msg(struct peer *p)		{ send_msg(p, 1, 2, 0, 10); }
static void later_part(struct peer *p)		{ send_msg(p, 1, 1, 1, 10); }
static void longer(struct peer *p)		{ send_msg(p, 1, 1, 0, COUNT + 1); }

static void twice(struct peer *p)
{
	send_msg(p, 1, 1, 0, 10);
	send_msg(p, 1, 1, 0, 10);
}

static void beyond_its_end(struct peer *p)
{
	send_msg(p, 1, 1, 0, COUNT - 5);
	send_msg(p, 1, 1, COUNT - 5, 6);
}

/* These come after rank 0 has offered a send to rank 1. */
static void odd_refusal(struct peer *p)	{ send_cts(p, 1, EIO); }
static void other_cts(struct peer *p)		{ send_cts(p, 2, 0); }

static void not_asked_for(struct peer *p)	{ send_cts(p, 1, ECANCELED); }

static void cts_twice(struct peer *p)
{
	send_cts(p, 1, 0);
	send_cts(p, 1, 0);
}

enum scene { WAITS, EXPECTS, SENDS };

static const struct {
	const char *name;
	enum scene scene;
	void (*act)(struct peer *p);
} wrongs[] = {
	{ "source of this node", WAITS, foreign_source },
	{ "no such source", WAITS, source_beyond },
	{ "destination elsewhere", WAITS, foreign_dest },
	{ "no such destination", WAITS, dest_beyond },
	{ "tag out of range", WAITS, odd_tag },
	{ "no type", WAITS, no_dtype },
	{ "type without a size", WAITS, opaque },
	{ "part of an element", WAITS, half_element },
	{ "too long", WAITS, too_long },
	{ "a number left out", WAITS, later_id },
	{ "number 0", WAITS, no_id },
	{ "a number twice", WAITS, same_id },
	{ "CANCEL of what was not offered", WAITS, early_cancel },
	{ "CANCEL of number 0", WAITS, no_cancel },
	{ "CTS that nobody waits for", WAITS, unasked_cts },
	{ "MSG that nobody waits for", WAITS, unasked_msg },
	{ "MSG on the control stream", WAITS, msg_on_control },
	{ "MSG of another message", EXPECTS, other_msg },
	{ "MSG with a gap", EXPECTS, later_part },
	{ "MSG too long", EXPECTS, longer },
	{ "MSG twice", EXPECTS, twice },
	{ "MSG beyond the end", EXPECTS, beyond_its_end },
	{ "an errno that is no refusal", SENDS, odd_refusal },
	{ "withdrawn, but nobody wants it back", SENDS, not_asked_for },
	{ "CTS of another message", SENDS, other_cts },
	{ "CTS twice", SENDS, cts_twice },
};

TEST(wrong_frames)
{
	struct coll_status s;
	struct coll_frame f;
	struct peer_op o;
	struct peer p;
	size_t i;

	for (i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		ASSERT_EQ(0, peer_start(&p, true));
		/* WAITS: the receive has another tag, so that it does not take an offer. */
		ASSERT_TRUE(start(&p, &o, wrongs[i].scene == SENDS, COUNT,
				  wrongs[i].scene == WAITS ? TAG + 1 : TAG));
		if (wrongs[i].scene == EXPECTS)
			send_rts(&p, 1, offer);
		if (wrongs[i].scene != WAITS)
			ASSERT_TRUE(get_frame(&p, 0, &f));
		wrongs[i].act(&p);
		if (wrongs[i].act == cts_twice)
			peer_op_wait(&o);	/* may end before the second CTS */
		else
			EXPECT_EQ(-EPROTO, peer_op_wait(&o)) TH_LOG("%s", wrongs[i].name);
		ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s)) TH_LOG("%s", wrongs[i].name);
		EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind) TH_LOG("%s", wrongs[i].name);
		EXPECT_EQ(1, s.cause.node);
		EXPECT_EQ(0, peer_op_exit(&o)) TH_LOG("%s", wrongs[i].name);
		peer_stop(&p);
	}
}

/* The peer offers a message after its BYE. */
TEST(offer_after_bye)
{
	struct coll_status s;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	after_bye(&p);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
