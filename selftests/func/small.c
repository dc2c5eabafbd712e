// SPDX-License-Identifier: GPL-2.0
/*
 * Vectors small enough to be copied, beside others that are not, and plans that are used
 * again: whatever the mixture, the results are those of each command alone.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "harness.h"
#include "util.h"

#define PAGE	4096UL
#define RANKS	4
#define SECOND	1000000000ULL
#define MARGIN	64
/* Elements that just fit a slot. */
#define FITS	(PAGE / sizeof(int32_t))
#define MOST	(2 * FITS)
#define ROOM	(RANKS * MOST * sizeof(int32_t) + 2 * MARGIN)

static uint8_t in_mem[RANKS][ROOM], out_mem[RANKS][ROOM];

/**
 * struct mix - one collective, the same on all ranks but for where its memory is
 * @in: of each rank, NULL: none
 * @out: of each rank, NULL: none
 * @blocks: blocks of @count elements in the output
 */
struct mix {
	uint16_t collective;
	uint32_t count, root, blocks;
	bool inplace[RANKS];
	uint8_t *in[RANKS], *out[RANKS];
};

/* Element @i of block @b of the result. */
static int32_t wanted(const struct mix *m, uint32_t b, uint32_t i)
{
	if (m->collective == COLL_ALLREDUCE)
		return test_value_sum(RANKS, i);
	return test_value(m->collective == COLL_BROADCAST ? m->root : b, i);
}

static void put(uint8_t *at, uint32_t rank, uint32_t count)
{
	uint32_t i;
	int32_t v;

	for (i = 0; i < count; i++) {
		v = test_value(rank, i);
		memcpy(at + 4 * i, &v, 4);
	}
}

static void draw(struct mix *m, uint64_t *lot)
{
	static const uint16_t what[] = { COLL_ALLREDUCE, COLL_BROADCAST, COLL_ALLGATHER };
	static const uint32_t counts[] = { 0, 1, 2, 7, FITS / RANKS, FITS - 1, FITS, FITS + 1, MOST };
	uint32_t r;

	m->collective = what[test_below(lot, 3)];
	m->count = counts[test_below(lot, sizeof(counts) / sizeof(counts[0]))];
	m->root = m->collective == COLL_BROADCAST ? test_below(lot, RANKS) : 0;
	m->blocks = m->collective == COLL_ALLGATHER ? RANKS : 1;
	for (r = 0; r < RANKS; r++) {
		m->inplace[r] = m->collective != COLL_BROADCAST && test_below(lot, 2);
		m->in[r] = in_mem[r] + test_below(lot, MARGIN);
		m->out[r] = out_mem[r] + MARGIN + test_below(lot, MARGIN);
		memset(out_mem[r], 0xa5, ROOM);
		put(m->in[r], r, m->count);
		if (m->inplace[r])
			put(m->out[r] + (m->blocks > 1 ? r * 4 * m->count : 0), r, m->count);
		if (m->collective == COLL_BROADCAST && r == m->root)
			put(m->out[r], r, m->count);
	}
}

static void command(const struct mix *m, uint32_t r, uint64_t *lot, struct coll_cmd *cmd)
{
	static const uint32_t waits[] = { 0, COLL_CMD_SPIN, COLL_CMD_SLEEP };

	if (m->collective == COLL_BROADCAST) {
		raw_broadcast(cmd, m->out[r], m->count, COLL_I32, m->root);
	} else {
		raw_allreduce(cmd, m->inplace[r] ? NULL : m->in[r], m->out[r], m->count,
			      COLL_I32, COLL_OP_SUM);
		cmd->collective = m->collective;
		if (m->collective == COLL_ALLGATHER)
			cmd->op = COLL_OP_NONE;
	}
	cmd->flags |= waits[test_below(lot, 3)];
	cmd->timeout_ns = 20 * SECOND;
}

/* Wrong bytes, before and behind the output as well. */
static uint64_t check(const struct mix *m, uint32_t r)
{
	uint8_t *end = m->out[r] + 4ULL * m->blocks * m->count, *p;
	uint64_t wrong = 0;
	uint32_t b, i;
	int32_t v;

	for (p = out_mem[r]; p < m->out[r]; p++)
		wrong += *p != 0xa5;
	for (p = end; p < out_mem[r] + ROOM; p++)
		wrong += *p != 0xa5;
	for (b = 0; b < m->blocks; b++)
		for (i = 0; i < m->count; i++) {
			v = wanted(m, b, i);
			wrong += memcmp(m->out[r] + 4 * (b * m->count + i), &v, 4) != 0;
		}
	return wrong;
}

static void mixture(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint64_t lot = test_seed();
	struct coll_cmd cmds[RANKS];
	struct raw_comm c;
	int results[RANKS];
	unsigned int n;
	struct mix m;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, RANKS, nodes));
	for (n = 0; n < test_scale(150); n++) {
		draw(&m, &lot);
		for (r = 0; r < RANKS; r++)
			command(&m, r, &lot, &cmds[r]);
		ASSERT_EQ(0, raw_all(&c, cmds, results));
		for (r = 0; r < RANKS; r++) {
			ASSERT_EQ(0, results[r]);
			ASSERT_EQ(0, check(&m, r)) {
				TH_LOG("op %u: collective %u, count %u, root %u, rank %u, in place %d",
				       n, m.collective, m.count, m.root, r, m.inplace[r]);
			}
		}
	}
	raw_stop(&c);
}

TEST(mixture_on_one_node)
{
	mixture(_metadata, 1);
}

TEST(mixture_on_two_nodes)
{
	mixture(_metadata, 2);
}

static uint8_t *page(int prot)
{
	return mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Refused when posted: does not count. */
TEST(memory_that_is_not_there)
{
	uint8_t *gone = page(PROT_NONE), *fixed = page(PROT_READ), *good = page(PROT_READ | PROT_WRITE);
	struct coll_cmd cmd;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	raw_allreduce(&cmd, gone, good, 4, COLL_I32, COLL_OP_SUM);
	EXPECT_EQ(-EFAULT, raw_submit(c.fd[0], &cmd));
	raw_allreduce(&cmd, good, gone, 4, COLL_I32, COLL_OP_SUM);
	EXPECT_EQ(-EFAULT, raw_submit(c.fd[0], &cmd));
	raw_allreduce(&cmd, good, fixed, 4, COLL_I32, COLL_OP_SUM);
	EXPECT_EQ(-EFAULT, raw_submit(c.fd[0], &cmd));
	raw_allreduce(&cmd, NULL, fixed, 4, COLL_I32, COLL_OP_SUM);
	EXPECT_EQ(-EFAULT, raw_submit(c.fd[0], &cmd));
	/* the last bytes only */
	raw_allreduce(&cmd, good, fixed - 4, 2, COLL_I32, COLL_OP_SUM);
	EXPECT_EQ(-EFAULT, raw_submit(c.fd[0], &cmd));
	EXPECT_EQ(0, test_posted(&c, 0));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

struct posted {
	struct raw_comm *c;
	struct coll_cmd cmd;
	int result;
};

static void *post(void *arg)
{
	struct posted *p = arg;

	p->result = raw_submit(p->c->fd[0], &p->cmd);
	return NULL;
}

/* Memory goes while its rank waits for the others: only this rank gets an error. */
TEST(memory_that_goes)
{
	uint8_t *out = page(PROT_READ | PROT_WRITE);
	int32_t in = 5, sum = 0;
	struct posted p;
	struct coll_cmd cmd;
	struct raw_comm c;
	pthread_t thread;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	p.c = &c;
	raw_allreduce(&p.cmd, &in, out, 1, COLL_I32, COLL_OP_SUM);
	ASSERT_EQ(0, pthread_create(&thread, NULL, post, &p));
	while (test_posted(&c, 0) < 1)
		test_sleep_us(1000);
	ASSERT_EQ(0, munmap(out, PAGE));
	raw_allreduce(&cmd, &in, &sum, 1, COLL_I32, COLL_OP_SUM);
	EXPECT_EQ(0, raw_submit(c.fd[1], &cmd));
	EXPECT_EQ(10, sum);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EFAULT, p.result);
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
