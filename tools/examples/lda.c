// SPDX-License-Identifier: GPL-2.0
/*
 * Latent Dirichlet allocation over several ranks, as a session: variational Bayes as by Blei,
 * Ng and Jordan (2003), over all documents in each iteration. A task finds the topics of its
 * own documents; one allreduce adds up how often each word belongs to each topic; every task
 * makes the same new topics of it. Unlike Gibbs sampling this does not depend on the number
 * of ranks.
 *
 * The file has a row for each document, with a count for each word; its first line has the
 * number of documents, of words, and the words. data/make_text makes one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learn.h"

#define INNER	30	/* rounds to find the topics of a document */

static const char me[] = "lda";

/**
 * struct lda - the job as one task sees it
 * @alpha, @eta: priors of topics in documents, and of words in topics
 * @lambda: @k x @words, what is known of the topics; on all tasks the same
 * @log_beta: exp of the expected logarithm of it
 * @gamma, @theta: of one document
 */
struct lda {
	coll_comm_t *comm;
	struct coll_csv csv;
	uint32_t k, words;
	uint64_t max_iters, seed;
	double alpha, eta, tolerance, most, fit, change;
	double *lambda, *beta, *mean, *gamma, *theta;
};

static double digamma(double x)
{
	double sum = 0, f;

	for (; x < 6; x++)
		sum -= 1 / x;
	f = 1 / (x * x);
	return sum + log(x) - 0.5 / x -
	       f * (1. / 12 - f * (1. / 120 - f * (1. / 252 - f * (1. / 240 - f / 132))));
}

/* For each topic: exp(E[log beta]) and E[beta], of all words. */
static void make_beta(struct lda *l)
{
	uint32_t k, v;

	for (k = 0; k < l->k; k++) {
		const double *row = l->lambda + k * l->words;
		double sum = 0, all;

		for (v = 0; v < l->words; v++)
			sum += row[v];
		all = digamma(sum);
		for (v = 0; v < l->words; v++) {
			l->beta[k * l->words + v] = exp(digamma(row[v]) - all);
			l->mean[k * l->words + v] = row[v] / sum;
		}
	}
}

static void make_theta(struct lda *l)
{
	double sum = 0, all;
	uint32_t k;

	for (k = 0; k < l->k; k++)
		sum += l->gamma[k];
	all = digamma(sum);
	for (k = 0; k < l->k; k++)
		l->theta[k] = exp(digamma(l->gamma[k]) - all);
}

/* How likely the topics make word @v, but for a factor. */
static double word(const struct lda *l, uint32_t v)
{
	double sum = 0;
	uint32_t k;

	for (k = 0; k < l->k; k++)
		sum += l->theta[k] * l->beta[k * l->words + v];
	return sum;
}

static void find_topics(struct lda *l, const double *counts)
{
	double *next = learn_array(l->k, 1, sizeof(*next));
	uint32_t round, k, v;

	for (k = 0; k < l->k; k++)
		l->gamma[k] = 1;
	for (round = 0; round < INNER; round++) {
		make_theta(l);
		for (k = 0; k < l->k; k++)
			next[k] = l->alpha;
		for (v = 0; v < l->words; v++) {
			double p;

			if (!counts[v])
				continue;
			p = counts[v] / word(l, v);
			for (k = 0; k < l->k; k++)
				next[k] += p * l->theta[k] * l->beta[k * l->words + v];
		}
		memcpy(l->gamma, next, l->k * sizeof(*next));
	}
	make_theta(l);
	free(next);
}

/* Log of how likely a document is, by the expected topics. */
static double fit_of(const struct lda *l, const double *counts)
{
	double sum = 0, fit = 0, p;
	uint32_t k, v;

	for (k = 0; k < l->k; k++)
		sum += l->gamma[k];
	for (v = 0; v < l->words; v++) {
		if (!counts[v])
			continue;
		for (k = 0, p = 0; k < l->k; k++)
			p += l->gamma[k] / sum * l->mean[k * l->words + v];
		fit += counts[v] * log(p);
	}
	return fit;
}

/* Object "topics": for each topic and word two doubles; then the fit; then words in all. */
static int step_documents(coll_iter_ctx_t *ctx, void *arg)
{
	struct lda *l = arg;
	uint32_t n = l->k * l->words, k, v;
	double *sums = coll_iter_new(ctx, "topics", 2 * (n + 2) * sizeof(*sums));
	struct learn_grid g = learn_grid((double)l->csv.rows, l->most);
	struct learn_grid fit = learn_grid((double)l->csv.rows, 800 * l->most * l->words);
	uint64_t i;

	if (!sums)
		return -ENOMEM;
	make_beta(l);
	for (i = 0; i < l->csv.local; i++) {
		const double *counts = l->csv.x + i * l->words;

		find_topics(l, counts);
		for (v = 0; v < l->words; v++) {
			double p = counts[v] ? counts[v] / word(l, v) : 0;

			for (k = 0; p > 0 && k < l->k; k++)
				learn_add(&sums[2 * (k * l->words + v)],
					  p * l->theta[k] * l->beta[k * l->words + v], &g);
			sums[2 * n + 2] += counts[v];
		}
		learn_add(&sums[2 * n], fit_of(l, counts), &fit);
	}
	return 0;
}

static int step_topics(coll_iter_ctx_t *ctx, void *arg)
{
	struct lda *l = arg;
	uint32_t n = l->k * l->words, i;
	const double *sums = coll_iter_get(ctx, "topics", NULL);

	if (!sums)
		return -ENOENT;
	l->fit = sums[2 * n + 2] > 0 ? learn_value(&sums[2 * n]) / sums[2 * n + 2] : 0;
	l->change = 0;
	for (i = 0; i < n; i++) {
		double now = l->eta + learn_value(&sums[2 * i]);

		l->change = fmax(l->change, fabs(now - l->lambda[i]));
		l->lambda[i] = now;
	}
	return 0;
}

/* Perplexity: how many equally likely words would be as hard to guess. */
static int enough(coll_iter_ctx_t *ctx, void *arg, double *value)
{
	const struct lda *l = arg;

	(void)ctx;
	*value = exp(-l->fit);
	return l->change <= l->tolerance;
}

static void print_result(const struct lda *l, const struct coll_iter_stats *st)
{
	uint32_t k, v;

	printf("iterations %llu\nperplexity %.12g\n", (unsigned long long)st->iterations,
	       exp(-l->fit));
	for (k = 0; k < l->k; k++) {
		printf("topic %u", k);
		for (v = 0; v < l->words; v++)
			printf(" %.10g", l->lambda[k * l->words + v]);
		printf("\n");
	}
}

/* No count is negative or larger than @most. */
static int prepare(struct lda *l)
{
	double range[2] = { 0, 0 };
	uint64_t i;
	int ret;

	for (i = 0; i < l->csv.local * l->words; i++) {
		range[0] = fmax(range[0], l->csv.x[i]);
		range[1] = fmax(range[1], -l->csv.x[i]);
	}
	ret = coll_allreduce(l->comm, COLL_IN_PLACE, range, 2, COLL_F64, COLL_OP_MAX);
	if (ret)
		return ret;
	l->most = range[0];
	if (range[1] > 0) {
		if (!coll_comm_rank(l->comm))
			fprintf(stderr, "%s: a negative count\n", me);
		return -EINVAL;
	}
	for (i = 0; i < (uint64_t)l->k * l->words; i++)
		l->lambda[i] = 1 + learn_random(l->seed, i / l->words, i % l->words);
	return 0;
}

static int solve(struct lda *l, struct coll_iter_stats *st)
{
	coll_iter_t *it;
	int ret;

	ret = coll_iter_create(l->comm, &it);
	if (ret)
		return ret;
	coll_iter_add(it, "documents", step_documents, l);
	coll_iter_add_allreduce(it, "topics", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_add(it, "topics", step_topics, l);
	coll_iter_set_compare_criterion_of_node0(it, enough, l);
	coll_iter_set_max_iter(it, l->max_iters);
	ret = learn_exec(me, it);
	coll_iter_stats(it, st);
	coll_iter_free(it);
	return ret;
}

static int run(struct lda *l, const char *path)
{
	struct coll_iter_stats st;
	uint32_t n;
	int ret;

	ret = learn_csv(me, l->comm, path, &l->csv);
	if (ret)
		return ret;
	l->words = l->csv.columns;
	n = l->k * l->words;
	l->lambda = learn_array(n, 1, sizeof(double));
	l->beta = learn_array(n, 1, sizeof(double));
	l->mean = learn_array(n, 1, sizeof(double));
	l->gamma = learn_array(l->k, 1, sizeof(double));
	l->theta = learn_array(l->k, 1, sizeof(double));
	ret = prepare(l);
	if (!ret)
		ret = solve(l, &st);
	if (!ret && !coll_comm_rank(l->comm))
		print_result(l, &st);
	free(l->lambda);
	free(l->beta);
	free(l->mean);
	free(l->gamma);
	free(l->theta);
	coll_csv_free(&l->csv);
	return ret;
}

int main(int argc, char **argv)
{
	struct lda l = { .k = 4, .alpha = 0.1, .eta = 0.01, .max_iters = 100, .seed = 1,
			 .tolerance = 1e-3 };
	int c, ret, bad = 0;

	while ((c = getopt(argc, argv, "k:a:e:i:s:t:")) != -1) {
		switch (c) {
		case 'k': bad |= learn_u32(optarg, &l.k); break;
		case 'a': bad |= learn_real(optarg, &l.alpha); break;
		case 'e': bad |= learn_real(optarg, &l.eta); break;
		case 'i': bad |= learn_u64(optarg, &l.max_iters); break;
		case 's': bad |= learn_u64(optarg, &l.seed); break;
		case 't': bad |= learn_real(optarg, &l.tolerance); break;
		default: bad = 1;
		}
	}
	if (bad || optind != argc - 1 || !l.k || l.k > 1000 || !(l.alpha > 0) || !(l.eta > 0)) {
		fprintf(stderr, "usage: lda [-k TOPICS] [-a ALPHA] [-e ETA] [-i ITERATIONS]\n"
			"       [-s SEED] [-t TOLERANCE] FILE\n");
		return 2;
	}
	l.comm = learn_init(me);
	if (!l.comm)
		return 1;
	ret = run(&l, argv[optind]);
	coll_finalize(l.comm);
	return ret ? 1 : 0;
}
