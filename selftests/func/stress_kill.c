// SPDX-License-Identifier: GPL-2.0
/*
 * usage: stress_kill [INJECTIONS]
 *
 * A rank is killed at a random moment, again and again: 2 to 8 ranks as
 * processes, 1 to 4 nodes, random collectives by ioctl and io_uring, the kill
 * between 0 and 20 ms after all ranks have joined or, every fourth time, after
 * the start, while they still join. Every survivor must hear of it in time, and
 * be told who it was.
 *
 * A rank that dies before it has joined is unknown to the kernel. A rank that joins after a
 * death finds a failed group, or none and makes a new one. So during setup any of the errors
 * that fit will do, the deadline of the first op being one.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "procs.h"
#include "util.h"

#define MS	1000000ULL
#define WINDOW_US	20000
/* The deadline of every op: some wait for a rank that never comes. */
#define DEADLINE_MS	200
/* A survivor that has heard nothing by then never will. */
#define HANG_MS	20000

struct tally {
	unsigned int done, hangs, late, wrong, early;
	uint64_t *took;		/* ns, worst survivor of each injection */
	unsigned int nr_took;
};

struct injection {
	uint64_t seed;
	uint32_t size, nodes, links, victim, delay;
	struct procs_stream s;
	bool early;		/* the delay begins with the start */
	bool joined;		/* all ranks had, when it was killed */
	pid_t pid;
	uint64_t when;
};

static void draw(struct injection *in, uint64_t seed)
{
	uint64_t lots = seed * 0x9e3779b97f4a7c15ULL | 1;

	memset(in, 0, sizeof(*in));
	test_rand(&lots);
	in->seed = seed;
	in->size = 2 + test_below(&lots, 7);
	in->nodes = 1 + test_below(&lots, in->size < 4 ? in->size : 4);
	in->victim = test_below(&lots, in->size);
	in->delay = test_below(&lots, WINDOW_US);
	in->early = !test_below(&lots, 4);
	in->s.seed = test_rand(&lots) | 1;
	in->s.max_bytes = 4ULL << test_below(&lots, 19);
	in->s.uring = test_below(&lots, 2) * (1 + test_below(&lots, 8));
	in->s.timeout_ns = DEADLINE_MS * MS;
	/* mostly one link */
	in->links = test_below(&lots, 2) * test_below(&lots, 5);
	in->links += !in->links;
}

static void complain(const struct injection *in, uint32_t r,
		     const struct procs_rank *k, const char *what)
{
	const struct coll_cause *c = &k->status.cause;

	printf("# seed %" PRIu64 ": %u ranks, %u nodes, %u links, %s, up to %" PRIu64
	       " bytes, rank %u killed after %u us%s: rank %u %s: result %d after %"
	       PRId64 " us, %" PRIu64 " ops, phase %u; cause kind %u error %u rank %d node %d pid %u signal %u code %u\n",
	       in->seed, in->size, in->nodes, in->links, in->s.uring ? "uring" : "ioctl",
	       in->s.max_bytes, in->victim, in->delay,
	       in->joined ? "" : " (during setup)", r, what, k->result,
	       (int64_t)(k->when - in->when) / 1000, k->done, k->phase, c->kind,
	       c->error, (int)c->rank, (int)c->node, c->pid, c->signal, c->code);
}

/* Is the cause that a survivor got the right one? */
static bool cause_right(const struct injection *in, const struct procs_rank *k)
{
	const struct coll_cause *c = &k->status.cause;

	if (in->joined)
		return k->result == -EHOSTDOWN && c->kind == COLL_CAUSE_EXIT &&
			c->rank == in->victim && c->pid == (uint32_t)in->pid &&
			c->signal == SIGKILL;
	return k->result == -EHOSTDOWN || k->result == -ETIMEDOUT ||
		k->result == -ESHUTDOWN || k->result == -ENOTCONN;
}

static void judge(struct procs *p, const struct injection *in, struct tally *t)
{
	int64_t bound = test_bound_ms() * MS, worst = 0;
	uint32_t r;

	if (!in->joined)
		bound += DEADLINE_MS * MS;
	for (r = 0; r < in->size; r++) {
		const struct procs_rank *k = &p->sh->rank[r];
		int64_t took = k->when - in->when;

		if (r == in->victim)
			continue;
		if (k->phase != PROCS_ENDED) {
			t->hangs++;
			complain(in, r, k, "HANGS");
			continue;
		}
		if (took > bound) {
			t->late++;
			complain(in, r, k, "is late");
		}
		if (k->wrong || !cause_right(in, k)) {
			t->wrong++;
			complain(in, r, k, k->wrong ? "has a wrong result" :
				 "is told something wrong");
		}
		if (took > worst)
			worst = took;
	}
	if (in->joined)
		t->took[t->nr_took++] = worst;
	else
		t->early++;
}

static bool all_joined(const struct procs *p)
{
	uint32_t r;

	for (r = 0; r < p->c.size; r++)
		if (p->sh->rank[r].phase < PROCS_JOINED)
			return false;
	return true;
}

static int inject(uint64_t seed, struct tally *t)
{
	struct procs p = { .ops = procs_ops_stream, .early = true };
	struct injection in;
	uint64_t start;
	int ret;

	draw(&in, seed);
	p.arg = &in.s;
	p.links = in.links;
	p.least = 4096;
	start = test_now_ns();
	ret = procs_start(&p, in.size, in.nodes);
	if (ret) {
		printf("# cannot start: %s\n", strerror(-ret));
		procs_stop(&p);
		return ret;
	}
	if (!in.early) {
		procs_wait(&p, PROCS_JOINED, HANG_MS);
		start = test_now_ns();
	}
	start = (test_now_ns() - start) / 1000;
	if (start < in.delay)
		test_sleep_us(in.delay - start);
	in.pid = p.pid[in.victim];
	in.joined = all_joined(&p);
	in.when = test_now_ns();
	kill(in.pid, SIGKILL);
	waitpid(in.pid, NULL, 0);
	p.pid[in.victim] = 0;
	procs_wait(&p, PROCS_ENDED, HANG_MS);
	judge(&p, &in, t);
	procs_stop(&p);
	t->done++;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double percentile(const struct tally *t, unsigned int percent)
{
	unsigned int i = (uint64_t)t->nr_took * percent / 100;

	if (!t->nr_took)
		return 0;
	return t->took[i < t->nr_took ? i : t->nr_took - 1] / 1e6;
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, i;
	const char *given = getenv("COLL_TEST_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : test_now_ns() & 0xffffffff;
	uint64_t start = test_now_ns();
	struct tally t = { };

	setvbuf(stdout, NULL, _IOLBF, 0);
	t.took = calloc(n ? n : 1, sizeof(*t.took));
	printf("# seeds %" PRIu64 " to %" PRIu64 " (COLL_TEST_SEED=n stress_kill 1 repeats one), bound %u ms\n",
	       first, first + n - 1, test_bound_ms());
	for (i = 0; i < n && t.hangs < 3; i++) {
		if (inject(first + i, &t))
			break;
		if ((i + 1) % 100 == 0)
			printf("# %u injections, %.0f ms each\n", i + 1,
			       (test_now_ns() - start) / 1e6 / (i + 1));
	}
	qsort(t.took, t.nr_took, sizeof(*t.took), by_size);
	printf("# from kill to the last survivor's error, ms: 50 %% %.2f, 90 %% %.2f, 99 %% %.2f; %u were killed during setup, %u were told something wrong\n",
	       percentile(&t, 50), percentile(&t, 90), percentile(&t, 99),
	       t.early, t.wrong);
	printf("%u injections, %u hangs, %u late, max %.1f ms\n", t.done, t.hangs,
	       t.late, percentile(&t, 100));
	return t.done < n || t.hangs || t.late || t.wrong;
}
