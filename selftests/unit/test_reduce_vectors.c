// SPDX-License-Identifier: GPL-2.0
/*
 * Where the vectors of reductions lie: all alignments, lengths and numbers of inputs,
 * several outputs, in place, at a page that nobody may touch. Every operator on every
 * type, in every set, against the reference of ref.h. Canaries stand around outputs;
 * ASan is told what belongs to the inputs.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "reduce_test.h"

#if SANITIZED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)		((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n)	((void)(p), (void)(n))
#endif

#define MAX_IN		8
#define MAX_OUT		3
#define MAX_COUNT	130	/* all lengths up to this one, and some longer ones: */
#define LONG		1100	/* bytes; several of the blocks that kernels take at once */
#define MOST		77	/* elements of the many */
#define ALIGNMENTS	64
#define FENCE		64	/* bytes of canaries to look at */
#define CANARY		0xa5
/* two pages: more than 130 * 32 and alignment and both fences */
#define ROOM		8192

/* Copies of inputs, and what is expected of the first nr + 1 of them. */
static u8 input[COLL_SIMD_MAX][MAX_COUNT * REF_MAX_SIZE];
static u8 want[MAX_IN][MAX_COUNT * REF_MAX_SIZE];
static struct test_arg args[MAX_IN];
static u8 *in_room[COLL_SIMD_MAX], *out_room[MAX_OUT];
static u8 canaries[FENCE];
static u32 failures[MAX_SETS];
static u32 percent;	/* of all shapes; not 100 in an emulator */

/* The kernel being tested. */
static struct {
	u32 set, op, dtype, size;
	coll_reduce_fn *fn;
} it;

enum place {
	APART,		/* outputs are no inputs */
	IN_PLACE,	/* all are, the last input first */
	BOTH,		/* the first is not, the others are */
	NR_PLACES
};

struct shape {
	u32 nr_in, nr_out, count, align;
	bool at_end;	/* else at the beginning, or at an alignment */
	enum place place;
};

static u8 *guarded(void)
{
	u8 *p = mmap(NULL, ROOM + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + 4096, ROOM, PROT_READ | PROT_WRITE))
		abort();
	return p + 4096;
}

static void fail(const struct shape *s, const char *why)
{
	static const char *const places[] = { "apart", "in place", "both" };

	if (failures[it.set]++ < 20)
		printf("# %s: %s of %s, %u elements, %u -> %u, %s %u, %s: %s\n",
		       sets[it.set]->name, coll_op_name(it.op), coll_dtype_name(it.dtype),
		       s->count, s->nr_in, s->nr_out, s->at_end ? "at the end" : "alignment",
		       s->align, places[s->place], why);
}

static u32 longest(void)
{
	return LONG / it.size > MAX_COUNT ? LONG / it.size : MAX_COUNT;
}

static u32 next_count(u32 count)
{
	if (count < MAX_COUNT)
		return count + 1;
	return count + 1 + tap_random(&rnd) % (LONG / it.size / 8);
}

/* Make new inputs, and compute their results by the reference. */
static void make_inputs(void)
{
	const struct gen g = any_gen();
	const u8 *elem[MAX_IN];
	u32 count = longest(), k, i, l;

	for (k = 0; k < MAX_IN; k++) {
		for (i = 0; i < count; i++)
			make_element(&g, it.dtype, input[k] + i * it.size);
	}
	for (l = 0; l < MAX_IN; l++) {
		make_arg(&g, &args[l], it.op, it.dtype, l + 1);
		for (i = 0; i < count; i++) {
			for (k = 0; k <= l; k++)
				elem[k] = input[k] + i * it.size;
			ref_fold(it.dtype, it.op, elem, l + 1, &args[l].arg,
				 want[l] + i * it.size);
		}
	}
}

/* Operators that do not need to know get NULL, or what they must not look at. */
static const struct coll_reduce_arg *arg_of(u32 nr_in, u32 n)
{
	if (it.op == COLL_OP_AVG || it.op == COLL_OP_PREMULSUM || n % 2)
		return &args[nr_in - 1].arg;
	return NULL;
}

/* --- all alignments ----------------------------------------------------------- */

static bool fences_ok(const u8 *room, const u8 *p, u32 bytes)
{
	return (p < room + FENCE || !memcmp(p - FENCE, canaries, FENCE)) &&
	       (p + bytes + FENCE > room + ROOM ||
		!memcmp(p + bytes, canaries, FENCE));
}

static void call_aligned(const struct shape *s, const void *const *in, u8 *out)
{
	u32 bytes = s->count * it.size, k;
	void *outs[1] = { out };

	memset(out, CANARY, bytes);
	for (k = 0; k < s->nr_in; k++)
		ASAN_UNPOISON_MEMORY_REGION(in[k], bytes);
	it.fn(outs, 1, in, s->nr_in, s->count, arg_of(s->nr_in, s->count));
	if (memcmp(out, want[s->nr_in - 1], bytes))
		fail(s, "result");
	if (!fences_ok(out_room[0], out, bytes))
		fail(s, "beyond");
	nr_checked++;
}

/* All lengths and numbers of inputs; @step: inputs and output differ in alignment */
static void test_alignment(u32 align, u32 step)
{
	struct shape s = { .nr_out = 1, .align = align };
	u8 *out = out_room[0] + FENCE + align;
	const void *in[MAX_IN];
	/* scalar code cares little where things are; its share is smaller, and ASan's */
	u32 share = SANITIZED ? 32 : it.set ? 1 : 4, k;
	u8 *p;

	memset(out_room[0], CANARY, ROOM);
	for (k = 0; k < MAX_IN; k++) {
		p = in_room[k] + FENCE + (align + step * (k + 1)) % ALIGNMENTS;
		ASAN_UNPOISON_MEMORY_REGION(in_room[k], ROOM);
		in[k] = memcpy(p, input[k], longest() * it.size);
		ASAN_POISON_MEMORY_REGION(in_room[k], ROOM);
	}
	for (s.count = 0; s.count <= longest(); s.count = next_count(s.count)) {
		for (s.nr_in = 1; s.nr_in <= MAX_IN; s.nr_in++) {
			if ((s.count + align + 5 * s.nr_in) % share == 0)
				call_aligned(&s, in, out);
		}
	}
	for (k = 0; k < MAX_IN; k++)
		ASAN_UNPOISON_MEMORY_REGION(in_room[k], ROOM);
}

/* --- guard pages, outputs ----------------------------------------------------- */

static u8 *place(u8 *room, const struct shape *s)
{
	return s->at_end ? room + ROOM - s->count * it.size : room;
}

static bool is_output(const struct shape *s, const void *const *in, u32 k, void *const *out)
{
	u32 i;

	for (i = 0; i < s->nr_out; i++) {
		if (out[i] == in[k])
			return true;
	}
	return false;
}

static void check_call(const struct shape *s, const void *const *in, void *const *out)
{
	u32 bytes = s->count * it.size, k;

	for (k = 0; k < s->nr_out; k++) {
		if (memcmp(out[k], want[s->nr_in - 1], bytes))
			fail(s, "result");
		if (out[k] == place(out_room[k], s) &&
		    !fences_ok(out_room[k], out[k], bytes))
			fail(s, "beyond");
	}
	for (k = 0; k < s->nr_in; k++) {
		if (!is_output(s, in, k, out) && memcmp(in[k], input[k], bytes))
			fail(s, "input written");
	}
	nr_checked++;
}

static void call_guarded(const struct shape *s)
{
	u32 bytes = s->count * it.size, k;
	const void *in[MAX_IN];
	void *out[MAX_OUT];

	for (k = 0; k < s->nr_in; k++)
		in[k] = memcpy(place(in_room[k], s), input[k], bytes);
	for (k = 0; k < s->nr_out; k++) {
		out[k] = place(out_room[k], s);
		if (s->place == IN_PLACE || (s->place == BOTH && k))
			out[k] = (void *)in[s->nr_in - 1 - k % s->nr_in];
		else
			memset(out[k], CANARY, bytes);
	}
	it.fn(out, s->nr_out, in, s->nr_in, s->count, arg_of(s->nr_in, s->nr_out));
	check_call(s, in, out);
}

static void test_shapes(bool at_end)
{
	struct shape s = { .at_end = at_end };
	u32 k;

	for (k = 0; k < MAX_OUT; k++)
		memset(out_room[k], CANARY, ROOM);
	for (s.count = 0; s.count <= longest(); s.count = next_count(s.count)) {
		for (s.nr_in = 1; s.nr_in <= MAX_IN; s.nr_in++) {
			for (s.nr_out = 1; s.nr_out <= MAX_OUT; s.nr_out++) {
				if (tap_random(&rnd) % 100 >= percent)
					continue;
				s.place = (s.count + s.nr_in) % NR_PLACES;
				if (!SANITIZED || s.place == s.nr_out % NR_PLACES)
					call_guarded(&s);
				if (s.place == APART || SANITIZED)
					continue;
				s.place = APART;
				call_guarded(&s);
			}
		}
	}
}

/* As many vectors as the interface allows, all of them outputs too. */
static void test_most(void)
{
	static u8 result[MOST * REF_MAX_SIZE];
	const u8 *elem[COLL_SIMD_MAX];
	const void *in[COLL_SIMD_MAX];
	void *out[COLL_SIMD_MAX];
	struct shape s = { COLL_SIMD_MAX, COLL_SIMD_MAX, MOST, 0, true, IN_PLACE };
	struct test_arg arg;
	struct gen g = { .specials = 0, .spread = 1 };
	u32 k, i;

	make_arg(&g, &arg, it.op, it.dtype, COLL_SIMD_MAX);
	for (k = 0; k < COLL_SIMD_MAX; k++) {
		for (i = 0; i < MOST; i++)
			make_element(&g, it.dtype, input[k] + i * it.size);
		out[k] = memcpy(place(in_room[k], &s), input[k], MOST * it.size);
		in[k] = out[k];
	}
	for (i = 0; i < MOST; i++) {
		for (k = 0; k < COLL_SIMD_MAX; k++)
			elem[k] = input[k] + i * it.size;
		ref_fold(it.dtype, it.op, elem, COLL_SIMD_MAX, &arg.arg, result + i * it.size);
	}
	it.fn(out, COLL_SIMD_MAX, in, COLL_SIMD_MAX, MOST, &arg.arg);
	for (k = 0; k < COLL_SIMD_MAX; k++) {
		if (memcmp(out[k], result, MOST * it.size))
			fail(&s, "most vectors");
	}
	nr_checked++;
}

/* Zero elements: no pointer is looked at. */
static void test_nothing(void)
{
	const void *in[1] = { in_room[0] + ROOM };
	void *out[1] = { out_room[0] + ROOM };

	it.fn(out, 1, in, 1, 0, &args[0].arg);
}

static void test_kernel(void)
{
	u32 align;

	it.fn = sets[it.set]->fn[it.dtype][it.op];
	if (!it.fn)
		return;
	it.size = coll_dtype_size(it.dtype);
	make_inputs();
	for (align = 0; align < ALIGNMENTS; align += 100 / percent)
		test_alignment(align, align % 4 ? 7 : 0);
	make_inputs();
	test_shapes(true);
	test_shapes(false);
	test_most();
	test_nothing();
}

int main(void)
{
	u32 k;

	rnd = tap_seed();
	percent = volume(100);
	find_sets();
	memset(canaries, CANARY, FENCE);
	for (k = 0; k < COLL_SIMD_MAX; k++)
		in_room[k] = guarded();
	for (k = 0; k < MAX_OUT; k++)
		out_room[k] = guarded();
	for (it.set = 0; it.set < nr_sets; it.set++) {
		for (it.dtype = 0; it.dtype < COLL_NR_DTYPES; it.dtype++) {
			for (it.op = 0; it.op < COLL_NR_OPS; it.op++)
				test_kernel();
		}
		tap_ok(!failures[it.set], "%s: lengths, alignments, guard pages, in place",
		       sets[it.set]->name);
	}
	print_checked("operator, type, set, length, alignment, inputs, outputs");
	return tap_done();
}
