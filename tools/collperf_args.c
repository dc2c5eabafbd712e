// SPDX-License-Identifier: GPL-2.0
/* The command line. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "collperf.h"
#include "select/select_env.h"
#include "optable.h"

#define SEGMENT_MOST	(1 << 20)	/* bytes */

enum {
	OPT_IOCTL = 256, OPT_INPLACE, OPT_OUTOFPLACE, OPT_REGISTERED, OPT_NARROW, OPT_MINMAX,
	OPT_JSON, OPT_PERSISTENT,
};

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

static int parse_int(const char *s, int min, int max, int *out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < min || v > max)
		return -1;
	*out = (int)v;
	return 0;
}

/* A name as a bit, or all of them. */
static int parse_names(const char *s, uint32_t (*number)(const char *), uint32_t nr,
		       uint64_t *out)
{
	uint32_t i;

	if (!strcmp(s, "all")) {
		*out = (1ULL << nr) - 2;
		return 0;
	}
	i = number(s);
	*out = 1ULL << i;
	return i ? 0 : -1;
}

static int parse_root(const char *s, uint32_t *out)
{
	int n;

	if (parse_int(s, 0, INT32_MAX, &n))
		return -1;
	*out = (uint32_t)n;
	return 0;
}

static int parse_factor(const char *s, double *out)
{
	char *end;

	*out = strtod(s, &end);
	return *end || !(*out > 1 && *out < 1e9) ? -1 : 0;
}

static int parse_shown(const char *s, enum perf_time *out)
{
	int n;

	if (parse_int(s, 0, NR_TIMES - 1, &n))
		return -1;
	*out = (enum perf_time)n;
	return 0;
}

static int parse_step(const char *s, uint64_t *out)
{
	return parse_size(s, out) || !*out ? -1 : 0;
}

/* Options of nccl-tests that have one value here: a rank is a process with one thread. */
static int parse_one(const char *s)
{
	int n;

	return parse_int(s, 1, 1, &n);
}

static int take_number(struct perf_options *o, int c)
{
	const int many = 100000000;

	switch (c) {
	case 'n': return parse_int(optarg, 1, many, &o->iters);
	case 'w': return parse_int(optarg, 0, many, &o->warmup);
	case 'm': return parse_int(optarg, 1, 4096, &o->aggregate);
	case 'N': return parse_int(optarg, 0, many, &o->cycles);
	case 'T': return parse_int(optarg, 0, 1000000, &o->timeout_s);
	case 'a': return parse_shown(optarg, &o->shown);
	case 'g':
	case 't': return parse_one(optarg);
	default: return -1;
	}
}

/* The kernel would take the largest one instead (abi.rst, "segment"). */
static int parse_segment(const char *s, uint64_t *out)
{
	return parse_size(s, out) || *out > SEGMENT_MOST ? -1 : 0;
}

static int take_option(struct perf_options *o, int c)
{
	switch (c) {
	case 'b': return parse_size(optarg, &o->min);
	case 'e': return parse_size(optarg, &o->max);
	case 'f': return parse_factor(optarg, &o->factor);
	case 'i': return parse_step(optarg, &o->step);
	case 'd': return parse_names(optarg, name_dtype, COLL_NR_DTYPES, &o->dtypes);
	case 'o': return parse_names(optarg, name_op, COLL_NR_OPS, &o->ops);
	case 'r': return parse_root(optarg, &o->root);
	case 'A': o->name = optarg; return 0;
	case 's': return parse_segment(optarg, &o->segment);
	case 'c': o->check = true; return 0;
	case 'J': o->json = optarg; return 0;
	case OPT_JSON: o->json = "-"; return 0;
	case OPT_IOCTL: o->ioctl = true; return 0;
	case OPT_PERSISTENT: o->persistent = true; return 0;
	case OPT_INPLACE: o->places = 1U << IN_PLACE; return 0;
	case OPT_OUTOFPLACE: o->places = 1U << OUT_OF_PLACE; return 0;
	case OPT_REGISTERED: o->registered = true; return 0;
	case OPT_NARROW: o->narrow = true; return 0;
	case OPT_MINMAX: o->minmax = true; return 0;
	default: return take_number(o, c);
	}
}

static const struct option longs[] = {
	{ "minbytes", required_argument, NULL, 'b' },
	{ "maxbytes", required_argument, NULL, 'e' },
	{ "stepfactor", required_argument, NULL, 'f' },
	{ "stepbytes", required_argument, NULL, 'i' },
	{ "datatype", required_argument, NULL, 'd' },
	{ "op", required_argument, NULL, 'o' },
	{ "root", required_argument, NULL, 'r' },
	{ "algorithm", required_argument, NULL, 'A' },
	{ "segment", required_argument, NULL, 's' },
	{ "iters", required_argument, NULL, 'n' },
	{ "warmup_iters", required_argument, NULL, 'w' },
	{ "agg_iters", required_argument, NULL, 'm' },
	{ "run_cycles", required_argument, NULL, 'N' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "average", required_argument, NULL, 'a' },
	{ "ngpus", required_argument, NULL, 'g' },
	{ "nthreads", required_argument, NULL, 't' },
	{ "check", no_argument, NULL, 'c' },
	{ "output_file", required_argument, NULL, 'J' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "ioctl", no_argument, NULL, OPT_IOCTL },
	{ "persistent", no_argument, NULL, OPT_PERSISTENT },
	{ "inplace", no_argument, NULL, OPT_INPLACE },
	{ "outofplace", no_argument, NULL, OPT_OUTOFPLACE },
	{ "registered", no_argument, NULL, OPT_REGISTERED },
	{ "narrow", no_argument, NULL, OPT_NARROW },
	{ "minmax", no_argument, NULL, OPT_MINMAX },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* As nccl-tests have it: "-c 0" and "-c 1". No collective begins with a digit. */
static int take_check(struct perf_options *o, int argc, char **argv)
{
	int check = 1;

	if (optind < argc && *argv[optind] >= '0' && *argv[optind] <= '9' &&
	    parse_int(argv[optind++], 0, INT32_MAX, &check))
		return -1;
	o->check = check;
	return 0;
}

/*
 * Remember an option that makes no sense with sendrecv. Its messages are bytes, sent one at a time,
 * from one buffer to another.
 */
static void note_option(struct perf_options *o, int c)
{
	const struct option *l = longs;

	while (l->name && l->val != c)
		l++;
	if (l->name && ((c < OPT_IOCTL && strchr("dorAsm", c)) || c == OPT_PERSISTENT ||
			c == OPT_INPLACE || c == OPT_NARROW))
		o->no_message = l->name;
}

static int parse_options(struct perf_options *o, int argc, char **argv)
{
	bool steps = false, factor = false;
	int c, ret;

	while ((c = getopt_long(argc, argv, "b:e:f:i:d:o:r:A:s:n:w:m:N:T:a:g:t:J:ch", longs,
				NULL)) != -1) {
		if (c == 'h') {
			perf_usage(stdout);
			exit(0);
		}
		note_option(o, c);
		steps |= c == 'i';
		factor |= c == 'f';
		ret = c == 'c' ? take_check(o, argc, argv) : take_option(o, c);
		if (!ret)
			continue;
		if (c == 'g' || c == 't')
			fprintf(stderr, "collperf: a rank is one thread: -%c takes 1\n", c);
		else if (c != '?')
			fprintf(stderr, "collperf: bad argument \"%s\"\n", optarg ? optarg : "");
		return -1;
	}
	if (steps && factor) {
		fprintf(stderr, "collperf: sizes grow by -i or by -f, not by both\n");
		return -1;
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
	if (!perf_reduces(o->what))
		fprintf(stderr, "collperf: %s has no size of its own\n", type);
	else
		fprintf(stderr, "collperf: %s is%s defined on %s in %s\n", op ? op : "no operator",
			op ? " not" : "", type ? type : "any type", coll_collective_name(o->what));
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

static int parse_collective(struct perf_options *o, const char *s)
{
	uint32_t what = name_collective(s);

	if (!what || (what >= COLL_SEND && what != COLL_SENDRECV)) {
		fprintf(stderr, "collperf: unknown collective \"%s\"\n", s);
		return -1;
	}
	o->what = (enum coll_collective)what;
	return 0;
}

/* Only what the collective has: a broadcast is in place, whatever was asked for. */
static void limit_places(struct perf_options *o)
{
	unsigned int has = 0;
	int place;

	for (place = 0; place < NR_PLACES; place++)
		if (o->what == COLL_SENDRECV ? place == OUT_OF_PLACE : shape_has(o->what, place))
			has |= 1U << place;
	o->places = o->places & has ? o->places & has : has;
}

/* Options that make no sense together. */
static int check_options(const struct perf_options *o)
{
	if (o->ioctl && o->persistent)
		fputs("collperf: --ioctl and --persistent: calls are either blocking or started\n",
		      stderr);
	else if (o->what == COLL_SENDRECV && o->no_message)
		fprintf(stderr, "collperf: sendrecv takes no --%s\n", o->no_message);
	else
		return 0;
	return -1;
}

bool perf_parse(struct perf_options *o, int argc, char **argv)
{
	if (parse_options(o, argc, argv) || parse_collective(o, argv[optind]) ||
	    check_options(o) || parse_algorithm(o))
		return false;
	limit_places(o);
	if (o->what == COLL_BARRIER)
		o->min = o->max = 0;
	else if (o->what != COLL_SENDRECV && check_pairs(o))
		return false;
	if (o->min > o->max) {
		fprintf(stderr, "collperf: -b is larger than -e\n");
		return false;
	}
	return true;
}
