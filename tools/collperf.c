// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collperf.h"
#include "optable.h"

static void usage(FILE *f)
{
	fputs("usage: collrun -n RANKS collperf allreduce|broadcast|barrier [OPTIONS]\n\n"
	      "  -b, --minbytes SIZE   first size (8); suffixes K, M, G\n"
	      "  -e, --maxbytes SIZE   last size at most (8M)\n"
	      "  -f, --stepfactor F    from one size to the next (4)\n"
	      "  -d, --datatype TYPE   i32 i64 u32 u64 f32 f64 (f32)\n"
	      "  -o, --op OP           sum prod min max (sum)\n"
	      "  -r, --root RANK       of broadcast (0)\n"
	      "  -n, --iters N         timed iterations (20)\n"
	      "  -w, --warmup_iters N  iterations before (5)\n"
	      "  -c, --check           check every element of every iteration\n"
	      "      --ioctl           blocking calls (default: nonblocking by io_uring)\n"
	      "      --inplace         input and output in one buffer\n"
	      "      --registered      register the buffers first\n\n"
	      "Exit status: 0; 1 wrong elements; 2 errors.\n", f);
}

static int parse_size(const char *s, uint64_t *out)
{
	unsigned long long v;
	char *end;
	int shift = 0;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || end == s || *s == '-')
		return -1;
	switch (*end) {
	case 'G': case 'g': shift += 10; /* fall through */
	case 'M': case 'm': shift += 10; /* fall through */
	case 'K': case 'k': shift += 10; end++; break;
	}
	if (*end || v > UINT64_MAX >> (shift + 1))
		return -1;
	*out = (uint64_t)v << shift;
	return 0;
}

static int parse_int(const char *s, int min, int *out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < min || v > 100000000)
		return -1;
	*out = (int)v;
	return 0;
}

/* A name of one of the tables of optable.h. */
static int parse_name(const char *s, const char *(*name)(uint32_t), uint32_t nr, uint32_t *out)
{
	uint32_t i;

	for (i = 1; i < nr; i++) {
		if (name(i) && !strcmp(name(i), s)) {
			*out = i;
			return 0;
		}
	}
	return -1;
}

enum { OPT_IOCTL = 256, OPT_INPLACE, OPT_REGISTERED };

static int take_option(struct perf_options *o, int c)
{
	uint32_t v;
	char *end;
	int n;

	switch (c) {
	case 'b': return parse_size(optarg, &o->min);
	case 'e': return parse_size(optarg, &o->max);
	case 'f':
		o->factor = strtod(optarg, &end);
		return *end || !(o->factor > 1 && o->factor < 1e9) ? -1 : 0;
	case 'd':
		if (parse_name(optarg, coll_dtype_name, COLL_NR_DTYPES, &v))
			return -1;
		o->dtype = (enum coll_dtype)v;
		return data_supported(o->dtype) ? 0 : -1;
	case 'o':
		if (parse_name(optarg, coll_op_name, COLL_NR_OPS, &v))
			return -1;
		o->op = (enum coll_op_code)v;
		return v >= COLL_OP_SUM && v <= COLL_OP_MAX ? 0 : -1;
	case 'r':
		if (parse_int(optarg, 0, &n))
			return -1;
		o->root = (uint32_t)n;
		return 0;
	case 'n': return parse_int(optarg, 1, &o->iters);
	case 'w': return parse_int(optarg, 0, &o->warmup);
	case 'c': o->check = true; return 0;
	case OPT_IOCTL: o->ioctl = true; return 0;
	case OPT_INPLACE: o->inplace = true; return 0;
	case OPT_REGISTERED: o->registered = true; return 0;
	default: return -1;
	}
}

static int parse_options(struct perf_options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "minbytes", required_argument, NULL, 'b' },
		{ "maxbytes", required_argument, NULL, 'e' },
		{ "stepfactor", required_argument, NULL, 'f' },
		{ "datatype", required_argument, NULL, 'd' },
		{ "op", required_argument, NULL, 'o' },
		{ "root", required_argument, NULL, 'r' },
		{ "iters", required_argument, NULL, 'n' },
		{ "warmup_iters", required_argument, NULL, 'w' },
		{ "check", no_argument, NULL, 'c' },
		{ "ioctl", no_argument, NULL, OPT_IOCTL },
		{ "inplace", no_argument, NULL, OPT_INPLACE },
		{ "registered", no_argument, NULL, OPT_REGISTERED },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "b:e:f:d:o:r:n:w:ch", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			exit(0);
		}
		if (take_option(o, c)) {
			if (c != '?')
				fprintf(stderr, "collperf: bad argument \"%s\"\n", optarg);
			return -1;
		}
	}
	if (optind != argc - 1) {
		fprintf(stderr, "collperf: name one collective\n");
		return -1;
	}
	return 0;
}

static int parse(struct perf_options *o, int argc, char **argv)
{
	uint32_t what;

	if (parse_options(o, argc, argv))
		return -1;
	if (parse_name(argv[optind], coll_collective_name, COLL_NR_COLLECTIVES, &what) ||
	    (what != COLL_ALLREDUCE && what != COLL_BROADCAST && what != COLL_BARRIER)) {
		fprintf(stderr, "collperf: unknown collective \"%s\"\n", argv[optind]);
		return -1;
	}
	o->what = (enum coll_collective)what;
	if (o->what != COLL_ALLREDUCE)
		o->op = COLL_OP_NONE;
	if (o->what == COLL_BARRIER)
		o->min = o->max = 0;
	if (o->min > o->max) {
		fprintf(stderr, "collperf: -b is larger than -e\n");
		return -1;
	}
	o->elem = coll_dtype_size(o->dtype);
	return 0;
}

int main(int argc, char **argv)
{
	struct perf_options opt = {
		.dtype = COLL_F32, .op = COLL_OP_SUM, .min = 8, .max = 8 << 20,
		.factor = 4, .iters = 20, .warmup = 5,
	};
	coll_comm_t *comm;
	int ret;

	if (parse(&opt, argc, argv)) {
		usage(stderr);
		return 2;
	}
	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "collperf: %s: %s\n", getenv("COLL_RANK") ? getenv("COLL_RANK") :
			"alone", coll_strerror(ret));
		return 2;
	}
	if (opt.root >= coll_comm_size(comm)) {
		fprintf(stderr, "collperf: there is no rank %u\n", opt.root);
		ret = 2;
	} else {
		ret = perf_run(comm, &opt);
	}
	coll_finalize(comm);
	return ret;
}
