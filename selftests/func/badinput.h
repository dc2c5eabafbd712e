/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands that must be refused. Each has its error, does not count as the n-th command of the
 * rank, and does no harm to the commands after it.
 */
#ifndef BADINPUT_H
#define BADINPUT_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define COUNT	1000
#define SECOND	1000000000ULL

FIXTURE(bad) {
	struct raw_comm c;
	int32_t *in;
	int32_t *out;
	long page;
	int64_t posted;
};

FIXTURE_VARIANT(bad) {
	uint32_t size;
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(bad, one_node) { .size = 2, .nodes = 1 };
FIXTURE_VARIANT_ADD(bad, two_nodes) { .size = 2, .nodes = 2 };

FIXTURE_SETUP(bad)
{
	self->page = sysconf(_SC_PAGESIZE);
	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	self->in = calloc(COUNT, sizeof(int32_t));
	self->out = calloc(COUNT, sizeof(int32_t));
	ASSERT_EQ(0, test_good(&self->c));
	self->posted = test_posted(&self->c, 0);
}

/* After each refusal the communicator is as it was. */
FIXTURE_TEARDOWN(bad)
{
	struct coll_status s;

	EXPECT_EQ(0, raw_status(self->c.fd[0], &s));
	EXPECT_EQ(self->posted, s.posted);
	EXPECT_EQ(s.posted, s.completed);
	EXPECT_EQ(COLL_STATE_READY, s.state) {
		TH_LOG("cause kind %u error %u rank %u", s.cause.kind,
		       s.cause.error, s.cause.rank);
	}
	EXPECT_EQ(0, test_good(&self->c));
	EXPECT_EQ(self->posted + 1, test_posted(&self->c, 0));
	raw_stop(&self->c);
}

/*
 * An allreduce that would be right, with one change, is refused with @error. The deadline is for
 * a command that is not refused.
 */
#define REFUSED(error, change) do {					\
	struct coll_cmd cmd;						\
									\
	raw_allreduce(&cmd, self->in, self->out, COUNT, COLL_I32,	\
		      COLL_OP_SUM);					\
	cmd.timeout_ns = SECOND / 2;					\
	change;								\
	EXPECT_EQ(-(error), raw_submit(self->c.fd[0], &cmd)) {		\
		TH_LOG("%s", #change);					\
	}								\
} while (0)

#define BROADCAST_REFUSED(error, change) \
	REFUSED(error, raw_broadcast(&cmd, self->out, COUNT, COLL_I32, 0); \
		cmd.timeout_ns = SECOND / 2; change)

#define BARRIER_REFUSED(error, change) \
	REFUSED(error, raw_barrier(&cmd); cmd.timeout_ns = SECOND / 2; change)

#endif /* BADINPUT_H */
