// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that wait in COLL_IOC_COLLECT or COLL_IOC_TENSOR_WAIT, and are stopped or frozen
 * meanwhile: they react at once, what they have posted goes on without them, and the call goes
 * on afterwards and has its one result.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "halt.h"
#include "harness.h"
#include "procs.h"
#include "stops.h"
#include "util.h"

#define WAIT_MS		20000
#define COUNT		(1 << 20)	/* elements of a large op */
#define TAG		77

/* Seen by the ranks and the test. */
struct scene {
	volatile uint32_t post;		/* rank 1 may post */
	volatile uint32_t more[2];	/* results beyond the one */
	bool named;
	uint64_t count;			/* 0: barriers */
};

static struct scene *scene;

/* Post, and wait for as long as it takes. Return: the result. */
static int by_collect(int fd, struct coll_cmd *cmd, uint32_t rank)
{
	struct coll_completion done[2] = { };
	int ret = raw_post_cmd(fd, cmd, TAG);

	if (ret != 1)
		return ret;
	ret = raw_collect_cmds(fd, done, 1, 1, COLL_COLLECT_FOREVER);
	if (ret != 1)
		return ret ? ret : -ENODATA;
	scene->more[rank] = raw_collect_cmds(fd, &done[1], 1, 0, 0);
	return done[0].tag == TAG ? done[0].result : -EXDEV;
}

static int by_tensor_wait(int fd, struct coll_cmd *cmd, uint32_t rank)
{
	struct coll_tensor_result res[2] = { };
	struct coll_tensor t;
	int ret;

	raw_tensor(&t, "gradient", cmd, TAG);
	ret = raw_post(fd, &t, 1, NULL);
	if (ret)
		return ret;
	ret = raw_collect(fd, res, 1, 1, 0);
	if (ret != 1)
		return ret ? ret : -ENODATA;
	scene->more[rank] = raw_collect(fd, &res[1], 1, 0, 0);
	return res[0].tag == TAG ? res[0].result : -EXDEV;
}

static void ops(struct procs *p, uint32_t rank)
{
	int32_t *buf = calloc(scene->count ?: 1, sizeof(*buf));
	struct coll_cmd cmd;
	uint64_t i;
	int ret;

	for (i = 0; i < scene->count; i++)
		buf[i] = test_value(rank, i);
	if (scene->count)
		raw_allreduce(&cmd, NULL, buf, scene->count, COLL_I32, COLL_OP_SUM);
	else
		raw_barrier(&cmd);
	while (rank == 1 && !scene->post)
		test_sleep_us(200);
	p->sh->rank[rank].asked = test_now_ns();
	ret = scene->named ? by_tensor_wait(p->c.fd[rank], &cmd, rank) :
	      by_collect(p->c.fd[rank], &cmd, rank);
	for (i = 0; !ret && i < scene->count; i++)
		p->sh->rank[rank].wrong += buf[i] != test_value_sum(2, i);
	procs_result(p, rank, ret);
}

FIXTURE(waits) {
	struct procs p;
};

FIXTURE_VARIANT(waits) {
	bool named;
	uint32_t nodes;
	uint64_t count;
};

FIXTURE_VARIANT_ADD(waits, collect) { .nodes = 1 };
FIXTURE_VARIANT_ADD(waits, collect_large) { .nodes = 2, .count = COUNT };
FIXTURE_VARIANT_ADD(waits, named) { .nodes = 1, .named = true };
FIXTURE_VARIANT_ADD(waits, named_two_nodes) { .nodes = 2, .named = true };
FIXTURE_VARIANT_ADD(waits, named_large) { .nodes = 2, .count = COUNT, .named = true };

/* Rank 0 waits in its call. */
FIXTURE_SETUP(waits)
{
	scene = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	scene->count = variant->count;
	scene->named = variant->named;
	self->p.ops = ops;
	self->p.flags = variant->named ? COLL_JOIN_NAMED : 0;
	ASSERT_EQ(0, procs_start(&self->p, 2, variant->nodes));
	ASSERT_TRUE(procs_wait(&self->p, PROCS_JOINED, WAIT_MS));
	self->p.sh->go = 1;
	while (!self->p.sh->rank[0].asked)
		test_sleep_us(200);
	ASSERT_TRUE(test_asleep(self->p.pid[0]));
}

FIXTURE_TEARDOWN(waits)
{
	procs_stop(&self->p);
}

/* One result each, whatever happened meanwhile. */
static void end_well(struct __test_metadata *_metadata, struct procs *p)
{
	uint32_t r;

	scene->post = 1;
	EXPECT_TRUE(procs_wait(p, PROCS_ENDED, WAIT_MS)) TH_LOG("HANG");
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, p->sh->rank[r].result) TH_LOG("rank %u", r);
		EXPECT_EQ(0, p->sh->rank[r].wrong) TH_LOG("rank %u", r);
		EXPECT_EQ(0, scene->more[r]) TH_LOG("rank %u", r);
	}
}

TEST_F(waits, stopped_and_goes_on)
{
	int i;

	for (i = 0; i < 3; i++) {
		halt(_metadata, self->p.pid[0]);
		kill(self->p.pid[0], SIGCONT);
		test_sleep_us(5000);
		EXPECT_NE(PROCS_ENDED, self->p.sh->rank[0].phase) TH_LOG("the call has ended");
	}
	end_well(_metadata, &self->p);
}

/* An op that a stopped rank has posted goes on without it. */
TEST_F(waits, posted_goes_on)
{
	unsigned int ms;

	halt(_metadata, self->p.pid[0]);
	scene->post = 1;
	for (ms = 0; ms < WAIT_MS && self->p.sh->rank[1].phase != PROCS_ENDED; ms++)
		test_sleep_us(1000);
	EXPECT_EQ(PROCS_ENDED, self->p.sh->rank[1].phase) {
		TH_LOG("HANG: rank 1 waits for one that is stopped");
	}
	EXPECT_NE(PROCS_ENDED, self->p.sh->rank[0].phase);
	kill(self->p.pid[0], SIGCONT);
	end_well(_metadata, &self->p);
}

TEST_F(waits, frozen_and_goes_on)
{
	if (!stops_group(self->p.pid[0]))
		SKIP(return, "no cgroup of version 2");
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "1"));
	EXPECT_TRUE(stops_frozen()) TH_LOG("a rank that waits cannot be frozen");
	scene->post = 1;
	test_sleep_us(50000);
	EXPECT_NE(PROCS_ENDED, self->p.sh->rank[0].phase);
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "0"));
	end_well(_metadata, &self->p);
}

TEST_HARNESS_MAIN
