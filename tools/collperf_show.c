// SPDX-License-Identifier: GPL-2.0
/* The head and the end of what is printed, and the table in between. */
#include <errno.h>
#include <string.h>

#include "collperf_show.h"
#include "optable.h"

static bool is_table(const struct show *s)
{
	return !s->opt->json || strcmp(s->opt->json, "-");
}

static const char *const time_names[NR_TIMES] = {
	[TIME_RANK0]	= "rank 0",
	[TIME_MEAN]	= "the mean of the ranks",
	[TIME_MIN]	= "the fastest rank",
	[TIME_MAX]	= "the slowest rank",
};

/* Out of place, in place, or both beside each other. */
static const char *place_text(const struct perf_options *o)
{
	if (o->what == COLL_BROADCAST || o->what == COLL_BARRIER || o->what == COLL_SENDRECV)
		return "";
	if (o->places == 1U << IN_PLACE)
		return ", in place";
	return o->places == 1U << OUT_OF_PLACE ? ", out of place" : ", out of place and in place";
}

/* Print the path of the first row. The limit of shared memory is the same for all rows. */
static void print_path(const struct show *s, const struct perf_row *row)
{
	int place = row->at[OUT_OF_PLACE].measured ? OUT_OF_PLACE : IN_PLACE;
	enum perf_path first = row->at[place].path;

	printf("# path: ");
	if (first == PATH_SHM || first == PATH_MIXED)
		printf("shared memory, where a rank gives up to %llu B; else ",
		       (unsigned long long)path_shm_limit(s->comm, s->opt->what));
	puts(path_name(path_kernel(s->comm, s->opt->ioctl)));
	printf("# clock: %s\n", perf_clock_name());
}

static void print_what(const struct show *s)
{
	const struct perf_options *o = s->opt;
	const coll_comm_t *comm = s->comm;

	printf("# collperf %s: %u ranks on %u nodes%s%s%s, reductions by %s\n",
	       coll_collective_name(o->what), coll_comm_size(comm), coll_comm_nodes(comm),
	       place_text(o), o->registered ? ", registered buffers" : "",
	       o->narrow ? ", narrow" : "", s->simd);
}

static void print_how(const struct show *s)
{
	const struct perf_options *o = s->opt;

	printf("# %d iterations after %d to warm up", o->iters, o->warmup);
	if (o->aggregate > 1)
		printf(", each of %d ops started together; time: its share of an op", o->aggregate);
	if (o->what == COLL_SENDRECV)
		printf("; time: half of there and back, the median;\n#");
	else
		printf("; time: of each iteration %s,\n# of these the median;", time_names[o->shown]);
	printf(" a barrier before each. %s\n",
	       o->check ? "Every element of every iteration is checked." : "Nothing is checked.");
	if (o->what != COLL_BARRIER && o->what != COLL_SENDRECV && perf_pairs(o) > 1)
		printf("# %u pairs of type and operator\n", perf_pairs(o));
}

/* Two lines of heads over the columns of a place. */
static void print_heads(const struct show *s, bool units)
{
	const char *us = units ? "(us)" : "time", *bw = units ? "(GB/s)" : NULL;
	int place;

	for (place = 0; place < NR_PLACES; place++) {
		if (!(s->opt->places >> place & 1))
			continue;
		printf(" %11s", us);
		if (s->opt->minmax)
			printf(" %11s %11s %11s", units ? us : "min", units ? us : "mean",
			       units ? us : "max");
		printf(" %9s %9s %8s", bw ? bw : "algbw", bw ? bw : "busbw", units ? "" : "#wrong");
	}
	putchar('\n');
}

/* Print this with the first row: its path is not known before. */
static void print_head(const struct show *s, const struct perf_row *row)
{
	print_what(s);
	print_path(s, row);
	print_how(s);
	printf("# %10s %12s %6s %6s %6s", "size", "count", "type", "op", "root");
	print_heads(s, false);
	printf("# %10s %12s %6s %6s %6s", "(B)", "(elements)", "", "", "");
	print_heads(s, true);
}

static double bandwidth(const struct show *s, const struct perf_row *row,
			const struct perf_figures *f)
{
	double us = f->us[s->opt->shown];

	return us > 0 ? (double)row->bytes / us / 1e3 : 0;
}

static void print_figures(const struct show *s, const struct perf_row *row,
			  const struct perf_figures *f)
{
	double bw = bandwidth(s, row, f);
	char wrong[32] = "N/A";

	if (s->opt->check && s->opt->what != COLL_BARRIER)
		snprintf(wrong, sizeof(wrong), "%llu", (unsigned long long)f->wrong);
	printf(" %11.2f", f->us[s->opt->shown]);
	if (s->opt->minmax)
		printf(" %11.2f %11.2f %11.2f", f->us[TIME_MIN], f->us[TIME_MEAN],
		       f->us[TIME_MAX]);
	printf(" %9.3f %9.3f %8s", bw, bw * show_factor(s), wrong);
}

void show_table(const struct show *s, const struct perf_row *row)
{
	const struct perf_options *o = s->opt;
	char root[16] = "-1";
	int place;

	if (shape_is_rooted(o->what))
		snprintf(root, sizeof(root), "%u", o->root);
	printf("  %10llu %12llu %6s %6s %6s", (unsigned long long)row->bytes,
	       (unsigned long long)row->count,
	       row->dtype ? coll_dtype_name(row->dtype) : "none", coll_op_name(row->op), root);
	for (place = 0; place < NR_PLACES; place++)
		if (row->at[place].measured)
			print_figures(s, row, &row->at[place]);
	putchar('\n');
	fflush(stdout);
}

double show_factor(const struct show *s)
{
	/* A message goes over one link. */
	return s->opt->what == COLL_SENDRECV ? 1 :
	       shape_bus_factor(s->opt->what, coll_comm_size(s->comm));
}

static void count_path(struct show *s, enum perf_path path, uint64_t bytes)
{
	if (!s->seen[path] || bytes < s->least[path])
		s->least[path] = bytes;
	if (bytes > s->most[path])
		s->most[path] = bytes;
	s->seen[path]++;
}

static void add_up(struct show *s, const struct perf_row *row)
{
	int place;

	for (place = 0; place < NR_PLACES; place++) {
		const struct perf_figures *f = &row->at[place];

		if (!f->measured)
			continue;
		s->bus += bandwidth(s, row, f) * show_factor(s);
		s->figures++;
		s->wrong += f->wrong;
		count_path(s, f->path, row->bytes);
	}
}

bool show_begin(struct show *s, coll_comm_t *comm, const struct perf_options *opt)
{
	struct coll_version v = { 0 };

	*s = (struct show){ .comm = comm, .opt = opt };
	coll_device_version(comm, &v);
	snprintf(s->simd, sizeof(s->simd), "%.*s", (int)sizeof(v.simd), (const char *)v.simd);
	if (!opt->json)
		return true;
	s->json = is_table(s) ? fopen(opt->json, "we") : stdout;
	if (!s->json)
		fprintf(stderr, "collperf: %s: %s\n", opt->json, strerror(errno));
	return s->json;
}

void show_row(struct show *s, const struct perf_row *row)
{
	if (is_table(s)) {
		if (!s->rows)
			print_head(s, row);
		show_table(s, row);
	}
	if (s->json)
		show_json(s, row);
	add_up(s, row);
	s->rows++;
}

static void print_end(const struct show *s)
{
	int path, paths = 0;

	for (path = 0; path <= PATH_MIXED; path++)
		paths += !!s->seen[path];
	/* If there is only one path, the head has told it. */
	for (path = 0; paths > 1 && path <= PATH_MIXED; path++)
		if (s->seen[path])
			printf("# by %s: %u figures, %llu to %llu B\n",
			       path_name((enum perf_path)path), s->seen[path],
			       (unsigned long long)s->least[path],
			       (unsigned long long)s->most[path]);
	if (s->opt->check)
		printf("# wrong elements in all: %llu\n", (unsigned long long)s->wrong);
	if (s->opt->what != COLL_BARRIER && s->figures)
		printf("# Avg bus bandwidth    : %g\n", s->bus / s->figures);
}

bool show_end(struct show *s)
{
	bool well = true;

	if (is_table(s))
		print_end(s);
	if (!s->json)
		return true;
	show_json_end(s);
	if (fflush(s->json) || ferror(s->json))
		well = false;
	if (is_table(s) && fclose(s->json))
		well = false;
	if (!well)
		fprintf(stderr, "collperf: %s: could not be written\n", s->opt->json);
	return well;
}
