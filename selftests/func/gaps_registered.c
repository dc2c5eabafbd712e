// SPDX-License-Identifier: GPL-2.0
/* Blocks with gaps in registered buffers, and in buffers of an io_uring. */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "gaps_fixture.h"
#include "ring.h"

TEST_F(gaps, in_registered_buffers)
{
	struct coll_register reg[GAPS_MAX];
	uint32_t r;
	size_t k;

	self->g.before = 1ULL << 20;
	ASSERT_EQ(0, gaps_each(&self->g, gap_mark));
	for (r = 0; r < variant->size; r++) {
		reg[r] = (struct coll_register){
			.addr = (uintptr_t)self->g.mem[r], .len = GAPS_BYTES,
			.flags = COLL_REG_WRITE,
		};
		ASSERT_EQ(0, ioctl(self->g.c.fd[r], COLL_IOC_REGISTER, &reg[r]));
	}
	for (k = 0; k < GAPS_KINDS; k++) {
		gaps_prepare(&self->g, gaps_kinds[k]);
		for (r = 0; r < variant->size; r++) {
			struct coll_cmd *c = &self->g.cmds[r];

			c->flags |= c->send_addr ? COLL_CMD_REG_SEND : 0;
			c->send_buf = c->send_addr ? reg[r].id : 0;
			c->flags |= c->recv_addr ? COLL_CMD_REG_RECV : 0;
			c->recv_buf = c->recv_addr ? reg[r].id : 0;
		}
		EXPECT_EQ(0, gaps_run(&self->g, gaps_kinds[k]));
	}
	EXPECT_EQ(0, gaps_each(&self->g, gap_is_hurt));
}

/* Each rank posts by a ring of its own. Return: 0, the first error, or wrong elements. */
static int64_t run_fixed(struct gaps *g, struct io_uring *rings, uint32_t kind)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	uint64_t wrong = 0;
	uint32_t r;
	int ret = 0;

	gaps_prepare(g, kind);
	for (r = 0; r < g->c.size; r++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&rings[r]);

		ring_prep(sqe, g->c.fd[r], &g->cmds[r], r);
		sqe->rw_flags = IORING_URING_CMD_FIXED;
		if (io_uring_submit(&rings[r]) != 1)
			return -EIO;
	}
	for (r = 0; r < g->c.size; r++) {
		struct io_uring_cqe *cqe;

		if (io_uring_wait_cqe_timeout(&rings[r], &cqe, &ts))
			return -ETIME;
		ret = ret ?: cqe->res;
		io_uring_cqe_seen(&rings[r], cqe);
		wrong += gaps_wrong_output(g, kind, r);
	}
	return ret ? ret : (int64_t)wrong;
}

TEST_F(gaps, in_buffers_of_io_uring)
{
	struct io_uring rings[GAPS_MAX];
	uint32_t r;
	size_t k;

	if (!(raw_features() & COLL_FEAT_URING_FIXED))
		SKIP(return, "no fixed buffers");
	self->g.before = 1ULL << 20;
	ASSERT_EQ(0, gaps_each(&self->g, gap_mark));
	for (r = 0; r < variant->size; r++) {
		struct iovec iov = { self->g.mem[r], GAPS_BYTES };

		ASSERT_EQ(0, io_uring_queue_init(8, &rings[r], 0));
		ASSERT_EQ(0, io_uring_register_buffers(&rings[r], &iov, 1));
	}
	for (k = 0; k < GAPS_KINDS; k++)
		EXPECT_EQ(0, run_fixed(&self->g, rings, gaps_kinds[k]));
	EXPECT_EQ(0, gaps_each(&self->g, gap_is_hurt));
	for (r = 0; r < variant->size; r++)
		io_uring_queue_exit(&rings[r]);
}

TEST_HARNESS_MAIN
