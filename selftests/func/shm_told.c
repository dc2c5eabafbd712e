// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the ranks of a node: what ranks read there. The kernel writes the layout, the
 * ops that it does, who has left, and a failure. Ranks may write anything into their own areas.
 */
#include "shm.h"
#include "util.h"

TEST_F(shm, layout_is_told)
{
	const struct coll_shm_header *h = header(&self->v[0]);
	uint32_t r;

	EXPECT_TRUE(raw_features() & COLL_FEAT_SHM);
	EXPECT_EQ(COLL_SHM_MAGIC, h->magic);
	EXPECT_EQ(COLL_SHM_VERSION, h->version);
	EXPECT_EQ(RANKS, h->nr_local);
	EXPECT_EQ(1, h->active);
	EXPECT_EQ(0, h->failed);
	EXPECT_GE(h->slot_size, h->data_size + sizeof(struct coll_shm_slot));
	EXPECT_GE(h->area_size, h->slot_offset + COLL_SHM_SLOTS * h->slot_size);
	EXPECT_EQ(self->v[0].s.size, h->area_offset + RANKS * h->area_size);
	for (r = 0; r < RANKS; r++) {
		EXPECT_EQ(r, self->v[r].s.local);
		EXPECT_EQ(r, rank_of(&self->v[0], r)->rank);
		EXPECT_EQ(h->area_size, self->v[r].s.own_size);
		EXPECT_EQ(h->area_offset + r * h->area_size, self->v[r].s.own_offset);
	}
}

TEST_F(shm, others_see_what_a_rank_writes)
{
	const struct view *v = self->v;
	uint64_t i, lot = test_seed();

	for (i = 0; i < v[1].s.own_size; i++)
		v[1].own[i] = test_rand(&lot);
	EXPECT_EQ(0, memcmp(v[1].own, v[0].all + v[1].s.own_offset, v[1].s.own_size));
	EXPECT_EQ(0, memcmp(v[1].own, v[2].all + v[1].s.own_offset, v[1].s.own_size));
}

TEST_F(shm, kernel_ops_are_told)
{
	const struct coll_shm_rank *r = rank_of(&self->v[0], 1);
	struct coll_status s;

	EXPECT_EQ(0, r->posted);
	ASSERT_EQ(0, test_good(&self->c));
	EXPECT_LE(1, r->posted);
	EXPECT_EQ(r->posted, r->completed);
	ASSERT_EQ(0, raw_status(self->c.fd[1], &s));
	EXPECT_EQ(s.posted, r->posted);
	((struct coll_shm_area *)self->v[1].own)->ops = 5;
	ASSERT_EQ(0, raw_status(self->c.fd[1], &s));
	EXPECT_EQ(5, s.shm_ops);
}

TEST_F(shm, leaving_and_failure_are_told)
{
	const struct view *v = &self->v[0];

	EXPECT_EQ(0, rank_of(v, 2)->left);
	close_rank(&self->c, 2);
	EXPECT_EQ(1, rank_of(v, 2)->left);
	EXPECT_EQ(0, header(v)->failed);
	ASSERT_EQ(0, raw_abort(v->fd, 3));
	EXPECT_EQ(ESHUTDOWN, header(v)->failed);
}

/* Ranks may write anything there: the others see what the kernel knows, or wait in vain. */
TEST_F(shm, random_bytes_do_no_harm)
{
	uint64_t lot = test_seed();
	struct coll_shm_wait w = { .timeout_ns = 1 };
	uint32_t i, r, at;
	struct coll_status s;

	for (i = 0; i < test_scale(1000); i++) {
		for (r = 0; r < RANKS; r++) {
			at = test_below(&lot, self->v[r].s.own_size / 8) * 8;
			*(uint64_t *)(self->v[r].own + at) = test_rand(&lot);
			*(uint64_t *)self->v[r].own = test_below(&lot, 4);
		}
		ASSERT_EQ(0, raw_status(self->v[0].fd, &s));
		ASSERT_EQ(0, shm_wake(self->v[1].fd));
		ASSERT_EQ(0, s.cause.error);
		if (!(i % 100))
			ASSERT_EQ(0, test_good(&self->c));
	}
	w.pos = test_rand(&lot) | 1;
	w.posted = rank_of(&self->v[0], 0)->posted;
	ASSERT_EQ(-1, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
	EXPECT_EQ(ETIMEDOUT, errno);
	ASSERT_EQ(0, raw_status(self->v[0].fd, &s));
	EXPECT_EQ(ETIMEDOUT, s.cause.error);
}

TEST_HARNESS_MAIN
