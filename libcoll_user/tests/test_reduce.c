// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * coll_reduce_local(): which calls are refused, and that whatever instruction set is chosen
 * computes the same bits. The choice is made once in a process, so each set has a process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coll/coll.h>

#include "tap.h"

#define COUNT		1003
#define FEW		67	/* where the table is gone through often */
#define MAX_BYTES	(COUNT * 32)
static uint8_t x[MAX_BYTES], y[MAX_BYTES], z[MAX_BYTES];

static void fill_bytes(uint8_t *p, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		p[i] = (uint8_t)(seed >> 56);
	}
}

static void fill(uint8_t *p, uint64_t seed)
{
	fill_bytes(p, MAX_BYTES, seed);
}

static int reduce(const void *in, void *inout, uint64_t count, int dtype, int op)
{
	return coll_reduce_local(in, inout, count, (enum coll_dtype)dtype,
				 (enum coll_op_code)op);
}

static int expected(int dtype, int op)
{
	if (dtype <= 0 || dtype >= COLL_NR_DTYPES || op <= 0 || op >= COLL_NR_OPS)
		return -EINVAL;
	if (op == COLL_OP_AVG || op == COLL_OP_PREMULSUM ||
	    !coll_op_supported((enum coll_op_code)op, (enum coll_dtype)dtype))
		return -EOPNOTSUPP;
	return 0;
}

static void test_numbers(void)
{
	int wrong = 0, touched = 0, some = 0, dtype, op, ret;

	fill(x, 1);
	for (dtype = -1; dtype <= COLL_NR_DTYPES + 1; dtype++) {
		for (op = -1; op <= COLL_NR_OPS + 1; op++) {
			fill(y, 2);
			memcpy(z, y, sizeof(z));
			ret = reduce(x, y, 1, dtype, op);
			wrong += ret != expected(dtype, op);
			touched += ret && memcmp(y, z, sizeof(z));
			some += !ret;
			wrong += reduce(NULL, NULL, 0, dtype, op) != expected(dtype, op);
		}
	}
	ok(!wrong && some > 100, "what is defined works, what is not is refused");
	ok(!touched, "a call that is refused touches nothing");
}

static void test_vectors(void)
{
	int32_t v[64] = { 0 };

	ok(reduce(NULL, v, 1, COLL_I32, COLL_OP_SUM) == -EFAULT &&
	   reduce(v, NULL, 1, COLL_I32, COLL_OP_SUM) == -EFAULT, "NULL is refused");
	ok(reduce(v, v + 32, UINT64_MAX / 2, COLL_I32, COLL_OP_SUM) == -EINVAL &&
	   reduce(v, v + 32, UINT64_MAX / 4, COLL_I32, COLL_OP_SUM) == -EINVAL,
	   "so is more than memory can hold");
	ok(reduce(v, v + 1, 2, COLL_I32, COLL_OP_SUM) == -EINVAL &&
	   reduce(v + 31, v, 32, COLL_I32, COLL_OP_SUM) == -EINVAL &&
	   !reduce(v, v + 32, 32, COLL_I32, COLL_OP_SUM), "so are vectors that overlap in part");
	v[0] = 21;
	ok(!reduce(v, v, 64, COLL_I32, COLL_OP_SUM) && v[0] == 42 && !v[1],
	   "both may be the same vector");
}

struct pair {
	int64_t value;
	int32_t index, padding;
};

static void test_values(void)
{
	struct pair p = { 7, 5, -1 }, q = { 7, 3, -1 };
	int16_t a = 3, b = 9;
	double f = 1e300, g = -1;
	float nan = __builtin_nanf(""), one = 1;

	ok(!reduce(&a, &b, 1, COLL_I16, COLL_OP_REPLACE) && b == 9 &&
	   !reduce(&a, &b, 1, COLL_I16, COLL_OP_NO_OP) && b == 3, "@in is the earlier operand");
	ok(!reduce(&p, &q, 1, COLL_I64_I32, COLL_OP_MAXLOC) && q.value == 7 && q.index == 3 &&
	   !q.padding, "of equal values the smaller index, and no padding");
	ok(!reduce(&nan, &one, 1, COLL_F32, COLL_OP_MIN) && one != one, "a NaN stays one");
	ok(!reduce(&f, &g, 1, COLL_F64, COLL_OP_SUM_EXACT) && g == 1e300, "sum_exact rounds once");
}

/* FNV-1a over the results of the whole table. */
static uint64_t table_digest(void)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	int dtype, op;
	size_t i;

	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 1; op < COLL_NR_OPS; op++) {
			fill(x, (uint64_t)dtype);
			fill(y, (uint64_t)op + 1000);
			if (reduce(x, y, COUNT, dtype, op))
				continue;
			for (i = 0; i < COUNT * coll_dtype_bytes((enum coll_dtype)dtype); i++)
				h = (h ^ y[i]) * 0x100000001b3ULL;
		}
	}
	return h;
}

/* The digest, and what was said, of a process with COLL_SIMD=@name. */
static int digest_with(const char *name, uint64_t *digest, char *said, size_t len)
{
	int results[2], err[2], status;
	ssize_t n, m;
	pid_t pid;

	if (pipe(results) || pipe(err))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("COLL_SIMD", name, 1);
		setenv("COLL_DEBUG", "1", 1);
		dup2(err[1], 2);
		*digest = table_digest();
		_exit(write(results[1], digest, sizeof(*digest)) != sizeof(*digest));
	}
	close(results[1]);
	close(err[1]);
	n = read(results[0], digest, sizeof(*digest));
	m = read(err[0], said, len - 1);
	said[m > 0 ? m : 0] = '\0';
	close(results[0]);
	close(err[0]);
	return waitpid(pid, &status, 0) != pid || status || n != sizeof(*digest);
}

static void test_sets(void)
{
	static const char *const names[] = { "sse2", "avx2", "avx512", "neon", "" };
	uint64_t reference = 0, digest;
	char said[512], text[128];
	size_t i;
	int bad;

	bad = digest_with("scalar", &reference, said, sizeof(said));
	ok(!bad && strstr(said, "reductions by scalar"), "COLL_SIMD=scalar");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bad = digest_with(names[i], &digest, said, sizeof(said));
		snprintf(text, sizeof(text), "COLL_SIMD=%s: the bits of scalar%s", names[i],
			 strstr(said, "no such") || strstr(said, "not on this CPU") ?
			 " # SKIP not here" : "");
		ok(!bad && digest == reference, text);
	}
	bad = digest_with("mmx", &digest, said, sizeof(said));
	ok(!bad && digest == reference && strstr(said, "COLL_SIMD=mmx: no such instruction set"),
	   "an unknown name is said and ignored");
}

#ifdef __x86_64__
/**
 * struct fp_words - floating-point state of a thread
 * @mxcsr: control and flags of SSE
 * @control: of the x87: precision, rounding, traps
 * @status: of the x87: flags
 */
struct fp_words {
	uint32_t mxcsr;
	uint16_t control, status;
};

static struct fp_words fp_now(void)
{
	struct fp_words w;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2"
			 : "=m"(w.mxcsr), "=m"(w.control), "=m"(w.status) :: "memory");
	return w;
}

/* @flags: raise the flag of an inexact result, which nobody may take back */
static void fp_set(struct fp_words w, bool flags)
{
	__asm__ volatile("fnclex\n\tfldcw %1\n\tldmxcsr %0"
			 :: "m"(w.mxcsr), "m"(w.control) : "memory");
	if (flags)
		__asm__ volatile("fld1\n\tfldpi\n\tfdivrp\n\tfstp %%st(0)" ::: "memory");
}

/* The whole table, each call in the state @w, which it must leave as it was. */
static uint64_t digest_in(struct fp_words w, bool flags, int *changed)
{
	const struct fp_words normal = fp_now();
	uint64_t h = 0xcbf29ce484222325ULL;
	int dtype, op, ret;
	size_t i;

	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 1; op < COLL_NR_OPS; op++) {
			struct fp_words before, after;

			fill_bytes(x, FEW * 32, (uint64_t)dtype);
			fill_bytes(y, FEW * 32, (uint64_t)op + 1000);
			/* Denormals, which random numbers are rarely. */
			for (i = 0; i < FEW * 32 / 2; i += 48) {
				memset(x + i + 1, 0, 15);
				memset(y + i + 1, 0, 15);
			}
			fp_set(w, flags);
			before = fp_now();
			ret = reduce(x, y, FEW, dtype, op);
			after = fp_now();
			fp_set(normal, false);
			*changed += memcmp(&before, &after, sizeof(before)) != 0;
			for (i = 0; !ret && i < FEW * coll_dtype_bytes((enum coll_dtype)dtype); i++)
				h = (h ^ y[i]) * 0x100000001b3ULL;
		}
	}
	return h;
}

/* For one instruction set: 1 if every state gives the same bits and is left alone. */
static int any_state_does(const char *name)
{
	static const uint32_t mxcsr[] = {
		0x1f80, 0x9fc0 /* FTZ, DAZ */, 0x3f80, 0x5f80, 0x7f80 /* rounding */,
		0x0000 /* traps */, 0x1fbf /* flags */, 0xe040,
	};
	static const uint16_t control[] = {
		0x037f, 0x027f, 0x007f /* precision */, 0x0f7f, 0x077f /* rounding */,
		0x0340 /* traps */, 0x0240,
	};
	int status, good, changed = 0;
	uint64_t want;
	size_t i, j;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return waitpid(pid, &status, 0) == pid && !status;
	setenv("COLL_SIMD", name, 1);
	want = digest_in((struct fp_words){ 0x1f80, 0x037f, 0 }, false, &changed);
	good = !changed;
	for (i = 0; i < sizeof(mxcsr) / sizeof(mxcsr[0]); i++) {
		for (j = 0; j < sizeof(control) / sizeof(control[0]); j++) {
			struct fp_words w = { mxcsr[i], control[j], 0 };
			/* A flag of an unmasked exception would trap in the test itself. */
			bool flags = (control[j] & 0x3f) == 0x3f;

			good &= digest_in(w, flags, &changed) == want && !changed;
		}
	}
	_exit(!good);
}

static void test_fp_state(void)
{
	static const char *const names[] = { "scalar", "sse2", "avx2", "avx512" };
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "COLL_SIMD=%s: any MXCSR and x87 control word",
			 names[i]);
		ok(any_state_does(names[i]), text);
	}
}
#else
static void test_fp_state(void)
{
}
#endif

static void *add_one(void *arg)
{
	int64_t one = 1;

	return (void *)(intptr_t)reduce(&one, arg, 1, COLL_I64, COLL_OP_SUM);
}

/* The first calls of this process: the first one chooses the set for all. */
static void test_threads(void)
{
	pthread_t t[16];
	int64_t v[16] = { 0 };
	int i, bad = 0;
	void *ret;

	for (i = 0; i < 16; i++)
		bad |= pthread_create(&t[i], NULL, add_one, &v[i]);
	for (i = 0; i < 16; i++) {
		pthread_join(t[i], &ret);
		bad |= ret || v[i] != 1;
	}
	ok(!bad, "the first calls of 16 threads");
}

int main(void)
{
	unsetenv("COLL_SIMD");
	test_sets();
	test_fp_state();
	test_threads();
	test_numbers();
	test_vectors();
	test_values();
	return ok_done();
}
