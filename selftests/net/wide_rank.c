// SPDX-License-Identifier: GPL-2.0
/*
 * Results that fit their type, of partial results that do not: averages of large numbers, and sums
 * where large numbers cancel. By every algorithm, in place and not, of one element and of many;
 * sums of scans, too. Then with COLL_CMD_NARROW, and at last with ranks that disagree about it.
 * Prints what is wrong; exit status 0, 1, or 2 if a call fails.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#define MOST	70001

/* Elements as bits; f32 and f64 have few digits here, which are all kept. */
static const struct average {
	const char *name;
	enum coll_dtype dtype;
	uint64_t bits;
} averages[] = {
	{ "f16 60000", COLL_F16, 0x7b53 }, { "f16 -65504", COLL_F16, 0xfbff },
	{ "bf16 3e38", COLL_BF16, 0x7f61 }, { "bf16 largest", COLL_BF16, 0x7f7f },
	{ "f8e4m3 -448", COLL_F8E4M3, 0xfe }, { "f8e5m2 57344", COLL_F8E5M2, 0x7b },
	{ "f16 least", COLL_F16, 1 }, { "f8e4m3 least", COLL_F8E4M3, 1 },
	{ "i8 100", COLL_I8, 100 }, { "i8 -128", COLL_I8, 0x80 }, { "u8 255", COLL_U8, 255 },
	{ "i16 -32768", COLL_I16, 0x8000 }, { "u16 65535", COLL_U16, 65535 },
	{ "i32 2e9", COLL_I32, 2000000000 }, { "u32 largest", COLL_U32, UINT32_MAX },
	{ "i64 -9e18", COLL_I64, (uint64_t)-9000000000000000000 },
	{ "u64 largest", COLL_U64, UINT64_MAX },
	{ "f32 2.55e38", COLL_F32, 0x7f400000 }, { "f32 least", COLL_F32, 1 },
	{ "f64 1.35e308", COLL_F64, 0x7fe8000000000000 }, { "f64 least", COLL_F64, 1 },
};

/* Half of the ranks have @plus, the others @minus, but the last one @last. */
static const struct sum {
	const char *name;
	enum coll_dtype dtype;
	uint32_t plus, minus, last, sum;
} sums[] = {
	{ "f16", COLL_F16, 0x7b53, 0xfb53, 0xfb52, 0x5000 },
	{ "bf16", COLL_BF16, 0x7f61, 0xff61, 0xff60, 0x7b80 },
	{ "f8e4m3", COLL_F8E4M3, 0x7e, 0xfe, 0xfd, 0x60 },
	{ "f8e5m2", COLL_F8E5M2, 0x7b, 0xfb, 0xfa, 0x70 },
};

static const char *const algorithms[] = {
	NULL, "chain", "double_tree", "knomial", "mesh", "mesh_full", "rabenseifner",
	"recursive_doubling", "ring", "ring_naive", "root", "tree",
};

static const char *const scan_algorithms[] = { NULL, "linear", "recursive_doubling" };

static const uint64_t counts[] = { 1, 300, MOST };

static coll_comm_t *comm;
static uint32_t me, size;
static uint8_t *in, *out;
static int wrong;

static void fill(uint8_t *v, uint64_t bits, uint64_t count, uint32_t bytes)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		memcpy(v + i * bytes, &bits, bytes);
}

static void die(const char *what, int err)
{
	fprintf(stderr, "wide_rank: rank %u: %s: %s\n", me, what, coll_strerror(err));
	exit(2);
}

static void check(const char *what, const char *name, const uint8_t *v, uint64_t count,
		  uint32_t bytes, uint64_t want)
{
	uint64_t i, got = 0;

	for (i = 0; i < count; i++) {
		memcpy(&got, v + i * bytes, bytes);
		if (got == want)
			continue;
		printf("rank %u: %s of %s: element %llu of %llu is 0x%llx, not 0x%llx\n", me,
		       what, name, (unsigned long long)i, (unsigned long long)count,
		       (unsigned long long)got, (unsigned long long)want);
		wrong++;
		return;
	}
}

/* The three collectives that reduce to the same everywhere. */
static void reduce(const char *name, enum coll_dtype dtype, enum coll_op_code op, uint64_t mine,
		   uint64_t want, uint64_t count)
{
	uint32_t bytes = (uint32_t)coll_dtype_bytes(dtype), root = size - 1;
	int ret;

	fill(in, mine, count, bytes);
	memset(out, 0xa5, count * bytes);
	ret = coll_allreduce(comm, in, out, count, dtype, op);
	if (ret)
		die("allreduce", ret);
	check("allreduce", name, out, count, bytes, want);
	ret = coll_allreduce(comm, COLL_IN_PLACE, in, count, dtype, op);
	if (ret)
		die("allreduce in place", ret);
	check("allreduce in place", name, in, count, bytes, want);

	fill(in, mine, count, bytes);
	memset(out, 0xa5, count * bytes);
	ret = coll_reduce(comm, in, out, count, dtype, op, root);
	if (ret)
		die("reduce", ret);
	if (me == root)
		check("reduce", name, out, count, bytes, want);
	if (count < size)
		return;
	ret = coll_reduce_scatter_block(comm, in, out, count / size, dtype, op);
	if (ret)
		die("reduce_scatter_block", ret);
	check("reduce_scatter_block", name, out, count / size, bytes, want);
}

static uint64_t of_sum(const struct sum *s)
{
	if (size % 2 && !me)
		return 0;
	if (me == size - 1)
		return s->last;
	return me - size % 2 < size / 2 ? s->plus : s->minus;
}

/* Number of ranks below @end with @plus, minus those with @minus. The last rank is not below. */
static int excess(uint32_t end)
{
	uint32_t first = size % 2, i;
	int n = 0;

	for (i = first; i < end; i++)
		n += i - first < size / 2 ? 1 : -1;
	return n;
}

/* Set *@want to the result of the first @end ranks. Return: false: this rank does not know it. */
static bool of_first(const struct sum *s, uint32_t end, uint64_t *want)
{
	*want = end == size ? s->sum : s->plus;
	return end == size || excess(end) == 1;
}

/* Inclusive, exclusive, and in place. */
static void prefixes(const char *name, enum coll_dtype dtype, enum coll_op_code op,
		     uint64_t mine, const uint64_t *incl, const uint64_t *excl, uint64_t count)
{
	uint32_t bytes = (uint32_t)coll_dtype_bytes(dtype);
	int ret;

	fill(in, mine, count, bytes);
	memset(out, 0xa5, count * bytes);
	ret = coll_scan(comm, in, out, count, dtype, op);
	if (ret)
		die("scan", ret);
	if (incl)
		check("scan", name, out, count, bytes, *incl);
	ret = coll_exscan(comm, in, out, count, dtype, op);
	if (ret)
		die("exscan", ret);
	if (excl)
		check("exscan", name, out, count, bytes, *excl);
	ret = coll_scan(comm, COLL_IN_PLACE, in, count, dtype, op);
	if (ret)
		die("scan in place", ret);
	if (incl)
		check("scan in place", name, in, count, bytes, *incl);
	fill(in, mine, count, bytes);
	ret = coll_exscan(comm, COLL_IN_PLACE, in, count, dtype, op);
	if (ret)
		die("exscan in place", ret);
	if (excl)
		check("exscan in place", name, in, count, bytes, *excl);
}

static uint64_t bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

/* 1e300, ones, and -1e300: rounded, a one is lost beside 1e300. */
static void exact_prefixes(uint64_t count)
{
	bool last = me == size - 1;
	uint64_t mine = bits_of(last ? -1e300 : me ? 1 : 1e300);
	uint64_t incl = bits_of(last ? (double)size - 2 : 1e300), excl = bits_of(1e300);

	prefixes("exact f64", COLL_F64, COLL_OP_SUM_EXACT, mine, &incl, me ? &excl : NULL,
		 count);
}

static void scans(uint64_t count)
{
	uint64_t incl, excl;
	size_t i;

	for (i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		bool knows = of_first(&sums[i], me + 1, &incl);
		bool knew = of_first(&sums[i], me, &excl);

		prefixes(sums[i].name, sums[i].dtype, COLL_OP_SUM, of_sum(&sums[i]),
			 knows ? &incl : NULL, knew ? &excl : NULL, count);
	}
	exact_prefixes(count);
}

/* By every algorithm. */
static void all_scans(void)
{
	size_t a, c;
	int ret = 0;

	for (a = 0; a < sizeof(scan_algorithms) / sizeof(*scan_algorithms); a++) {
		if (scan_algorithms[a])
			ret = coll_comm_set_algorithm(comm, COLL_SCAN, scan_algorithms[a]) ?:
			      coll_comm_set_algorithm(comm, COLL_EXSCAN, scan_algorithms[a]);
		if (ret)
			die(scan_algorithms[a], ret);
		for (c = 0; c < sizeof(counts) / sizeof(*counts); c++)
			scans(counts[c]);
	}
}

static void all(uint64_t count)
{
	size_t i;

	for (i = 0; i < sizeof(averages) / sizeof(*averages); i++)
		reduce(averages[i].name, averages[i].dtype, COLL_OP_AVG, averages[i].bits,
		       averages[i].bits, count);
	for (i = 0; i < sizeof(sums) / sizeof(*sums) && size > 1; i++)
		reduce(sums[i].name, sums[i].dtype, COLL_OP_SUM, of_sum(&sums[i]), sums[i].sum,
		       count);
}

/* The average of the largest numbers is not exact, but not larger than they are. */
static void largest(void)
{
	const uint32_t f = 0x7f7fffff;
	const uint64_t d = 0x7fefffffffffffff;
	uint32_t g = 0;
	uint64_t e = 0;
	int ret;

	ret = coll_allreduce(comm, &f, &g, 1, COLL_F32, COLL_OP_AVG);
	if (!ret)
		ret = coll_allreduce(comm, &d, &e, 1, COLL_F64, COLL_OP_AVG);
	if (ret)
		die("allreduce", ret);
	if (g > f || f - g > 64 || e > d || d - e > 64) {
		printf("rank %u: averages of the largest are 0x%x and 0x%llx\n", me, g,
		       (unsigned long long)e);
		wrong++;
	}
}

/* In a chain of three nodes the sum of two travels, and does not fit. */
static void narrow(void)
{
	uint16_t v = 0x7bff, got = 0;
	coll_comm_t *other;
	int ret;

	ret = coll_comm_set_algorithm(comm, COLL_ALLREDUCE, "chain");
	if (!ret)
		ret = coll_comm_set_narrow(comm, true);
	if (!ret)
		ret = coll_allreduce(comm, &v, &got, 1, COLL_F16, COLL_OP_AVG);
	if (ret)
		die("narrow", ret);
	if (coll_comm_nodes(comm) == size && size > 2 && got != 0x7c00) {
		printf("rank %u: a narrow average of 65504 is 0x%x\n", me, got);
		wrong++;
	}
	/* Ranks may differ in this where the result does not depend on it. */
	coll_comm_set_narrow(comm, me == 0);
	ret = coll_barrier(comm);
	if (!ret)
		ret = coll_allreduce(comm, COLL_IN_PLACE, &v, 1, COLL_F16, COLL_OP_MAX);
	if (ret)
		die("max", ret);
	if (size == 1)
		return;
	/* The next op fails, and would end the maximum of a slower rank. */
	ret = coll_comm_dup(comm, &other);
	if (!ret)
		ret = coll_barrier(other);
	if (ret)
		die("a barrier of others", ret);
	coll_finalize(other);
	ret = coll_allreduce(comm, &v, &got, 1, COLL_F16, COLL_OP_SUM);
	if (ret != -EBADE) {
		printf("rank %u: ranks disagree: %s\n", me, coll_strerror(ret));
		wrong++;
	}
}

int main(void)
{
	size_t a, c;
	int ret;

	in = malloc(MOST * 8);
	out = malloc(MOST * 8);
	ret = in && out ? coll_init(NULL, &comm) : -ENOMEM;
	if (ret)
		die("init", ret);
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	for (a = 0; a < sizeof(algorithms) / sizeof(*algorithms); a++) {
		ret = algorithms[a] ?
		      coll_comm_set_algorithm(comm, COLL_ALLREDUCE, algorithms[a]) : 0;
		if (ret)
			die(algorithms[a], ret);
		for (c = 0; c < sizeof(counts) / sizeof(*counts); c++)
			if (!a || counts[c] == 300)
				all(counts[c]);
	}
	if (size > 1)
		all_scans();
	largest();
	narrow();
	coll_finalize(comm);
	return wrong != 0;
}
