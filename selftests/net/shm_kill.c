// SPDX-License-Identifier: GPL-2.0
/*
 * A rank is killed during small collectives in shared memory, again and again. Of three
 * injections
 *	one kills it at a random moment,
 *	one while the others wait for it awake,
 *	one while the others wait for it asleep.
 * Every survivor must hear of it in time, and be told the cause.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl_calls.h"
#include "shm_job.h"
#include "util.h"

#define MS	1000000ULL
/* A survivor that has heard nothing by then never will. */
#define HANG_MS	60000

enum moment {
	ANY,
	AWAKE,
	ASLEEP,
	NR_MOMENTS,
};

/**
 * struct injection - one of them
 * @victim: the rank that dies
 * @ops: AWAKE, ASLEEP: number of ops before that
 * @us: the time to its death: since all are there, or since it has ceased to come
 */
struct injection {
	uint64_t seed, lot;
	enum moment moment;
	uint32_t size, victim, ops, us;
	pid_t pid;
	uint64_t when;
};

/**
 * struct tally - of all injections
 * @as_meant: per moment: a survivor was awake then, or asleep
 */
struct tally {
	unsigned int done, hangs, late, wrong, nr[NR_MOMENTS], as_meant[NR_MOMENTS];
	uint64_t worst, ops;
};

static const char *const names[] = { "at any moment", "while others look", "while others sleep" };

static void draw(struct injection *in, uint64_t seed)
{
	uint64_t lot = seed * 0x9e3779b97f4a7c15ULL | 1;

	test_rand(&lot);
	*in = (struct injection){ .seed = seed, .moment = seed % NR_MOMENTS };
	in->size = 2 + test_below(&lot, JOB_MAX - 1);
	in->victim = test_below(&lot, in->size);
	in->ops = test_below(&lot, 200);
	/* COLL_CMD_SPIN lets ranks look for 1 ms. */
	in->us = in->moment == AWAKE ? test_below(&lot, 300) :
		 in->moment == ASLEEP ? 3000 + test_below(&lot, 5000) :
		 test_below(&lot, 10000);
	in->lot = test_rand(&lot) | 1;
}

static void die(struct job *j, const struct injection *in)
{
	uint64_t end = test_now_ns() + in->us * 1000ULL;

	/* A sleep takes longer than the others look. */
	while (in->moment == AWAKE && test_now_ns() < end)
		;
	if (in->moment == ASLEEP)
		test_sleep_us(in->us);
	j->sh->died = test_now_ns();
	raise(SIGKILL);
}

static void run(struct job *j, uint32_t rank)
{
	const struct injection *in = j->arg;
	uint32_t flags = in->moment == AWAKE ? COLL_CMD_SPIN : 0, i;
	struct job_rank *me = &j->sh->rank[rank];
	uint64_t lot = in->lot, before;
	int ret = 0;

	for (i = 0; !ret; i++) {
		if (in->moment != ANY && rank == in->victim && i == in->ops)
			die(j, in);
		before = ioctl_sleeps();
		ret = job_random_op(j, rank, &lot, flags, (i + rank + in->seed) % 3 == 0, true);
		me->sleeps = ioctl_sleeps() - before;
		job_note(j, rank, ret);
	}
}

static void complain(const struct injection *in, uint32_t r, const struct job_rank *k,
		     const char *what)
{
	const struct coll_cause *c = &k->status.cause;

	printf("# seed %" PRIu64 ": %u ranks, rank %u killed %s, %u us: rank %u %s: result %d after %"
	       PRId64 " us, %" PRIu64 " ops, %" PRIu64 " wrong; cause kind %u error %u rank %d pid %u signal %u\n",
	       in->seed, in->size, in->victim, names[in->moment], in->us, r, what, k->result,
	       (int64_t)(k->when - in->when) / 1000, k->done, k->wrong, c->kind, c->error,
	       (int)c->rank, c->pid, c->signal);
}

static bool is_told(const struct injection *in, const struct job_rank *k)
{
	const struct coll_cause *c = &k->status.cause;

	return k->result == -EHOSTDOWN && c->error == EHOSTDOWN && c->kind == COLL_CAUSE_EXIT &&
	       c->rank == in->victim && c->pid == (uint32_t)in->pid && c->signal == SIGKILL;
}

static void judge(const struct job *j, const struct injection *in, struct tally *t)
{
	bool asleep = false, awake = false;
	uint32_t r;

	for (r = 0; r < j->size; r++) {
		const struct job_rank *k = &j->sh->rank[r];
		int64_t took = k->when - in->when;

		if (r == in->victim)
			continue;
		if (k->phase != JOB_ENDED) {
			t->hangs++;
			complain(in, r, k, "HANGS");
			continue;
		}
		if (test_late(in->when, k->when)) {
			t->late++;
			complain(in, r, k, "is late");
		}
		/* All ops must be done in shared memory: this test is about nothing else. */
		if (k->wrong || !is_told(in, k) || k->shm_ops != k->done) {
			t->wrong++;
			complain(in, r, k, k->shm_ops != k->done ? "used the kernel" :
				 "is told something wrong");
		}
		if (took > (int64_t)t->worst)
			t->worst = took;
		asleep |= k->sleeps > 0;
		awake |= !k->sleeps;
		t->ops += k->done;
	}
	t->nr[in->moment]++;
	t->as_meant[in->moment] += in->moment == ANY ||
				   (in->moment == AWAKE ? awake : asleep);
}

static void kill_victim(struct job *j, struct injection *in)
{
	in->pid = j->pid[in->victim];
	if (in->moment == ANY) {
		test_sleep_us(in->us);
		in->when = test_now_ns();
		kill(in->pid, SIGKILL);
	}
	job_reap(j, in->victim, HANG_MS);
	if (in->moment != ANY)
		in->when = j->sh->died;
}

static int inject(uint64_t seed, struct tally *t)
{
	struct job j = { .run = run };
	struct injection in;
	int ret;

	draw(&in, seed);
	j.size = in.size;
	j.arg = &in;
	ret = job_start(&j);
	if (ret)
		return ret;
	if (job_wait(&j, JOB_READY, HANG_MS)) {
		kill_victim(&j, &in);
		job_wait(&j, JOB_ENDED, HANG_MS);
		judge(&j, &in, t);
		t->done++;
	} else {
		printf("# seed %" PRIu64 ": not all have joined\n", seed);
		ret = -ETIMEDOUT;
	}
	job_stop(&j);
	return ret;
}

int shm_kill(unsigned int times, uint64_t seed)
{
	uint64_t start = test_now_ns();
	struct tally t = { 0 };
	unsigned int i;
	bool meant = true;

	for (i = 0; i < times && t.hangs < 3 && !inject(seed + i, &t); i++)
		if ((i + 1) % 100 == 0)
			printf("# %u injections, %.0f ms each\n", i + 1,
			       (test_now_ns() - start) / 1e6 / (i + 1));
	for (i = 0; i < NR_MOMENTS; i++) {
		printf("# %u killed %s, %u as meant\n", t.nr[i], names[i], t.as_meant[i]);
		/* A machine that is busy puts ranks to sleep, too. */
		meant &= t.nr[i] < 10 || t.as_meant[i];
	}
	printf("%u injections, %" PRIu64 " ops, %u hangs, %u late, %u wrong, max %.1f ms\n",
	       t.done, t.ops, t.hangs, t.late, t.wrong, t.worst / 1e6);
	return t.done < times || t.hangs || t.late || t.wrong || !meant;
}
