// SPDX-License-Identifier: GPL-2.0
/*
 * Plain buffers stay pinned from one op to the next. The process changes its memory in between
 * in all ways: an op always sees what the process sees, and is refused what the process may not
 * touch any more.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pins.h"
#include "util.h"

FIXTURE_SETUP(pins)
{
	pins_start(_metadata, self);
}

FIXTURE_TEARDOWN(pins)
{
	raw_stop(&self->c);
}

TEST_F(pins, other_memory_at_the_same_address)
{
	int32_t round;
	uint32_t r;

	for (round = 0; round < 20; round++) {
		fill_all(self, round);
		EXPECT_EQ(0, sum(self, 0, COUNT, 2 * round + 1, 2));
		EXPECT_EQ(0, sum(self, 0, COUNT, 2 * round + 1, 2));
		for (r = 0; r < RANKS; r++) {
			if (round % 2)
				ASSERT_EQ(0, munmap(self->in[r], BYTES));
			ASSERT_EQ(self->in[r], memory_at(self->in[r]));
			ASSERT_EQ(self->out[r], memory_at(self->out[r]));
		}
	}
}

TEST_F(pins, memory_thrown_away)
{
	uint32_t r;

	fill_all(self, 5);
	EXPECT_EQ(0, sum(self, 0, COUNT, 11, 2));
	for (r = 0; r < RANKS; r++) {
		ASSERT_EQ(0, madvise(self->in[r], BYTES, MADV_DONTNEED));
		ASSERT_EQ(0, madvise(self->out[r], BYTES, MADV_DONTNEED));
	}
	EXPECT_EQ(0, sum(self, 0, COUNT, 0, 0));
	fill_all(self, 7);
	EXPECT_EQ(0, sum(self, 0, COUNT, 15, 2));
	/* only some of the pages: those that are dropped read as zeroes */
	ASSERT_EQ(0, madvise(self->in[0] + COUNT / 2, BYTES / 2, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(self->in[1] + COUNT / 2, BYTES / 2, MADV_DONTNEED));
	EXPECT_EQ(0, sum(self, 0, COUNT / 2, 15, 2));
	EXPECT_EQ(0, sum(self, COUNT / 2, COUNT / 2, 0, 0));
}

/* An op reads memory before its first write: the pin must not hold the zero page. */
TEST_F(pins, first_write_after_an_op)
{
	EXPECT_EQ(0, sum(self, 0, COUNT, 0, 0));
	fill_all(self, 3);
	EXPECT_EQ(0, sum(self, 0, COUNT, 7, 2));
}

TEST_F(pins, fork_and_write)
{
	int32_t round, sees;
	int up[2], status;
	pid_t pid;
	char c;

	for (round = 0; round < 10; round++) {
		fill_all(self, round);
		EXPECT_EQ(0, sum(self, 0, COUNT, 2 * round + 1, 2));
		ASSERT_EQ(0, pipe(up));
		sees = self->out[0][1];
		pid = fork();
		if (!pid) {
			/* writes, too, and then sees that nobody wrote to its copy */
			fill(self->in[0], COUNT, -1000);
			close(up[1]);
			if (read(up[0], &c, 1))
				_exit(1);
			_exit(self->out[0][1] != sees || self->in[0][0] != -1000);
		}
		close(up[0]);
		fill_all(self, round + 100);
		EXPECT_EQ(0, sum(self, 0, COUNT, 2 * round + 201, 2));
		fill_all(self, round + 300);
		EXPECT_EQ(0, sum(self, 0, COUNT, 2 * round + 601, 2));
		close(up[1]);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		fill_all(self, round + 200);
		EXPECT_EQ(0, sum(self, 0, COUNT, 2 * round + 401, 2));
	}
}

/* Pieces of what is kept, and more than it; inputs that become outputs. */
TEST_F(pins, pieces_and_more)
{
	uint64_t seed = test_seed(), first, count;
	int32_t *swap;
	int i;

	for (i = 0; i < 200; i++) {
		fill_all(self, i);
		first = test_below(&seed, COUNT);
		count = 1 + test_below(&seed, (uint32_t)(COUNT - first));
		ASSERT_EQ(0, sum(self, first, count, 2 * i + 1, 2));
		if (i % 5)
			continue;
		swap = self->in[i % RANKS];
		self->in[i % RANKS] = self->out[i % RANKS];
		self->out[i % RANKS] = swap;
	}
}

/* Overwrite all outputs, so that what an earlier op has left there is no result. */
static void poison(FIXTURE_DATA(pins) *self)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		memset(self->out[r], 0xee, BYTES);
}

/*
 * Memory that a rank may not touch any more is refused, to this rank alone, before it has
 * posted.
 */
static int refused(FIXTURE_DATA(pins) *self, uint64_t first, uint64_t count)
{
	struct coll_cmd cmd;

	raw_allreduce(&cmd, self->in[0] + first, self->out[0] + first, count, COLL_I32,
		      COLL_OP_SUM);
	cmd.timeout_ns = SECOND;
	return raw_submit(self->c.fd[0], &cmd);
}

TEST_F(pins, access_taken_away)
{
	fill_all(self, 1);
	EXPECT_EQ(0, sum(self, 0, COUNT, 3, 2));
	ASSERT_EQ(0, mprotect(self->out[0], BYTES, PROT_READ));
	EXPECT_EQ(-EFAULT, refused(self, 0, COUNT));
	ASSERT_EQ(0, mprotect(self->out[0], BYTES, PROT_READ | PROT_WRITE));
	poison(self);
	EXPECT_EQ(0, sum(self, 0, COUNT, 3, 2));
	ASSERT_EQ(0, mprotect(self->in[0], BYTES, PROT_NONE));
	EXPECT_EQ(-EFAULT, refused(self, 0, COUNT));
	ASSERT_EQ(0, mprotect(self->in[0], BYTES, PROT_READ | PROT_WRITE));
	poison(self);
	EXPECT_EQ(0, sum(self, 0, COUNT, 3, 2));
}

TEST_F(pins, a_part_unmapped)
{
	fill_all(self, 1);
	EXPECT_EQ(0, sum(self, 0, COUNT, 3, 2));
	ASSERT_EQ(0, munmap(self->in[0] + COUNT / 2, PAGE));
	EXPECT_EQ(-EFAULT, refused(self, 0, COUNT));
	EXPECT_EQ(-EFAULT, refused(self, COUNT / 2 - 1, 2));
	poison(self);
	EXPECT_EQ(0, sum(self, 0, COUNT / 2, 3, 2));
	EXPECT_EQ(0, sum(self, COUNT / 2 + PAGE / 4, COUNT / 4, 3, 2));
}

TEST_F(pins, moved)
{
	int32_t *old = self->in[0], *to = memory_at(NULL);

	fill_all(self, 1);
	EXPECT_EQ(0, sum(self, 0, COUNT, 3, 2));
	ASSERT_EQ(to, mremap(old, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(-EFAULT, refused(self, 0, COUNT));
	self->in[0] = to;
	poison(self);
	EXPECT_EQ(0, sum(self, 0, COUNT, 3, 2));
	fill_all(self, 2);
	EXPECT_EQ(0, sum(self, 0, COUNT, 5, 2));
}

TEST_HARNESS_MAIN
