// SPDX-License-Identifier: GPL-2.0
/*
 * Gradient-boosted trees for two classes, over several ranks, as a session. An iteration is a
 * level of a tree: each task makes histograms of the gradients of its rows, for each node of
 * the level and each feature; one allreduce adds them; every task finds the same best splits
 * and moves its own rows down. No row leaves its rank.
 *
 * The length of the histograms depends on how many nodes a level has: the allreduce takes it
 * from the object "length".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learn.h"

#define BINS	32
#define SLOT	4		/* doubles of a bin: gradient and Hessian, two each */
#define TIE	1e-9		/* splits whose gains differ by less are equal: the first wins */

static const char me[] = "gbdt";

/**
 * struct node - of a tree, in the order of a heap: children of i are 2 i + 1 and 2 i + 2
 * @feature: -1: a leaf; @bin: rows up to this bin go left
 */
struct node {
	int feature, bin;
	double value;
};

/**
 * struct gbdt - the job as one task sees it
 * @features: columns but the last one
 * @bin: of our rows, for each feature; @at: node of each row; @score: sum of the trees
 * @score_bound: no score is larger; all tasks have the same
 * @nodes: of the tree that grows; @depth: levels of splits; @level: where we are
 */
struct gbdt {
	coll_comm_t *comm;
	struct coll_csv csv;
	uint32_t features, trees, depth, tree, level;
	double rate, lambda, score_bound, loss;
	unsigned char *bin;
	uint32_t *at;
	double *score;
	struct node *nodes;
};

static double label(const struct gbdt *t, uint64_t i)
{
	return t->csv.x[i * t->csv.columns + t->features] > 0.5;
}

/* Equal widths between the smallest and the largest value of all rows. */
static int make_bins(struct gbdt *t)
{
	uint32_t n = t->features, j;
	double *most = learn_array(2 * n, 1, sizeof(*most));
	uint64_t i;
	int ret;

	for (j = 0; j < 2 * n; j++)
		most[j] = -INFINITY;
	for (i = 0; i < t->csv.local; i++)
		for (j = 0; j < n; j++) {
			double x = t->csv.x[i * t->csv.columns + j];

			most[j] = fmax(most[j], x);
			most[n + j] = fmax(most[n + j], -x);
		}
	ret = coll_allreduce(t->comm, COLL_IN_PLACE, most, 2 * n, COLL_F64, COLL_OP_MAX);
	for (i = 0; !ret && i < t->csv.local; i++)
		for (j = 0; j < n; j++) {
			double x = t->csv.x[i * t->csv.columns + j], least = -most[n + j];
			double b = floor((x - least) / (most[j] - least) * BINS);

			t->bin[i * n + j] = (unsigned char)(b >= 0 ? fmin(b, BINS - 1) : 0);
		}
	free(most);
	return ret;
}

static double *slot(const struct gbdt *t, double *h, uint32_t node, uint32_t feature,
		    uint32_t bin)
{
	return h + (((size_t)node * t->features + feature) * BINS + bin) * SLOT;
}

static double loss_of(double m)
{
	return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
}

/* Sums of the nodes of this level; behind them two doubles for the loss. */
static int step_histograms(coll_iter_ctx_t *ctx, void *arg)
{
	struct gbdt *t = arg;
	uint32_t nodes = 1U << t->level, first = nodes - 1, j;
	uint64_t *length = coll_iter_new(ctx, "length", sizeof(*length)), i;
	size_t most = ((size_t)1 << t->depth) * t->features * BINS * SLOT + 2;
	double *h = coll_iter_find(ctx, "histograms", NULL);
	struct learn_grid g = learn_grid((double)t->csv.rows, 1);
	struct learn_grid lg = learn_grid((double)t->csv.rows, t->score_bound + 1);

	if (!h)
		h = coll_iter_new(ctx, "histograms", most * sizeof(*h));
	if (!h || !length)
		return -ENOMEM;
	*length = (uint64_t)nodes * t->features * BINS * SLOT + 2;
	memset(h, 0, *length * sizeof(*h));
	for (i = 0; i < t->csv.local; i++) {
		double y = label(t, i), p = 1 / (1 + exp(-t->score[i]));

		learn_add(&h[*length - 2], loss_of(y ? t->score[i] : -t->score[i]), &lg);
		if (t->at[i] < first)
			continue;	/* came to a leaf before */
		for (j = 0; j < t->features; j++) {
			double *s = slot(t, h, t->at[i] - first, j, t->bin[i * t->features + j]);

			learn_add(s, p - y, &g);
			learn_add(s + 2, p * (1 - p), &g);
		}
	}
	return 0;
}

static double gain(const struct gbdt *t, double g, double h)
{
	return g * g / (h + t->lambda);
}

/* The best split of a node, or a leaf. */
static void split(struct gbdt *t, double *h, uint32_t at, bool may_split)
{
	struct node *node = &t->nodes[(1U << t->level) - 1 + at];
	double g = 0, hess = 0, best = TIE;
	uint32_t j, b;

	for (b = 0; b < BINS; b++) {
		g += learn_value(slot(t, h, at, 0, b));
		hess += learn_value(slot(t, h, at, 0, b) + 2);
	}
	node->feature = -1;
	node->value = hess > 0 ? -g / (hess + t->lambda) * t->rate : 0;
	for (j = 0; may_split && j < t->features; j++) {
		double sum[4] = { 0 };

		for (b = 0; b + 1 < BINS; b++) {
			const double *s = slot(t, h, at, j, b);
			double left, left_h, better;
			int i;

			for (i = 0; i < 4; i++)	/* exact, each by itself */
				sum[i] += s[i];
			left = learn_value(sum);
			left_h = learn_value(sum + 2);
			if (left_h < 1 || hess - left_h < 1)
				continue;
			better = gain(t, left, left_h) + gain(t, g - left, hess - left_h) -
				 gain(t, g, hess);
			if (better > best + TIE) {
				best = better;
				node->feature = (int)j;
				node->bin = (int)b;
			}
		}
	}
}

static void print_tree(const struct gbdt *t)
{
	uint32_t i, all = (2U << t->depth) - 1;

	for (i = 0; i < all; i++)
		if (t->nodes[i].feature >= 0)
			printf("tree %u node %u feature %d bin %d\n", t->tree, i,
			       t->nodes[i].feature, t->nodes[i].bin);
		else if (t->nodes[i].value)
			printf("tree %u leaf %u value %.12g\n", t->tree, i, t->nodes[i].value);
}

/* The tree is complete: add it to the scores, and begin the next one. */
static void end_tree(struct gbdt *t)
{
	uint32_t i, all = (2U << t->depth) - 1;
	double most = 0;
	uint64_t r;

	for (r = 0; r < t->csv.local; r++) {
		t->score[r] += t->nodes[t->at[r]].value;
		t->at[r] = 0;
	}
	for (i = 0; i < all; i++)
		most = fmax(most, fabs(t->nodes[i].value));
	t->score_bound += most;
	if (!coll_comm_rank(t->comm))
		print_tree(t);
	memset(t->nodes, 0, all * sizeof(*t->nodes));
	t->tree++;
	t->level = 0;
}

static int step_split(coll_iter_ctx_t *ctx, void *arg)
{
	struct gbdt *t = arg;
	uint32_t nodes = 1U << t->level, first = nodes - 1, i;
	double *h = coll_iter_get(ctx, "histograms", NULL);
	uint64_t *length = coll_iter_get(ctx, "length", NULL), r;

	if (!h || !length)
		return -ENOENT;
	t->loss = learn_value(&h[*length - 2]) / (double)t->csv.rows;
	for (i = 0; i < nodes; i++)
		split(t, h, i, t->level < t->depth);
	for (r = 0; r < t->csv.local; r++) {
		const struct node *node = &t->nodes[t->at[r]];

		if (t->at[r] >= first && node->feature >= 0)
			t->at[r] = 2 * t->at[r] + 1 +
				   (t->bin[r * t->features + (uint32_t)node->feature] > node->bin);
	}
	if (t->level++ == t->depth)
		end_tree(t);
	return 0;
}

/* The loss of the trees before this one. */
static int enough(coll_iter_ctx_t *ctx, void *arg, double *value)
{
	const struct gbdt *t = arg;

	(void)ctx;
	*value = t->loss;
	return t->tree == t->trees;
}

static int print_result(coll_iter_ctx_t *ctx, void *arg)
{
	struct gbdt *t = arg;
	uint64_t right = 0, i;
	int ret;

	for (i = 0; i < t->csv.local; i++)
		right += (t->score[i] > 0) == (label(t, i) > 0.5);
	ret = coll_allreduce(t->comm, COLL_IN_PLACE, &right, 1, COLL_U64, COLL_OP_SUM);
	if (ret)
		return ret;
	if (!coll_iter_task_id(ctx))
		printf("loss %.12g\nright %llu of %llu\n", t->loss, (unsigned long long)right,
		       (unsigned long long)t->csv.rows);
	return 0;
}

static int run(struct gbdt *t, const char *path)
{
	coll_iter_t *it;
	int ret;

	ret = learn_csv(me, t->comm, path, &t->csv);
	if (ret)
		return ret;
	t->features = t->csv.columns - 1;
	if (!t->features) {
		if (!coll_comm_rank(t->comm))
			fprintf(stderr, "%s: %s: no class\n", me, path);
		return -EINVAL;
	}
	t->bin = learn_array(t->csv.local, t->features, 1);
	t->at = learn_array(t->csv.local, 1, sizeof(*t->at));
	t->score = learn_array(t->csv.local, 1, sizeof(*t->score));
	t->nodes = learn_array(2U << t->depth, 1, sizeof(*t->nodes));
	ret = make_bins(t);
	if (!ret)
		ret = coll_iter_create(t->comm, &it);
	if (!ret) {
		coll_iter_add(it, "histograms", step_histograms, t);
		coll_iter_add_allreduce(it, "histograms", "length", COLL_F64, COLL_OP_SUM);
		coll_iter_add(it, "split", step_split, t);
		coll_iter_set_compare_criterion_of_node0(it, enough, t);
		coll_iter_close_with(it, print_result, t);
		ret = learn_exec(me, it);
		coll_iter_free(it);
	}
	free(t->bin);
	free(t->at);
	free(t->score);
	free(t->nodes);
	coll_csv_free(&t->csv);
	return ret;
}

int main(int argc, char **argv)
{
	struct gbdt t = { .trees = 10, .depth = 3, .rate = 0.3, .lambda = 1 };
	int c, ret, bad = 0;

	while ((c = getopt(argc, argv, "n:d:r:")) != -1) {
		switch (c) {
		case 'n': bad |= learn_u32(optarg, &t.trees); break;
		case 'd': bad |= learn_u32(optarg, &t.depth); break;
		case 'r': bad |= learn_real(optarg, &t.rate); break;
		default: bad = 1;
		}
	}
	if (bad || optind != argc - 1 || !t.trees || !t.depth || t.depth > 10) {
		fprintf(stderr, "usage: gbdt [-n TREES] [-d DEPTH] [-r RATE] FILE\n");
		return 2;
	}
	t.comm = learn_init(me);
	if (!t.comm)
		return 1;
	ret = run(&t, argv[optind]);
	coll_finalize(t.comm);
	return ret ? 1 : 0;
}
