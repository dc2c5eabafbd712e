// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks 2 and 3 are on a node that has failed: rank 3 has left, and rank 2 has posted a later op.
 * On the other node an earlier op goes on, so the communicator has not failed there. No message of
 * ranks 2 and 3 can come any more. Nobody waits for one.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "talk.h"
#include "util.h"

#define TAG	7

FIXTURE(down) {
	struct talk t;
	struct coll_message got;
	int32_t in[4], out[4];
	unsigned int sent;
};

FIXTURE_SETUP(down)
{
	ASSERT_EQ(0, talk_start(&self->t, 4, 2));
	self->sent = talk_send(&self->t, 2, 1, TAG, self->in, sizeof(self->in));
}

FIXTURE_TEARDOWN(down)
{
	talk_stop(&self->t);
}

/* Op 1: its ranks 2 and 3 need no other rank. */
static unsigned int reduce(struct talk *t, uint32_t rank, int32_t *buf)
{
	struct coll_cmd cmd;

	raw_allreduce(&cmd, buf, rank ? NULL : &buf[3], 1, COLL_I32, COLL_OP_SUM);
	cmd.collective = COLL_REDUCE;
	cmd.algorithm = COLL_ALG_LINEAR;
	return talk_post(t, rank, &cmd);
}

static void leave(struct talk *t, uint32_t rank)
{
	close(t->c.fd[rank]);
	t->c.fd[rank] = -1;
}

/* Ranks 2 and 3 end op 1, and their node fails after it. Is the other node alive? */
static bool fail_after_op(struct talk *t, int32_t *buf)
{
	unsigned int first[2] = { reduce(t, 2, &buf[1]), reduce(t, 3, &buf[2]) };
	struct coll_status s;
	struct coll_cmd cmd;

	if (talk_result(t, 2, first[0]) || talk_result(t, 3, first[1]))
		return false;
	leave(t, 3);
	raw_barrier(&cmd);
	if (talk_result(t, 2, talk_post(t, 2, &cmd)) != -EHOSTDOWN)
		return false;
	test_sleep_us(100000);
	return !raw_status(t->c.fd[0], &s) && s.cause.kind == COLL_CAUSE_NONE;
}

/* Rank 1 does not post op 1. Is the communicator of ranks 0 and 1 alive after the failure? */
static bool fail_node(struct talk *t, int32_t *buf)
{
	unsigned int first = reduce(t, 0, &buf[0]);

	return fail_after_op(t, buf) && talk_pending(t, 0, first);
}

static bool failed_with_cause(struct talk *t)
{
	struct coll_status s;

	return !raw_status_failed(t->c.fd[1], &s) && s.cause.kind == COLL_CAUSE_CLOSE &&
	       s.cause.rank == 3;
}

static unsigned int receive(struct talk *t, void *buf, uint32_t tag)
{
	return talk_recv(t, 1, COLL_RANK_ANY, tag, buf, 16, NULL);
}

static int probe(struct talk *t, unsigned int what, struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_probe(&cmd, what, COLL_RANK_ANY, TAG, got);
	return talk_result(t, 1, talk_post(t, 1, &cmd));
}

/* The node of this rank may hear of the failure later. */
static int probe_until_error(struct talk *t, struct coll_message *got, uint32_t tag)
{
	uint64_t end = test_now_ns() + 10000000000ULL;
	struct coll_cmd cmd;
	int ret;

	do {
		raw_probe(&cmd, COLL_PROBE, COLL_RANK_ANY, tag, got);
		cmd.flags |= COLL_CMD_NOWAIT;
		ret = raw_submit(t->c.fd[1], &cmd);
	} while ((!ret || ret == -ENOMSG) && test_now_ns() < end);
	return ret;
}

/* Ranks 0 and 1 post op 1 only after the failure. It has all bytes that it needs. */
TEST_F(down, ops_before_are_posted_later)
{
	struct talk *t = &self->t;
	unsigned int first[2];
	struct coll_cmd cmd;
	unsigned int i;

	for (i = 0; i < 3; i++)
		self->out[i] = 1 << i;
	ASSERT_TRUE(fail_after_op(t, self->out));
	first[0] = reduce(t, 0, &self->out[0]);
	first[1] = reduce(t, 1, &self->in[0]);
	EXPECT_EQ(0, talk_result(t, 0, first[0]));
	EXPECT_EQ(0, talk_result(t, 1, first[1]));
	EXPECT_EQ(7, self->out[3]);
	raw_barrier(&cmd);
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, talk_post(t, 1, &cmd)));
	EXPECT_TRUE(failed_with_cause(t));
}

/* A rank that has left in order after op 1 is not on the node that has failed. */
TEST(left_on_another_node)
{
	static int32_t buf[5], out[4];
	unsigned int first[2], sent;
	struct coll_status s;
	struct talk *t = calloc(1, sizeof(*t));

	ASSERT_TRUE(!!t);
	ASSERT_EQ(0, talk_start(t, 6, 3));
	first[0] = reduce(t, 4, &buf[0]);
	first[1] = reduce(t, 5, &buf[1]);
	EXPECT_EQ(0, talk_result(t, 4, first[0]));
	EXPECT_EQ(0, talk_result(t, 5, first[1]));
	leave(t, 4);
	leave(t, 5);
	ASSERT_TRUE(fail_node(t, out));
	sent = talk_send(t, 1, 5, TAG, buf, sizeof(buf));
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, sent));
	ASSERT_EQ(0, raw_status(t->c.fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_NONE, s.cause.kind);
	sent = talk_send(t, 1, 3, TAG, buf, sizeof(buf));
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, sent));
	/* The cause may name rank 4, too: the barrier of rank 2 misses that one as well. */
	ASSERT_EQ(0, raw_status_failed(t->c.fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	talk_stop(t);
	free(t);
}

/* The message has been offered before the node failed. */
TEST_F(down, offered)
{
	struct talk *t = &self->t;

	ASSERT_EQ(0, probe(t, COLL_PROBE, &self->got));
	ASSERT_TRUE(fail_node(t, self->out));
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, receive(t, self->out, TAG)));
	EXPECT_TRUE(failed_with_cause(t));
}

TEST_F(down, offered_and_probed)
{
	struct talk *t = &self->t;

	ASSERT_EQ(0, probe(t, COLL_PROBE, &self->got));
	ASSERT_TRUE(fail_node(t, self->out));
	EXPECT_EQ(-EHOSTDOWN, probe_until_error(t, &self->got, TAG));
	EXPECT_TRUE(failed_with_cause(t));
}

/* There is no message, and a rank of that node may have been the one to send it. */
TEST_F(down, polled)
{
	struct talk *t = &self->t;

	ASSERT_TRUE(fail_node(t, self->out));
	EXPECT_EQ(-EHOSTDOWN, probe_until_error(t, &self->got, TAG + 1));
	EXPECT_TRUE(failed_with_cause(t));
}

/* A matched probe has taken it. */
TEST_F(down, held)
{
	struct talk *t = &self->t;
	struct coll_cmd cmd;

	ASSERT_EQ(0, probe(t, COLL_MPROBE, &self->got));
	ASSERT_TRUE(fail_node(t, self->out));
	raw_mrecv(&cmd, self->out, 16, COLL_BYTE, self->got.id, NULL);
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, talk_post(t, 1, &cmd)));
	EXPECT_TRUE(failed_with_cause(t));
}

/* A receive from any rank waits when the node fails. */
TEST_F(down, waiting)
{
	struct talk *t = &self->t;
	unsigned int r = receive(t, self->out, TAG + 1);

	ASSERT_TRUE(talk_pending(t, 1, r));
	fail_node(t, self->out);
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, r));
	EXPECT_TRUE(failed_with_cause(t));
}

/* A message of the same node is received. */
TEST_F(down, of_this_node)
{
	struct talk *t = &self->t;
	unsigned int s;

	ASSERT_TRUE(fail_node(t, self->out));
	s = talk_send(t, 0, 1, TAG + 1, self->in, sizeof(self->in));
	EXPECT_EQ(0, talk_result(t, 1, receive(t, self->out, TAG + 1)));
	EXPECT_EQ(0, talk_result(t, 0, s));
	EXPECT_EQ(-EHOSTDOWN, talk_result(t, 1, receive(t, self->out, TAG)));
	EXPECT_TRUE(failed_with_cause(t));
}

TEST_HARNESS_MAIN
