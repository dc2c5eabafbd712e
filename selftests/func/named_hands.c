// SPDX-License-Identifier: GPL-2.0
/*
 * On one node ranks do the work of a large named collective. Workers do it if no rank waits, and if
 * ranks that have come to do it take long.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "pages.h"
#include "raw.h"
#include "util.h"

#define SECOND	1000000000ULL
#define COUNT	(4 << 20)	/* elements of a large one */
#define ALONE	20000000ULL	/* ns after which workers join ranks, COLL_STAFF_MS */
#define BATCH	64		/* tensors of a call before the first ones start */

struct both {
	struct raw_comm c;
	int32_t *in[2], *out[2];
	pthread_t thread;
	char *posts;
	int ret[2];
};

static int make(struct both *b)
{
	uint64_t i;
	uint32_t r;

	memset(b, 0, sizeof(*b));
	for (r = 0; r < 2; r++) {
		b->in[r] = malloc(COUNT * sizeof(int32_t));
		b->out[r] = malloc(COUNT * sizeof(int32_t));
		if (!b->in[r] || !b->out[r])
			return -1;
		for (i = 0; i < COUNT; i++)
			b->in[r][i] = test_value(r, i);
		memset(b->out[r], 0, COUNT * sizeof(int32_t));
	}
	return raw_start_named(&b->c, 2, 1);
}

static void end(struct both *b)
{
	uint32_t r;

	raw_stop(&b->c);
	for (r = 0; r < 2; r++) {
		free(b->in[r]);
		free(b->out[r]);
	}
}

static uint64_t wrong(const struct both *b)
{
	uint64_t i, n = 0;
	uint32_t r;

	for (r = 0; r < 2; r++)
		for (i = 0; i < COUNT; i++)
			n += b->out[r][i] != test_value_sum(2, i);
	return n;
}

static int post_large(struct both *b, uint32_t r)
{
	struct coll_tensor t;
	struct coll_cmd cmd;

	raw_allreduce(&cmd, b->in[r], b->out[r], COUNT, COLL_I32, COLL_OP_SUM);
	raw_tensor(&t, "large", &cmd, r);
	return raw_post(b->c.fd[r], &t, 1, NULL);
}

/* Look for the results of both ranks without a wait. */
static bool come(struct both *b, bool both)
{
	uint64_t until = test_now_ns() + 10 * SECOND;
	struct coll_tensor_result res;
	uint32_t left = both ? 3 : 2, r;

	while (left && test_now_ns() < until) {
		for (r = 0; r < 2; r++)
			if (left & 1 << r && raw_collect(b->c.fd[r], &res, 1, 0, 0) == 1 &&
			    !res.result)
				left &= ~(1 << r);
		test_sleep_us(1000);
	}
	return !left;
}

/* If no rank waits, workers do it. */
TEST(ranks_that_look)
{
	struct both b;

	ASSERT_EQ(0, make(&b));
	ASSERT_EQ(0, post_large(&b, 0));
	ASSERT_EQ(0, post_large(&b, 1));
	EXPECT_TRUE(come(&b, true));
	EXPECT_EQ(0, wrong(&b));
	end(&b);
}

#define MANY	8
#define MIDDLE	(32 << 10)	/* elements: one worker is enough */

/* Post many, one by one, and look for their results without a wait. */
static int post_and_look(struct both *b, uint32_t r)
{
	uint64_t until = test_now_ns() + 20 * SECOND;
	struct coll_tensor_result res[MANY];
	uint32_t k, left = MANY;
	struct coll_tensor t;
	struct coll_cmd cmd;
	char name[8];
	int n, i, ret = 0;

	for (k = 0; k < MANY && !ret; k++) {
		snprintf(name, sizeof(name), "m%u", k);
		raw_allreduce(&cmd, b->in[r] + k * MIDDLE, b->out[r] + k * MIDDLE, MIDDLE, COLL_I32,
			      COLL_OP_SUM);
		raw_tensor(&t, name, &cmd, k);
		ret = raw_post(b->c.fd[r], &t, 1, NULL);
	}
	while (!ret && left && test_now_ns() < until) {
		n = raw_collect(b->c.fd[r], res, left, 0, 0);
		left -= n > 0 ? n : 0;
		for (i = 0; i < n; i++)
			ret = ret ?: res[i].result;
	}
	return ret ?: left ? -ETIMEDOUT : 0;
}

/* The same, and now and then look at the sums: more often, the ranks would post far apart. */
static int post_and_check(struct both *b, uint32_t r, uint32_t round)
{
	bool checks = round % 16 == 0;
	uint64_t i, n = 0;
	int ret;

	if (checks)
		memset(b->out[r], 0xee, MANY * MIDDLE * sizeof(int32_t));
	ret = post_and_look(b, r);
	for (i = 0; checks && i < MANY * MIDDLE; i++)
		n += b->out[r][i] != test_value_sum(2, i);
	return ret ?: n ? -EBADMSG : 0;
}

static void *look_often(void *arg)
{
	struct both *b = arg;
	uint32_t i, n = test_scale(1000);

	for (i = 0; i < n && !b->ret[1]; i++)
		b->ret[1] = post_and_check(b, 1, i);
	return NULL;
}

#define SLOW	(4 << 20)	/* elements of a slow one */
#define SLOW_RANKS	4

/* One rank posts and waits after the others have posted; @ns: 0: no limit. */
static int wait_alone(struct raw_comm *c, long double *const *buf, uint64_t ns)
{
	struct coll_tensor_result res;
	struct coll_tensor t;
	struct coll_cmd cmd;
	uint32_t r;
	int ret = 0;

	for (r = 0; r < SLOW_RANKS && !ret; r++) {
		raw_allreduce(&cmd, NULL, buf[r], SLOW, COLL_LDOUBLE, COLL_OP_SUM);
		raw_tensor(&t, "slow", &cmd, r);
		ret = raw_post(c->fd[r], &t, 1, NULL);
	}
	return ret ?: raw_collect(c->fd[0], &res, 1, 1, ns);
}

/* A rank that does the work of an op itself stops when the time of its wait is over. */
TEST(wait_with_a_limit)
{
	long double *buf[SLOW_RANKS];
	struct coll_tensor_result res;
	uint64_t begin, whole, limited;
	struct raw_comm c;
	uint64_t wrong = 0;
	uint32_t r, i;

	for (r = 0; r < SLOW_RANKS; r++) {
		buf[r] = malloc(SLOW * sizeof(*buf[r]));
		ASSERT_NE(NULL, buf[r]);
		for (i = 0; i < SLOW; i++)
			buf[r][i] = r + 1;
	}
	ASSERT_EQ(0, raw_start_named(&c, SLOW_RANKS, 1));
	begin = test_now_ns();
	ASSERT_EQ(1, wait_alone(&c, buf, 0));
	for (r = 1; r < SLOW_RANKS; r++)
		ASSERT_EQ(1, raw_collect(c.fd[r], &res, 1, 1, 0));
	whole = test_now_ns() - begin;
	begin = test_now_ns();
	EXPECT_EQ(-ETIMEDOUT, wait_alone(&c, buf, 1000000));
	limited = test_now_ns() - begin;
	TH_LOG("%llu us without a limit, %llu with one", (unsigned long long)whole / 1000,
	       (unsigned long long)limited / 1000);
	/* A rank that does all of it, and then says that its time is over, takes as long. */
	EXPECT_LT(limited, whole / 2);
	for (r = 0; r < SLOW_RANKS; r++) {
		EXPECT_EQ(1, raw_collect(c.fd[r], &res, 1, 1, 0));
		EXPECT_EQ(0, res.result);
	}
	raw_stop(&c);
	/* The second sum is of four ranks that all have the first one, which is 10. */
	for (r = 0; r < SLOW_RANKS; r++) {
		for (i = 0; i < SLOW; i++)
			wrong += buf[r][i] != 10 * SLOW_RANKS;
		free(buf[r]);
	}
	EXPECT_EQ(0, wrong);
}

/*
 * The work item of one op starts the next one, while a rank posts. That op gets another item of the
 * same plan when the post is over.
 */
TEST(ranks_that_only_post)
{
	uint32_t i, n = test_scale(1000);
	struct both b;

	ASSERT_EQ(0, make(&b));
	ASSERT_EQ(0, raw_set_fusion(&b.c, 0, 1, 1));
	ASSERT_EQ(0, pthread_create(&b.thread, NULL, look_often, &b));
	for (i = 0; i < n && !b.ret[0]; i++)
		b.ret[0] = post_and_check(&b, 0, i);
	pthread_join(b.thread, NULL);
	EXPECT_EQ(0, b.ret[0]);
	EXPECT_EQ(0, b.ret[1]);
	end(&b);
}

/* Post the large one, barriers up to the end of the batch, and one more on an absent page. */
static void *post_blocked(void *arg)
{
	static char names[BATCH][8];
	struct both *b = arg;
	struct coll_tensor *t = (struct coll_tensor *)b->posts;
	struct coll_cmd cmd, barrier;
	uint32_t k;

	raw_allreduce(&cmd, b->in[0], b->out[0], COUNT, COLL_I32, COLL_OP_SUM);
	raw_tensor(&t[0], "large", &cmd, 0);
	raw_barrier(&barrier);
	for (k = 1; k < BATCH; k++) {
		snprintf(names[k], sizeof(names[k]), "x%u", k);
		raw_tensor(&t[k], names[k], &barrier, k);
	}
	/* This call ends with an error: the last one is zeroes. */
	raw_post(b->c.fd[0], t, BATCH + 1, NULL);
	return NULL;
}

/*
 * The rank whose call has started the op is blocked in its own memory, and nobody waits. Workers do
 * not take its CPU at once, but do so in the end.
 */
TEST(post_that_blocks)
{
	size_t page = sysconf(_SC_PAGESIZE), bytes = BATCH * sizeof(struct coll_tensor);
	size_t ahead = (bytes + page - 1) / page * page;
	uint64_t begin;
	struct both b;
	char *mem;
	int fd;

	mem = pages_map_absent(ahead, &fd);
	if (!mem)
		SKIP(return, "there is no userfaultfd");
	ASSERT_EQ(0, make(&b));
	b.posts = mem + ahead - bytes;
	ASSERT_EQ(0, post_large(&b, 1));
	begin = test_now_ns();
	ASSERT_EQ(0, pthread_create(&b.thread, NULL, post_blocked, &b));
	EXPECT_TRUE(come(&b, false));
	/* a jiffy less: timers count whole ones */
	EXPECT_GE(test_now_ns() - begin, ALONE / 2);
	close(fd);
	pthread_join(b.thread, NULL);
	EXPECT_EQ(0, wrong(&b));
	end(&b);
}

TEST_HARNESS_MAIN
