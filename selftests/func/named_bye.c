// SPDX-License-Identifier: GPL-2.0
/*
 * BYE of another rank comes before orders that the node of that rank had applied. BYE does not
 * count before these orders have come, too. The test plays the parent node, which has two ranks.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "named_wire.h"

#define RANKS	3
#define ROUNDS	100

static const struct coll_tensor a_join = { .flags = COLL_TENSOR_JOIN, .tag = SAY_TAG };

/* Rank 1 has left: its node had applied @orders orders, and @seq of them started ops. */
static bool leaves(struct peer *p, uint32_t orders, uint64_t seq)
{
	uint8_t buf[256];

	return peer_write(p, 0, buf, peer_put_bye_after(p, 1, seq, orders, buf));
}

/* Order number @serial, which ends @name. */
static bool ends(struct peer *p, uint32_t serial, const char *name)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_BAD, serial, 0);

	say_rename(&r, name);
	r.has_params = false;
	r.serial = serial;
	r.bad = (struct coll_coord_bad){
		.cause = COLL_BAD_MISMATCH, .field = COLL_FIELD_ROOT,
		.rank = { 0, 1 }, .value = { 4, 5 },
	};
	return say_one(p, &r);
}

static void nothing_ends(struct __test_metadata *_metadata, struct peer *p)
{
	struct coll_tensor_result res;

	EXPECT_EQ(-ETIMEDOUT, raw_collect(p->c.fd[0], &res, 1, 1, 200 * MS));
}

/* The next result is EHOSTDOWN, because of rank 1. */
static void fails(struct __test_metadata *_metadata, struct peer *p, uint64_t since)
{
	struct coll_tensor_result res;
	struct coll_status s;

	EXPECT_EQ(-EHOSTDOWN, say_result(p, &res));
	EXPECT_FALSE(test_late(since, test_now_ns()));
	ASSERT_EQ(0, raw_status(p->c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
}

TEST(before_joined)
{
	struct coll_coord_rec r = { .kind = COLL_ORDER_JOINED, .rank = 1, .serial = 1 };
	struct coll_tensor_result res;
	uint64_t since;
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, raw_post(p.c.fd[0], &a_join, 1, NULL));
	ASSERT_TRUE(leaves(&p, 1, 0));
	nothing_ends(_metadata, &p);
	ASSERT_TRUE(say_one(&p, &r));
	EXPECT_EQ(0, say_result(&p, &res));
	EXPECT_EQ(1, res.rank[0]);
	/* A tensor that is posted after the join needs rank 1. */
	since = test_now_ns();
	ASSERT_EQ(0, say_post(&p, "next", 0));
	fails(_metadata, &p, since);
	peer_stop(&p);
}

TEST(before_bad)
{
	struct coll_tensor_result res;
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_TRUE(leaves(&p, 1, 0));
	nothing_ends(_metadata, &p);
	ASSERT_TRUE(ends(&p, 1, SAY_NAME));
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
	EXPECT_EQ(5, res.value[1]);
	peer_stop(&p);
}

/* The last order is about a name that no rank of this node has posted. */
TEST(before_bad_of_another_name)
{
	uint64_t since;
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_TRUE(leaves(&p, 2, 0));
	ASSERT_TRUE(ends(&p, 1, "one"));
	nothing_ends(_metadata, &p);
	since = test_now_ns();
	ASSERT_TRUE(ends(&p, 2, "two"));
	fails(_metadata, &p, since);
	peer_stop(&p);
}

/* Order 3 replaces order 1, and ends two rounds. Order 1 is missing until order 3 comes. */
TEST(before_an_order_that_was_replaced)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_BAD, 1, 1);
	struct coll_tensor_result res;
	uint64_t since;
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_EQ(0, say_post(&p, "never", 0));
	ASSERT_TRUE(ends(&p, 2, "two"));
	ASSERT_TRUE(leaves(&p, 2, 0));
	nothing_ends(_metadata, &p);
	r.has_params = false;
	r.serial = 3;
	r.bad.cause = COLL_BAD_TIMEOUT;
	since = test_now_ns();
	ASSERT_TRUE(say_one(&p, &r));
	EXPECT_EQ(-ETIMEDOUT, say_result(&p, &res));
	fails(_metadata, &p, since);
	peer_stop(&p);
}

/* The rank takes part in op 1, which has not started here. */
TEST(before_start)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 1, 0);
	struct coll_tensor_result res;
	uint8_t buf[4096];
	struct coll_cmd cmd;
	uint64_t since;
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_EQ(0, say_post(&p, "never", 0));
	ASSERT_TRUE(leaves(&p, 1, 1));
	nothing_ends(_metadata, &p);
	r.serial = 1;
	r.contributors = RANKS;
	ASSERT_TRUE(say_one(&p, &r));
	nothing_ends(_metadata, &p);
	raw_barrier(&cmd);
	since = test_now_ns();
	ASSERT_TRUE(peer_write(&p, 1, buf, peer_put_op(&p, &cmd, 1, 4096, buf)));
	EXPECT_EQ(0, say_result(&p, &res));
	fails(_metadata, &p, since);
	peer_stop(&p);
}

/* Both ranks of the parent leave, and say that they have applied orders that never come. */
TEST(no_order_can_come)
{
	uint64_t since;
	uint8_t buf[256];
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_TRUE(leaves(&p, 1000, 1000));
	nothing_ends(_metadata, &p);
	since = test_now_ns();
	ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_bye_after(&p, 0, 2000, 2000, buf)));
	fails(_metadata, &p, since);
	peer_stop(&p);
}

/* The BYE that a real rank sends when it leaves. */
TEST(bye_of_a_real_rank)
{
	struct coll_tensor_result res;
	struct coll_bye b = { };
	struct coll_frame f;
	struct peer p;

	ASSERT_EQ(0, peer_start_named_two(&p));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	ASSERT_TRUE(ends(&p, 1, SAY_NAME));
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	close(p.c.fd[0]);
	p.c.fd[0] = -1;
	do {
		ASSERT_TRUE(peer_read(&p, 0, &f, 10000));
	} while (f.type != COLL_FRAME_BYE);
	ASSERT_EQ(0, coll_wire_get_bye(p.payload, &b));
	EXPECT_EQ(2, b.rank);
	EXPECT_EQ(1, b.orders);
	EXPECT_EQ(0, b.seq);
	peer_stop(&p);
}

struct leaver {
	pthread_t thread;
	int fd;
	int result;
};

static void *join_and_leave(void *arg)
{
	struct coll_tensor_result res = { };
	struct leaver *l = arg;

	l->result = raw_post(l->fd, &a_join, 1, NULL);
	if (!l->result && raw_collect(l->fd, &res, 1, 1, 20 * SECOND) != 1)
		l->result = -ENODATA;
	if (!l->result)
		l->result = res.result;
	close(l->fd);
	return NULL;
}

/* Real ranks on three nodes leave as soon as they know that all have joined. */
TEST(all_leave_after_a_join)
{
	struct leaver l[RANKS];
	struct raw_comm c;
	uint32_t n, r;

	for (n = 0; n < test_scale(ROUNDS); n++) {
		ASSERT_EQ(0, raw_start_named(&c, RANKS, RANKS));
		for (r = 0; r < RANKS; r++) {
			l[r].fd = c.fd[r];
			c.fd[r] = -1;
			ASSERT_EQ(0, pthread_create(&l[r].thread, NULL, join_and_leave, &l[r]));
		}
		for (r = 0; r < RANKS; r++) {
			pthread_join(l[r].thread, NULL);
			EXPECT_EQ(0, l[r].result) TH_LOG("round %u, rank %u", n, r);
		}
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
