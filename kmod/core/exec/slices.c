// SPDX-License-Identifier: GPL-2.0
/*
 * A large local sweep is cut into slices, and each helper takes one slice after the other. A
 * cursor counts the slices that are taken, so each slice is done exactly once. The helper chooses
 * which slice it takes.
 *
 * The bytes of several steps are counted one step after the other: a slice may be the end of one
 * step, some whole steps, and the beginning of another one. If steps go abreast, a slice is the
 * same range of each step, in the order of the steps, and is shorter.
 *
 * With one memory node the sweep has as many parts as CPUs may help. A CPU begins with the same
 * part each time: its results of the op before may still be in its caches. When no slice is left
 * there, it goes on with the next part. A part gives out its slices in order.
 *
 * With several memory nodes a helper first takes slices whose memory is near, then any slice. The
 * pages of the vectors tell which node is near: the kernel allocates a page on the node where a
 * rank first touches it. A slice has a place in each vector of each rank; it is near to a node
 * that has a fair share of these places. So no slice is far if the vectors are spread evenly over
 * all nodes. If they are on one node, or if each node has a part of all of them, the CPUs there
 * begin.
 *
 * Every helper looks once at each part, or slice, and never waits: slices of a part are only used
 * up, and bits of the map are only set. A helper that has advanced the cursor finds a slice,
 * because the cursor counts exactly the slices that exist.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "../group/group.h"
#include "../limits.h"
#include "../trace.h"
#include "exec.h"
#include "exec_step.h"
#include "slices.h"
#include "tally.h"

/* Bytes of each vector in a slice of @nr vectors. */
static u64 coll_slice_of(u64 nr)
{
	return clamp_t(u64, div64_u64(COLL_SLICE_TOUCHED, nr ?: 1), PAGE_SIZE, COLL_SLICE);
}

u64 coll_slice(const struct coll_exec *x, const struct coll_exec_step *st)
{
	const struct coll_part *part = &x->parts[st->part];
	u64 len = coll_slice_of((u64)part->nr_in + part->nr_out);

	return max_t(u64, len - len % st->unit, st->unit);
}

u64 coll_slices_touched(const struct coll_exec *x)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < x->nr_steps; i++) {
		const struct coll_exec_step *st = &x->steps[i];
		const struct coll_part *part = &x->parts[st->part];

		if (!st->idle)
			bytes += st->len * (part->nr_in + part->nr_out);
		coll_steps_pause(i);
	}
	return bytes;
}

/* Bytes of a step that slices have to do. */
static u64 coll_step_width(const struct coll_exec_step *st)
{
	return st->idle ? 0 : st->len;
}

/* Bytes of a slice, if @all bytes are counted. */
static u64 coll_slice_bytes(const struct coll_exec *x, u64 all)
{
	u64 len = coll_slice_of(div64_u64(coll_slices_touched(x), all ?: 1));

	if (x->abreast)
		return min_t(u64, len, max_t(u64, COLL_SLICE / x->nr_steps, PAGE_SIZE));
	return clamp_t(u64, div_u64(all, DIV_ROUND_UP(x->nr_steps, COLL_SLICE_STEPS)), 1, len);
}

/* Count the bytes, and set where those of each step begin. Return: the number of all bytes. */
static u64 coll_slices_count(struct coll_exec *x)
{
	u64 all = 0;
	u32 i;

	for (i = 0; i < x->nr_steps; i++) {
		u64 width = coll_step_width(&x->steps[i]);

		x->steps[i].first = x->abreast ? 0 : all;
		all = x->abreast ? max(all, width) : all + width;
		coll_steps_pause(i);
	}
	return all;
}

/* The step that has byte @at; if steps go abreast, the first step. */
static u32 coll_slice_step(const struct coll_exec *x, u64 at)
{
	u32 lo = 0, hi = x->abreast ? 1 : x->nr_steps;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (x->steps[mid].first <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Offset of byte @at in a step: the beginning of its element, or one end of the step. */
static u64 coll_slice_cut(const struct coll_exec_step *st, u64 at)
{
	if (at <= st->first)
		return 0;
	at -= st->first;
	return at < coll_step_width(st) ? at - at % st->unit : coll_step_width(st);
}

int coll_slice_run(struct coll_exec *x, struct coll_sweep *sw, u64 i)
{
	u64 at = i * x->slice, end = at + x->slice;
	u32 k = coll_slice_step(x, at);
	int ret = 0;

	for (; k < x->nr_steps && x->steps[k].first < end && !ret && !coll_op_ending(x->op); k++) {
		struct coll_exec_step *st = &x->steps[k];
		u64 from = coll_slice_cut(st, at), to = coll_slice_cut(st, end);

		if (from < to)
			ret = coll_sweep_slice(x, st, sw, from, to - from);
		if (from < to && !ret && x->tally)
			coll_tally_count(x, st, from, to);
	}
	return ret;
}

/* The first slice of part @i. For the part after the last one: the number of slices. */
static u64 coll_slices_begin(const struct coll_exec *x, u64 nr, u32 i)
{
	return div_u64(nr * i, x->slice_parts);
}

u64 coll_slices_open(struct coll_exec *x)
{
	u64 all = coll_slices_count(x), nr;
	struct mem_cgroup *memcg;
	u32 i;

	x->slice = coll_slice_bytes(x, all);
	nr = div64_u64(all + x->slice - 1, x->slice);
	x->slice_parts = min3(num_online_cpus(), x->op->group->nr_local, COLL_SLICE_PARTS);
	for (i = 0; i < x->slice_parts; i++)
		atomic64_set(&x->slice_next[i], coll_slices_begin(x, nr, i));
	/* Memory nodes may go offline while a plan is kept. */
	if (num_node_state(N_MEMORY) < 2) {
		kvfree(x->taken);
		x->taken = NULL;
		return nr;
	}
	/* A kept plan has the map of the op before, which had the same number of slices. */
	if (x->taken) {
		bitmap_zero(x->taken, nr);
		return nr;
	}
	memcg = set_active_memcg(x->op->group->memcg);
	x->taken = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL_ACCOUNT);
	set_active_memcg(memcg);
	return nr;
}

/* Count vectors with element @elem on @nid; add those on any node to @all. Windows are on none. */
static u32 coll_operands_on(const struct coll_operands *o, u64 elem, int nid, u32 *all)
{
	u32 here = 0;
	unsigned int i;
	int at;

	for (i = 0; i < o->nr; i++) {
		at = coll_vec_nid(&o->vec[i], o->base + elem * o->size);
		here += at == nid;
		*all += at != NUMA_NO_NODE;
	}
	return here;
}

/* Is slice @i near to @nid? Only the step that the slice begins in is looked at. */
static bool coll_slice_is_near(const struct coll_exec *x, u64 i, int nid)
{
	u64 at = i * x->slice, elem;
	const struct coll_exec_step *st = &x->steps[coll_slice_step(x, at)];
	struct coll_sweep_args a;
	u32 all = 0, here;

	coll_step_args(x, st, &a);
	/* in the unit of the operands */
	elem = coll_slice_cut(st, at);
	if (a.reducer)
		elem = div_u64(elem, st->unit);
	here = coll_operands_on(&a.in[0], elem, nid, &all);
	here += coll_operands_on(&a.in[1], elem, nid, &all);
	here += coll_operands_on(&a.out, elem, nid, &all);
	return here * num_node_state(N_MEMORY) >= all;
}

/* Find the next slice that is near, and take it. Return: the slice, or @nr. */
static u64 coll_slices_near(struct coll_exec *x, u64 nr, struct coll_slices *s)
{
	for (; s->near < nr; s->near++) {
		/* The search is long if no slice is near. */
		if (s->near % COLL_NEAR_PAUSE == 0) {
			cond_resched();
			if (coll_op_ending(x->op))
				return nr;
		}
		if (!test_bit(s->near, x->taken) &&
		    coll_slice_is_near(x, s->near, s->nid) &&
		    !test_and_set_bit(s->near, x->taken))
			break;
	}
	return s->near;
}

/* Take any slice. Return: the slice, or @nr if all are taken. */
static u64 coll_slices_any(unsigned long *taken, u64 nr, struct coll_slices *s)
{
	do {
		s->any = find_next_zero_bit(taken, nr, s->any);
		if (s->any >= nr)
			s->any = find_next_zero_bit(taken, nr, 0);
	} while (s->any < nr && test_and_set_bit(s->any, taken));
	return s->any;
}

/* Take a slice of the present part, or of the next part that has one. Return: it, or @nr. */
static u64 coll_slices_next(struct coll_exec *x, u64 nr, struct coll_slices *s)
{
	u32 i;

	if (!s->begun) {
		s->begun = true;
		s->part = raw_smp_processor_id() % x->slice_parts;
	}
	for (i = 0; i < x->slice_parts; i++) {
		u64 next = atomic64_fetch_inc(&x->slice_next[s->part]);

		if (next < coll_slices_begin(x, nr, s->part + 1))
			return next;
		s->part = (s->part + 1) % x->slice_parts;
	}
	return nr;
}

u64 coll_slices_take(struct coll_exec *x, struct coll_slices *s)
{
	u64 nr = x->team, i;
	bool near = true;
	int nid;

	if (!x->taken)
		return coll_slices_next(x, nr, s);
	nid = numa_node_id();
	/* The scheduler may have moved the worker. */
	if (s->nid != nid) {
		s->nid = nid;
		s->near = 0;
		/* Helpers of other nodes begin at other places, to leave each node some work. */
		s->any = div_u64(nr * (nid % num_node_state(N_MEMORY)),
				 num_node_state(N_MEMORY));
	}
	i = coll_slices_near(x, nr, s);
	if (i == nr) {
		near = false;
		i = coll_slices_any(x->taken, nr, s);
		if (i >= nr)
			return nr;
	}
	trace_coll_slice(x->op->group->id, x->op->seq, i, nid, near);
	return i;
}

void coll_slices_nodes(const struct coll_exec *x, nodemask_t *nodes)
{
	u64 nr = x->team, i;
	int nid;

	nodes_clear(*nodes);
	for_each_node_state(nid, N_MEMORY)
		for (i = 0; i < COLL_NEAR_LOOKS && !node_isset(nid, *nodes); i++)
			if (coll_slice_is_near(x, div_u64(i * nr, COLL_NEAR_LOOKS), nid))
				node_set(nid, *nodes);
}

struct coll_sweep *coll_exec_sweep(const struct coll_exec *x)
{
	const struct coll_group *g = x->op->group;
	struct mem_cgroup *memcg = set_active_memcg(g->memcg);
	struct coll_sweep *sw;

	sw = coll_sweep_alloc(g->nr_local, max(x->reducer.partial, x->reducer.elem),
			      x->reducer.widened);
	set_active_memcg(memcg);
	return sw;
}

int coll_sweep_slice(struct coll_exec *x, struct coll_exec_step *st,
			    struct coll_sweep *sw, u64 off, u64 len)
{
	struct coll_sweep_args args;

	coll_step_args(x, st, &args);
	args.stream = x->stream;
	trace_coll_segment(x->op->group->id, x->op->seq, x->op->group->node,
			   st - x->steps, st->s.kind, off, len);
	if (args.reducer) {
		off /= st->unit;
		len /= st->unit;
	}
	return coll_sweep(sw, &args, NULL, off, len);
}
