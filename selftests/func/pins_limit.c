// SPDX-License-Identifier: GPL-2.0
/* Buffers that stay pinned, although no op uses them, give way when the limit is reached. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "pins.h"
#include "util.h"

/* Kept pins make room for needed ones: nothing has to go through windows. */
TEST(within_the_limit)
{
	FIXTURE_DATA(pins) self;
	struct coll_status s;
	int round;
	uint32_t r;

	ASSERT_EQ(0, test_become_nobody(2 * RANKS * BYTES));
	ASSERT_EQ(0, raw_start(&self.c, RANKS, 1));
	for (round = 0; round < 10; round++) {
		for (r = 0; r < RANKS; r++) {
			self.in[r] = memory_at(NULL);
			self.out[r] = memory_at(NULL);
		}
		fill_all(&self, round);
		EXPECT_EQ(0, sum(&self, 0, COUNT, 2 * round + 1, 2));
		/* these pages are gone, and not charged any more when the next ones are pinned */
		for (r = 0; r < RANKS && round % 3; r++)
			munmap(self.in[r], BYTES);
	}
	for (r = 0; r < RANKS; r++) {
		ASSERT_EQ(0, raw_status(self.c.fd[r], &s));
		EXPECT_EQ(0, s.memlock_wanted);
	}
	raw_stop(&self.c);
}

/* Each rank in place. Return: 0, or the first error. */
static int in_place(struct raw_comm *c, unsigned int collective, int32_t **v, uint64_t count)
{
	struct coll_cmd cmds[RANKS];
	int results[RANKS], ret;
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		raw_allreduce(&cmds[r], NULL, v[r], count, COLL_I32, COLL_OP_SUM);
		cmds[r].collective = collective;
		cmds[r].timeout_ns = 10 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < RANKS && !ret; r++)
		ret = results[r];
	return ret;
}

/* Kept pins that no op uses make room for a registration. */
TEST(kept_pins_give_way)
{
	struct coll_register reg = { .len = BYTES };
	FIXTURE_DATA(pins) self;
	uint32_t r;

	ASSERT_EQ(0, test_become_nobody(2 * RANKS * BYTES));
	ASSERT_EQ(0, raw_start(&self.c, RANKS, 1));
	for (r = 0; r < RANKS; r++) {
		self.in[r] = memory_at(NULL);
		self.out[r] = memory_at(NULL);
	}
	/* kept pins use all of the limit; then an op needs copies of its inputs */
	EXPECT_EQ(0, in_place(&self.c, COLL_ALLREDUCE, self.in, COUNT));
	EXPECT_EQ(0, in_place(&self.c, COLL_ALLREDUCE, self.out, COUNT));
	EXPECT_EQ(0, in_place(&self.c, COLL_REDUCE_SCATTER_BLOCK, self.in, COUNT / RANKS));
	/* kept pins use all of the limit; then a buffer is registered */
	EXPECT_EQ(0, in_place(&self.c, COLL_ALLREDUCE, self.in, COUNT));
	EXPECT_EQ(0, in_place(&self.c, COLL_ALLREDUCE, self.out, COUNT));
	reg.addr = (uintptr_t)memory_at(NULL);
	EXPECT_EQ(0, ioctl(self.c.fd[0], COLL_IOC_REGISTER, &reg)) {
		TH_LOG("%s", strerror(errno));
	}
	raw_stop(&self.c);
}

TEST_HARNESS_MAIN
