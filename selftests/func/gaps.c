// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks with gaps: a v-form touches its blocks only. Gaps may be unmapped or read-only, are
 * not faulted in, pinned or charged, and keep what they hold. Blocks to send may lie in the
 * gaps between blocks to receive. The same with registered buffers, those of io_uring, and
 * windows.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define PAGE	4096UL
#define SECOND	1000000000ULL
#define MAX	4
/* Each block has a slot of its own, of which it uses the first pages at most. */
#define SLOT	(16 * PAGE)
#define USED	(7 * PAGE)
#define SLOTS	(2 * MAX)
#define BYTES	(SLOTS * SLOT)
/* Where in its slot a block begins. */
#define HEAD	52UL

#ifndef IORING_URING_CMD_FIXED
#define IORING_URING_CMD_FIXED	(1U << 0)
#endif

static const uint32_t kinds[] = {
	COLL_ALLGATHERV, COLL_GATHERV, COLL_SCATTERV, COLL_ALLTOALLV,
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

FIXTURE(gaps) {
	struct raw_comm c;
	char *mem[MAX];
	/* Displacements count from that many elements before @mem. */
	uint64_t before;
	uint64_t counts[MAX][2 * MAX];
	uint64_t displs[MAX][2 * MAX];
	struct coll_cmd cmds[MAX];
};

FIXTURE_VARIANT(gaps) {
	uint32_t size;
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(gaps, two) { .size = 2, .nodes = 1 };
FIXTURE_VARIANT_ADD(gaps, four) { .size = 4, .nodes = 1 };
FIXTURE_VARIANT_ADD(gaps, two_nodes) { .size = 2, .nodes = 2 };
FIXTURE_VARIANT_ADD(gaps, three_nodes) { .size = 3, .nodes = 3 };
FIXTURE_VARIANT_ADD(gaps, four_on_two_nodes) { .size = 4, .nodes = 2 };

/* No huge pages: one that covers a block would cover the gap beside it, too. */
static char *new_memory(void *at)
{
	char *mem = mmap(at, BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (mem != MAP_FAILED)
		madvise(mem, BYTES, MADV_NOHUGEPAGE);	/* EINVAL: there are none */
	return mem;
}

FIXTURE_SETUP(gaps)
{
	uint32_t r;

	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	for (r = 0; r < variant->size; r++) {
		self->mem[r] = new_memory(NULL);
		ASSERT_NE(MAP_FAILED, self->mem[r]);
	}
}

FIXTURE_TEARDOWN(gaps)
{
	uint32_t r;

	raw_stop(&self->c);
	for (r = 0; r < variant->size; r++)
		munmap(self->mem[r], BYTES);
}

/* Elements that @from has for @to; some have none. The largest block is 20 KB. */
static uint64_t block(uint32_t from, uint32_t to)
{
	return (from + to) % 4 == 3 ? 0 : 1 + (from * 1733 + to * 2411) % 5000;
}

static int32_t value(uint32_t from, uint32_t to, uint64_t i)
{
	return (int32_t)((from + 1) << 24 | (to + 1) << 16 | (i & 0xffff));
}

static char *slot_at(FIXTURE_DATA(gaps) *self, uint32_t rank, uint32_t slot)
{
	return self->mem[rank] + slot * SLOT + HEAD;
}

static uint64_t displ_of(FIXTURE_DATA(gaps) *self, uint32_t slot)
{
	return (slot * SLOT + HEAD) / sizeof(int32_t) + self->before;
}

/* Blocks of the input are in even slots, those of the output in odd ones, the last first. */
static uint32_t in_slot(uint32_t i)
{
	return 2 * i;
}

static uint32_t out_slot(FIXTURE_DATA(gaps) *self, uint32_t i)
{
	return 2 * (self->c.size - 1 - i) + 1;
}

/* Does a rank get different data from each rank, or give different data to each? */
static bool for_each_other(uint32_t kind)
{
	return kind == COLL_SCATTERV || kind == COLL_ALLTOALLV;
}

static bool has_all_in(uint32_t kind, uint32_t rank)
{
	return kind == COLL_ALLTOALLV || (kind == COLL_SCATTERV && !rank);
}

static bool has_all_out(uint32_t kind, uint32_t rank)
{
	return kind == COLL_ALLTOALLV || kind == COLL_ALLGATHERV ||
	       (kind == COLL_GATHERV && !rank);
}

static void put_block(char *at, uint32_t from, uint32_t to)
{
	uint64_t i;

	for (i = 0; i < block(from, to); i++)
		((int32_t *)at)[i] = value(from, to, i);
}

static uint64_t wrong_in_block(const char *at, uint32_t from, uint32_t to)
{
	uint64_t i, wrong = 0;

	for (i = 0; i < block(from, to); i++)
		wrong += ((int32_t *)at)[i] != value(from, to, i);
	return wrong;
}

static void put_input(FIXTURE_DATA(gaps) *self, uint32_t kind, uint32_t r)
{
	uint32_t i;

	if (!has_all_in(kind, r) && kind != COLL_SCATTERV)
		put_block(slot_at(self, r, 0), r, 0);
	for (i = 0; has_all_in(kind, r) && i < self->c.size; i++)
		put_block(slot_at(self, r, in_slot(i)), r, i);
}

/* Elements that are not what the op should have put there. */
static uint64_t wrong_output(FIXTURE_DATA(gaps) *self, uint32_t kind, uint32_t r)
{
	uint64_t wrong = 0;
	uint32_t i;

	if (kind == COLL_SCATTERV)
		return wrong_in_block(slot_at(self, r, out_slot(self, 0)), 0, r);
	for (i = 0; has_all_out(kind, r) && i < self->c.size; i++)
		wrong += wrong_in_block(slot_at(self, r, out_slot(self, i)), i,
					for_each_other(kind) ? r : 0);
	return wrong;
}

/* The command of rank @r: input and output in the same array. */
static void prepare(FIXTURE_DATA(gaps) *self, uint32_t kind, uint32_t r)
{
	uint32_t n = self->c.size, first = kind == COLL_ALLTOALLV ? n : 0, i;
	uintptr_t base = (uintptr_t)self->mem[r] - self->before * sizeof(int32_t);
	struct coll_cmd *c = &self->cmds[r];
	bool all_in = has_all_in(kind, r), all_out = has_all_out(kind, r);

	memset(c, 0, sizeof(*c));
	c->collective = kind;
	c->dtype = COLL_I32;
	c->timeout_ns = 20 * SECOND;
	for (i = 0; i < n; i++) {
		if (all_in) {
			self->counts[r][i] = block(r, i);
			self->displs[r][i] = displ_of(self, in_slot(i));
		}
		if (all_out) {
			self->counts[r][first + i] = block(i, for_each_other(kind) ? r : 0);
			self->displs[r][first + i] = displ_of(self, out_slot(self, i));
		}
	}
	/* An empty block may be anywhere. */
	for (i = 0; i < 2 * n; i++)
		if (!self->counts[r][i])
			self->displs[r][i] = ~0ULL / (i + 1);
	if (all_in || all_out) {
		c->counts_addr = (uintptr_t)self->counts[r];
		c->displs_addr = (uintptr_t)self->displs[r];
	} else {
		c->count = kind == COLL_SCATTERV ? block(0, r) : block(r, 0);
	}
	if (all_in)
		c->send_addr = base;
	else if (kind != COLL_SCATTERV)
		c->send_addr = (uintptr_t)slot_at(self, r, 0);
	if (all_out)
		c->recv_addr = base;
	else if (kind == COLL_SCATTERV)
		c->recv_addr = (uintptr_t)slot_at(self, r, out_slot(self, 0));
}

static void prepare_all(FIXTURE_DATA(gaps) *self, uint32_t kind)
{
	uint32_t r;

	for (r = 0; r < self->c.size; r++) {
		prepare(self, kind, r);
		put_input(self, kind, r);
	}
}

/* Run what has been prepared. Return: 0, the first error, or wrong elements. */
static int64_t run(FIXTURE_DATA(gaps) *self, uint32_t kind)
{
	int results[MAX], ret;
	uint64_t wrong = 0;
	uint32_t r;

	ret = raw_all(&self->c, self->cmds, results);
	for (r = 0; !ret && r < self->c.size; r++)
		ret = results[r];
	for (r = 0; !ret && r < self->c.size; r++)
		wrong += wrong_output(self, kind, r);
	return ret ? ret : (int64_t)wrong;
}

static int64_t each_kind(FIXTURE_DATA(gaps) *self)
{
	int64_t ret = 0;
	size_t k;

	for (k = 0; !ret && k < NR_KINDS; k++) {
		prepare_all(self, kinds[k]);
		ret = run(self, kinds[k]);
	}
	return ret;
}

/* Do something to each gap: @change gets its address and length. */
static int each_gap(FIXTURE_DATA(gaps) *self, int (*change)(char *at, size_t len))
{
	uint32_t r, s;
	int ret = 0;

	for (r = 0; r < self->c.size; r++)
		for (s = 0; s < SLOTS; s++)
			ret |= change(self->mem[r] + s * SLOT + USED, SLOT - USED);
	return ret;
}

static int gap_unmap(char *at, size_t len)
{
	return munmap(at, len);
}

static int gap_forbid(char *at, size_t len)
{
	return mprotect(at, len, PROT_NONE);
}

static int gap_read_only(char *at, size_t len)
{
	return mprotect(at, len, PROT_READ);
}

static int gap_throw_away(char *at, size_t len)
{
	return madvise(at, len, MADV_DONTNEED);
}

static int gap_mark(char *at, size_t len)
{
	memset(at, 0x77, len);
	return 0;
}

static int gap_is_marked(char *at, size_t len)
{
	return *at != 0x77 || memcmp(at, at + 1, len - 1);
}

/* Is any page of it in memory? */
static int gap_is_there(char *at, size_t len)
{
	unsigned char vec[SLOT / PAGE] = { };
	size_t i;
	int there = mincore(at, len, vec);

	for (i = 0; i < len / PAGE; i++)
		there |= vec[i] & 1;
	return there;
}

TEST_F(gaps, are_not_faulted_in)
{
	EXPECT_EQ(0, each_kind(self));
	EXPECT_EQ(0, each_gap(self, gap_is_there));
}

TEST_F(gaps, may_be_missing)
{
	ASSERT_EQ(0, each_gap(self, gap_read_only));
	EXPECT_EQ(0, each_kind(self));
	ASSERT_EQ(0, each_gap(self, gap_forbid));
	EXPECT_EQ(0, each_kind(self));
	ASSERT_EQ(0, each_gap(self, gap_unmap));
	EXPECT_EQ(0, each_kind(self));
}

/* The address of a vector counts for nothing, only those of its blocks do. */
TEST_F(gaps, begin_anywhere)
{
	self->before = 1ULL << 28;
	EXPECT_EQ(0, each_kind(self));
	/* Below the address 0. */
	self->before = ((uintptr_t)self->mem[0] + (1ULL << 30)) / sizeof(int32_t);
	EXPECT_EQ(-EFAULT, each_kind(self));
}

TEST_F(gaps, are_left_alone)
{
	ASSERT_EQ(0, each_gap(self, gap_mark));
	EXPECT_EQ(0, each_kind(self));
	EXPECT_EQ(0, each_gap(self, gap_is_marked));
}

/*
 * Each vector of a rank has @size blocks of 5 pages at most: these fit the limit. From the
 * first block to the last one it is more.
 */
TEST_F(gaps, are_not_charged)
{
	struct coll_status s;

	raw_stop(&self->c);
	ASSERT_EQ(0, test_become_nobody(variant->size * variant->size * 14 * PAGE));
	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	EXPECT_EQ(0, each_kind(self));
	ASSERT_EQ(0, raw_status(self->c.fd[0], &s));
	EXPECT_EQ(0, s.memlock_wanted);
}

TEST_F(gaps, in_windows)
{
	struct coll_status s;

	raw_stop(&self->c);
	ASSERT_EQ(0, test_become_nobody(PAGE));
	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	EXPECT_EQ(0, each_kind(self));
	EXPECT_EQ(0, each_gap(self, gap_is_there));
	ASSERT_EQ(0, raw_status(self->c.fd[0], &s));
	EXPECT_LT(0, s.memlock_wanted);
	ASSERT_EQ(0, each_gap(self, gap_unmap));
	EXPECT_EQ(0, each_kind(self));
}

TEST_F(gaps, in_registered_buffers)
{
	struct coll_register reg[MAX];
	uint32_t r;
	size_t k;

	self->before = 1ULL << 20;
	ASSERT_EQ(0, each_gap(self, gap_mark));
	for (r = 0; r < variant->size; r++) {
		reg[r] = (struct coll_register){
			.addr = (uintptr_t)self->mem[r], .len = BYTES, .flags = COLL_REG_WRITE,
		};
		ASSERT_EQ(0, ioctl(self->c.fd[r], COLL_IOC_REGISTER, &reg[r]));
	}
	for (k = 0; k < NR_KINDS; k++) {
		prepare_all(self, kinds[k]);
		for (r = 0; r < variant->size; r++) {
			struct coll_cmd *c = &self->cmds[r];

			c->flags |= c->send_addr ? COLL_CMD_REG_SEND : 0;
			c->send_buf = c->send_addr ? reg[r].id : 0;
			c->flags |= c->recv_addr ? COLL_CMD_REG_RECV : 0;
			c->recv_buf = c->recv_addr ? reg[r].id : 0;
		}
		EXPECT_EQ(0, run(self, kinds[k]));
	}
	EXPECT_EQ(0, each_gap(self, gap_is_marked));
}

/* Each rank's commands from a ring of its own. Return: 0, the first error, wrong elements. */
static int64_t run_fixed(FIXTURE_DATA(gaps) *self, struct io_uring *rings, uint32_t kind)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	uint64_t wrong = 0;
	uint32_t r;
	int ret = 0;

	prepare_all(self, kind);
	for (r = 0; r < self->c.size; r++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&rings[r]);

		ring_prep(sqe, self->c.fd[r], &self->cmds[r], r);
		sqe->rw_flags = IORING_URING_CMD_FIXED;
		if (io_uring_submit(&rings[r]) != 1)
			return -EIO;
	}
	for (r = 0; r < self->c.size; r++) {
		struct io_uring_cqe *cqe;

		if (io_uring_wait_cqe_timeout(&rings[r], &cqe, &ts))
			return -ETIME;
		ret = ret ?: cqe->res;
		io_uring_cqe_seen(&rings[r], cqe);
		wrong += wrong_output(self, kind, r);
	}
	return ret ? ret : (int64_t)wrong;
}

TEST_F(gaps, in_buffers_of_io_uring)
{
	struct io_uring rings[MAX];
	uint32_t r;
	size_t k;

	if (!(raw_features() & COLL_FEAT_URING_FIXED))
		SKIP(return, "no fixed buffers");
	self->before = 1ULL << 20;
	ASSERT_EQ(0, each_gap(self, gap_mark));
	for (r = 0; r < variant->size; r++) {
		struct iovec iov = { self->mem[r], BYTES };

		ASSERT_EQ(0, io_uring_queue_init(8, &rings[r], 0));
		ASSERT_EQ(0, io_uring_register_buffers(&rings[r], &iov, 1));
	}
	for (k = 0; k < NR_KINDS; k++)
		EXPECT_EQ(0, run_fixed(self, rings, kinds[k]));
	EXPECT_EQ(0, each_gap(self, gap_is_marked));
	for (r = 0; r < variant->size; r++)
		io_uring_queue_exit(&rings[r]);
}

/*
 * Pins are kept from one op to the next. A change of a block must show in the result, and a
 * change in a gap must not.
 */
TEST_F(gaps, memory_that_changes)
{
	int round;
	uint32_t r;

	for (round = 0; round < 12; round++) {
		EXPECT_EQ(0, each_kind(self));
		EXPECT_EQ(0, each_kind(self));
		ASSERT_EQ(0, each_gap(self, round % 2 ? gap_throw_away : gap_unmap));
		EXPECT_EQ(0, each_kind(self));
		for (r = 0; r < variant->size; r++)
			ASSERT_EQ(self->mem[r], new_memory(self->mem[r]));
	}
}

TEST_F(gaps, a_block_that_is_missing)
{
	char *page = slot_at(self, 0, out_slot(self, 0)) - HEAD;
	int64_t posted = test_posted(&self->c, 0);

	prepare_all(self, COLL_ALLTOALLV);
	/* The first page of a block, and with windows also the last one, tell at once. */
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, raw_submit(self->c.fd[0], &self->cmds[0]));
	ASSERT_EQ(0, munmap(page, PAGE));
	EXPECT_EQ(-EFAULT, raw_submit(self->c.fd[0], &self->cmds[0]));
	ASSERT_EQ(self->mem[0], new_memory(self->mem[0]));
	EXPECT_EQ(posted, test_posted(&self->c, 0));
	EXPECT_EQ(0, each_kind(self));
}

/*
 * alltoallv in place, the result partly over the input, partly in other places. Blocks of
 * the result lie @shift elements behind those of the input of the rank @turn further on.
 */
static int64_t in_place(FIXTURE_DATA(gaps) *self, uint32_t turn, uint64_t shift)
{
	uint32_t n = self->c.size, r, i;
	int results[MAX], ret;
	uint64_t wrong = 0;

	prepare_all(self, COLL_ALLTOALLV);
	for (r = 0; r < n; r++) {
		self->cmds[r].send_addr = 0;
		self->cmds[r].flags |= COLL_CMD_INPLACE;
		for (i = 0; i < n; i++)
			self->displs[r][n + i] = displ_of(self, in_slot((i + turn) % n)) + shift;
	}
	ret = raw_all(&self->c, self->cmds, results);
	for (r = 0; !ret && r < n; r++)
		ret = results[r];
	for (r = 0; !ret && r < n; r++)
		for (i = 0; i < n; i++)
			wrong += wrong_in_block(slot_at(self, r, in_slot((i + turn) % n)) +
						shift * sizeof(int32_t), i, r);
	return ret ? ret : (int64_t)wrong;
}

TEST_F(gaps, in_place)
{
	ASSERT_EQ(0, each_gap(self, gap_unmap));
	EXPECT_EQ(0, in_place(self, 0, 0));
	EXPECT_EQ(0, in_place(self, 1, 0));
	EXPECT_EQ(0, in_place(self, 0, 1));
	EXPECT_EQ(0, in_place(self, 1, 1001));
}

TEST_HARNESS_MAIN
