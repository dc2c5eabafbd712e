// SPDX-License-Identifier: GPL-2.0
/* Commands whose vectors are in a buffer of the ring: sums and other collectives are right. */
#include <string.h>

#include "uring_fixed.h"
#include "util.h"

TEST_F(fixed, sums)
{
	static const uint64_t counts[] = { 0, 1, 2, 1000, 1024, 1025, 30000, 300001 };
	static const size_t starts[] = { 0, 1, 4092, 4095, 12345 };
	size_t half = self->bytes / 2, at;
	unsigned int n, s;

	for (n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		for (s = 0; s < sizeof(starts) / sizeof(*starts); s++) {
			at = starts[s];
			EXPECT_EQ(0, fixed_sum(self->f, variant->size, at, at, counts[n]));
			EXPECT_EQ(0, fixed_sum(self->f, variant->size, at, half + at, counts[n]));
			EXPECT_EQ(0, fixed_sum(self->f, variant->size, half, at, counts[n]));
		}
	}
	/* to its last byte */
	EXPECT_EQ(0, fixed_sum(self->f, variant->size, self->bytes - 40000,
			 self->bytes - 40000, 10000));
	EXPECT_EQ(0, fixed_sum(self->f, variant->size, 0, half, half / 4));
	EXPECT_EQ(0, test_good(&self->c));
}

/* The other kinds of buffers: one for both, some of a rank, messages, saved inputs. */
TEST_F(fixed, other_collectives)
{
	uint32_t size = variant->size, r, i, wrong;
	struct fixed *f = self->f;
	const uint64_t n = 5000;
	int32_t v;

	for (r = 0; r < size; r++) {
		fixed_fill(&f[r], r, 100, n);
		raw_broadcast(&f[r].cmd, f[r].mem + 100, n, COLL_I32, 1);
	}
	ASSERT_EQ(0, fixed_run(f, size));
	for (r = 0; r < size; r++)
		EXPECT_EQ(0, memcmp(f[r].mem + 100, f[1].mem + 100, 4 * n));

	for (r = 0; r < size; r++) {
		for (i = 0; i < size; i++)
			fixed_fill(&f[r], 10 * r + i, 4 * n * i, n);
		raw_allreduce(&f[r].cmd, NULL, f[r].mem, n, COLL_I32, COLL_OP_NONE);
		f[r].cmd.collective = COLL_ALLTOALL;
	}
	ASSERT_EQ(0, fixed_run(f, size));
	for (r = 0, wrong = 0; r < size; r++) {
		for (i = 0; i < size * n; i++) {
			memcpy(&v, f[r].mem + 4 * i, 4);
			wrong += v != test_value(10 * (i / n) + r, i % n);
		}
	}
	EXPECT_EQ(0, wrong);

	for (r = 0; r < size; r++) {
		fixed_fill(&f[r], r, 0, n);
		raw_send(&f[r].cmd, f[r].mem, n, COLL_I32, (r + 1) % size, 7);
		raw_and_recv(&f[r].cmd, f[r].mem + 4 * n, n, (r + size - 1) % size, 7, NULL);
	}
	ASSERT_EQ(0, fixed_run(f, size));
	for (r = 0; r < size; r++)
		EXPECT_EQ(0, memcmp(f[r].mem + 4 * n, f[(r + size - 1) % size].mem, 4 * n));

	for (r = 0; r < size; r++)
		raw_barrier(&f[r].cmd);
	EXPECT_EQ(0, fixed_run(f, size));
}

TEST_HARNESS_MAIN
