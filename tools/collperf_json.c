// SPDX-License-Identifier: GPL-2.0
/* The same as JSON: one object, with an array of sizes. */
#include "collperf_show.h"
#include "optable.h"

static const char *yes(bool is)
{
	return is ? "true" : "false";
}

static void print_options(const struct show *s)
{
	const struct perf_options *o = s->opt;
	static const char *const shown[NR_TIMES] = { "rank0", "mean", "min", "max" };

	fprintf(s->json, "  \"iterations\": %d,\n  \"warmup\": %d,\n  \"aggregate\": %d,\n",
		o->iters, o->warmup, o->aggregate);
	fprintf(s->json, "  \"check\": %s,\n  \"registered\": %s,\n  \"narrow\": %s,\n",
		yes(o->check), yes(o->registered), yes(o->narrow));
	fprintf(s->json, "  \"ioctl\": %s,\n  \"persistent\": %s,\n", yes(o->ioctl),
		yes(o->persistent));
	/* null: what the tables of the communicator say */
	if (o->algorithm)
		fprintf(s->json, "  \"algorithm\": \"%s\",\n", o->name);
	else
		fputs("  \"algorithm\": null,\n", s->json);
	if (o->segment)
		fprintf(s->json, "  \"segment\": %llu,\n", (unsigned long long)o->segment);
	else
		fputs("  \"segment\": null,\n", s->json);
	fprintf(s->json, "  \"bandwidth_of\": \"%s\",\n", shown[o->shown]);
}

static void print_begin(const struct show *s)
{
	fprintf(s->json, "{\n  \"version\": 1,\n  \"collective\": \"%s\",\n",
		coll_collective_name(s->opt->what));
	fprintf(s->json, "  \"ranks\": %u,\n  \"nodes\": %u,\n  \"reductions\": \"%s\",\n",
		coll_comm_size(s->comm), coll_comm_nodes(s->comm), s->simd);
	fprintf(s->json, "  \"kernel_path\": \"%s\",\n  \"shared_memory_limit\": %llu,\n",
		path_name(path_kernel(s->comm, s->opt->ioctl)),
		(unsigned long long)path_shm_limit(s->comm, s->opt->what));
	fprintf(s->json, "  \"clock\": \"%s\",\n", perf_clock_name());
	print_options(s);
	fputs("  \"results\": [", s->json);
}

static void print_figures(const struct show *s, const struct perf_row *row, const char *name,
			  const struct perf_figures *f)
{
	double us = f->us[s->opt->shown], bw = us > 0 ? (double)row->bytes / us / 1e3 : 0;

	if (!f->measured) {
		fprintf(s->json, ",\n      \"%s\": null", name);
		return;
	}
	fprintf(s->json, ",\n      \"%s\": { \"path\": \"%s\", \"rank0_us\": %.3f, \"min_us\": %.3f, "
		"\"mean_us\": %.3f, \"max_us\": %.3f, \"algbw\": %.6g, \"busbw\": %.6g, ", name,
		path_name(f->path), f->us[TIME_RANK0], f->us[TIME_MIN], f->us[TIME_MEAN],
		f->us[TIME_MAX], bw, bw * show_factor(s));
	if (s->opt->check)
		fprintf(s->json, "\"wrong\": %llu }", (unsigned long long)f->wrong);
	else
		fputs("\"wrong\": null }", s->json);
}

void show_json(const struct show *s, const struct perf_row *row)
{
	if (!s->rows)
		print_begin(s);
	fprintf(s->json, "%s\n    { \"cycle\": %d, \"size\": %llu, \"count\": %llu, \"type\": \"%s\", "
		"\"op\": \"%s\", \"root\": %d", s->rows ? "," : "", row->cycle,
		(unsigned long long)row->bytes, (unsigned long long)row->count,
		row->dtype ? coll_dtype_name(row->dtype) : "none", coll_op_name(row->op),
		shape_is_rooted(s->opt->what) ? (int)s->opt->root : -1);
	print_figures(s, row, "out_of_place", &row->at[OUT_OF_PLACE]);
	print_figures(s, row, "in_place", &row->at[IN_PLACE]);
	fputs(" }", s->json);
}

void show_json_end(const struct show *s)
{
	if (!s->rows)
		print_begin(s);
	fputs("\n  ],\n", s->json);
	if (s->opt->check)
		fprintf(s->json, "  \"wrong\": %llu,\n", (unsigned long long)s->wrong);
	fprintf(s->json, "  \"average_busbw\": %.6g\n}\n", s->figures ? s->bus / s->figures : 0);
}
