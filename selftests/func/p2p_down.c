// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks 2 and 3 are on a node that has failed: rank 3 has left, and rank 2 has posted a later op.
 * On the other node an earlier op goes on, so the communicator has not failed there. No message of
 * ranks 2 and 3 can come any more. Nobody waits for one.
 */
#include <errno.h>
#include <stdint.h>
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
	return talk_post(t, rank, &cmd);
}

/* Rank 1 does not post op 1. Is the communicator of ranks 0 and 1 alive after the failure? */
static bool fail_node(struct talk *t, int32_t *buf)
{
	unsigned int first[4];
	struct coll_status s;
	struct coll_cmd cmd;

	first[0] = reduce(t, 0, &buf[0]);
	first[2] = reduce(t, 2, &buf[1]);
	first[3] = reduce(t, 3, &buf[2]);
	if (talk_result(t, 2, first[2]) || talk_result(t, 3, first[3]))
		return false;
	close(t->c.fd[3]);
	t->c.fd[3] = -1;
	raw_barrier(&cmd);
	if (talk_result(t, 2, talk_post(t, 2, &cmd)) != -EHOSTDOWN)
		return false;
	test_sleep_us(100000);
	return talk_pending(t, 0, first[0]) && !raw_status(t->c.fd[0], &s) &&
	       s.cause.kind == COLL_CAUSE_NONE;
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
