// SPDX-License-Identifier: GPL-2.0
/*
 * The slices of a large sweep are done once each, and a CPU begins with the same part of the
 * vectors each time. Needs two CPUs and one memory node; for more of these see numa.c.
 */
#include <pthread.h>
#include <sched.h>

#include "harness.h"
#include "trace.h"
#include "util.h"

#define SLICE		65536UL
#define BYTES		(4UL << 20)
#define COUNT		(BYTES / 4)
#define SLICES		(BYTES / SLICE)
#define RANKS		2
#define OPS		20
#define SECOND		1000000000ULL

/* Rank 0 on the first CPU, rank 1 on the second one: threads that wait in ioctl. */
struct caller {
	pthread_t thread;
	int fd, cpu, ret;
	int32_t *in, *out;
};

static void *call(void *arg)
{
	struct caller *c = arg;
	struct coll_cmd cmd;
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	CPU_SET(c->cpu, &set);
	c->ret = sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
	raw_allreduce(&cmd, c->in, c->out, COUNT, COLL_I32, COLL_OP_SUM);
	cmd.timeout_ns = 40 * SECOND;
	for (i = 0; !c->ret && i < OPS; i++)
		c->ret = raw_submit(c->fd, &cmd);
	return NULL;
}

FIXTURE(slices)
{
	struct raw_comm c;
	struct caller callers[RANKS];
	unsigned int nr[OPS + 1];	/* slices of an op */
	unsigned int apart;		/* ops in which CPU 1 began with the second half */
	bool twice;
	uint64_t before;		/* ops of earlier runs */
};

FIXTURE_SETUP(slices)
{
	uint32_t r, i;

	if (sysconf(_SC_NPROCESSORS_ONLN) != 2 || !access("/sys/devices/system/node/node1", F_OK))
		SKIP(return, "not two CPUs and one memory node");
	ASSERT_EQ(0, raw_start(&self->c, RANKS, 1));
	for (r = 0; r < RANKS; r++) {
		struct caller *c = &self->callers[r];

		c->fd = self->c.fd[r];
		c->cpu = r;
		c->in = malloc(BYTES);
		c->out = calloc(1, BYTES);
		ASSERT_TRUE(c->in && c->out);
		for (i = 0; i < COUNT; i++)
			c->in[i] = test_value(r, i);
	}
}

FIXTURE_TEARDOWN(slices)
{
	uint32_t r;

	test_trace_stop("coll_segment");
	raw_stop(&self->c);
	for (r = 0; r < RANKS; r++) {
		free(self->callers[r].in);
		free(self->callers[r].out);
	}
}

/* The rank that has taken each slice, in order. */
static bool look(FIXTURE_DATA(slices) *self)
{
	static bool seen[OPS + 1][SLICES];
	bool begun[OPS + 1] = { };
	FILE *f = fopen(TEST_TRACE, "r");
	char line[512], *at;
	uint64_t seq, off;
	int cpu;

	memset(seen, 0, sizeof(seen));
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "coll_segment:");
		if (!at || sscanf(strstr(at, "seq="), "seq=%lu", &seq) != 1 ||
		    sscanf(strstr(at, "off="), "off=%lu", &off) != 1 ||
		    sscanf(strchr(line, '['), "[%d]", &cpu) != 1)
			continue;
		seq -= self->before;
		if (!seq || seq > OPS || off % SLICE || off >= BYTES)
			return false;
		self->twice |= seen[seq][off / SLICE];
		seen[seq][off / SLICE] = true;
		self->nr[seq]++;
		if (cpu == 1 && !begun[seq]) {
			begun[seq] = true;
			self->apart += off == BYTES / 2;
		}
	}
	return f && !fclose(f);
}

/* Run all ops once. Return: in how many of them CPU 1 began with the second half. */
static unsigned int run(struct __test_metadata *_metadata, FIXTURE_DATA(slices) *self)
{
	uint32_t r, i;

	self->apart = 0;
	memset(self->nr, 0, sizeof(self->nr));
	test_trace_empty();
	for (r = 0; r < RANKS; r++)
		pthread_create(&self->callers[r].thread, NULL, call, &self->callers[r]);
	for (r = 0; r < RANKS; r++) {
		pthread_join(self->callers[r].thread, NULL);
		EXPECT_EQ(0, self->callers[r].ret);
	}
	ASSERT_TRUE(look(self));
	EXPECT_FALSE(self->twice);
	for (i = 1; i <= OPS; i++)
		EXPECT_EQ(SLICES, self->nr[i]);
	self->before += OPS;
	TH_LOG("apart in %u of %u", self->apart, OPS);
	return self->apart;
}

/* A CPU may come late, when the other one has got there. */
TEST_F(slices, each_cpu_begins_with_its_part)
{
	uint32_t r, i, apart = 0, wrong = 0;

	ASSERT_TRUE(test_trace_start("coll_segment"));
	for (i = 0; i < 5 && apart < 3; i++)
		apart = run(_metadata, self);
	EXPECT_LE(3, apart);
	for (r = 0; r < RANKS; r++)
		for (i = 0; i < COUNT; i++)
			wrong += self->callers[r].out[i] != test_value_sum(RANKS, i);
	EXPECT_EQ(0, wrong);
}

TEST_HARNESS_MAIN
