// SPDX-License-Identifier: GPL-2.0
/*
 * Trees without histograms: each possible split of a node is tried by going through all rows.
 * Topics by the textbook's update of phi, one document and one word after the other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

#define BINS	32

/**
 * struct forest - data of the trees
 * @row_bin: rows x features; @where: node of each row
 */
struct forest {
	struct table t;
	size_t features;
	int *row_bin, *where;
	double *score, *g, *h;
};

static void bins(struct forest *f)
{
	size_t i, j, n = f->t.columns;

	for (j = 0; j < f->features; j++) {
		double least = INFINITY, most = -INFINITY;

		for (i = 0; i < f->t.rows; i++) {
			least = fmin(least, f->t.x[i * n + j]);
			most = fmax(most, f->t.x[i * n + j]);
		}
		for (i = 0; i < f->t.rows; i++) {
			int b = (int)floor((f->t.x[i * n + j] - least) / (most - least) * BINS);

			f->row_bin[i * f->features + j] = b < BINS ? b : BINS - 1;
		}
	}
}

static double worth(double g, double h)
{
	return g * g / (h + 1);
}

/* The gain of a split of @node; 0: it is not allowed. */
static double try_split(const struct forest *f, int node, size_t feature, int bin)
{
	double lg = 0, lh = 0, rg = 0, rh = 0;
	size_t i;

	for (i = 0; i < f->t.rows; i++) {
		if (f->where[i] != node)
			continue;
		if (f->row_bin[i * f->features + feature] <= bin) {
			lg += f->g[i];
			lh += f->h[i];
		} else {
			rg += f->g[i];
			rh += f->h[i];
		}
	}
	return lh < 1 || rh < 1 ? 0 : worth(lg, lh) + worth(rg, rh) - worth(lg + rg, lh + rh);
}

/* Return: 1: the node is split; 0: no split is worth it, it is a leaf. */
static int split_node(struct forest *f, int tree, int node)
{
	double best = 1e-9;
	size_t j, i, feature = f->features;
	int b, bin = 0;

	for (j = 0; j < f->features; j++)
		for (b = 0; b + 1 < BINS; b++) {
			double v = try_split(f, node, j, b);

			if (v > best + 1e-9) {
				best = v;
				feature = j;
				bin = b;
			}
		}
	if (feature == f->features)
		return 0;
	printf("tree %d node %d feature %zu bin %d\n", tree, node, feature, bin);
	for (i = 0; i < f->t.rows; i++)
		if (f->where[i] == node)
			f->where[i] = 2 * node + 1 + (f->row_bin[i * f->features + feature] > bin);
	return 1;
}

static void leaf(struct forest *f, int tree, int node, double *value)
{
	double g = 0, h = 0;
	size_t i;

	for (i = 0; i < f->t.rows; i++)
		if (f->where[i] == node) {
			g += f->g[i];
			h += f->h[i];
		}
	*value = -g / (h + 1) * 0.3;
	if (h > 0)
		printf("tree %d leaf %d value %.12g\n", tree, node, *value);
}

static double gradients(struct forest *f)
{
	double loss = 0;
	size_t i;

	for (i = 0; i < f->t.rows; i++) {
		double y = f->t.x[i * f->t.columns + f->features];
		double p = 1 / (1 + exp(-f->score[i]));

		loss -= y > 0.5 ? log(p) : log(1 - p);
		f->g[i] = p - y;
		f->h[i] = p * (1 - p);
	}
	return loss / (double)f->t.rows;
}

int reference_trees(int argc, char **argv)
{
	struct forest f = { 0 };
	int trees, depth, tree, node, all;
	size_t i, right = 0;
	double *value, loss = 0;

	if (argc != 4)
		return 2;
	trees = atoi(argv[1]);
	depth = atoi(argv[2]);
	all = (2 << depth) - 1;
	f.t = read_table(argv[3]);
	f.features = f.t.columns - 1;
	f.row_bin = room(f.t.rows * f.features, sizeof(int));
	f.where = room(f.t.rows, sizeof(int));
	f.score = room(f.t.rows, sizeof(double));
	f.g = room(f.t.rows, sizeof(double));
	f.h = room(f.t.rows, sizeof(double));
	value = room((size_t)all, sizeof(double));
	bins(&f);
	for (tree = 0; tree < trees; tree++) {
		memset(f.where, 0, f.t.rows * sizeof(int));
		loss = gradients(&f);
		for (node = 0; node < all; node++)
			if (node >= (1 << depth) - 1 || !split_node(&f, tree, node))
				leaf(&f, tree, node, &value[node]);
		for (i = 0; i < f.t.rows; i++)
			f.score[i] += value[f.where[i]];
	}
	for (i = 0; i < f.t.rows; i++)
		right += (f.score[i] > 0) == (f.t.x[i * f.t.columns + f.features] > 0.5);
	printf("loss %.12g\nright %zu of %zu\n", loss, right, f.t.rows);
	return 0;
}

/* --- topics --- */

/* The derivative of log gamma: by differences of lgamma's asymptotic series far out. */
static double psi(double x)
{
	double sum = 0;

	while (x < 30) {
		sum -= 1 / x;
		x += 1;
	}
	return sum + log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * pow(x, 4)) -
	       1 / (252 * pow(x, 6));
}

/**
 * struct topics - the model
 * @lambda: of topics and words; @next: the one that comes
 * @gamma: of a document
 */
struct topics {
	struct table t;
	int k;
	double *lambda, *next, *gamma;
};

/* One document: 30 rounds, then its share of the next topics. Returns its fit. */
static double document(struct topics *m, const double *count, double *e_beta, const double *mean)
{
	size_t words = m->t.columns, v;
	double *theta = room((size_t)m->k, sizeof(*theta)), *g = room((size_t)m->k, sizeof(*g));
	double *phi = room((size_t)m->k, sizeof(*phi)), fit = 0, all;
	int round, k;

	for (k = 0; k < m->k; k++)
		m->gamma[k] = 1;
	for (round = 0; round <= 30; round++) {
		for (k = 0, all = 0; k < m->k; k++)
			all += m->gamma[k];
		for (k = 0; k < m->k; k++) {
			theta[k] = psi(m->gamma[k]) - psi(all);
			g[k] = 0.1;
		}
		for (v = 0; v < words; v++) {
			double norm = 0;

			for (k = 0; k < m->k; k++) {
				phi[k] = exp(theta[k] + e_beta[(size_t)k * words + v]);
				norm += phi[k];
			}
			for (k = 0; k < m->k; k++) {
				if (round < 30)
					g[k] += count[v] * phi[k] / norm;
				else
					m->next[(size_t)k * words + v] += count[v] * phi[k] / norm;
			}
		}
		if (round < 30)
			memcpy(m->gamma, g, (size_t)m->k * sizeof(*g));
	}
	for (k = 0, all = 0; k < m->k; k++)
		all += m->gamma[k];
	for (v = 0; v < words; v++) {
		double p = 0;

		for (k = 0; k < m->k; k++)
			p += m->gamma[k] / all * mean[(size_t)k * words + v];
		fit += count[v] ? count[v] * log(p) : 0;
	}
	free(theta);
	free(g);
	free(phi);
	return fit;
}

static double pass(struct topics *m, double *e_beta, double *mean)
{
	size_t words = m->t.columns, v, d;
	double fit = 0, total = 0;
	int k;

	for (k = 0; k < m->k; k++) {
		double sum = 0;

		for (v = 0; v < words; v++)
			sum += m->lambda[(size_t)k * words + v];
		for (v = 0; v < words; v++) {
			size_t at = (size_t)k * words + v;

			e_beta[at] = psi(m->lambda[at]) - psi(sum);
			mean[at] = m->lambda[at] / sum;
			m->next[at] = 0.01;
		}
	}
	for (d = 0; d < m->t.rows; d++) {
		fit += document(m, m->t.x + d * words, e_beta, mean);
		for (v = 0; v < words; v++)
			total += m->t.x[d * words + v];
	}
	memcpy(m->lambda, m->next, (size_t)m->k * words * sizeof(double));
	return exp(-fit / total);
}

int reference_topics(int argc, char **argv)
{
	struct topics m;
	double *e_beta, *mean, perplexity = 0;
	size_t n, v;
	int i, k, iterations;

	if (argc != 4)
		return 2;
	m.k = atoi(argv[1]);
	iterations = atoi(argv[2]);
	m.t = read_table(argv[3]);
	n = (size_t)m.k * m.t.columns;
	m.lambda = room(n, sizeof(double));
	m.next = room(n, sizeof(double));
	m.gamma = room((size_t)m.k, sizeof(double));
	e_beta = room(n, sizeof(double));
	mean = room(n, sizeof(double));
	for (v = 0; v < n; v++)
		m.lambda[v] = 1 + draw_unit(1, v / m.t.columns, v % m.t.columns);
	for (i = 0; i < iterations; i++)
		perplexity = pass(&m, e_beta, mean);
	printf("iterations %d\nperplexity %.12g\n", iterations, perplexity);
	for (k = 0; k < m.k; k++) {
		printf("topic %d", k);
		for (v = 0; v < m.t.columns; v++)
			printf(" %.10g", m.lambda[(size_t)k * m.t.columns + v]);
		printf("\n");
	}
	return 0;
}
