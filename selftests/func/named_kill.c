// SPDX-License-Identifier: GPL-2.0
/*
 * A rank is killed at a random moment while all post named collectives in orders of their
 * own: whatever the others have posted ends, with the cause.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define NAMES		60
#define COUNT		3000
#define WINDOW_US	20000
#define HANG_MS		20000
#define SECOND		1000000000ULL

/* the state of a rank, in its process */
struct mine {
	uint64_t lots;
	char names[NAMES][16];
	uint32_t order[NAMES];
	struct coll_cmd cmds[NAMES];
	struct coll_tensor tensors[NAMES];
	struct coll_tensor_result res[NAMES];
	int32_t in[NAMES][COUNT], out[NAMES][COUNT];
};

static uint64_t count_of(uint32_t k)
{
	return 1 + k * 7919 % (k % 4 ? 40 : COUNT);
}

static void make_round(struct mine *m, uint32_t rank)
{
	uint32_t k, o, t;
	uint64_t i;

	for (k = 0; k < NAMES; k++)
		m->order[k] = k;
	for (k = NAMES; k > 1; k--) {
		o = test_below(&m->lots, k);
		t = m->order[k - 1];
		m->order[k - 1] = m->order[o];
		m->order[o] = t;
	}
	for (k = 0; k < NAMES; k++) {
		for (i = 0; i < count_of(k); i++)
			m->in[k][i] = test_value(rank, i + k);
		raw_allreduce(&m->cmds[k], m->in[k], m->out[k], count_of(k), COLL_I32,
			      COLL_OP_SUM);
	}
	for (k = 0; k < NAMES; k++)
		raw_tensor(&m->tensors[k], m->names[m->order[k]], &m->cmds[m->order[k]],
			   m->order[k]);
}

static uint64_t wrong_ones(const struct mine *m, uint32_t k, uint32_t size)
{
	uint64_t i, wrong = 0;

	for (i = 0; i < count_of(k); i++)
		wrong += m->out[k][i] != test_value_sum(size, i + k);
	return wrong;
}

/* Collect @n results. Return: 0, or the first error; whatever happens, all of them come. */
static int collect(struct procs *p, struct mine *m, uint32_t rank, uint32_t n)
{
	struct procs_rank *me = &p->sh->rank[rank];
	int got, k, error = 0;

	while (n) {
		me->asked = test_now_ns();
		got = raw_collect(p->c.fd[rank], m->res, n, 1, 0);
		if (got <= 0) {
			me->wrong += n;	/* they are lost */
			return got ? got : -ENODATA;
		}
		for (k = 0; k < got; k++) {
			if (m->res[k].result && !error)
				error = m->res[k].result;
			if (!m->res[k].result)
				me->wrong += wrong_ones(m, m->res[k].tag, p->c.size);
		}
		n -= got;
	}
	return error;
}

/* One round. Return: 0 or the first error. */
static int do_round(struct procs *p, struct mine *m, uint32_t rank)
{
	uint32_t at = 0, n, posted;
	int ret = 0, error;

	while (at < NAMES && !ret) {
		n = 1 + test_below(&m->lots, NAMES - at);
		p->sh->rank[rank].asked = test_now_ns();
		ret = raw_post(p->c.fd[rank], &m->tensors[at], n, &posted);
		at += posted;
	}
	error = collect(p, m, rank, at);
	return ret ? ret : error;
}

static void ops_named(struct procs *p, uint32_t rank)
{
	struct mine *m = calloc(1, sizeof(*m));
	uint32_t k;
	int ret;

	m->lots = *(uint64_t *)p->arg + rank * 0x9e3779b9ULL;
	for (k = 0; k < NAMES; k++)
		snprintf(m->names[k], sizeof(m->names[k]), "tensor %u", k);
	do {
		make_round(m, rank);
		ret = do_round(p, m, rank);
		p->sh->rank[rank].done += !ret;
	} while (!ret && !p->sh->rank[rank].wrong);
	procs_result(p, rank, ret);
}

/* All have done a round: names are known, memory has been touched. */
static bool under_way(const struct procs *p)
{
	uint64_t end = test_now_ns() + HANG_MS * 1000000ULL;
	uint32_t r;

	for (r = 0; r < p->c.size; r++)
		while (!p->sh->rank[r].done && test_now_ns() < end)
			test_sleep_us(200);
	return test_now_ns() < end;
}

/* Return: nanoseconds until the last one knew; 0: killed in the first round. */
static uint64_t kill_one(struct __test_metadata *_metadata, uint64_t seed)
{
	uint64_t lots = seed * 0x9e3779b97f4a7c15ULL | 1, arg, when;
	struct procs p = { .ops = ops_named, .flags = COLL_JOIN_NAMED };
	uint32_t size, nodes, victim, r;
	uint64_t since, took = 0;
	bool early;
	pid_t pid;

	test_rand(&lots);
	size = 2 + test_below(&lots, 5);
	nodes = 1 + test_below(&lots, size < 4 ? size : 4);
	victim = test_below(&lots, size);
	early = !test_below(&lots, 3);
	arg = test_rand(&lots) | 1;
	p.arg = &arg;
	ASSERT_EQ(0, procs_start(&p, size, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, HANG_MS));
	p.sh->go = 1;
	ASSERT_TRUE(early || under_way(&p));
	test_sleep_us(test_below(&lots, WINDOW_US));
	pid = p.pid[victim];
	when = test_now_ns();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	p.pid[victim] = 0;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, HANG_MS));
	for (r = 0; r < size; r++) {
		const struct procs_rank *k = &p.sh->rank[r];

		if (r == victim)
			continue;
		/* In the first round all CPUs are busy with memory, so a rank may wait for one. */
		since = procs_asked_after(k, when);
		EXPECT_TRUE(k->phase == PROCS_ENDED && !k->wrong && k->result == -EHOSTDOWN &&
			    k->status.cause.kind == COLL_CAUSE_EXIT &&
			    k->status.cause.rank == victim &&
			    k->status.cause.signal == SIGKILL) {
			TH_LOG("seed %llu: %u ranks, %u nodes, %u killed: rank %u phase %u: result %d, %llu wrong, %llu rounds, %lld us after the kill, %lld in the kernel, cause %u of rank %d",
			       (unsigned long long)seed, size, nodes, victim, r, k->phase,
			       k->result, (unsigned long long)k->wrong,
			       (unsigned long long)k->done, (long long)(k->when - when) / 1000,
			       (long long)(k->when - k->asked) / 1000, k->status.cause.kind,
			       (int)k->status.cause.rank);
		}
		if (!early && k->when > since && k->when - since > took)
			took = k->when - since;
	}
	procs_stop(&p);
	return took;
}

/*
 * Ranks compute between their rounds, so where the machine is busy a worker that has to send
 * or to take the news waits for a CPU. One kill in four may be known late for that.
 */
TEST(kill_at_random)
{
	unsigned int i, n = test_scale(60), judged = 0, late = 0;
	uint64_t seed = test_seed(), bound = test_bound_ms() * 1000000ULL, took, most = 0;

	for (i = 0; i < n; i++) {
		took = kill_one(_metadata, seed + i);
		judged += took > 0;
		late += took > bound;
		if (took > most)
			most = took;
	}
	TH_LOG("%u kills, %u of %u known later than %u ms; %llu ms at most", n, late, judged,
	       test_bound_ms(), (unsigned long long)most / 1000000);
	EXPECT_LE(most, 50 * bound);
	EXPECT_LE(late * 4, judged);
}

TEST_HARNESS_MAIN
