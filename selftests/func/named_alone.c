// SPDX-License-Identifier: GPL-2.0
/*
 * A named collective has a deadline, and the coordinator, on node 0, cannot be reached: a
 * rank of this node is missing, or the other node is silent. The communicator fails after the
 * deadline plus the time that the coordinator has to answer.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "util.h"

#define MS		1000000ULL
#define DEADLINE_NS	(300 * MS)
#define ANSWER_NS	(5000 * MS)
#define SLACK_NS	(1500 * MS)
#define WAIT_NS		(20000 * MS)

FIXTURE(named_alone) {
	struct raw_comm c;
	int sv[2][2];
	int32_t in[8], out[8];
	struct coll_cmd cmd;
	struct coll_tensor t;
	struct coll_tensor_result res;
};

FIXTURE_VARIANT(named_alone) {
	uint32_t size;		/* on two nodes; only the last rank joins */
};

/* The other ends of its links stay with this process. */
FIXTURE_VARIANT_ADD(named_alone, silent_node) { .size = 2 };
FIXTURE_VARIANT_ADD(named_alone, no_local_rank) { .size = 4 };

FIXTURE_SETUP(named_alone)
{
	uint32_t last = variant->size - 1, i;

	raw_plan(&self->c, variant->size, 2);
	self->c.flags = COLL_JOIN_NAMED;
	self->c.fd[last] = raw_open();
	ASSERT_LE(0, self->c.fd[last]);
	ASSERT_EQ(0, raw_join(self->c.fd[last], &self->c, last));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, raw_tcp_pair(self->sv[i]));
		ASSERT_EQ(0, raw_link(self->c.fd[last], 0, self->sv[i][0], i));
	}
}

FIXTURE_TEARDOWN(named_alone)
{
	uint32_t i;

	raw_stop(&self->c);
	for (i = 0; i < 2; i++) {
		close(self->sv[i][0]);
		close(self->sv[i][1]);
	}
}

TEST_F(named_alone, deadline)
{
	int fd = self->c.fd[variant->size - 1];
	struct coll_status st;
	uint64_t begin = test_now_ns(), now;

	raw_allreduce(&self->cmd, self->in, self->out, 8, COLL_I32, COLL_OP_SUM);
	self->cmd.timeout_ns = DEADLINE_NS;
	raw_tensor(&self->t, "name", &self->cmd, 1);
	ASSERT_EQ(0, raw_post(fd, &self->t, 1, NULL));
	ASSERT_EQ(1, raw_collect(fd, &self->res, 1, 1, WAIT_NS));
	now = test_now_ns();
	EXPECT_EQ(-ETIMEDOUT, self->res.result);
	EXPECT_LE(DEADLINE_NS, now - begin);
	EXPECT_FALSE(test_late(begin + DEADLINE_NS + ANSWER_NS + SLACK_NS, now));
	ASSERT_EQ(0, raw_status_failed(fd, &st));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, st.cause.kind);
	EXPECT_EQ(ETIMEDOUT, st.cause.error);
	EXPECT_EQ(0, st.cause.node);
	/* Nothing is left of the tensor. */
	EXPECT_EQ(-ETIMEDOUT, raw_post(fd, &self->t, 1, NULL));
}

TEST_HARNESS_MAIN
