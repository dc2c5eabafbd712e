// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif

#include "../../compat.h"
#include "../../pure/optable.h"
#include "../limits.h"
#include "reduce.h"

/* Set once at load, only read afterwards. coll_copy_isa: NULL is memcpy(). */
static const struct coll_simd *coll_isa = &coll_simd_scalar;
static const struct coll_simd *coll_copy_isa;

static const struct coll_simd *const coll_isas[] = {
#ifdef CONFIG_X86_64
	&coll_simd_avx512,
	&coll_simd_avx2,
	&coll_simd_sse2,
#endif
	&coll_simd_scalar,
};

static bool coll_cpu_has(const struct coll_simd *isa)
{
#ifdef CONFIG_X86_64
	if (isa == &coll_simd_avx2)
		return coll_cpu_saves_vectors(false) && boot_cpu_has(X86_FEATURE_AVX2) &&
		       boot_cpu_has(X86_FEATURE_F16C);
	if (isa == &coll_simd_avx512)
		return coll_cpu_saves_vectors(true) && boot_cpu_has(X86_FEATURE_AVX512F) &&
		       boot_cpu_has(X86_FEATURE_AVX512BW) &&
		       boot_cpu_has(X86_FEATURE_AVX512DQ) &&
		       boot_cpu_has(X86_FEATURE_AVX512VL) &&
		       boot_cpu_has(X86_FEATURE_F16C);
#endif
	return true;
}

/* Numbers of inputs and outputs of the sums by which instruction sets are timed. */
static const struct coll_isa_shape {
	unsigned int nr_in, nr_out;
} coll_isa_shapes[] = {
	{ 4, 4 },	/* a node with four ranks */
	{ 2, 1 },	/* received bytes */
};

/* One pass over vectors in @v, a piece of each at a time. Return: nanoseconds. */
static u64 coll_isa_pass(const struct coll_simd *isa, const struct coll_isa_shape *s, u8 *v)
{
	const size_t bytes = round_down(COLL_ISA_BYTES / (s->nr_in + s->nr_out), COLL_ISA_PIECE);
	const void *in[COLL_ISA_VECTORS];
	void *out[COLL_ISA_VECTORS];
	u64 start = ktime_get_ns();
	unsigned int i;
	size_t off;

	for (off = 0; off < bytes; off += COLL_ISA_PIECE) {
		for (i = 0; i < s->nr_in; i++)
			in[i] = v + i * bytes + off;
		for (i = 0; i < s->nr_out; i++)
			out[i] = v + (s->nr_in + i) * bytes + off;
		coll_fpu_begin(false);
		isa->fn[COLL_F32][COLL_OP_SUM](out, s->nr_out, in, s->nr_in,
					       COLL_ISA_PIECE / sizeof(float), NULL);
		coll_fpu_end();
	}
	return max_t(u64, ktime_get_ns() - start, 1);
}

/* Sum, over all shapes, of the best time of some passes: interrupts delay the other passes. */
static u64 coll_isa_time(const struct coll_simd *isa, u8 *v)
{
	u64 t, sum = 0;
	size_t i;
	int run;

	for (i = 0; i < ARRAY_SIZE(coll_isa_shapes); i++) {
		t = U64_MAX;
		for (run = 0; run < COLL_ISA_RUNS; run++) {
			t = min(t, coll_isa_pass(isa, &coll_isa_shapes[i], v));
			cond_resched();
		}
		sum += t;
	}
	return sum;
}

/*
 * The widest set may be slower: in emulators, on CPUs that reduce their clock for it, and for many
 * vectors beyond the first cache. So the sets are timed on this CPU, as raid6 and xor do. A short
 * measurement does not show a reduced clock, so a wider set is chosen only if it is clearly
 * faster.
 */
static int coll_isa_choose(void)
{
	u8 *v = kvzalloc(COLL_ISA_BYTES, GFP_KERNEL);
	u64 t, best = U64_MAX;
	size_t i;

	if (!v)
		return -ENOMEM;
	for (i = ARRAY_SIZE(coll_isas); i--;) {
		if (!coll_cpu_has(coll_isas[i]))
			continue;
		t = coll_isa_time(coll_isas[i], v);
		pr_info("coll: %s reduces %llu MB/s\n", coll_isas[i]->name,
			div64_u64(ARRAY_SIZE(coll_isa_shapes) * COLL_ISA_BYTES * 1000ULL, t));
		if (best == U64_MAX || t + t / 8 < best) {
			best = t;
			coll_isa = coll_isas[i];
		}
	}
	kvfree(v);
	return 0;
}

/* Copy one half of @v to the other, in pieces of the size of received payload. */
static u64 coll_copy_pass(const struct coll_simd *isa, u8 *v)
{
	size_t off, piece = COLL_ISA_PIECE;
	u64 start = ktime_get_ns();

	/* With a constant size the compiler would not call memcpy(). */
	OPTIMIZER_HIDE_VAR(piece);
	for (off = 0; off < COLL_ISA_BYTES / 2; off += piece) {
		const void *in = v + off;
		void *out = v + COLL_ISA_BYTES / 2 + off;

		if (!isa) {
			memcpy(out, in, piece);
			continue;
		}
		coll_fpu_begin(false);
		isa->fn[COLL_U8][COLL_OP_NO_OP](&out, 1, &in, 1, piece, NULL);
		coll_fpu_end();
	}
	return max_t(u64, ktime_get_ns() - start, 1);
}

/*
 * memcpy() is one instruction if the CPU reports that this is fast. On some CPUs, mostly emulated
 * ones, it is slow nevertheless. Another copy replaces memcpy() only if it is clearly faster.
 */
static int coll_copy_choose(void)
{
	u8 *v = kvzalloc(COLL_ISA_BYTES, GFP_KERNEL);
	u64 plain = U64_MAX, wide = U64_MAX;
	int run;

	if (!v)
		return -ENOMEM;
	for (run = 0; run < COLL_ISA_RUNS; run++) {
		plain = min(plain, coll_copy_pass(NULL, v));
		wide = min(wide, coll_copy_pass(coll_isa, v));
		cond_resched();
	}
	if (wide + wide / 8 < plain)
		coll_copy_isa = coll_isa;
	pr_info("coll: memcpy copies %llu MB/s, %s %llu MB/s\n",
		div64_u64(COLL_ISA_BYTES / 2 * 1000ULL, plain), coll_isa->name,
		div64_u64(COLL_ISA_BYTES / 2 * 1000ULL, wide));
	kvfree(v);
	return 0;
}

static int coll_isa_named(const char *want)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(coll_isas); i++) {
		if (strcmp(want, coll_isas[i]->name) || !coll_cpu_has(coll_isas[i]))
			continue;
		coll_isa = coll_isas[i];
		return 0;
	}
	return -EINVAL;
}

int coll_reduce_init(const char *want)
{
	int ret = *want ? coll_isa_named(want) : coll_isa_choose();

	if (!ret && coll_isa != &coll_simd_scalar)
		ret = coll_copy_choose();
	return ret;
}

const char *coll_reduce_name(void)
{
	return coll_isa->name;
}

static coll_reduce_fn *coll_kernel(u32 op, u32 dtype)
{
	return coll_isa->fn[dtype][op] ?: coll_simd_scalar.fn[dtype][op];
}

static void coll_reducer_setup_exact(struct coll_reducer *r, u32 dtype)
{
	bool wide = dtype == COLL_F64;

	r->final = wide ? coll_exact_sum_f64 : coll_exact_sum_f32;
	r->part = wide ? coll_exact_part_f64 : coll_exact_part_f32;
	r->partial = coll_exact_size(dtype);
	r->section = 0;
	r->max_in = U32_MAX;
}

static void coll_reducer_setup_wide(struct coll_reducer *r, u32 dtype)
{
	r->partial = r->wide.partial * r->wide.parts;
	r->max_in = U32_MAX;
	r->plain = coll_wide_is_plain(&r->wide, dtype);
	if (dtype == COLL_I64 || dtype == COLL_U64)
		r->section = 0;
	else if (coll_isa != &coll_simd_scalar && (!r->wide.widen || coll_isa->widen[dtype]))
		r->section = r->wide.part_ext ? COLL_FPU_BYTES_EXT : COLL_FPU_BYTES;
	else
		r->section = COLL_FPU_BYTES_SLOW;
}

void coll_reducer_setup(struct coll_reducer *r, u32 op, u32 dtype, bool wide)
{
	*r = (struct coll_reducer){ };
	if (!coll_op_defined(op, dtype))
		return;
	r->elem = coll_dtype_size(dtype);
	if (op == COLL_OP_SUM_EXACT) {
		coll_reducer_setup_exact(r, dtype);
		return;
	}
	r->final = coll_kernel(op, dtype);
	/* An average is a sum that is divided at the end. */
	r->part = op == COLL_OP_AVG ? coll_kernel(COLL_OP_SUM, dtype) : r->final;
	r->partial = r->elem;
	r->x87 = coll_dtype_flags(dtype) & COLL_DTYPE_X87;
	r->section = coll_isa->fn[dtype][op] && coll_isa != &coll_simd_scalar ?
		COLL_FPU_BYTES : COLL_FPU_BYTES_SLOW;
	r->max_in = COLL_SIMD_MAX;
	r->widened = wide && coll_wide_setup(&r->wide, coll_isa, op, dtype);
	if (r->widened)
		coll_reducer_setup_wide(r, dtype);
}

void coll_reducer_scale(struct coll_reducer *r, u32 dtype, const struct coll_scaling *s)
{
	u32 type = r->widened && r->wide.widen ? coll_wide_dtype(COLL_OP_PREMULSUM, dtype) : dtype;

	r->after = (struct coll_after){ .divisor = r->divisor };
	if (s->divide)
		r->after.divide = coll_kernel(COLL_OP_AVG, type);
	if (s->post && coll_factor(type, s->post, &r->after.factor))
		r->after.scale = coll_kernel(COLL_OP_PREMULSUM, type);
	r->scaled = r->after.divide || r->after.scale;
	r->wide.wide_factors = s->wide;
	/* The plain kernel would round before scaling, and takes factors of the element type. */
	if (r->scaled || s->wide)
		r->plain = false;
}

void coll_reducer_wire(struct coll_reducer *r, u32 type)
{
	bool fast = coll_isa != &coll_simd_scalar && coll_isa->widen[type] &&
		    coll_isa->narrow[type];

	r->wire = (struct coll_wire_type){
		.narrow = coll_isa->narrow[type] ?: coll_simd_scalar.narrow[type],
		.widen = coll_isa->widen[type] ?: coll_simd_scalar.widen[type],
		.elem = coll_dtype_size(type),
		.section = fast ? COLL_FPU_BYTES : COLL_FPU_BYTES_SLOW,
	};
	r->after.narrow = r->wire.narrow;
	r->after.widen = r->wire.widen;
	r->scaled = true;
	/* A section has folds and conversions: the slower of the two limits its length. */
	r->section = min(r->section, r->wire.section);
}

/* Convert from or to f32, in FPU sections of bounded length. */
static void coll_convert_run(const struct coll_wire_type *w, bool widen, void **out,
			     unsigned int nr_out, const void *in, size_t count)
{
	size_t most = max_t(size_t, w->section / (nr_out + 1) / sizeof(u32), 1), n;
	unsigned int i;

	for (; count; count -= n) {
		n = min(count, most);
		coll_fpu_begin(false);
		(widen ? w->widen : w->narrow)(out, nr_out, &in, 1, n, NULL);
		coll_fpu_end();
		for (i = 0; i < nr_out; i++)
			out[i] += n * (widen ? sizeof(u32) : w->elem);
		in += n * (widen ? w->elem : sizeof(u32));
	}
}

void coll_narrow_run(const struct coll_wire_type *w, void *out, const void *in, size_t count)
{
	coll_convert_run(w, false, &out, 1, in, count);
}

void coll_widen_run(const struct coll_wire_type *w, void **out, unsigned int nr_out,
		    const void *in, size_t count)
{
	coll_convert_run(w, true, out, nr_out, in, count);
}

/* Does the plain kernel give the result of the wide ones? It needs one pass, and is faster. */
static bool coll_reduce_plain(const struct coll_reducer *r, bool final, unsigned int nr_in,
			      const struct coll_reduce_arg *arg)
{
	return !r->widened || (r->plain && final && !arg->nr_folded && nr_in <= COLL_SIMD_MAX);
}

static void coll_reduce_once(const struct coll_reducer *r, bool final, void **out,
			     unsigned int nr_out, const void **in, unsigned int nr_in,
			     const struct coll_reduce_arg *arg, void *room, size_t count)
{
	const struct coll_wide_job job = {
		.w = &r->wide, .final = final, .out = out, .nr_out = nr_out,
		.in = in, .nr_in = nr_in, .arg = arg, .room = room,
		.after = r->scaled ? &r->after : NULL,
	};

	if (!coll_reduce_plain(r, final, nr_in, arg)) {
		coll_wide_run(&job, count);
		return;
	}
	(final ? r->final : r->part)(out, nr_out, in, nr_in, count, arg);
	if (final && r->scaled)
		coll_after_run(&r->after, out, nr_out, count);
}

/* Call the kernel several times, as often in one FPU section as its length allows. */
static void coll_reduce_pass(const struct coll_reducer *r, bool final,
			     void **out, unsigned int nr_out, const void **in,
			     unsigned int nr_in, const struct coll_reduce_arg *arg,
			     void *room, size_t count)
{
	u32 out_size = final ? r->elem : r->partial;
	size_t most = count, once = count, left, n;
	unsigned int i;

	if (r->section)
		most = max_t(size_t, r->section / (nr_in + nr_out) / max(r->elem, r->partial), 1);
	if (!coll_reduce_plain(r, final, nr_in, arg))
		once = coll_wide_most(&r->wide);
	while (count) {
		left = min(count, most);
		count -= left;
		/* The floats of the scalar reference need the FPU as well. */
		if (r->section)
			coll_fpu_begin(r->x87);
		for (; left; left -= n) {
			n = min(left, once);
			coll_reduce_once(r, final, out, nr_out, in, nr_in, arg, room, n);
			for (i = 0; i < nr_out; i++)
				out[i] += n * out_size;
			for (i = 0; i < nr_in; i++)
				in[i] += n * (i < arg->nr_folded ? r->partial : r->elem);
		}
		if (r->section)
			coll_fpu_end();
	}
}

/*
 * Number of elements before the first aligned address of all outputs. From there on results may be
 * stored past the caches. 0 if the outputs are aligned differently: then no start suits all.
 */
static size_t coll_reduce_head(void **out, unsigned int nr_out, u32 size)
{
	size_t past = (unsigned long)out[0] % COLL_NT_ALIGN;
	unsigned int i;

	for (i = 1; i < nr_out; i++)
		if ((unsigned long)out[i] % COLL_NT_ALIGN != past)
			return 0;
	past = past ? COLL_NT_ALIGN - past : 0;
	return past % size ? 0 : past / size;
}

void coll_reduce_run(const struct coll_reducer *r, bool final, void **out,
		     unsigned int nr_out, const void **in, unsigned int nr_in,
		     struct coll_reduce_arg arg, void *bounce, size_t count)
{
	/* A result that is scaled at the end is read again. */
	bool stream = arg.stream && !r->scaled;
	size_t head = 0;

	arg.stream = false;
	while (nr_in > r->max_in) {
		void *dst = bounce;

		coll_reduce_pass(r, false, &dst, 1, in, r->max_in, &arg, NULL, count);
		if (arg.scale)
			arg.scale += r->max_in - arg.nr_folded;
		arg.nr_folded = 1;
		in += r->max_in - 1;
		nr_in -= r->max_in - 1;
		in[0] = bounce;
	}
	if (stream)
		head = coll_reduce_head(out, nr_out, final ? r->elem : r->partial);
	if (head && head < count) {
		coll_reduce_pass(r, final, out, nr_out, in, nr_in, &arg, bounce, head);
		count -= head;
	}
	arg.stream = stream;
	coll_reduce_pass(r, final, out, nr_out, in, nr_in, &arg, bounce, count);
}

/* Copy by the chosen instruction set, in FPU sections. */
static void coll_copy_wide(void **out, unsigned int nr_out, const void *in, bool stream,
			   size_t bytes)
{
	const struct coll_reducer copy = {
		.final = coll_kernel(COLL_OP_NO_OP, COLL_U8),
		.elem = 1, .partial = 1, .max_in = 1, .section = COLL_FPU_BYTES,
	};

	coll_reduce_run(&copy, true, out, nr_out, &in, 1,
			(struct coll_reduce_arg){ .stream = stream }, NULL, bytes);
}

void coll_copy_run(void **out, unsigned int nr_out, const void *in, bool stream,
		   size_t bytes)
{
	bool wide = stream || (coll_copy_isa && bytes >= COLL_COPY_WIDE);
	unsigned int i, nr = 0;

	for (i = 0; i < nr_out; i++) {
		if (out[i] == in)
			continue;
		if (wide)
			out[nr++] = out[i];
		else
			memcpy(out[i], in, bytes);
	}
	if (nr)
		coll_copy_wide(out, nr, in, stream, bytes);
}
