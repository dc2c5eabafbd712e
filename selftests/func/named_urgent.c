// SPDX-License-Identifier: GPL-2.0
/*
 * On one node a small tensor of a high priority does not wait for a large one that runs. Its result
 * comes first, and a thread that waits for it does not do the rest of the large one before.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define RANKS	3
#define LARGE	(16 << 20)	/* elements of the one that runs */
#define SMALL	2
#define NAMES	12
#define MOST	200000		/* elements of one of many */

enum { LARGE_TAG = 1, SMALL_TAG };

static int post(int fd, const char *name, const int32_t *in, int32_t *out, uint64_t count,
		uint32_t priority, uint64_t tag)
{
	struct coll_tensor t;
	struct coll_cmd cmd;

	raw_allreduce(&cmd, in, out, count, COLL_I32, COLL_OP_SUM);
	raw_tensor(&t, name, &cmd, tag);
	t.priority = priority;
	return raw_post(fd, &t, 1, NULL);
}

/* --- one that runs ------------------------------------------------------------------------------- */

struct pair {
	struct raw_comm c;
	int32_t *large[2];
	int32_t in[2][SMALL], out[2][SMALL];
};

static int pair_start(struct pair *p)
{
	uint32_t r;
	uint64_t i;

	for (r = 0; r < 2; r++) {
		p->large[r] = malloc(LARGE * sizeof(int32_t));
		if (!p->large[r])
			return -ENOMEM;
		for (i = 0; i < LARGE; i++)
			p->large[r][i] = test_value(r, i);
		for (i = 0; i < SMALL; i++)
			p->in[r][i] = test_value(r, i);
	}
	return raw_start_named(&p->c, 2, 1);
}

static void pair_stop(struct pair *p)
{
	raw_stop(&p->c);
	free(p->large[0]);
	free(p->large[1]);
}

/* The large one runs when the last rank has posted it. */
static int post_both(struct pair *p, uint32_t priority)
{
	uint32_t r;
	int ret = 0;

	for (r = 0; r < 2 && !ret; r++)
		ret = post(p->c.fd[r], "large", NULL, p->large[r], LARGE, 5, LARGE_TAG);
	for (r = 0; r < 2 && !ret; r++)
		ret = post(p->c.fd[r], "small", p->in[r], p->out[r], SMALL, priority, SMALL_TAG);
	return ret;
}

static unsigned long wrong(const struct pair *p)
{
	unsigned long n = 0;
	uint64_t i;
	uint32_t r;

	for (r = 0; r < 2; r++) {
		for (i = 0; i < LARGE; i++)
			n += p->large[r][i] != test_value_sum(2, i);
		for (i = 0; i < SMALL; i++)
			n += p->out[r][i] != test_value_sum(2, i);
	}
	return n;
}

static void first_of_two(struct __test_metadata *_metadata, uint32_t priority, uint64_t tag)
{
	struct coll_tensor_result res[2];
	struct pair p = { };
	uint32_t r;

	ASSERT_EQ(0, pair_start(&p));
	ASSERT_EQ(0, post_both(&p, priority));
	for (r = 0; r < 2; r++) {
		ASSERT_EQ(2, raw_collect(p.c.fd[r], res, 2, 2, 60 * SECOND));
		EXPECT_EQ(tag, res[0].tag);
		EXPECT_EQ(LARGE_TAG + SMALL_TAG - tag, res[1].tag);
		EXPECT_EQ(0, res[0].result);
		EXPECT_EQ(0, res[1].result);
	}
	EXPECT_EQ(0, wrong(&p));
	pair_stop(&p);
}

TEST(the_urgent_one_first)
{
	first_of_two(_metadata, 6, SMALL_TAG);
}

/* Of the same priority they come in the order in which they became ready. */
TEST(the_others_in_order)
{
	first_of_two(_metadata, 5, LARGE_TAG);
}

/**
 * struct waiter - a thread that waits for the small one, and helps with the large one meanwhile
 * @fd: of its rank
 * @first: result that it gets
 * @more: results that are there then
 */
struct waiter {
	int fd;
	struct coll_tensor_result first;
	int more;
};

static void *wait_for_one(void *arg)
{
	struct waiter *w = arg;
	struct coll_tensor_result res;

	w->more = -1;
	if (raw_collect(w->fd, &w->first, 1, 1, 60 * SECOND) == 1)
		w->more = raw_collect(w->fd, &res, 1, 0, 0);
	return NULL;
}

/* Rank 0 waits before the last rank has posted the small one. Return: as struct waiter.more. */
static int wait_short(struct __test_metadata *_metadata, struct pair *p)
{
	struct waiter w = { .fd = p->c.fd[0] };
	struct coll_tensor_result res[2];
	pthread_t thread;
	uint32_t r;

	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, post(p->c.fd[r], "large", NULL, p->large[r], LARGE, 5, LARGE_TAG));
	ASSERT_EQ(0, post(p->c.fd[0], "small", p->in[0], p->out[0], SMALL, 6, SMALL_TAG));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_one, &w));
	test_sleep_us(1000);
	ASSERT_EQ(0, post(p->c.fd[1], "small", p->in[1], p->out[1], SMALL, 6, SMALL_TAG));
	pthread_join(thread, NULL);
	EXPECT_EQ(SMALL_TAG, w.first.tag);
	EXPECT_EQ(2 - w.more - 1, raw_collect(p->c.fd[0], res, 2, 2 - w.more - 1, 60 * SECOND));
	EXPECT_EQ(2, raw_collect(p->c.fd[1], res, 2, 2, 60 * SECOND));
	return w.more;
}

/* Who waits for one result has it while the large one still runs. */
TEST(the_wait_is_short)
{
	unsigned int i, alone = 0, n = 10;
	struct pair p = { };

	ASSERT_EQ(0, pair_start(&p));
	for (i = 0; i < n; i++)
		alone += !wait_short(_metadata, &p);
	/* Now and then the machine stands still. */
	EXPECT_LT(n / 2, alone);
	pair_stop(&p);
}

/* Both are in flight when the communicator is aborted: each ends once. */
TEST(aborted)
{
	struct coll_tensor_result res[3];
	struct pair p = { };
	uint32_t r;

	ASSERT_EQ(0, pair_start(&p));
	ASSERT_EQ(0, post_both(&p, 6));
	ASSERT_EQ(0, raw_abort(p.c.fd[0], 7));
	for (r = 0; r < 2; r++) {
		ASSERT_EQ(2, raw_collect(p.c.fd[r], res, 3, 2, 60 * SECOND));
		EXPECT_EQ(LARGE_TAG + SMALL_TAG, res[0].tag + res[1].tag);
		EXPECT_EQ(0, raw_collect(p.c.fd[r], res, 3, 1, SECOND));
	}
	pair_stop(&p);
}

/* --- many ------------------------------------------------------------------------------------------ */

struct many {
	struct raw_comm c;
	uint64_t lots;
	uint32_t count[NAMES], priority[NAMES];
	int32_t in[RANKS][NAMES][MOST], out[RANKS][NAMES][MOST];
};

/* All ranks post all of them, in orders of their own, in turns. */
static int post_many(struct many *m, uint32_t size)
{
	uint32_t order[RANKS][NAMES], r, k, o, i;
	char name[8];
	int ret = 0;

	for (k = 0; k < NAMES; k++) {
		m->count[k] = test_below(&m->lots, 2) ? 1 + test_below(&m->lots, 100) :
							test_below(&m->lots, MOST + 1);
		m->priority[k] = test_below(&m->lots, 4);
	}
	for (r = 0; r < size; r++)
		for (k = 0; k < NAMES; k++) {
			o = test_below(&m->lots, k + 1);
			order[r][k] = order[r][o];
			order[r][o] = k;
			for (i = 0; i < m->count[k]; i++)
				m->in[r][k][i] = test_value(r, i + k);
		}
	for (k = 0; k < NAMES; k++)
		for (r = 0; r < size && !ret; r++) {
			o = order[r][k];
			snprintf(name, sizeof(name), "t%u", o);
			ret = post(m->c.fd[r], name, m->in[r][o], m->out[r][o], m->count[o],
				   m->priority[o], o);
		}
	return ret;
}

static unsigned long wrong_many(const struct many *m, uint32_t size)
{
	unsigned long n = 0;
	uint32_t r, k, i;

	for (r = 0; r < size; r++)
		for (k = 0; k < NAMES; k++)
			for (i = 0; i < m->count[k]; i++)
				n += m->out[r][k][i] != test_value_sum(size, i + k);
	return n;
}

TEST(many_at_random)
{
	struct many *m = calloc(1, sizeof(*m));
	uint64_t seed = test_seed();
	unsigned int i, n = test_scale(60);

	ASSERT_NE(NULL, m);
	m->lots = seed | 1;
	ASSERT_EQ(0, raw_start_named(&m->c, RANKS, 1));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, raw_set_fusion(&m->c, test_below(&m->lots, 2) << 20, 0, 0));
		ASSERT_EQ(0, post_many(m, RANKS));
		ASSERT_EQ(0, raw_collect_all(&m->c, NAMES));
		EXPECT_EQ(0, wrong_many(m, RANKS)) {
			TH_LOG("seed %llu, round %u", (unsigned long long)seed, i);
		}
	}
	raw_stop(&m->c);
	free(m);
}

TEST_HARNESS_MAIN
