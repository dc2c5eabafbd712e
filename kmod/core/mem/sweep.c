// SPDX-License-Identifier: GPL-2.0
#include <linux/align.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "sweep.h"

/**
 * struct coll_track - position of a sweep in a vector
 * @vec: the vector
 * @at: byte offset of the next element
 * @size: bytes of an element
 * @run: contiguous bytes from @at on; ->len 0: to be looked up
 */
struct coll_track {
	const struct coll_vec *vec;
	u64 at;
	u32 size;
	struct coll_run run;
};

/**
 * struct coll_sweep - see sweep.h
 * @out: kernel addresses of the outputs
 * @in: kernel addresses of the inputs, one more for received bytes
 * @tracks: positions in the vectors: outputs first, then inputs
 * @nr: number of @tracks
 * @size: bytes of an element, if it is the same in all vectors; else 0
 * @elems: copy of one element of every vector, for elements that straddle pages
 * @elem: bytes for each of these copies
 * @bounce: COLL_BOUNCE bytes for folds of more inputs than a kernel takes; else NULL
 * @room: COLL_WIDE_ROOM bytes for folds with wider partial results, or for received elements
 *	that are made wider; or NULL
 */
struct coll_sweep {
	void **out;
	const void **in;
	struct coll_track *tracks;
	unsigned int nr;
	u32 size;
	u8 *elems;
	u32 elem;
	u8 *bounce;
	u8 *room;
};

/* Number of received elements that are widened at a time. */
#define COLL_WIDENED	(COLL_WIDE_SLOT / sizeof(u32))

/* Bytes of partial results of a fold in several passes: few enough for the first cache. */
#define COLL_BOUNCE	SZ_4K

struct coll_sweep *coll_sweep_alloc(unsigned int nr_local, u32 elem, bool wide)
{
	/* besides the vectors of ranks: W, and the operand that is folded into it or received */
	unsigned int in = nr_local + 2, out = max(nr_local, 1U), all = in + out;
	struct coll_sweep *sw;
	size_t size;
	u8 *p;

	elem = ALIGN(elem, sizeof(u64));
	size = size_mul(all, elem + sizeof(*sw->tracks) + sizeof(void *));
	if (in > COLL_SIMD_MAX)
		size = size_add(size, COLL_BOUNCE);
	if (wide)
		size = size_add(size, COLL_WIDE_ROOM);
	p = kvmalloc(size_add(sizeof(*sw), size), GFP_KERNEL_ACCOUNT);
	if (!p)
		return NULL;
	sw = (struct coll_sweep *)p;
	sw->elem = elem;
	sw->tracks = (void *)(sw + 1);
	sw->out = (void *)(sw->tracks + all);
	sw->in = (const void **)(sw->out + out);
	sw->elems = (u8 *)(sw->in + in);
	p = sw->elems + (size_t)all * elem;
	sw->room = wide ? p : NULL;
	if (wide)
		p += COLL_WIDE_ROOM;
	sw->bounce = in > COLL_SIMD_MAX ? p : NULL;
	return sw;
}

void coll_sweep_free(struct coll_sweep *sw)
{
	kvfree(sw);
}

/* Add the vectors of one side, from element @off on. */
static void coll_track_side(struct coll_sweep *sw, const struct coll_operands *o, u64 off)
{
	unsigned int i;

	for (i = 0; i < o->nr; i++)
		sw->tracks[sw->nr++] = (struct coll_track){
			.vec = &o->vec[i],
			.at = o->base + off * o->size,
			.size = o->size,
		};
	if (o->nr && o->size != sw->size)
		sw->size = 0;
}

static void coll_track_all(struct coll_sweep *sw, const struct coll_sweep_args *a, u64 off)
{
	sw->nr = 0;
	sw->size = a->out.size;
	coll_track_side(sw, &a->out, off);
	coll_track_side(sw, &a->in[0], off);
	coll_track_side(sw, &a->in[1], off);
}

/* Release the pages of windows, which are pinned only while they are accessed. */
static void coll_track_put(struct coll_sweep *sw)
{
	unsigned int i;

	for (i = 0; i < sw->nr; i++) {
		coll_run_put(&sw->tracks[i].run);
		sw->tracks[i].run.len = 0;
	}
}

/*
 * Find how many elements are contiguous in every vector, @max at most. Return: that number;
 * 0 if the next element straddles pages in some vector; -EFAULT or -ESRCH.
 */
static s64 coll_track_next(struct coll_sweep *sw, u64 max)
{
	u32 least = U32_MAX;
	u64 count = max;
	unsigned int i;
	int ret;

	for (i = 0; i < sw->nr; i++) {
		struct coll_track *t = &sw->tracks[i];

		if (t->run.len < t->size) {
			coll_run_put(&t->run);
			ret = coll_vec_run(t->vec, t->at,
					   min_t(u64, max, S32_MAX / t->size) * t->size,
					   &t->run);
			if (ret) {
				t->run.len = 0;
				return ret;
			}
		}
		if (sw->size)
			least = min(least, t->run.len);
		else
			count = min_t(u64, count, t->run.len / t->size);
	}
	return sw->size ? min_t(u64, count, least / sw->size) : count;
}

static void coll_track_advance(struct coll_sweep *sw, u64 count)
{
	unsigned int i;

	for (i = 0; i < sw->nr; i++) {
		struct coll_track *t = &sw->tracks[i];
		u64 bytes = count * t->size;

		t->at += bytes;
		t->run.addr += bytes;
		t->run.len -= bytes;
	}
}

/*
 * Collect the kernel addresses of all operands: @recv, and element @skip of each run. If
 * @straddling: the copies of one element instead of the runs.
 */
static unsigned int coll_gather(struct coll_sweep *sw, const struct coll_sweep_args *a,
				const void *recv, size_t skip, bool straddling)
{
	unsigned int i, nr_in = 0;

	if (recv && !a->recv_last)
		sw->in[nr_in++] = recv;
	for (i = 0; i < sw->nr; i++) {
		const struct coll_track *t = &sw->tracks[i];
		void *addr = straddling ? sw->elems + (size_t)i * sw->elem :
					  t->run.addr + skip * t->size;

		if (i < a->out.nr)
			sw->out[i] = addr;
		else
			sw->in[nr_in++] = addr;
	}
	if (recv && a->recv_last)
		sw->in[nr_in++] = recv;
	return nr_in;
}

/* Fold @count contiguous elements, from element @skip of each run on, with those in @recv. */
static void coll_fold_some(struct coll_sweep *sw, const struct coll_sweep_args *a,
			   const void *recv, size_t skip, size_t count, bool straddling)
{
	unsigned int nr_in = coll_gather(sw, a, recv, skip, straddling);
	const struct coll_reducer *r = a->reducer;
	const struct coll_reduce_arg arg = {
		.nr_folded = a->nr_folded,
		.divisor = r ? r->divisor : 0,
		.scale = a->scale,
		.stream = a->stream,
	};
	size_t done, n;

	if (!r) {
		coll_copy_run(sw->out, a->out.nr, sw->in[0], a->stream, count);
		return;
	}
	if (nr_in <= r->max_in) {
		coll_reduce_run(r, a->final, sw->out, a->out.nr, sw->in, nr_in, arg,
				sw->room, count);
		return;
	}
	for (done = 0; done < count; done += n) {
		n = min(count - done, (size_t)(COLL_BOUNCE / r->partial));
		coll_gather(sw, a, recv, skip + done, straddling);
		coll_reduce_run(r, a->final, sw->out, a->out.nr, sw->in, nr_in, arg,
				sw->bounce, n);
		if (recv)
			recv += n * r->partial;
	}
}

/* The same for received elements of a smaller type: widen them first. */
static void coll_fold_widened(struct coll_sweep *sw, const struct coll_sweep_args *a,
			      const void *recv, size_t count, bool straddling)
{
	size_t done, n;
	void *room;

	if (!a->reducer) {
		coll_gather(sw, a, NULL, 0, straddling);
		coll_widen_run(a->wire, sw->out, a->out.nr, recv, count);
		return;
	}
	for (done = 0; done < count; done += n) {
		n = min(count - done, COLL_WIDENED);
		room = sw->room;
		coll_widen_run(a->wire, &room, 1, recv + done * a->recv_size, n);
		coll_fold_some(sw, a, sw->room, done, n, straddling);
	}
}

/* Fold @count contiguous elements. */
static void coll_fold(struct coll_sweep *sw, const struct coll_sweep_args *a,
		      const void *recv, size_t count, bool straddling)
{
	if (recv && a->wire)
		coll_fold_widened(sw, a, recv, count, straddling);
	else
		coll_fold_some(sw, a, recv, 0, count, straddling);
}

/* Fold one element that straddles a page border in some vector. */
static int coll_fold_straddling(struct coll_sweep *sw, const struct coll_sweep_args *a,
				const void *recv)
{
	unsigned int i;
	int ret;

	/* The element is in two pages, and a window holds one page at a time. */
	coll_track_put(sw);
	for (i = a->out.nr; i < sw->nr; i++) {
		const struct coll_track *t = &sw->tracks[i];

		ret = coll_vec_copy(t->vec, t->at, sw->elems + (size_t)i * sw->elem,
				    t->size, false);
		if (ret)
			return ret;
	}
	coll_fold(sw, a, recv, 1, true);
	for (i = 0; i < a->out.nr; i++) {
		const struct coll_track *t = &sw->tracks[i];

		ret = coll_vec_copy(t->vec, t->at, sw->elems + (size_t)i * sw->elem,
				    t->size, true);
		if (ret)
			return ret;
	}
	for (i = 0; i < sw->nr; i++)
		sw->tracks[i].at += sw->tracks[i].size;
	return 0;
}

static int coll_sweep_all(struct coll_sweep *sw, const struct coll_sweep_args *a,
			  const void *recv, u64 count)
{
	while (count) {
		s64 n = coll_track_next(sw, count);
		int ret;

		if (n < 0)
			return n;
		if (n) {
			coll_fold(sw, a, recv, n, false);
			coll_track_advance(sw, n);
		} else {
			ret = coll_fold_straddling(sw, a, recv);
			if (ret)
				return ret;
			n = 1;
		}
		if (recv)
			recv += n * a->recv_size;
		count -= n;
		if (!a->atomic)
			cond_resched();
	}
	return 0;
}

int coll_sweep(struct coll_sweep *sw, const struct coll_sweep_args *a,
	       const void *recv, u64 off, u64 count)
{
	int ret;

	coll_track_all(sw, a, off);
	ret = coll_sweep_all(sw, a, recv, count);
	coll_track_put(sw);
	if (a->stream) {
		/* A release does not order stores that bypass the caches. */
		wmb();
	}
	return ret;
}

/* Convert the contiguous elements at @at, or one that straddles pages. Return: their number. */
static int coll_narrow_some(const struct coll_wire_type *w, const struct coll_vec *vec, u64 at,
			    void *to, u32 count)
{
	struct coll_run run;
	u32 n = 1, one;
	int ret;

	ret = coll_vec_run(vec, at, min_t(u64, count, S32_MAX / sizeof(u32)) * sizeof(u32), &run);
	if (ret)
		return ret;
	if (run.len >= sizeof(u32)) {
		n = min_t(u32, count, run.len / sizeof(u32));
		coll_narrow_run(w, to, run.addr, n);
	}
	coll_run_put(&run);
	if (run.len >= sizeof(u32))
		return n;
	ret = coll_vec_copy(vec, at, &one, sizeof(one), false);
	if (ret)
		return ret;
	coll_narrow_run(w, to, &one, 1);
	return 1;
}

int coll_sweep_narrow(const struct coll_wire_type *w, const struct coll_vec *vec, u64 at,
		      void *to, u32 count)
{
	int n;

	for (; count; count -= n) {
		n = coll_narrow_some(w, vec, at, to, count);
		if (n < 0)
			return n;
		at += n * sizeof(u32);
		to += n * w->elem;
	}
	return 0;
}
