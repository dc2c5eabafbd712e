// SPDX-License-Identifier: GPL-2.0
/* Blocks with gaps in registered buffers, and in buffers of an io_uring. */
#include <errno.h>
#include <string.h>
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

/* --- buffers that begin and end within a page, exactly where the blocks do --- */

#define FIRST	5U
#define SECOND	7U
#define TOTAL	(FIRST + SECOND)

/* Blocks in descending order, without a gap or with one. */
static const uint64_t counts[2] = { FIRST, SECOND }, orders[2][2] = { { SECOND, 0 }, { 9, 0 } };

struct exact {
	struct raw_comm c;
	struct io_uring rings[2];
	int32_t in[2][SECOND];
	int32_t pages[2][4096];
};

static int32_t *output(struct exact *e, uint32_t r)
{
	return &e->pages[r][500];
}

static void prepare(struct exact *e, uint32_t r, unsigned int order, struct coll_cmd *cmd)
{
	uint32_t i;

	for (i = 0; i < counts[r]; i++)
		e->in[r][i] = (int32_t)(100 * r + i);
	memset(e->pages[r], 0x5a, sizeof(e->pages[r]));
	*cmd = (struct coll_cmd){
		.collective = COLL_ALLGATHERV, .dtype = COLL_I32,
		.send_addr = (uintptr_t)e->in[r], .recv_addr = (uintptr_t)output(e, r),
		.counts_addr = (uintptr_t)counts, .displs_addr = (uintptr_t)orders[order],
	};
}

static unsigned int wrong(struct exact *e, uint32_t r, unsigned int order)
{
	unsigned int bad = 0;
	uint32_t k, i;

	for (k = 0; k < 2; k++)
		for (i = 0; i < counts[k]; i++)
			bad += output(e, r)[orders[order][k] + i] != (int32_t)(100 * k + i);
	return bad;
}

static uint64_t bytes(unsigned int order)
{
	return 4 * (orders[order][0] + FIRST);
}

static int by_register(struct exact *e, unsigned int order)
{
	struct coll_unregister gone;
	struct coll_cmd cmds[2];
	int results[2], ret;
	uint32_t r;

	for (r = 0; r < 2; r++) {
		struct coll_register reg = {
			.addr = (uintptr_t)output(e, r), .len = bytes(order),
			.flags = COLL_REG_WRITE,
		};

		prepare(e, r, order, &cmds[r]);
		if (ioctl(e->c.fd[r], COLL_IOC_REGISTER, &reg))
			return -errno;
		cmds[r].flags |= COLL_CMD_REG_RECV;
		cmds[r].recv_buf = reg.id;
	}
	ret = raw_all(&e->c, cmds, results);
	for (r = 0; r < 2; r++) {
		ret = ret ?: results[r];
		gone = (struct coll_unregister){ .id = cmds[r].recv_buf };
		ioctl(e->c.fd[r], COLL_IOC_UNREGISTER, &gone);
	}
	return ret;
}

TEST(exactly_registered)
{
	static struct exact e;
	unsigned int order;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&e.c, 2, 1));
	for (order = 0; order < 2; order++) {
		EXPECT_EQ(0, by_register(&e, order)) TH_LOG("order %u", order);
		for (r = 0; r < 2; r++)
			EXPECT_EQ(0, wrong(&e, r, order));
	}
	raw_stop(&e.c);
}

/* Input and output lie in one buffer of the ring. */
static int by_ring(struct exact *e, struct coll_cmd *cmds)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	struct io_uring_cqe *cqe;
	uint32_t r;
	int ret = 0;

	for (r = 0; r < 2; r++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&e->rings[r]);

		ring_prep(sqe, e->c.fd[r], &cmds[r], r);
		sqe->rw_flags = IORING_URING_CMD_FIXED;
		if (io_uring_submit(&e->rings[r]) != 1)
			return -EIO;
	}
	for (r = 0; r < 2; r++) {
		if (io_uring_wait_cqe_timeout(&e->rings[r], &cqe, &ts))
			return -ETIME;
		ret = ret ?: cqe->res;
		io_uring_cqe_seen(&e->rings[r], cqe);
	}
	return ret;
}

TEST(exactly_in_a_ring)
{
	static struct exact e;
	struct coll_cmd cmds[2];
	unsigned int order;
	uint32_t r;

	if (!(raw_features() & COLL_FEAT_URING_FIXED))
		SKIP(return, "no fixed buffers");
	ASSERT_EQ(0, raw_start(&e.c, 2, 1));
	for (order = 0; order < 2; order++) {
		for (r = 0; r < 2; r++) {
			int32_t *in = output(&e, r) - SECOND;
			struct iovec iov = { in, 4 * SECOND + bytes(order) };

			prepare(&e, r, order, &cmds[r]);
			memcpy(in, e.in[r], sizeof(e.in[r]));
			cmds[r].send_addr = (uintptr_t)in;
			ASSERT_EQ(0, io_uring_queue_init(8, &e.rings[r], 0));
			ASSERT_EQ(0, io_uring_register_buffers(&e.rings[r], &iov, 1));
		}
		EXPECT_EQ(0, by_ring(&e, cmds)) TH_LOG("order %u", order);
		for (r = 0; r < 2; r++) {
			EXPECT_EQ(0, wrong(&e, r, order));
			io_uring_queue_exit(&e.rings[r]);
		}
	}
	raw_stop(&e.c);
}

TEST_HARNESS_MAIN
