/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The expected results of the examples, computed by one process and other means. Nothing here
 * uses coll, or code of the examples: a fault of theirs must not be here as well.
 */
#ifndef EXAMPLES_REFERENCE_H
#define EXAMPLES_REFERENCE_H

#include <stddef.h>

/* A table whose first line is a header; ends the process if there is none. */
struct table {
	size_t rows, columns;
	double *x;
};

struct table read_table(const char *path);
/* Features with mean 0 and variance 1, and a last column of 1; @y: the last column. */
void standard(struct table *t, double **y);
void *room(size_t n, size_t size);
/* The draws that sgd and lda ask for. */
double draw_unit(unsigned long long seed, unsigned long long a, unsigned long long b);

/* Each: arguments from the name of the algorithm on, then the file. 0, or 2: usage. */
int reference_regress(int argc, char **argv);
int reference_trees(int argc, char **argv);
int reference_topics(int argc, char **argv);
int reference_kmeans(int argc, char **argv);

#endif
