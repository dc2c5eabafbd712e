// SPDX-License-Identifier: GPL-2.0
/*
 * Rank 0 sends and receives in one call. When rank 1 has posted its ends, rank 0 is stopped at a random
 * moment. Both messages, which are large, are copied nevertheless.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define BYTES		(448 << 10)	/* several slices, and one helper is enough */
#define WAIT_MS		60000
#define STOPPED_NS	3000000000ULL	/* messages are copied within this time */
#define SPREAD_NS	100000		/* of the moments */

/**
 * struct scene - seen by the ranks and the test
 * @begun: calls that rank 0 has begun, or is about to begin
 * @seed: of the moments; @rounds: how many
 * @left: messages that had not come while rank 0 was stopped
 */
struct scene {
	volatile uint32_t begun;
	uint64_t seed;
	uint32_t rounds;
	volatile uint32_t left;
};

static struct scene *scene;
static char in[BYTES], out[BYTES];

static int exchange(int fd)
{
	struct coll_cmd cmd;

	raw_send(&cmd, out, BYTES, COLL_U8, 1, 0);
	raw_and_recv(&cmd, in, BYTES, 1, 0, NULL);
	return raw_submit(fd, &cmd);
}

/* Collect up to @left completions. Return: how many are left; or -errno. */
static int collect(int fd, int left, uint64_t ns)
{
	uint64_t now = test_now_ns(), until = now + ns;
	struct coll_completion done[2];
	int ret, i;

	for (; left && now < until; now = test_now_ns()) {
		ret = raw_collect_cmds(fd, done, left, 1, until - now);
		if (ret < 0 && ret != -EINTR)
			return ret;
		for (i = 0; i < ret; i++)
			if (done[i].result)
				return done[i].result;
		left -= ret > 0 ? ret : 0;
	}
	return left;
}

static int post(int fd)
{
	struct coll_cmd cmd;
	int ret;

	raw_recv(&cmd, in, BYTES, COLL_U8, 0, 0, NULL);
	ret = raw_post_cmd(fd, &cmd, 1);
	if (ret != 1)
		return ret;
	raw_send(&cmd, out, BYTES, COLL_U8, 0, 0);
	return raw_post_cmd(fd, &cmd, 2);
}

/* One round of rank 1. Return: 0; -ETIME: a message has not come; or another error. */
static int stop_partner(int fd, pid_t partner, uint32_t round)
{
	uint64_t at;
	int left, ret;

	test_wait_count(&scene->begun, round + 1);
	/* It has posted, and waits. */
	if (!test_asleep(partner))
		return -EAGAIN;
	ret = post(fd);
	if (ret != 1)
		return ret;
	/* A sleep would take longer. */
	at = test_now_ns() + test_below(&scene->seed, SPREAD_NS);
	while (test_now_ns() < at)
		;
	kill(partner, SIGSTOP);
	left = collect(fd, 2, STOPPED_NS);
	kill(partner, SIGCONT);
	if (left > 0)
		scene->left = left;
	return left > 0 ? -ETIME : left;
}

static void ops(struct procs *p, uint32_t rank)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < scene->rounds && !ret; i++) {
		if (!rank)
			scene->begun = i + 1;
		ret = rank ? stop_partner(p->c.fd[1], p->pid[0], i) : exchange(p->c.fd[0]);
	}
	procs_result(p, rank, ret);
}

TEST(stopped_in_an_exchange)
{
	struct procs p = { .ops = ops };

	scene = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, scene);
	scene->seed = test_seed();
	scene->rounds = test_scale(1000);
	ASSERT_EQ(0, procs_start(&p, 2, 1));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, WAIT_MS));
	p.sh->go = 1;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, WAIT_MS));
	EXPECT_EQ(0, p.sh->rank[0].result);
	EXPECT_EQ(0, p.sh->rank[1].result);
	EXPECT_EQ(0, scene->left) TH_LOG("%u of 2 messages did not come", scene->left);
	procs_stop(&p);
}

TEST_HARNESS_MAIN
