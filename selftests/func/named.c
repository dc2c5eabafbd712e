// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives of six kinds. Each rank posts the same 200 names in an order of its own.
 * The kernel pairs them by name, and all results are right.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "named_job.h"

#define ROUNDS	4
#define SECOND	1000000000ULL

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 2, 1 }, { 5, 1 }, { 2, 2 }, { 4, 2 }, { 3, 3 }, { 6, 4 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void shuffle(struct job *j, uint32_t *order)
{
	uint32_t k, o, t;

	for (k = 0; k < NAMES; k++)
		order[k] = k;
	for (k = NAMES; k > 1; k--) {
		o = test_below(&j->lots, k);
		t = order[k - 1];
		order[k - 1] = order[o];
		order[o] = t;
	}
}

static void make_round(struct job *j)
{
	uint32_t r, k;
	uint64_t i;

	for (r = 0; r < j->c.size; r++) {
		shuffle(j, j->order[r]);
		j->next[r] = 0;
		for (k = 0; k < NAMES; k++) {
			make_cmd(j, r, k);
			for (i = 0; i < count_of(j, k) * j->c.size; i++)
				j->in[r][k][i] = value(j, r, k, i);
			memset(j->out[r][k], 0xee, sizeof(j->out[r][k]));
			if (k % NR_FORMS == BROADCAST && k % j->c.size == r)
				memcpy(j->out[r][k], j->in[r][k], count_of(j, k) * 4);
		}
		for (k = 0; k < NAMES; k++)
			raw_tensor(&j->tensors[r][k], j->names[j->order[r][k]],
				   &j->cmds[r][j->order[r][k]], j->order[r][k]);
	}
}

/* Again and again, a random rank posts some of its tensors. */
static int post_all(struct job *j)
{
	uint32_t r, left = j->c.size * NAMES, n, posted;
	int ret;

	while (left) {
		r = test_below(&j->lots, j->c.size);
		n = 1 + test_below(&j->lots, NAMES);
		if (n > NAMES - j->next[r])
			n = NAMES - j->next[r];
		if (!n)
			continue;
		ret = raw_post(j->c.fd[r], &j->tensors[r][j->next[r]], n, &posted);
		if (ret || posted != n)
			return ret ? ret : -EIO;
		j->next[r] += n;
		left -= n;
	}
	return 0;
}

/*
 * Collect the results of one rank. Each tensor must have one result.
 * Return: how many results and elements are wrong, or -errno.
 */
static long collect_all(struct job *j, uint32_t r)
{
	struct coll_tensor_result res[NAMES];
	bool seen[NAMES] = { };
	long wrong = 0;
	int n, k, got;
	uint64_t i;

	for (got = 0; got < NAMES; got += n) {
		n = raw_collect(j->c.fd[r], res, 1 + test_below(&j->lots, NAMES), 1, 20 * SECOND);
		if (n <= 0)
			return n ? n : -EIO;
		for (k = 0; k < n; k++) {
			if (res[k].tag >= NAMES || seen[res[k].tag])
				return -EBADMSG;
			seen[res[k].tag] = true;
			wrong += res[k].result || res[k].cause;
		}
	}
	for (k = 0; k < NAMES; k++)
		for (i = 0; i < results_of(j, k); i++)
			wrong += j->out[r][k][i] != wanted(j, r, k, i);
	return wrong;
}

static struct job *job_start(uint32_t size, uint32_t nodes)
{
	struct job *j = calloc(1, sizeof(*j));
	uint32_t k;

	if (!j)
		return NULL;
	j->seed = test_seed();
	j->lots = j->seed | 1;
	for (k = 0; k < NAMES; k++)
		snprintf(j->names[k], sizeof(j->names[k]), "layer.%u/grad", k);
	return raw_start_named(&j->c, size, nodes) ? NULL : j;
}

static void job_stop(struct job *j)
{
	raw_stop(&j->c);
	free(j);
}

TEST(any_order)
{
	struct job *j;
	uint32_t r;
	size_t s;

	for (s = 0; s < NR_SHAPES; s++) {
		j = job_start(shapes[s].size, shapes[s].nodes);
		ASSERT_NE(NULL, j);
		for (j->round = 0; j->round < ROUNDS; j->round++) {
			make_round(j);
			ASSERT_EQ(0, post_all(j));
			for (r = 0; r < j->c.size; r++)
				ASSERT_EQ(0, collect_all(j, r)) {
					TH_LOG("seed %llu: %u ranks, %u nodes, round %u, rank %u",
					       (unsigned long long)j->seed, j->c.size,
					       j->c.nodes, j->round, r);
				}
		}
		job_stop(j);
	}
}

TEST_HARNESS_MAIN
