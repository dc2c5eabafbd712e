// SPDX-License-Identifier: GPL-2.0
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "sweep.h"

/**
 * struct coll_sweep - see sweep.h
 * @max: room for vectors in each direction
 * @out: kernel addresses of the outputs
 * @in: kernel addresses of the inputs, one more for received bytes
 * @runs: what they came from: outputs first, then inputs
 * @elems: one element of every vector, for those that straddle pages
 */
struct coll_sweep {
	unsigned int max;
	void **out;
	const void **in;
	struct coll_run *runs;
	u8 (*elems)[COLL_ELEM_MAX];
};

struct coll_sweep *coll_sweep_alloc(unsigned int nr_local)
{
	unsigned int all = 2 * nr_local + 1;
	struct coll_sweep *sw;
	size_t size;
	u8 *p;

	size = size_mul(all, sizeof(*sw->elems) + sizeof(*sw->runs) + sizeof(void *));
	p = kvzalloc(size_add(sizeof(*sw), size), GFP_KERNEL_ACCOUNT);
	if (!p)
		return NULL;
	sw = (struct coll_sweep *)p;
	sw->max = nr_local;
	sw->elems = (void *)(sw + 1);
	sw->runs = (void *)(sw->elems + all);
	sw->out = (void *)(sw->runs + all);
	sw->in = (const void **)(sw->out + nr_local);
	return sw;
}

void coll_sweep_free(struct coll_sweep *sw)
{
	kvfree(sw);
}

static void coll_put_runs(struct coll_sweep *sw, unsigned int nr)
{
	while (nr)
		coll_run_put(&sw->runs[--nr]);
}

/*
 * Find the bytes from @off on that lie together in every vector, @max at most.
 * On success the runs are held. Return: bytes, or -EFAULT.
 */
static s64 coll_map_runs(struct coll_sweep *sw, const struct coll_sweep_args *a,
			 u64 off, u32 max)
{
	unsigned int nr = a->nr_out + a->nr_in;
	unsigned int i;
	u32 len = max;

	for (i = 0; i < nr; i++) {
		const struct coll_vec *v = i < a->nr_out ?
			&a->out[i] : &a->in[i - a->nr_out];
		int ret = coll_vec_run(v, off, len, &sw->runs[i]);

		if (ret) {
			coll_put_runs(sw, i);
			return ret;
		}
		len = min(len, sw->runs[i].len);
	}
	return len;
}

/*
 * @n elements whose addresses stand in sw->out and sw->in. More inputs than a
 * kernel takes are folded in turns, through the first output: it may be the
 * same vector as the first input, which is gone by then, and no other.
 */
static void coll_fold(struct coll_sweep *sw, const struct coll_sweep_args *a,
		      unsigned int nr_in, size_t n)
{
	const void **in = sw->in;
	void *acc = sw->out[0];
	unsigned int i;

	if (!a->fn) {
		for (i = 0; i < a->nr_out; i++)
			if (sw->out[i] != in[0])
				memcpy(sw->out[i], in[0], n);
		return;
	}
	while (nr_in > COLL_SIMD_MAX) {
		void *dst = acc;

		coll_reduce_run(a->fn, a->size, &dst, 1, in, COLL_SIMD_MAX, n);
		in += COLL_SIMD_MAX - 1;
		nr_in -= COLL_SIMD_MAX - 1;
		in[0] = acc;
	}
	coll_reduce_run(a->fn, a->size, sw->out, a->nr_out, in, nr_in, n);
}

/* One element that straddles a page border in some vector. */
static int coll_fold_straddling(struct coll_sweep *sw,
				const struct coll_sweep_args *a,
				const void *first, u64 off)
{
	unsigned int nr_in = 0;
	unsigned int i;
	int ret;

	if (first)
		sw->in[nr_in++] = first;
	for (i = 0; i < a->nr_in; i++) {
		u8 *e = sw->elems[a->nr_out + i];

		ret = coll_vec_copy(&a->in[i], off, e, a->size, false);
		if (ret)
			return ret;
		sw->in[nr_in++] = e;
	}
	for (i = 0; i < a->nr_out; i++)
		sw->out[i] = sw->elems[i];
	coll_fold(sw, a, nr_in, a->fn ? 1 : a->size);

	for (i = 0; i < a->nr_out; i++) {
		ret = coll_vec_copy(&a->out[i], off, sw->elems[i], a->size, true);
		if (ret)
			return ret;
	}
	return 0;
}

int coll_sweep(struct coll_sweep *sw, const struct coll_sweep_args *a,
	       const void *first, u64 off, u64 len)
{
	unsigned int nr = a->nr_out + a->nr_in;

	while (len) {
		unsigned int nr_in = 0;
		unsigned int i;
		u32 bytes;
		s64 run;
		int ret;

		run = coll_map_runs(sw, a, off, min_t(u64, len, S32_MAX));
		if (run < 0)
			return run;
		bytes = run - run % a->size;
		if (!bytes) {
			coll_put_runs(sw, nr);
			ret = coll_fold_straddling(sw, a, first, off);
			if (ret)
				return ret;
			bytes = a->size;
		} else {
			if (first)
				sw->in[nr_in++] = first;
			for (i = 0; i < a->nr_in; i++)
				sw->in[nr_in++] = sw->runs[a->nr_out + i].addr;
			for (i = 0; i < a->nr_out; i++)
				sw->out[i] = sw->runs[i].addr;
			coll_fold(sw, a, nr_in, a->fn ? bytes / a->size : bytes);
			coll_put_runs(sw, nr);
		}
		if (first)
			first += bytes;
		off += bytes;
		len -= bytes;
		cond_resched();
	}
	return 0;
}
