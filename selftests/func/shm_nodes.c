// SPDX-License-Identifier: GPL-2.0
/*
 * With several nodes the first rank of a node posts a small collective for all ranks of the node,
 * by COLL_CMD_NODE: results, what is refused, and ranks that do something else or go meanwhile.
 */
#define RANKS	4
#define NODES	2

#include <pthread.h>

#include "shm.h"
#include "util.h"

#define SECOND	1000000000ULL
#define COUNT	3

/* The first rank of a node, in a call. */
struct lead {
	pthread_t thread;
	int fd, ret;
	uint64_t in[COUNT], out[COUNT];
	struct coll_cmd cmd;
};

static uint64_t value(uint32_t rank, uint32_t i)
{
	return (rank + 1) * 1000 + i;
}

static uint64_t sum(uint32_t i)
{
	uint64_t s = 0;
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		s += value(r, i);
	return s;
}

/* The slot of a rank for the op at @pos. */
static struct coll_shm_slot *slot_of(const struct view *v, uint64_t pos)
{
	const struct coll_shm_header *h = header(v);

	return (void *)(v->own + h->slot_offset + pos % COLL_SHM_SLOTS * h->slot_size);
}

/* A rank writes its slot for the op at @pos. */
static void ask(struct view *v, uint32_t rank, uint64_t pos, uint64_t count)
{
	struct coll_shm_slot *slot = slot_of(v, pos);
	uint64_t *data = (void *)(slot + 1);
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		data[i] = value(rank, i);
	slot->collective = COLL_ALLREDUCE;
	slot->op = COLL_OP_SUM;
	slot->dtype = COLL_U64;
	slot->count = count;
	__atomic_store_n(&slot->pos, pos, __ATOMIC_RELEASE);
}

static void *call(void *arg)
{
	struct lead *l = arg;

	l->ret = raw_submit(l->fd, &l->cmd);
	return NULL;
}

/* @pos: of an op for the whole node; 0: for this rank alone */
static int start(struct lead *l, struct view *v, uint32_t rank, uint64_t pos)
{
	uint32_t i;

	if (pos)
		ask(&v[rank], rank, pos, COUNT);
	memset(l->out, 0, sizeof(l->out));
	for (i = 0; i < COUNT; i++)
		l->in[i] = value(rank, i);
	raw_allreduce(&l->cmd, l->in, l->out, COUNT, COLL_U64, COLL_OP_SUM);
	l->cmd.flags = pos ? COLL_CMD_NODE : 0;
	l->cmd.timeout_ns = 20 * SECOND;
	l->fd = v[rank].fd;
	return pthread_create(&l->thread, NULL, call, l);
}

static const struct coll_shm_rank *told(const struct view *v, uint32_t rank)
{
	return rank_of(&v[rank], rank % 2);
}

/* Wait until a rank has been told of the end of the op at @pos. */
static bool finished(const struct view *v, uint32_t rank, uint64_t pos)
{
	struct coll_shm_wait w = {
		.pos = pos, .posted = pos - 1, .timeout_ns = 10 * SECOND,
		.flags = COLL_SHM_WAIT_FINISHED | COLL_SHM_WAIT_LOOK,
	};

	return !ioctl(v[rank].fd, COLL_IOC_SHM_WAIT, &w) &&
	       __atomic_load_n(&told(v, rank)->finished, __ATOMIC_ACQUIRE) == pos;
}

static bool is_sum(const uint64_t *v)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		if (v[i] != sum(i))
			return false;
	return true;
}

TEST_F(shm, one_rank_posts_for_all_of_its_node)
{
	struct coll_status s;
	struct lead l[2];
	uint64_t pos;
	uint32_t r;

	for (pos = 1; pos <= 20; pos++) {
		for (r = 0; r < RANKS; r += 2)
			ASSERT_EQ(0, start(&l[r / 2], self->v, r, pos));
		for (r = 1; r < RANKS; r += 2)
			ask(&self->v[r], r, pos, COUNT);
		for (r = 0; r < RANKS; r += 2) {
			/* The last rank to write its slot wakes the first one. */
			ASSERT_EQ(0, shm_wake(self->c.fd[r]));
			ASSERT_EQ(0, pthread_join(l[r / 2].thread, NULL));
			ASSERT_EQ(0, l[r / 2].ret);
			ASSERT_TRUE(is_sum(l[r / 2].out));
		}
		for (r = 1; r < RANKS; r += 2) {
			ASSERT_TRUE(finished(self->v, r, pos));
			ASSERT_EQ(0, told(self->v, r)->result);
			ASSERT_TRUE(is_sum((uint64_t *)(slot_of(&self->v[r], pos) + 1)));
		}
	}
	for (r = 0; r < RANKS; r++) {
		ASSERT_EQ(0, raw_status(self->c.fd[r], &s));
		EXPECT_EQ(20, s.posted);
		EXPECT_EQ(20, s.completed);
		EXPECT_EQ(20, s.shm_ops);
	}
}

/* Return: errno of a command with COLL_CMD_NODE. */
static int refused(int fd, uint16_t collective, uint16_t algorithm, uint32_t flags)
{
	uint64_t in[COUNT] = { 0 }, out[COUNT];
	struct coll_cmd c;

	raw_allreduce(&c, in, out, COUNT, COLL_U64, COLL_OP_SUM);
	c.collective = collective;
	c.algorithm = algorithm;
	c.flags = COLL_CMD_NODE | flags;
	c.timeout_ns = SECOND;
	return -raw_submit(fd, &c);
}

TEST_F(shm, what_is_refused)
{
	struct coll_cmd c;
	struct raw_comm one;
	uint64_t v[COUNT];

	EXPECT_EQ(EINVAL, refused(self->c.fd[1], COLL_ALLREDUCE, 0, 0));
	EXPECT_EQ(EINVAL, refused(self->c.fd[0], COLL_EXSCAN, 0, 0));
	EXPECT_EQ(EINVAL, refused(self->c.fd[0], COLL_ALLREDUCE, COLL_ALG_RING, 0));
	EXPECT_EQ(EINVAL, refused(self->c.fd[0], COLL_ALLREDUCE, 0, COLL_CMD_WIRE_F16));
	raw_allreduce(&c, v, v, COUNT, COLL_U64, COLL_OP_SUM);
	c.flags = COLL_CMD_NODE;
	EXPECT_EQ(-EINVAL, raw_post_cmd(self->c.fd[0], &c, 1));
	ASSERT_EQ(0, raw_start(&one, 2, 1));
	EXPECT_EQ(EINVAL, refused(one.fd[0], COLL_ALLREDUCE, 0, 0));
	raw_stop(&one);
	/* No rank has asked for the memory. */
	ASSERT_EQ(0, raw_start(&one, 4, 2));
	EXPECT_EQ(ENOTCONN, refused(one.fd[0], COLL_ALLREDUCE, 0, 0));
	raw_stop(&one);
	/* Nothing has been posted. */
	EXPECT_EQ(0, test_good(&self->c));
}

/* A rank asks for something else, or posts by itself: nothing is posted for anybody. */
TEST_F(shm, ranks_that_do_not_take_part)
{
	struct coll_status s;
	struct lead l[RANKS];
	uint32_t r;

	ask(&self->v[1], 1, 1, COUNT + 1);
	ASSERT_EQ(0, start(&l[0], self->v, 0, 1));
	pthread_join(l[0].thread, NULL);
	EXPECT_EQ(-ESTALE, l[0].ret);
	slot_of(&self->v[1], 1)->pos = 0;
	ASSERT_EQ(0, start(&l[0], self->v, 0, 1));
	for (r = 1; r < RANKS; r++)
		ASSERT_EQ(0, start(&l[r], self->v, r, 0));
	pthread_join(l[0].thread, NULL);
	EXPECT_EQ(-ESTALE, l[0].ret);
	slot_of(&self->v[0], 1)->pos = 0;
	ASSERT_EQ(0, start(&l[0], self->v, 0, 0));
	for (r = 0; r < RANKS; r++) {
		pthread_join(l[r].thread, NULL);
		EXPECT_EQ(0, l[r].ret);
		EXPECT_TRUE(is_sum(l[r].out));
		ASSERT_EQ(0, raw_status(self->c.fd[r], &s));
		EXPECT_EQ(1, s.posted);
		EXPECT_EQ(0, s.shm_ops);
	}
}

/* Wait until the first rank of a node has posted the op for rank @r. */
static bool is_posted(const struct view *v, uint32_t r)
{
	int i;

	for (i = 0; i < 10000 && !__atomic_load_n(&told(v, r)->posted, __ATOMIC_ACQUIRE); i++)
		test_sleep_us(1000);
	return told(v, r)->posted;
}

TEST_F(shm, a_rank_goes_while_its_op_is_in_flight)
{
	struct lead l;

	ask(&self->v[1], 1, 1, COUNT);
	ASSERT_EQ(0, start(&l, self->v, 0, 1));
	ASSERT_TRUE(is_posted(self->v, 1));
	close_rank(&self->c, 1);
	pthread_join(l.thread, NULL);
	EXPECT_EQ(-EHOSTDOWN, l.ret);
}

TEST_F(shm, an_error_is_told)
{
	struct lead l;

	ask(&self->v[1], 1, 1, COUNT);
	ASSERT_EQ(0, start(&l, self->v, 0, 1));
	ASSERT_TRUE(is_posted(self->v, 1));
	ASSERT_EQ(0, raw_abort(self->c.fd[2], 3));
	ASSERT_TRUE(finished(self->v, 1, 1));
	EXPECT_EQ(ESHUTDOWN, told(self->v, 1)->result);
	pthread_join(l.thread, NULL);
	EXPECT_EQ(-ESHUTDOWN, l.ret);
}

/* The deadline of the first rank covers the time in which it waits for the others. */
TEST_F(shm, a_rank_is_late)
{
	struct coll_status s;
	struct coll_cmd c;
	uint64_t v[COUNT] = { 0 }, out[COUNT];

	ask(&self->v[0], 0, 1, COUNT);
	raw_allreduce(&c, v, out, COUNT, COLL_U64, COLL_OP_SUM);
	c.flags = COLL_CMD_NODE;
	c.timeout_ns = SECOND / 10;
	EXPECT_EQ(-ETIMEDOUT, raw_submit(self->c.fd[0], &c));
	ASSERT_EQ(0, raw_status(self->c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
}

/* Its deadline counts when the op has been posted, too. The cause names the node that is late. */
TEST_F(shm, a_rank_does_not_wait_longer_than_it_likes)
{
	struct coll_shm_wait w = {
		.pos = 1, .timeout_ns = SECOND / 10, .flags = COLL_SHM_WAIT_FINISHED,
	};
	struct coll_status s;
	struct lead l;

	ask(&self->v[1], 1, 1, COUNT);
	ASSERT_EQ(0, start(&l, self->v, 0, 1));
	ASSERT_TRUE(is_posted(self->v, 1));
	ASSERT_EQ(0, ioctl(self->c.fd[1], COLL_IOC_SHM_WAIT, &w));
	EXPECT_EQ(1, told(self->v, 1)->finished);
	EXPECT_EQ(ETIMEDOUT, told(self->v, 1)->result);
	pthread_join(l.thread, NULL);
	EXPECT_EQ(-ETIMEDOUT, l.ret);
	ASSERT_EQ(0, raw_status(self->c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
	EXPECT_EQ(1, s.cause.node);
}

TEST_HARNESS_MAIN
