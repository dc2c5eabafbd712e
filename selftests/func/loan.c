// SPDX-License-Identifier: GPL-2.0
/*
 * Two nodes of one kernel read large payload from each other's pages. An op that has failed does
 * not read them any more: its buffers may be overwritten at once.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "util.h"

#define COUNT		(SIZE / sizeof(long double))
#define SIZE		(128UL << 10)
#define ROUNDS		150
#define AGAIN		50
#define POISON		1e200
#define SECOND		1000000000ULL

/* A rank, and the thread that calls for it. */
struct rank {
	pthread_t thread;
	int fd, ret;
	long double *in, *out;
};

static void command(const struct rank *r, struct coll_cmd *cmd)
{
	/* Sums of this type take long: an abort comes while a piece is read. */
	raw_allreduce(cmd, r->in, r->out, COUNT, COLL_LDOUBLE, COLL_OP_SUM);
	cmd->timeout_ns = 20 * SECOND;
}

/* Ops until one fails. Then the input is not read any more. */
static void *call(void *arg)
{
	struct rank *r = arg;
	struct coll_cmd cmd;
	uint64_t i;

	do {
		command(r, &cmd);
		r->ret = raw_submit(r->fd, &cmd);
	} while (!r->ret);
	for (i = 0; i < COUNT; i++)
		r->in[i] = 2 * POISON;
	return NULL;
}

FIXTURE(loan)
{
	struct raw_comm c;
	struct rank ranks[2];
	unsigned int latest_us;	/* of an abort, after the ranks have begun */
	uint64_t lots;
};

/* What a few ops take, here and now, in microseconds. */
static unsigned int a_few_ops(struct __test_metadata *_metadata, FIXTURE_DATA(loan) *self)
{
	struct coll_cmd cmds[2];
	unsigned int i;
	int results[2];
	uint64_t since;

	ASSERT_EQ(0, raw_start(&self->c, 2, 2));
	for (i = 0; i < 2; i++)
		command(&self->ranks[i], &cmds[i]);
	since = test_now_ns();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, raw_all(&self->c, cmds, results));
	raw_stop(&self->c);
	return (test_now_ns() - since) / 1000;
}

FIXTURE_SETUP(loan)
{
	unsigned int us, i;
	uint32_t r;

	if (!test_put("/sys/module/coll/parameters/send_mode", "splice"))
		SKIP(return, "only root says how large frames go");
	self->lots = test_seed();
	for (r = 0; r < 2; r++) {
		self->ranks[r].in = aligned_alloc(4096, SIZE);
		self->ranks[r].out = aligned_alloc(4096, SIZE);
		ASSERT_TRUE(self->ranks[r].in && self->ranks[r].out);
	}
	/* A round sleeps half of this on average. Least of three: the machine may stand still. */
	self->latest_us = ~0U;
	for (i = 0; i < 3; i++) {
		us = a_few_ops(_metadata, self);
		if (us < self->latest_us)
			self->latest_us = us;
	}
}

FIXTURE_TEARDOWN(loan)
{
	uint32_t r;

	test_put("/sys/module/coll/parameters/send_mode", "auto");
	for (r = 0; r < 2; r++) {
		free(self->ranks[r].in);
		free(self->ranks[r].out);
	}
}

/* A communicator that is aborted at any moment. Return: elements that were read too late. */
static unsigned int abort_at_work(struct __test_metadata *_metadata, FIXTURE_DATA(loan) *self)
{
	unsigned int late = 0;
	uint64_t i;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&self->c, 2, 2));
	for (r = 0; r < 2; r++) {
		struct rank *rank = &self->ranks[r];

		rank->fd = self->c.fd[r];
		for (i = 0; i < COUNT; i++)
			rank->in[i] = rank->out[i] = r + i;
		ASSERT_EQ(0, pthread_create(&rank->thread, NULL, call, rank));
	}
	test_sleep_us(test_below(&self->lots, self->latest_us));
	ASSERT_EQ(0, raw_abort(self->c.fd[test_below(&self->lots, 2)], 7));
	for (r = 0; r < 2; r++) {
		pthread_join(self->ranks[r].thread, NULL);
		EXPECT_EQ(-ESHUTDOWN, self->ranks[r].ret);
	}
	for (r = 0; r < 2; r++)
		for (i = 0; i < COUNT; i++)
			late += self->ranks[r].out[i] > POISON;
	raw_stop(&self->c);
	return late;
}

TEST_F(loan, taken_back_while_read)
{
	unsigned int i, late = 0;

	for (i = 0; i < ROUNDS && !late; i++)
		late += abort_at_work(_metadata, self);
	EXPECT_EQ(0, late) TH_LOG("%u elements were read after the end, in round %u", late, i);
}

/*
 * A communicator ends, and begins again with the same key, while the links of the old one may
 * linger. A rank must not take the old rank for the other end of its link.
 */
TEST_F(loan, joined_again)
{
	struct coll_cmd cmds[2];
	int results[2] = { };
	unsigned int i, r, k, wrong = 0;

	ASSERT_EQ(0, raw_start(&self->c, 2, 2));
	for (r = 0; r < 2; r++)
		command(&self->ranks[r], &cmds[r]);
	for (i = 0; i < AGAIN && !results[0] && !results[1] && !wrong; i++) {
		/* The inputs differ between ranks, and from those of other rounds. */
		for (r = 0; r < 2; r++)
			for (k = 0; k < COUNT; k++) {
				self->ranks[r].in[k] = k % 1000 + 1000 * r + 3 * i;
				self->ranks[r].out[k] = -1;
			}
		ASSERT_EQ(0, raw_all(&self->c, cmds, results));
		for (r = 0; r < 2; r++)
			for (k = 0; k < COUNT; k++)
				wrong += self->ranks[r].out[k] != 2 * (k % 1000) + 1000 + 6 * i;
		raw_stop(&self->c);
		ASSERT_EQ(0, raw_start_again(&self->c));
	}
	EXPECT_EQ(0, results[0]) TH_LOG("at the start number %u", i);
	EXPECT_EQ(0, results[1]);
	EXPECT_EQ(0, wrong) TH_LOG("%u wrong sums at the start number %u", wrong, i);
	raw_stop(&self->c);
}

TEST_HARNESS_MAIN
