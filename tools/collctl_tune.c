// SPDX-License-Identifier: GPL-2.0
/*
 * collctl tune: as a rank of a job, measure and keep the tables in a file; with the
 * arguments of collrun, start such a job on this machine. collctl tables: what a file has.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coll/coll.h>

#include "collctl.h"
#include "optable.h"
#include "select/select_env.h"
#include "select/select_file.h"

#define SECONDS		20
#define MAX_SECONDS	3600

static void print_row(uint32_t what, const struct coll_select_row *row)
{
	char name[SELECT_NAME];

	if (row->bytes == UINT64_MAX)
		printf(" then");
	else
		printf(" up to %llu bytes", (unsigned long long)row->bytes);
	printf(" %s", select_name(what, row->algorithm, name));
	if (row->segment)
		printf(" in segments of %u", row->segment);
}

/* Describe one file of tables, for people. */
int collctl_tables(const char *path)
{
	struct select_file f;
	uint32_t i, c, k;
	int ret = select_file_read(&f, path);

	if (ret == -EINVAL)
		fprintf(stderr, "%s:%u: %s\n", path, f.line, f.what);
	else if (ret)
		fprintf(stderr, "%s: %s\n", path, strerror(-ret));
	for (i = 0; !ret && i < f.nr; i++) {
		const struct select_set *set = &f.sets[i];

		printf("line %u: %u ranks on %u %s\n", set->line, set->key.ranks, set->key.nodes,
		       set->key.any ? "nodes, whichever" : "nodes of their own");
		for (c = 1; c < COLL_NR_COLLECTIVES; c++) {
			const struct select_table *t = &set->tables.of[c];

			for (k = 0; k < t->nr; k++) {
				if (k)
					putchar(',');
				else
					printf("  %s:", coll_collective_name(c));
				print_row(c, &t->rows[k]);
			}
			if (t->nr)
				putchar('\n');
		}
	}
	select_file_free(&f);
	return ret != 0;
}

static void print_choices(const coll_comm_t *comm)
{
	struct coll_select_row row;
	uint64_t bytes;
	uint32_t c;

	for (c = 1; c < COLL_NR_COLLECTIVES; c++) {
		if (coll_comm_choice(comm, (enum coll_collective)c, 0, &row))
			continue;
		printf("  %s:", coll_collective_name(c));
		print_row(c, &row);
		while (row.bytes != UINT64_MAX) {
			bytes = row.bytes + 1;
			coll_comm_choice(comm, (enum coll_collective)c, bytes, &row);
			putchar(',');
			print_row(c, &row);
		}
		putchar('\n');
	}
}

static int fail(const char *what, int err, const char *details)
{
	const char *rank = getenv("COLL_RANK");

	fprintf(stderr, "collctl: ");
	if (rank)
		fprintf(stderr, "rank %s: ", rank);
	fprintf(stderr, "%s: %s%s%s\n", what, coll_strerror(err), *details ? "; " : "", details);
	return 1;
}

/* Rank 0: can the tables be saved in the end? Measuring takes long. Return: an errno. */
static int32_t check_file(const char *path)
{
	struct select_file f;
	char *copy;
	int ret;

	if (!access(path, F_OK)) {
		ret = select_file_read(&f, path);
		/* An empty file has no tables yet. */
		if (ret == -EINVAL && f.text && !f.len)
			ret = 0;
		select_file_free(&f);
		if (ret)
			return -ret;
	}
	copy = strdup(path);
	ret = !copy ? ENOMEM : access(dirname(copy), W_OK | X_OK) ? errno : 0;
	free(copy);
	return ret;
}

static void report(const char *path, int ret)
{
	if (ret == -EINVAL)
		collctl_tables(path);
	else if (ret)
		fprintf(stderr, "collctl: %s: %s\n", path, strerror(-ret));
}

/* The same on all ranks, as rank 0 finds it. */
static bool check_on_all(coll_comm_t *comm, const char *path)
{
	int32_t err = coll_comm_rank(comm) ? 0 : check_file(path);
	int ret = coll_broadcast(comm, &err, 1, COLL_I32, 0);

	if (ret)
		fail("coll_broadcast", ret, "");
	else if (err && !coll_comm_rank(comm))
		report(path, -err);
	return !ret && !err;
}

/* One rank of the job. */
static int tune_rank(const char *path, uint32_t seconds)
{
	coll_comm_t *comm;
	int ret;

	/* Choose by the cost model, not by a file of tables: this rank will write the file. */
	setenv("COLL_SELECT", "model", 1);
	ret = coll_init(NULL, &comm);
	if (ret)
		return fail("coll_init", ret, coll_last_error());
	if (coll_comm_size(comm) == 1) {
		fputs("collctl: one rank alone has nothing to choose: have tune started by a launcher, "
		      "or\ngive the arguments of collrun: collctl tune -o FILE -- -n RANKS --nodes N\n",
		      stderr);
		coll_finalize(comm);
		return 2;
	}
	if (!check_on_all(comm, path)) {
		coll_finalize(comm);
		return 1;
	}
	ret = coll_comm_tune(comm, seconds * 1000);
	if (ret) {
		fail("coll_comm_tune", ret, "");
	} else if (!coll_comm_rank(comm)) {
		ret = coll_comm_save_tables(comm, path);
		report(path, ret);
		if (!ret) {
			printf("%s: tables of %u ranks on %u nodes\n", path, coll_comm_size(comm),
			       coll_comm_nodes(comm));
			print_choices(comm);
		}
	}
	coll_finalize(comm);
	return ret != 0;
}

/* Path of a program in the directory of this one. Return: 0, -1 on errors. */
static int neighbour(const char *name, char *self, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", self, size - 1);
	char *slash;

	if (n < 0)
		return -1;
	self[n] = 0;
	slash = strrchr(self, '/');
	return !slash || (size_t)snprintf(path, size, "%.*s/%s", (int)(slash - self), self, name) >=
	       size ? -1 : 0;
}

/* collrun @args.. collctl tune -o FILE -t SECONDS */
static int launch(const char *file, uint32_t seconds, int nr, char **args)
{
	char self[PATH_MAX], collrun[PATH_MAX], time[16];
	char **argv = calloc((size_t)nr + 8, sizeof(*argv));
	int i, n = 0;

	if (!argv || neighbour("collrun", self, collrun, sizeof(self))) {
		fprintf(stderr, "collctl: collrun is not in the directory of collctl\n");
		return 1;
	}
	snprintf(time, sizeof(time), "%u", seconds);
	argv[n++] = collrun;
	for (i = 0; i < nr; i++)
		argv[n++] = args[i];
	argv[n++] = self;
	argv[n++] = (char *)"tune";
	argv[n++] = (char *)"-o";
	argv[n++] = (char *)file;
	argv[n++] = (char *)"-t";
	argv[n++] = time;
	execv(collrun, argv);
	fprintf(stderr, "collctl: %s: %s\n", collrun, strerror(errno));
	free(argv);
	return 1;
}

int collctl_tune(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "time", required_argument, NULL, 't' },
		{ 0 },
	};
	const char *file = NULL;
	unsigned long seconds = SECONDS;
	char *end;
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "+o:t:", longs, NULL)) != -1) {
		if (c == 'o') {
			file = optarg;
		} else if (c == 't') {
			seconds = strtoul(optarg, &end, 10);
			if (end == optarg || *end || !seconds || seconds > MAX_SECONDS)
				return -1;
		} else {
			return -1;
		}
	}
	if (!file)
		return -1;
	if (optind < argc)
		return launch(file, (uint32_t)seconds, argc - optind, argv + optind);
	return tune_rank(file, (uint32_t)seconds);
}
