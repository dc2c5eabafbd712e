// SPDX-License-Identifier: GPL-2.0
/*
 * Faults in COLL_IOC_TENSOR_POST and COLL_IOC_TENSOR_WAIT: what was refused can be posted
 * again, each tensor has one result, and results are right.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "inject.h"
#include "procs.h"
#include "util.h"

#define NAMES		4
#define ROUNDS		10
#define COUNT		2000
#define NTH_MAX		400
#define DEADLINE	3000000000ULL
#define COLLECT_NS	20000000000ULL

/**
 * struct side - tensors of one rank
 * @fd: its file
 * @rank: it
 * @size: of the communicator
 * @told: by tensor: results there were
 * @result: by tensor: the last one
 */
struct side {
	int fd;
	uint32_t rank, size;
	char names[NAMES][16];
	struct coll_cmd cmds[NAMES];
	struct coll_tensor tensors[NAMES];
	unsigned int told[NAMES];
	int result[NAMES];
	int32_t in[COUNT], out[NAMES][COUNT];
};

static uint64_t count_of(uint32_t k)
{
	return k % 2 ? COUNT : 1 + k;
}

/* Each rank begins with another name. */
static void make(struct side *s, int fd, uint32_t rank, uint32_t size, uint64_t timeout_ns)
{
	uint32_t i, k;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->rank = rank;
	s->size = size;
	for (i = 0; i < COUNT; i++)
		s->in[i] = test_value(rank, i);
	for (i = 0; i < NAMES; i++) {
		k = (i + rank) % NAMES;
		snprintf(s->names[k], sizeof(s->names[k]), "tensor %u", k);
		raw_allreduce(&s->cmds[k], s->in, s->out[k], count_of(k), COLL_I32, COLL_OP_SUM);
		s->cmds[k].timeout_ns = timeout_ns;
		raw_tensor(&s->tensors[i], s->names[k], &s->cmds[k], k + 1);
	}
}

/*
 * As raw_collect(), and what came before an error counts: a call that could not say how many
 * there are has stored them.
 */
static int take(struct side *s, uint32_t min)
{
	struct coll_tensor_result res[NAMES] = { };
	struct coll_tensor_wait w = {
		.results = (uintptr_t)res, .nr = NAMES, .min = min, .timeout_ns = COLLECT_NS,
	};
	int ret = ioctl(s->fd, COLL_IOC_TENSOR_WAIT, &w) ? -errno : 0;
	uint32_t i;

	for (i = 0; i < NAMES && res[i].tag; i++) {
		if (res[i].tag > NAMES)
			return -EXDEV;
		s->told[res[i].tag - 1]++;
		s->result[res[i].tag - 1] = res[i].result;
	}
	if (!ret && w.got != i)
		return -EXDEV;
	return ret ? ret : (int)i;
}

static uint32_t missing(const struct side *s)
{
	uint32_t k, n = 0;

	for (k = 0; k < NAMES; k++)
		n += !s->told[k];
	return n;
}

/* Results of all that is posted. Return: 0 or -errno. */
static int take_all(struct side *s)
{
	int got = 1;

	while (missing(s) && got > 0)
		got = take(s, missing(s));
	return got < 0 ? got : 0;
}

/* Post what has no result. Return: 0 or -errno. */
static int post_rest(struct side *s)
{
	uint32_t i;
	int ret;

	for (i = 0; i < NAMES; i++) {
		if (s->told[s->tensors[i].tag - 1])
			continue;
		ret = raw_post(s->fd, &s->tensors[i], 1, NULL);
		if (ret && ret != -EEXIST)
			return ret;
	}
	return 0;
}

static uint64_t wrong(const struct side *s)
{
	uint64_t i, n = 0;
	uint32_t k;

	for (k = 0; k < NAMES; k++) {
		n += s->told[k] > 1;
		if (!s->told[k] || s->result[k])
			continue;
		for (i = 0; i < count_of(k); i++)
			n += s->out[k][i] != test_value_sum(s->size, i);
	}
	return n;
}

/* ---- the n-th fault ---- */

static struct side sides[2];

static void *other(void *arg)
{
	struct side *s = arg;

	if (!raw_post(s->fd, s->tensors, NAMES, NULL))
		take_all(s);
	return NULL;
}

/* A fault in one of the two calls. Return: 0, or an error that no fault explains. */
static int give(struct side *s, bool in_wait, unsigned int n, bool *hit)
{
	int ret;

	inject_nth(in_wait ? 0 : n);
	ret = raw_post(s->fd, s->tensors, NAMES, NULL);
	if (!in_wait)
		*hit = inject_hit();
	if (ret && !(*hit && inject_refused(ret)))
		return ret;
	if (in_wait) {
		inject_nth(n);
		ret = take(s, NAMES);
		*hit = inject_hit();
		if (ret < 0 && !(*hit && inject_refused(ret)))
			return ret;
	}
	ret = take_all(s);
	if (!ret)
		ret = post_rest(s);
	return ret ? ret : take_all(s);
}

/* Has every tensor its result? A small one that cannot be stored is the rank's own affair. */
static bool fine(const struct side *s, bool hit)
{
	uint32_t k, bad = 0;

	for (k = 0; k < NAMES; k++)
		bad += s->told[k] != 1 || (s->result[k] && !(hit && s->result[k] == -EFAULT));
	return !bad && !wrong(s);
}

static bool join(pthread_t thread)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 20;
	if (!pthread_timedjoin_np(thread, NULL, &ts))
		return true;
	tally.hangs++;
	return false;
}

static bool one_fault(struct raw_comm *c, bool in_wait, unsigned int n, bool *hit, bool *failed)
{
	struct coll_status st[2] = { };
	pthread_t thread;
	uint32_t r;
	int ret;

	for (r = 0; r < 2; r++)
		make(&sides[r], c->fd[r], r, 2, DEADLINE);
	tally.calls++;
	*hit = false;
	if (pthread_create(&thread, NULL, other, &sides[1]))
		return false;
	ret = give(&sides[0], in_wait, n, hit);
	if (!join(thread))
		return false;
	raw_status(c->fd[0], &st[0]);
	*failed = st[0].state == COLL_STATE_FAILED;
	if (*failed && *hit)
		return !wrong(&sides[0]) && !wrong(&sides[1]) &&
			!raw_status_failed(c->fd[1], &st[1]);
	if (!ret && fine(&sides[0], *hit) && fine(&sides[1], false))
		return true;
	printf("# named, fault %u in %s%s: %d, state %u, cause %u\n", n,
	       in_wait ? "wait" : "post", *hit ? "" : " not met", ret, st[0].state,
	       st[0].cause.kind);
	for (r = 0; r < 2; r++)
		for (ret = 0; ret < NAMES; ret++)
			printf("#   rank %u, tensor %d: %u results, %d\n", r, ret,
			       sides[r].told[ret], sides[r].result[ret]);
	return false;
}

static void faults_in(uint32_t nodes, bool in_wait)
{
	unsigned int n, bad = 0, times = 0;
	bool hit = true, failed = true;
	struct raw_comm c;

	if (raw_start_named(&c, 2, nodes)) {
		scenario(false, "no communicator");
		return;
	}
	for (n = 1; hit && n < NTH_MAX && !tally.hangs; n++) {
		failed = false;
		bad += !one_fault(&c, in_wait, n, &hit, &failed);
		times += failed;
		if (failed) {
			raw_stop(&c);
			bad += raw_start_named(&c, 2, nodes) != 0;
		}
	}
	raw_stop(&c);
	scenario(!bad && !hit, "named, %u nodes, %s: %u faults, %u failed it", nodes,
		 in_wait ? "wait" : "post", n - 2, times);
}

void named_run(bool all)
{
	uint32_t nodes;

	for (nodes = 1; nodes <= 2; nodes++) {
		faults_in(nodes, false);
		if (all)
			faults_in(nodes, true);
	}
}

/* ---- in jobs ---- */

void named_ops(struct procs *p, uint32_t rank, uint64_t timeout_ns)
{
	struct procs_rank *me = &p->sh->rank[rank];
	struct side *s = &sides[0];
	uint32_t i, k, posted;
	int ret = 0, got;

	for (i = 0; i < ROUNDS && !ret; i++) {
		make(s, p->c.fd[rank], rank, p->c.size, timeout_ns);
		ret = raw_post(s->fd, s->tensors, NAMES, &posted);
		got = posted;
		while (got > 0 && NAMES - missing(s) < posted)
			got = take(s, posted - (NAMES - missing(s)));
		me->wrong += wrong(s) + (NAMES - missing(s) < posted);
		for (k = 0; k < NAMES && !ret; k++)
			ret = s->result[k];
	}
	procs_result(p, rank, ret);
}
