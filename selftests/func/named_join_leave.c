// SPDX-License-Identifier: GPL-2.0
/*
 * A rank that has joined leaves as soon as its join has ended. Tensors that have started without it
 * may still run then, and must end well.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "named_wire.h"

#define ROUNDS	8
#define COUNT	(8U << 20)

static const struct coll_tensor a_join = { .flags = COLL_TENSOR_JOIN, .tag = SAY_TAG };

/* The parent starts a barrier, and says that all ranks have joined, in one frame. */
static bool start_and_join(struct peer *p)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 7, 0);
	struct say t;

	say_begin(&t);
	r.contributors = 1;
	say_add(&t, &r);
	r = (struct coll_coord_rec){ .kind = COLL_ORDER_JOINED };
	say_add(&t, &r);
	return say_send(&t, p, 0);
}

/* Wait until the real node says that it has got the records. */
static bool are_got(struct peer *p)
{
	struct coll_coord_rec got;

	while (say_hear(p, &got))
		if (got.kind == COLL_GOT)
			return true;
	return false;
}

/* Type of the next frame on the control stream that is BYE or ABORT; 0: none has come. */
static uint8_t last_word(struct peer *p)
{
	struct coll_frame f;

	while (peer_read(p, 0, &f, 10000))
		if (f.type == COLL_FRAME_BYE || f.type == COLL_FRAME_ABORT)
			return f.type;
	return 0;
}

/* The barrier waits for the peer. The join ends after it. */
TEST(a_barrier_that_waits)
{
	struct coll_tensor_result res;
	struct coll_coord_rec got;
	uint8_t buf[4096];
	struct coll_cmd cmd;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, raw_post(p.c.fd[0], &a_join, 1, NULL));
	ASSERT_TRUE(say_hear(&p, &got));
	ASSERT_EQ(COLL_JOIN, got.kind);
	ASSERT_TRUE(start_and_join(&p));
	EXPECT_EQ(-ETIMEDOUT, raw_collect(p.c.fd[0], &res, 1, 1, 200 * MS));
	EXPECT_EQ(-EBUSY, raw_post(p.c.fd[0], &a_join, 1, NULL));
	raw_barrier(&cmd);
	ASSERT_TRUE(peer_write(&p, 1, buf, peer_put_op(&p, &cmd, 1, 4096, buf)));
	EXPECT_EQ(0, say_result(&p, &res));
	EXPECT_EQ(SAY_TAG, res.tag);
	EXPECT_EQ(0, res.rank[0]);
	EXPECT_EQ(0, raw_collect(p.c.fd[0], &res, 1, 0, 0));
	close(p.c.fd[0]);
	p.c.fd[0] = -1;
	EXPECT_EQ(COLL_FRAME_BYE, last_word(&p));
	peer_stop(&p);
}

/* The same, but the communicator fails while the join waits for the barrier. */
TEST(the_barrier_fails)
{
	struct coll_tensor_result res;
	struct coll_coord_rec got;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, raw_post(p.c.fd[0], &a_join, 1, NULL));
	ASSERT_TRUE(say_hear(&p, &got));
	ASSERT_TRUE(start_and_join(&p));
	EXPECT_TRUE(are_got(&p));
	EXPECT_EQ(-ETIMEDOUT, raw_collect(p.c.fd[0], &res, 1, 1, 200 * MS));
	ASSERT_EQ(0, raw_abort(p.c.fd[0], 0));
	/* All ranks had joined before. */
	EXPECT_EQ(0, say_result(&p, &res));
	EXPECT_EQ(SAY_TAG, res.tag);
	EXPECT_EQ(0, raw_collect(p.c.fd[0], &res, 1, 0, 0));
	peer_stop(&p);
}

/**
 * struct pair - two ranks of one node
 * @c: the communicator
 * @in: input of rank 0
 * @out: its result
 * @result: of the join of rank 1
 */
struct pair {
	struct raw_comm c;
	float *in, *out;
	int result;
};

/* Rank 1 waits for its join, and leaves at once. */
static void *join_and_leave(void *arg)
{
	struct coll_tensor_result res = { };
	struct pair *w = arg;

	w->result = raw_collect(w->c.fd[1], &res, 1, 1, 20 * SECOND);
	close(w->c.fd[1]);
	w->c.fd[1] = -1;
	if (w->result == 1)
		w->result = res.result;
	return NULL;
}

/* Rank 0 posts a large sum and joins, by one call. Both are ready at once. */
static int post_and_join(struct pair *w)
{
	struct coll_tensor t[2];
	struct coll_cmd cmd;

	raw_allreduce(&cmd, w->in, w->out, COUNT, COLL_F32, COLL_OP_SUM);
	raw_tensor(&t[0], "large", &cmd, 1);
	t[1] = a_join;
	return raw_post(w->c.fd[0], t, 2, NULL);
}

static void one_round(struct __test_metadata *_metadata, struct pair *w)
{
	struct coll_tensor_result res[2];
	pthread_t thread;
	uint64_t wrong = 0;
	uint32_t k;

	for (k = 0; k < COUNT; k++)
		w->out[k] = -1;
	ASSERT_EQ(0, raw_start_named(&w->c, 2, 1));
	ASSERT_EQ(0, raw_post(w->c.fd[1], &a_join, 1, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, join_and_leave, w));
	ASSERT_EQ(0, post_and_join(w));
	ASSERT_EQ(2, raw_collect(w->c.fd[0], res, 2, 2, 20 * SECOND));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, w->result);
	for (k = 0; k < 2; k++)
		EXPECT_EQ(0, res[k].result);
	for (k = 0; k < COUNT; k++)
		wrong += w->out[k] != w->in[k];
	EXPECT_EQ(0, wrong);
	raw_stop(&w->c);
}

TEST(a_large_sum)
{
	struct pair w;
	unsigned int n;

	w.in = malloc(COUNT * sizeof(*w.in));
	w.out = malloc(COUNT * sizeof(*w.out));
	ASSERT_NE(NULL, w.in);
	ASSERT_NE(NULL, w.out);
	for (n = 0; n < COUNT; n++)
		w.in[n] = n;
	for (n = 0; n < ROUNDS; n++)
		one_round(_metadata, &w);
	free(w.in);
	free(w.out);
}

TEST_HARNESS_MAIN
