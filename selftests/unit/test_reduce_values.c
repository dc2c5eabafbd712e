// SPDX-License-Identifier: GPL-2.0
/*
 * The values of reductions: every operator on every type it is defined on, for every pair of
 * special values and for random folds, compared with the reference of ref.h; and all sets with
 * each other, on random bits.
 */
#include "reduce_test.h"

#define BATCH	64
#define BLOCK	4096
/* Inputs of most folds; some folds are longer. */
#define SHORT	8

static u8 input[COLL_SIMD_MAX][BATCH * REF_MAX_SIZE];
static struct test_arg arg;
static bool bad[MAX_SETS][COLL_NR_DTYPES][COLL_NR_OPS];

static void run(coll_reduce_fn *fn, u32 nr, u32 count, u8 *got)
{
	const void *in[COLL_SIMD_MAX];
	void *out[1] = { got };
	u32 k;

	for (k = 0; k < nr; k++)
		in[k] = input[k];
	fn(out, 1, in, nr, count, &arg.arg);
}

static void compare(u32 set, u32 op, u32 dtype, u32 nr, u32 count, const u8 *got,
		    const u8 *want)
{
	u32 size = coll_dtype_size(dtype), i, k;
	const u8 *elem[COLL_SIMD_MAX];

	nr_checked += count;
	if (!memcmp(got, want, count * size) || bad[set][dtype][op])
		return;
	bad[set][dtype][op] = true;	/* one is enough */
	for (i = 0; !memcmp(got + i * size, want + i * size, size); i++)
		;
	for (k = 0; k < nr; k++)
		elem[k] = input[k] + i * size;
	show_failure(sets[set], op, dtype, elem, nr, &arg.arg, got + i * size,
		     want + i * size);
}

/* The first @count elements of @nr inputs, in all sets. */
static void check_batch(u32 op, u32 dtype, u32 nr, u32 count)
{
	static u8 want[BATCH * REF_MAX_SIZE], got[BATCH * REF_MAX_SIZE];
	u32 size = coll_dtype_size(dtype), i, k;
	const u8 *elem[COLL_SIMD_MAX];

	for (i = 0; i < count; i++) {
		for (k = 0; k < nr; k++)
			elem[k] = input[k] + i * size;
		ref_fold(dtype, op, elem, nr, &arg.arg, want + i * size);
	}
	for (k = 0; k < nr_sets; k++) {
		if (!sets[k]->fn[dtype][op])
			continue;
		memset(got, 0xa5, sizeof(got));
		run(sets[k]->fn[dtype][op], nr, count, got);
		compare(k, op, dtype, nr, count, got, want);
	}
}

/* Every value beside every value; of two numbers, the second is any special one. */
static void check_special(u32 op, u32 dtype)
{
	static const struct gen g = { .specials = 16 };
	const struct ref_type *t = ref_type(dtype);
	u32 size = t->size, n = nr_special(t->kind[0]), i, j, at = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			make_element(&g, dtype, input[0] + at * size);
			make_element(&g, dtype, input[1] + at * size);
			special(t->kind[0], i, input[0] + at * size);
			special(t->kind[0], j, input[1] + at * size);
			if (++at < BATCH && i + j < 2 * n - 2)
				continue;
			make_arg(&g, &arg, op, dtype, 2);
			check_batch(op, dtype, 2, at);
			at = 0;
		}
	}
}

static void check_random(u32 op, u32 dtype)
{
	u32 rounds = volume(SANITIZED ? 100 : 1000), size = coll_dtype_size(dtype), i, k, nr;
	struct gen g;

	for (; rounds; rounds--) {
		g = any_gen();
		nr = rounds % 16 ? 1 + rounds % SHORT :
				   1 + tap_random(&rnd) % COLL_SIMD_MAX;
		for (k = 0; k < nr; k++) {
			for (i = 0; i < BATCH; i++)
				make_element(&g, dtype, input[k] + i * size);
		}
		make_arg(&g, &arg, op, dtype, nr);
		check_batch(op, dtype, nr, BATCH);
	}
}

static void check_against_reference(void)
{
	u32 op, dtype;

	for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 0; op < COLL_NR_OPS; op++) {
			if (!have_kernel(op, dtype))
				continue;
			check_special(op, dtype);
			check_random(op, dtype);
		}
	}
}

static void report(const char *what)
{
	u32 set, dtype, op, failed;

	for (set = 0; set < nr_sets; set++) {
		failed = 0;
		for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
			for (op = 0; op < COLL_NR_OPS; op++)
				failed += bad[set][dtype][op];
		}
		if (failed)
			printf("# %s: %u kernels fail\n", sets[set]->name, failed);
		tap_ok(!failed, "%s: %s", sets[set]->name, what);
	}
	memset(bad, 0, sizeof(bad));
}

/* Random bits, whatever they mean. Reads the inputs as one block of bytes. */
static void check_bits(u32 op, u32 dtype, u32 nr)
{
	static u8 bits[SHORT][BLOCK], want[BLOCK], got[BLOCK];
	static const struct gen g;
	const void *in[SHORT];
	void *out[1] = { want };
	u32 k, i, count = BLOCK / coll_dtype_size(dtype);
	u64 r;

	for (k = 0; k < nr; k++) {
		for (i = 0; i < BLOCK; i += 8) {
			r = tap_random(&rnd);
			memcpy(bits[k] + i, &r, 8);
		}
		in[k] = bits[k];
	}
	make_arg(&g, &arg, op, dtype, nr);
	coll_simd_scalar.fn[dtype][op](out, 1, in, nr, count, &arg.arg);
	out[0] = got;
	for (k = 1; k < nr_sets; k++) {
		if (!sets[k]->fn[dtype][op])
			continue;
		memset(got, 0xa5, sizeof(got));
		sets[k]->fn[dtype][op](out, 1, in, nr, count, &arg.arg);
		bad[k][dtype][op] |= memcmp(got, want, count * coll_dtype_size(dtype));
		nr_checked += count;
	}
}

static void check_against_each_other(void)
{
	u32 rounds = volume(SANITIZED ? 8 : 80), op, dtype, i;

	for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 0; op < COLL_NR_OPS; op++) {
			if (!coll_simd_scalar.fn[dtype][op])
				continue;
			for (i = 0; i < rounds; i++)
				check_bits(op, dtype, 1 + i % SHORT);
		}
	}
}

int main(void)
{
	u32 k;

	rnd = tap_seed();
	find_sets();
	for (k = 0; k < nr_sets; k++)
		tap_ok(set_complete(sets[k]), "%s: functions where they belong", sets[k]->name);
	check_against_reference();
	report("special and random values as the reference has them");
	check_against_each_other();
	report("random bits as the scalar set has them");
	print_checked("operator, type, set, and values");
	return tap_done();
}
