// SPDX-License-Identifier: GPL-2.0
/*
 * A rank is killed while loops of other processes use all CPUs, and its user has spent the CPU
 * time that workers may use for it at normal priority. Survivors that wait for results hear of it
 * in time: workers send and take the news at normal priority, whatever has been spent.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define RANKS		4
#define NODES		2
#define SETUP_MS	60000
#define LOOPS		2	/* of each CPU */
#define SPEND_MS	300	/* until the user has spent all */
#define KILLS		20
#define NAMES		8
#define COUNT		(256 << 10)

FIXTURE(hogs)
{
	pid_t pid[64];
	unsigned int n;
};

FIXTURE_SETUP(hogs)
{
	unsigned int i;

	self->n = LOOPS * sysconf(_SC_NPROCESSORS_ONLN);
	if (self->n > 64)
		self->n = 64;
	for (i = 0; i < self->n; i++) {
		self->pid[i] = fork();
		ASSERT_GE(self->pid[i], 0);
		if (self->pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
}

FIXTURE_TEARDOWN(hogs)
{
	unsigned int i;

	for (i = 0; i < self->n; i++) {
		kill(self->pid[i], SIGKILL);
		waitpid(self->pid[i], NULL, 0);
	}
}

/* Post named collectives and wait for all of them. Return: 0 or the first error. */
static int do_round(struct procs *p, uint32_t rank, int32_t *in, int32_t *out)
{
	struct procs_rank *me = &p->sh->rank[rank];
	struct coll_tensor_result res[NAMES];
	struct coll_tensor tensors[NAMES];
	struct coll_cmd cmds[NAMES];
	uint32_t k, posted = 0;
	char names[NAMES][8];
	int ret, got, i;

	for (k = 0; k < NAMES; k++) {
		snprintf(names[k], sizeof(names[k]), "n%u", k);
		raw_allreduce(&cmds[k], in, out + (size_t)k * COUNT, COUNT, COLL_I32, COLL_OP_SUM);
		raw_tensor(&tensors[k], names[k], &cmds[k], k);
	}
	me->asked = test_now_ns();
	ret = raw_post(p->c.fd[rank], tensors, NAMES, &posted);
	while (posted) {
		me->asked = test_now_ns();
		got = raw_collect(p->c.fd[rank], res, posted, 1, 0);
		if (got <= 0)
			return got ? got : -ENODATA;
		for (i = 0; i < got && !ret; i++)
			ret = res[i].result;
		posted -= got;
	}
	return ret;
}

static void ops_named(struct procs *p, uint32_t rank)
{
	int32_t *in = calloc(COUNT, sizeof(*in)), *out = calloc(NAMES * COUNT, sizeof(*out));
	int ret = in && out ? 0 : -ENOMEM;

	while (!ret) {
		ret = do_round(p, rank, in, out);
		p->sh->rank[rank].done += !ret;
	}
	procs_result(p, rank, ret);
}

/* Return: nanoseconds from a kill until the last survivor knows of it. */
static uint64_t kill_one(struct __test_metadata *_metadata, uint64_t *lots)
{
	struct procs p = { .ops = ops_named, .flags = COLL_JOIN_NAMED };
	uint32_t victim = test_below(lots, RANKS), r;
	uint64_t when, since, took = 0;

	ASSERT_EQ(0, procs_start(&p, RANKS, NODES));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
	p.sh->go = 1;
	test_sleep_us(SPEND_MS * 1000 + test_below(lots, 100000));
	when = test_now_ns();
	ASSERT_EQ(0, kill(p.pid[victim], SIGKILL));
	ASSERT_NE(-1, procs_reap(&p, victim, SETUP_MS));
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, SETUP_MS));
	for (r = 0; r < RANKS; r++) {
		const struct procs_rank *k = &p.sh->rank[r];

		if (r == victim)
			continue;
		EXPECT_EQ(-EHOSTDOWN, k->result);
		EXPECT_EQ(victim, k->status.cause.rank);
		since = procs_asked_after(k, when);
		if (k->when > since && k->when - since > took)
			took = k->when - since;
	}
	procs_stop(&p);
	return took;
}

TEST_F_TIMEOUT(hogs, survivors_know_in_time, 600)
{
	unsigned int i, n = test_scale(KILLS), late = 0;
	uint64_t lots = test_seed(), bound = test_bound_ms() * 1000000ULL, took, most = 0, sum = 0;

	if (n < 5)
		n = 5;
	for (i = 0; i < n; i++) {
		took = kill_one(_metadata, &lots);
		late += took > bound;
		sum += took;
		if (took > most)
			most = took;
	}
	TH_LOG("%u kills beside %u loops: known after %llu ms on average, %llu ms at most, %u later than %u ms",
	       n, self->n, (unsigned long long)(sum / n / 1000000),
	       (unsigned long long)most / 1000000, late, test_bound_ms());
	/* At nice 19 three of four would be late. */
	EXPECT_LE(late * 4, n);
	EXPECT_LE(most, 50 * bound);
}

TEST_HARNESS_MAIN
