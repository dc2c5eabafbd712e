// SPDX-License-Identifier: GPL-2.0
/*
 * Thousands of small collectives wait for a large one. The thread that ends the large one may start
 * some of them, but soon goes back to user space: a worker does the others.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define RANKS	2
/* Barriers behind the large collective: many times what runs in COLL_WORK_MS of the module. */
#define BEHIND	60000U
#define BYTES	(64UL << 20)
#define ROUNDS	20
#define COLLECT_NS	60000000000ULL

static struct raw_comm c;
static int32_t *in[RANKS], *out[RANKS];
static uint64_t ended[RANKS];
static int results[RANKS];

/* The large collective, and how many had ended when the call came back. */
static void *large(void *arg)
{
	uint32_t r = (uintptr_t)arg;
	struct coll_status s;
	struct coll_cmd cmd;

	raw_allreduce(&cmd, in[r], out[r], BYTES / sizeof(int32_t), COLL_I32, COLL_OP_SUM);
	results[r] = raw_submit(c.fd[r], &cmd);
	ended[r] = raw_status(c.fd[r], &s) ? 0 : s.completed;
	return NULL;
}

/* Post barriers while the large one runs. Return: how many barriers all ranks have posted. */
static uint32_t post_behind(void)
{
	struct coll_cmd cmd;
	uint32_t i, r;

	raw_barrier(&cmd);
	for (i = 0; i < BEHIND; i++)
		for (r = 0; r < RANKS; r++)
			if (raw_post_cmd(c.fd[r], &cmd, i) != 1)
				return i;
	return i;
}

/* Return: how many of @n completed well. */
static uint32_t collect(uint32_t r, uint32_t n)
{
	static struct coll_completion done[COLL_POST_MAX];
	uint32_t good = 0, left = n;
	int got, i;

	while (left) {
		got = raw_collect_cmds(c.fd[r], done, COLL_POST_MAX, 1, COLLECT_NS);
		if (got <= 0)
			break;
		for (i = 0; i < got; i++)
			good += !done[i].result;
		left -= got;
	}
	return good;
}

/* Return: had both calls come back before all barriers were over? */
static bool round_trip(struct __test_metadata *_metadata)
{
	uint64_t all, before = 0;
	struct coll_status s;
	pthread_t t[RANKS];
	uint32_t n, r;

	EXPECT_EQ(0, raw_status(c.fd[0], &s));
	before = s.completed;
	for (r = 0; r < RANKS; r++)
		ASSERT_EQ(0, pthread_create(&t[r], NULL, large, (void *)(uintptr_t)r));
	for (r = 0; r < RANKS; r++)
		while (test_posted(&c, r) != (int64_t)before + 1)
			test_sleep_us(100);
	n = post_behind();
	ASSERT_EQ(BEHIND, n);
	for (r = 0; r < RANKS; r++) {
		pthread_join(t[r], NULL);
		EXPECT_EQ(0, results[r]);
		EXPECT_EQ(n, collect(r, n));
	}
	all = before + 1 + n;
	TH_LOG("of %llu barriers %llu and %llu were over when the calls came back",
	       (unsigned long long)n, (unsigned long long)(ended[0] - before - 1),
	       (unsigned long long)(ended[1] - before - 1));
	return ended[0] < all && ended[1] < all;
}

TEST(who_ends_a_large_one_comes_back)
{
	unsigned int round, soon = 0;
	uint32_t r;
	int old;

	old = raw_max_inflight(4 * BEHIND);
	ASSERT_GE(old, 0);
	ASSERT_EQ(0, raw_start(&c, RANKS, 1));
	for (r = 0; r < RANKS; r++) {
		in[r] = (int32_t *)test_memory(BYTES);
		out[r] = (int32_t *)test_memory(BYTES);
		memset(in[r], 0, BYTES);
	}
	/* In some rounds a worker ends the large one, or the thread is preempted. */
	for (round = 0; round < ROUNDS && soon < 2; round++)
		soon += round_trip(_metadata);
	EXPECT_LE(2, soon);
	raw_stop(&c);
	raw_max_inflight(old);
}

TEST_HARNESS_MAIN
