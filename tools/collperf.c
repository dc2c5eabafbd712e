// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>

#include "collective.h"
#include "collperf.h"
#include "optable.h"

/* Print the names of all numbers that @defined accepts. */
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

static bool is_measured(uint32_t what)
{
	return what < COLL_SEND || what == COLL_SENDRECV;
}

void perf_usage(FILE *f)
{
	fputs("usage: collrun -n RANKS collperf COLLECTIVE [OPTIONS]\n\n"
	      "  -b, --minbytes SIZE   first size (8); suffixes K, M, G\n"
	      "  -e, --maxbytes SIZE   last size at most (8M)\n"
	      "  -f, --stepfactor F    from one size to the next (4)\n"
	      "  -i, --stepbytes SIZE  the same as a difference\n"
	      "  -d, --datatype TYPE   name or \"all\" (f32), see below\n"
	      "  -o, --op OP           name or \"all\" (sum)\n"
	      "  -r, --root RANK       of a collective that has one (0)\n"
	      "  -A, --algorithm NAME  as collplan list has them (what the tables say); knomial:8\n"
	      "  -s, --segment SIZE    of pipelining; of a mesh, the size of a piece\n"
	      "  -n, --iters N         timed iterations (20)\n"
	      "  -w, --warmup_iters N  iterations before (5)\n"
	      "  -m, --agg_iters N     ops of an iteration, started together (1)\n"
	      "  -N, --run_cycles N    all sizes so often (1); 0: without end\n"
	      "  -T, --timeout S       seconds that an op may take (0: no bound)\n"
	      "  -a, --average N       time shown: 0 rank 0, 1 mean, 2 shortest, 3 longest of the ranks (3)\n"
	      "  -c, --check [N]       check every element of every iteration; 0: do not\n"
	      "  -J, --output_file F   write JSON to a file; -: instead of the table\n"
	      "      --json            the same as -J -\n"
	      "      --minmax          show shortest, mean and longest time of the ranks\n"
	      "      --ioctl           blocking calls (default: nonblocking ones, and a wait)\n"
	      "      --persistent      calls that are prepared once, and started each time\n"
	      "      --inplace         input and output in one buffer only (default: both)\n"
	      "      --outofplace      input and output in two buffers only\n"
	      "      --registered      register the buffers first\n"
	      "      --narrow          partial results in the type of the elements\n"
	      "  -g, --ngpus 1; -t, --nthreads 1   taken for the sake of nccl-tests\n\n"
	      "sendrecv: messages between rank 0 and the last one, there and back.\n"
	      "The size is that of the vector, or of the blocks of all ranks.\n"
	      "With \"all\", every pair of type and operator that is defined has its turn.\n", f);
	print_names(f, "Collectives:", coll_collective_name, COLL_NR_COLLECTIVES, is_measured);
	print_names(f, "Types:", coll_dtype_name, COLL_NR_DTYPES, dtype_defined);
	print_names(f, "Operators:", coll_op_name, COLL_NR_OPS, op_defined);
	fputs("Names of nccl-tests: half, float, double, bfloat16, int8, uint64, fp8_e4m3, ...; mulsum.\n"
	      "\nExit status: 0; 1 wrong elements; 2 errors.\n", f);
}

bool perf_reduces(enum coll_collective what)
{
	return coll_kind_of(what)->flags & COLL_KIND_REDUCES;
}

/* Does the collective take the operator? As Documentation/algorithms.rst says. */
static bool takes(enum coll_collective what, uint32_t op)
{
	switch (what) {
	case COLL_REDUCE:
		return op != COLL_OP_REPLACE && op != COLL_OP_NO_OP;
	case COLL_SCAN:
	case COLL_EXSCAN:
		return op != COLL_OP_AVG;
	default:
		return true;
	}
}

/* Collectives that do not reduce have pairs with COLL_OP_NONE. */
bool perf_wanted(const struct perf_options *o, uint32_t dtype, uint32_t op)
{
	if (!(o->dtypes >> dtype & 1))
		return false;
	if (!perf_reduces(o->what))
		return op == COLL_OP_NONE && coll_dtype_size(dtype);
	return (o->ops >> op & 1) && coll_op_defined(op, dtype) && takes(o->what, op);
}

unsigned int perf_pairs(const struct perf_options *o)
{
	uint32_t dtype, op;
	unsigned int n = 0;

	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++)
		for (op = 0; op < COLL_NR_OPS; op++)
			n += perf_wanted(o, dtype, op);
	return n;
}

uint64_t perf_next(const struct perf_options *o, uint64_t bytes)
{
	uint64_t next = o->step ? bytes + o->step : (uint64_t)((double)bytes * o->factor);

	return next > bytes ? next : bytes + 1;
}

int main(int argc, char **argv)
{
	struct perf_options opt = {
		.dtypes = 1ULL << COLL_F32, .ops = 1ULL << COLL_OP_SUM,
		.min = 8, .max = 8 << 20, .factor = 4, .iters = 20, .warmup = 5,
		.aggregate = 1, .cycles = 1, .shown = TIME_MAX,
		.places = 1U << OUT_OF_PLACE | 1U << IN_PLACE,
	};
	coll_comm_t *comm;
	int ret;

	if (!perf_parse(&opt, argc, argv)) {
		perf_usage(stderr);
		return 2;
	}
	perf_clock_name();
	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "collperf: %s: %s%s%s\n", getenv("COLL_RANK") ?
			getenv("COLL_RANK") : "alone", coll_strerror(ret),
			*coll_last_error() ? "; " : "", coll_last_error());
		return 2;
	}
	if (opt.timeout_s)
		coll_comm_set_timeout(comm, (uint64_t)opt.timeout_s * 1000000000);
	if (opt.root >= coll_comm_size(comm)) {
		fprintf(stderr, "collperf: there is no rank %u\n", opt.root);
		ret = 2;
	} else {
		ret = opt.what == COLL_SENDRECV ? perf_pair(comm, &opt) : perf_run(comm, &opt);
	}
	coll_finalize(comm);
	if (fflush(stdout) || ferror(stdout)) {
		perror("collperf: the output cannot be written");
		return 2;
	}
	return ret;
}
