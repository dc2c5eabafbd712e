// SPDX-License-Identifier: GPL-2.0
/*
 * usage: reference kmeans|gd|sgd|optimum|gbdt|lda ... FILE
 *
 * The numbers that the examples should print, from a single process. Tables, k-means and
 * the choice are here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

void *room(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "reference: out of memory\n");
		exit(1);
	}
	return p;
}

struct table read_table(const char *path)
{
	static char line[1 << 16];
	struct table t = { 0 };
	FILE *f = fopen(path, "r");
	size_t have = 0, n = 0;
	char *s, *end;

	if (!f || !fgets(line, sizeof(line), f)) {
		fprintf(stderr, "reference: cannot read %s\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		for (s = line; *s && *s != '\n'; s = *end == ',' ? end + 1 : end) {
			if (n == have) {
				have = have ? 2 * have : 1024;
				t.x = realloc(t.x, have * sizeof(*t.x));
				if (!t.x)
					exit(1);
			}
			t.x[n++] = strtod(s, &end);
			if (end == s)
				exit(1);
		}
		t.rows++;
	}
	fclose(f);
	t.columns = t.rows ? n / t.rows : 0;
	return t;
}

double draw_unit(unsigned long long seed, unsigned long long a, unsigned long long b)
{
	unsigned long long z = seed + 0x9e3779b97f4a7c15ULL * (a + 1) + 0xd1b54a32d192ed03ULL * b;

	z ^= z >> 30;
	z *= 0xbf58476d1ce4e5b9ULL;
	z ^= z >> 27;
	z *= 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return ldexp((double)(z >> 11), -53);
}

void standard(struct table *t, double **y)
{
	size_t i, j, n = t->columns;

	*y = room(t->rows, sizeof(double));
	for (i = 0; i < t->rows; i++) {
		(*y)[i] = t->x[i * n + n - 1];
		t->x[i * n + n - 1] = 1;
	}
	for (j = 0; j + 1 < n; j++) {
		long double mean = 0, var = 0;

		for (i = 0; i < t->rows; i++)
			mean += t->x[i * n + j];
		mean /= t->rows;
		for (i = 0; i < t->rows; i++)
			var += (t->x[i * n + j] - mean) * (t->x[i * n + j] - mean);
		var = sqrtl(var / t->rows);
		for (i = 0; i < t->rows; i++)
			t->x[i * n + j] = (double)((t->x[i * n + j] - mean) / (var > 0 ? var : 1));
	}
}

/* --- k-means, from the rows that the example begins with --- */

static void first_rows(size_t rows, int k, size_t *chosen)
{
	unsigned int state = 2654435761U + 1;
	int i, j;

	for (i = 0; i < k; i++) {
again:
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;
		chosen[i] = state % rows;
		for (j = 0; j < i; j++)
			if (chosen[j] == chosen[i])
				goto again;
	}
}

static double distance(const double *a, const double *b, size_t n)
{
	double sum = 0;

	while (n--)
		sum += (a[n] - b[n]) * (a[n] - b[n]);
	return sum;
}

/* Lloyd's algorithm: until no row changes its centroid. */
int reference_kmeans(int argc, char **argv)
{
	struct table t = read_table(argv[argc - 1]);
	size_t n = t.columns - 1, i, j, size;
	int k = 3, c, best, *of = room(t.rows, sizeof(*of)), changed = 1, rounds = 0;
	size_t *chosen = room((size_t)k, sizeof(*chosen));
	double *centroid = room((size_t)k * n, sizeof(*centroid)), inertia;

	first_rows(t.rows, k, chosen);
	for (c = 0; c < k; c++)
		memcpy(centroid + (size_t)c * n, t.x + chosen[c] * t.columns, n * sizeof(double));
	for (i = 0; i < t.rows; i++)
		of[i] = -1;
	for (; changed; rounds++) {
		changed = 0;
		inertia = 0;
		for (i = 0; i < t.rows; i++) {
			for (c = 1, best = 0; c < k; c++)
				if (distance(t.x + i * t.columns, centroid + (size_t)c * n, n) <
				    distance(t.x + i * t.columns, centroid + (size_t)best * n, n))
					best = c;
			inertia += distance(t.x + i * t.columns, centroid + (size_t)best * n, n);
			changed |= of[i] != best;
			of[i] = best;
		}
		for (c = 0; c < k; c++)
			for (j = 0; j < n; j++) {
				double sum = 0;

				for (i = 0, size = 0; i < t.rows; i++)
					if (of[i] == c) {
						sum += t.x[i * t.columns + j];
						size++;
					}
				if (size)
					centroid[(size_t)c * n + j] = sum / (double)size;
			}
	}
	printf("iterations %d\n", rounds);
	for (c = 0; c < k; c++) {
		printf("centroid %d:", c);
		for (j = 0; j < n; j++)
			printf(" %.6f", centroid[(size_t)c * n + j]);
		for (i = 0, size = 0; i < t.rows; i++)
			size += of[i] == c;
		printf("  size %zu\n", size);
	}
	printf("inertia %.6f\n", inertia);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int ret = 2;

	if (!strcmp(what, "kmeans"))
		ret = reference_kmeans(argc - 1, argv + 1);
	else if (!strcmp(what, "gd") || !strcmp(what, "sgd") || !strcmp(what, "optimum"))
		ret = reference_regress(argc - 1, argv + 1);
	else if (!strcmp(what, "gbdt"))
		ret = reference_trees(argc - 1, argv + 1);
	else if (!strcmp(what, "lda"))
		ret = reference_topics(argc - 1, argv + 1);
	if (ret == 2)
		fprintf(stderr,
			"usage: reference kmeans FILE\n"
			"       reference gd|sgd logistic|linear L2 RATE SHARE ITERATIONS FILE\n"
			"       reference optimum logistic|linear L1 L2 FILE\n"
			"       reference gbdt TREES DEPTH FILE\n"
			"       reference lda TOPICS ITERATIONS FILE\n");
	return ret;
}
