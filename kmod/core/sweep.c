// SPDX-License-Identifier: GPL-2.0
#include <linux/align.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "sweep.h"

/**
 * struct coll_sweep - see sweep.h
 * @out: kernel addresses of the outputs
 * @in: kernel addresses of the inputs, one more for received bytes
 * @runs: what they came from: outputs first, then inputs
 * @elems: one element of every vector, for those that straddle pages
 * @elem: room for each
 * @bounce: COLL_BOUNCE bytes for folds of more inputs than a kernel takes; else NULL
 */
struct coll_sweep {
	void **out;
	const void **in;
	struct coll_run *runs;
	u8 *elems;
	u32 elem;
	u8 *bounce;
};

/* Partial results of a fold in turns: a stretch that stays in the first cache. */
#define COLL_BOUNCE	SZ_4K

struct coll_sweep *coll_sweep_alloc(unsigned int nr_local, u32 elem)
{
	/* besides those of ranks: W, and what is folded into it or received */
	unsigned int in = nr_local + 2, out = max(nr_local, 1U), all = in + out;
	struct coll_sweep *sw;
	size_t size;
	u8 *p;

	elem = ALIGN(elem, sizeof(u64));
	size = size_mul(all, elem + sizeof(*sw->runs) + sizeof(void *));
	if (in > COLL_SIMD_MAX)
		size = size_add(size, COLL_BOUNCE);
	p = kvmalloc(size_add(sizeof(*sw), size), GFP_KERNEL_ACCOUNT);
	if (!p)
		return NULL;
	sw = (struct coll_sweep *)p;
	sw->elem = elem;
	sw->runs = (void *)(sw + 1);
	sw->out = (void *)(sw->runs + all);
	sw->in = (const void **)(sw->out + out);
	sw->elems = (u8 *)(sw->in + in);
	sw->bounce = in > COLL_SIMD_MAX ? sw->elems + (size_t)all * elem : NULL;
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

static unsigned int coll_nr_operands(const struct coll_sweep_args *a)
{
	return a->out.nr + a->in[0].nr + a->in[1].nr;
}

/* The @i-th operand: outputs first, then inputs. Its vector goes to @v. */
static const struct coll_operands *coll_operand(const struct coll_sweep_args *a,
						unsigned int i,
						const struct coll_vec **v)
{
	const struct coll_operands *o = &a->out;

	if (i >= o->nr) {
		i -= o->nr;
		o = &a->in[0];
	}
	if (o == &a->in[0] && i >= o->nr) {
		i -= o->nr;
		o = &a->in[1];
	}
	*v = &o->vec[i];
	return o;
}

/*
 * Find the elements from @off on that lie together in every vector, @max at most.
 * If there are any the runs are held. Return: elements, 0 if the first one straddles
 * pages in some vector, or -EFAULT.
 */
static s64 coll_map_runs(struct coll_sweep *sw, const struct coll_sweep_args *a,
			 u64 off, u64 max)
{
	unsigned int nr = coll_nr_operands(a);
	u64 count = max;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct coll_vec *v;
		const struct coll_operands *o = coll_operand(a, i, &v);
		u64 bytes = min_t(u64, count, S32_MAX / o->size) * o->size;
		int ret = coll_vec_run(v, o->base + off * o->size, bytes,
				       &sw->runs[i]);

		if (ret) {
			coll_put_runs(sw, i);
			return ret;
		}
		count = min_t(u64, count, sw->runs[i].len / o->size);
		if (!count) {
			coll_put_runs(sw, i + 1);
			return 0;
		}
	}
	return count;
}

/* Addresses, @skip elements on, of what runs have been found for, and of @recv. */
static unsigned int coll_gather(struct coll_sweep *sw,
				const struct coll_sweep_args *a, const void *recv,
				size_t skip)
{
	unsigned int i, nr = coll_nr_operands(a), nr_in = 0;
	const struct coll_vec *v;

	if (recv && !a->recv_last)
		sw->in[nr_in++] = recv + skip * a->recv_size;
	for (i = 0; i < nr; i++) {
		void *addr = sw->runs[i].addr + skip * coll_operand(a, i, &v)->size;

		if (i < a->out.nr)
			sw->out[i] = addr;
		else
			sw->in[nr_in++] = addr;
	}
	if (recv && a->recv_last)
		sw->in[nr_in++] = recv + skip * a->recv_size;
	return nr_in;
}

/* @count elements that lie together. */
static void coll_fold(struct coll_sweep *sw, const struct coll_sweep_args *a,
		      const void *recv, size_t count)
{
	unsigned int i, nr_in = coll_gather(sw, a, recv, 0);
	const struct coll_reducer *r = a->reducer;
	size_t done, n;

	if (!r) {
		for (i = 0; i < a->out.nr; i++)
			if (sw->out[i] != sw->in[0])
				memcpy(sw->out[i], sw->in[0], count);
		return;
	}
	if (nr_in <= r->max_in) {
		coll_reduce_run(r, a->final, sw->out, a->out.nr, sw->in, nr_in,
				a->nr_folded, a->scale, NULL, count);
		return;
	}
	for (done = 0; done < count; done += n) {
		n = min(count - done, (size_t)(COLL_BOUNCE / r->partial));
		coll_gather(sw, a, recv, done);
		coll_reduce_run(r, a->final, sw->out, a->out.nr, sw->in, nr_in,
				a->nr_folded, a->scale, sw->bounce, n);
	}
}

/*
 * One element that straddles a page border in some vector. Runs stand for copies of
 * the elements meanwhile.
 */
static int coll_fold_straddling(struct coll_sweep *sw,
				const struct coll_sweep_args *a,
				const void *recv, u64 off)
{
	unsigned int nr = coll_nr_operands(a);
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		const struct coll_vec *v;
		const struct coll_operands *o = coll_operand(a, i, &v);

		sw->runs[i].addr = sw->elems + (size_t)i * sw->elem;
		if (i < a->out.nr)
			continue;
		ret = coll_vec_copy(v, o->base + off * o->size, sw->runs[i].addr,
				    o->size, false);
		if (ret)
			return ret;
	}
	coll_fold(sw, a, recv, 1);
	for (i = 0; i < a->out.nr; i++) {
		ret = coll_vec_copy(&a->out.vec[i], a->out.base + off * a->out.size,
				    sw->runs[i].addr, a->out.size, true);
		if (ret)
			return ret;
	}
	return 0;
}

int coll_sweep(struct coll_sweep *sw, const struct coll_sweep_args *a,
	       const void *recv, u64 off, u64 count)
{
	while (count) {
		s64 n = coll_map_runs(sw, a, off, count);
		int ret;

		if (n < 0)
			return n;
		if (n) {
			coll_fold(sw, a, recv, n);
			coll_put_runs(sw, coll_nr_operands(a));
		} else {
			ret = coll_fold_straddling(sw, a, recv, off);
			if (ret)
				return ret;
			n = 1;
		}
		if (recv)
			recv += n * a->recv_size;
		off += n;
		count -= n;
		cond_resched();
	}
	return 0;
}
