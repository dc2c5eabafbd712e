// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collperf.h"
#include "optable.h"
#include "select/select_env.h"

/* Names of what is defined with anything, as the one table has it. */
static void print_names(FILE *f, const char *title, const char *(*name)(uint32_t), uint32_t nr,
			bool (*defined)(uint32_t))
{
	uint32_t i;

	fputs(title, f);
	for (i = 1; i < nr; i++)
		if (defined(i))
			fprintf(f, " %s", name(i));
	fputc('\n', f);
}

static bool op_defined(uint32_t op)
{
	uint32_t i;

	for (i = 1; i < COLL_NR_DTYPES; i++)
		if (coll_op_defined(op, i))
			return true;
	return false;
}

static bool dtype_defined(uint32_t dtype)
{
	uint32_t i;

	for (i = 1; i < COLL_NR_OPS; i++)
		if (coll_op_defined(i, dtype))
			return true;
	return false;
}

static void usage(FILE *f)
{
	fputs("usage: collrun -n RANKS collperf allreduce|broadcast|barrier|sendrecv [OPTIONS]\n\n"
	      "  -b, --minbytes SIZE   first size (8); suffixes K, M, G\n"
	      "  -e, --maxbytes SIZE   last size at most (8M)\n"
	      "  -f, --stepfactor F    from one size to the next (4)\n"
	      "  -d, --datatype TYPE   name or \"all\" (f32), see below\n"
	      "  -o, --op OP           name or \"all\" (sum)\n"
	      "  -r, --root RANK       of broadcast (0)\n"
	      "  -A, --algorithm NAME  as collplan list has them (what the tables say); knomial:8\n"
	      "  -s, --segment SIZE    of pipelining; of a mesh, the size of a piece\n"
	      "  -n, --iters N         timed iterations (20)\n"
	      "  -w, --warmup_iters N  iterations before (5)\n"
	      "  -c, --check [N]       check every element of every iteration; 0: do not\n"
	      "      --ioctl           blocking calls (default: nonblocking by io_uring)\n"
	      "      --inplace         input and output in one buffer\n"
	      "      --registered      register the buffers first\n"
	      "      --narrow          partial results in the type of the elements\n\n"
	      "sendrecv: messages between rank 0 and the last one, there and back.\n"
	      "With \"all\", every pair of type and operator that is defined has its turn.\n", f);
	print_names(f, "Types:", coll_dtype_name, COLL_NR_DTYPES, dtype_defined);
	print_names(f, "Operators:", coll_op_name, COLL_NR_OPS, op_defined);
	fputs("\nExit status: 0; 1 wrong elements; 2 errors.\n", f);
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

/* The same as a bit, or all of them. */
static int parse_names(const char *s, const char *(*name)(uint32_t), uint32_t nr, uint64_t *out)
{
	uint32_t i;

	if (!strcmp(s, "all")) {
		*out = (1ULL << nr) - 2;
		return 0;
	}
	if (parse_name(s, name, nr, &i))
		return -1;
	*out = 1ULL << i;
	return 0;
}

enum { OPT_IOCTL = 256, OPT_INPLACE, OPT_REGISTERED, OPT_NARROW };

static int take_option(struct perf_options *o, int c)
{
	char *end;
	int n;

	switch (c) {
	case 'b': return parse_size(optarg, &o->min);
	case 'e': return parse_size(optarg, &o->max);
	case 'f':
		o->factor = strtod(optarg, &end);
		return *end || !(o->factor > 1 && o->factor < 1e9) ? -1 : 0;
	case 'd': return parse_names(optarg, coll_dtype_name, COLL_NR_DTYPES, &o->dtypes);
	case 'o': return parse_names(optarg, coll_op_name, COLL_NR_OPS, &o->ops);
	case 'r':
		if (parse_int(optarg, 0, &n))
			return -1;
		o->root = (uint32_t)n;
		return 0;
	case 'A': o->name = optarg; return 0;
	case 's': return parse_size(optarg, &o->segment);
	case 'n': return parse_int(optarg, 1, &o->iters);
	case 'w': return parse_int(optarg, 0, &o->warmup);
	case 'c': o->check = true; return 0;
	case OPT_IOCTL: o->ioctl = true; return 0;
	case OPT_INPLACE: o->inplace = true; return 0;
	case OPT_REGISTERED: o->registered = true; return 0;
	case OPT_NARROW: o->narrow = true; return 0;
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
		{ "algorithm", required_argument, NULL, 'A' },
		{ "segment", required_argument, NULL, 's' },
		{ "iters", required_argument, NULL, 'n' },
		{ "warmup_iters", required_argument, NULL, 'w' },
		{ "check", no_argument, NULL, 'c' },
		{ "ioctl", no_argument, NULL, OPT_IOCTL },
		{ "inplace", no_argument, NULL, OPT_INPLACE },
		{ "registered", no_argument, NULL, OPT_REGISTERED },
		{ "narrow", no_argument, NULL, OPT_NARROW },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, check;

	while ((c = getopt_long(argc, argv, "b:e:f:d:o:r:A:s:n:w:ch", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			exit(0);
		}
		/* As nccl-tests have it: "-c 0" and "-c 1". No collective begins with a digit. */
		if (c == 'c' && optind < argc && *argv[optind] >= '0' && *argv[optind] <= '9') {
			if (parse_int(argv[optind++], 0, &check))
				return -1;
			o->check = check;
			continue;
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

static const char *name_of(uint64_t bits, const char *(*name)(uint32_t))
{
	return bits & (bits - 1) ? NULL : name((uint32_t)__builtin_ctzll(bits));
}

/* Is there anything to do? */
static int check_pairs(const struct perf_options *o)
{
	const char *type = name_of(o->dtypes, coll_dtype_name);
	const char *op = name_of(o->ops, coll_op_name);

	if (perf_pairs(o))
		return 0;
	if (o->what == COLL_BROADCAST)
		fprintf(stderr, "collperf: %s has no size of its own\n", type);
	else
		fprintf(stderr, "collperf: %s is%s defined on %s\n", op ? op : "no operator",
			op ? " not" : "", type ? type : "any type");
	return -1;
}

static int parse_algorithm(struct perf_options *o)
{
	if (!o->name)
		return 0;
	o->algorithm = select_number(o->what, o->name);
	if (!o->algorithm)
		fprintf(stderr, "collperf: %s has no algorithm \"%s\"\n",
			coll_collective_name(o->what), o->name);
	return o->algorithm ? 0 : -1;
}

static int parse(struct perf_options *o, int argc, char **argv)
{
	uint32_t what;

	if (parse_options(o, argc, argv))
		return -1;
	if (parse_name(argv[optind], coll_collective_name, COLL_NR_COLLECTIVES, &what) ||
	    (what != COLL_ALLREDUCE && what != COLL_BROADCAST && what != COLL_BARRIER &&
	     what != COLL_SENDRECV)) {
		fprintf(stderr, "collperf: unknown collective \"%s\"\n", argv[optind]);
		return -1;
	}
	o->what = (enum coll_collective)what;
	if (parse_algorithm(o))
		return -1;
	if (o->what == COLL_BARRIER)
		o->min = o->max = 0;
	else if (o->what != COLL_SENDRECV && check_pairs(o))
		return -1;
	if (o->min > o->max) {
		fprintf(stderr, "collperf: -b is larger than -e\n");
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct perf_options opt = {
		.dtypes = 1ULL << COLL_F32, .ops = 1ULL << COLL_OP_SUM,
		.min = 8, .max = 8 << 20, .factor = 4, .iters = 20, .warmup = 5,
	};
	coll_comm_t *comm;
	int ret;

	if (parse(&opt, argc, argv)) {
		usage(stderr);
		return 2;
	}
	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "collperf: %s: %s%s%s\n", getenv("COLL_RANK") ?
			getenv("COLL_RANK") : "alone", coll_strerror(ret),
			*coll_last_error() ? "; " : "", coll_last_error());
		return 2;
	}
	if (opt.root >= coll_comm_size(comm)) {
		fprintf(stderr, "collperf: there is no rank %u\n", opt.root);
		ret = 2;
	} else {
		ret = opt.what == COLL_SENDRECV ? perf_pair(comm, &opt) : perf_run(comm, &opt);
	}
	coll_finalize(comm);
	return ret;
}
