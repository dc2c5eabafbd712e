// SPDX-License-Identifier: GPL-2.0
/*
 * Tensors of several communicators that wait equally long: the log has a line about each, although
 * two CPUs write them at the same time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define GROUPS	8	/* fewer than the lines that the limit lets through at once */
#define AFTER	"/sys/module/coll/parameters/stall_after"
#define SECOND	1000000000ULL
#define LIMIT_S	6	/* seconds after which the limit begins anew */

static struct raw_comm comms[GROUPS];
static int32_t in[GROUPS], out[GROUPS];

/**
 * struct poster - a thread that posts in every second communicator
 * @round: number in the names
 * @cpu: its CPU, and number of its first communicator
 * @came: threads that are ready
 */
struct poster {
	pthread_t thread;
	uint32_t round;
	int cpu;
	_Atomic int *came;
	int ret;
};

/* Rank 0 of each communicator posts a tensor, and rank 1 does not. */
static void *post_half(void *arg)
{
	struct poster *p = arg;
	struct coll_tensor t;
	struct coll_cmd cmd;
	cpu_set_t set;
	char name[32];
	int i;

	CPU_ZERO(&set);
	CPU_SET(p->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (++*p->came; *p->came < 2;)
		sched_yield();
	for (i = p->cpu; i < GROUPS && !p->ret; i += 2) {
		snprintf(name, sizeof(name), "log.%u.%d", p->round, i);
		raw_allreduce(&cmd, &in[i], &out[i], 1, COLL_I32, COLL_OP_SUM);
		raw_tensor(&t, name, &cmd, 0);
		p->ret = raw_post(comms[i].fd[0], &t, 1, NULL);
	}
	return NULL;
}

/* From two CPUs at the same time: their timers will run out in the same tick. */
static int post_all(uint32_t round)
{
	struct poster p[2];
	_Atomic int came = 0;
	int i;

	for (i = 0; i < 2; i++) {
		p[i] = (struct poster){ .round = round, .cpu = i, .came = &came };
		if (pthread_create(&p[i].thread, NULL, post_half, &p[i]))
			abort();
	}
	for (i = 0; i < 2; i++)
		pthread_join(p[i].thread, NULL);
	return p[0].ret ? p[0].ret : p[1].ret;
}

/* Read the lines about tensors of @round up to the end of the log. Return: a bit for each. */
static uint32_t told(int log, uint32_t round)
{
	unsigned int of, i;
	uint32_t seen = 0;
	char text[1024], *at;
	ssize_t n;

	while ((n = read(log, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		at = strstr(text, "tensor \"log.");
		if (at && sscanf(at, "tensor \"log.%u.%u\" has waited", &of, &i) == 2 &&
		    of == round && i < GROUPS)
			seen |= 1U << i;
	}
	return seen;
}

static void one_round(struct __test_metadata *_metadata, int log, uint32_t round)
{
	uint64_t end = test_now_ns() + 20 * SECOND;
	uint32_t seen = 0;

	ASSERT_EQ(0, post_all(round));
	while (seen != (1U << GROUPS) - 1 && test_now_ns() < end) {
		test_sleep_us(10000);
		seen |= told(log, round);
	}
	EXPECT_EQ((1U << GROUPS) - 1, seen) {
		TH_LOG("round %u", round);
	}
}

FIXTURE(log) {
	int fd;
};

FIXTURE_SETUP(log)
{
	int i;

	self->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, lseek(self->fd, 0, SEEK_END));
	ASSERT_TRUE(test_put(AFTER, "1"));
	for (i = 0; i < GROUPS; i++)
		ASSERT_EQ(0, raw_start_named(&comms[i], 2, 1));
}

FIXTURE_TEARDOWN(log)
{
	int i;

	for (i = 0; i < GROUPS; i++)
		raw_stop(&comms[i]);
	test_put(AFTER, "60");
	close(self->fd);
}

TEST_F(log, each_has_its_line)
{
	uint32_t round, rounds = 1 + test_scale(2);

	for (round = 0; round < rounds; round++) {
		sleep(LIMIT_S);
		one_round(_metadata, self->fd, round);
	}
}

TEST_HARNESS_MAIN
