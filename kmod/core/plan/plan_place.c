// SPDX-License-Identifier: GPL-2.0
/*
 * The places of the bytes of each step. A chunk is a range of elements of the user's vectors and
 * of scratch. A block of the plan is the same part of every chunk.
 */
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../exec/exec_step.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "../mem/buf_span.h"
#include "plan_place.h"
#include "plan_priv.h"
#include "support.h"

/* Number of elements of participant @i's block of a vector, by the command of @part. */
static u64 coll_block_count(const struct coll_plan *p, const struct coll_part *part,
			    bool out, u32 i)
{
	const struct coll_req *req = part->req;
	bool both = p->op->cmd.collective == COLL_ALLTOALLV;

	if (!req->counts)
		return req->cmd.count;
	return req->counts[both && out ? p->n + i : i];
}

/* First element of this block. */
static u64 coll_block_start(const struct coll_plan *p, const struct coll_part *part,
			    bool out, u32 i)
{
	const struct coll_req *req = part->req;
	bool both = p->op->cmd.collective == COLL_ALLTOALLV;

	if (!req->counts)
		return i * req->cmd.count;
	return req->starts[both && out ? p->n + i : i];
}

static struct coll_cut coll_cut_of(u64 n, u32 blocks, u32 block)
{
	u64 at = coll_chunk_start(n, blocks, block);

	return (struct coll_cut){ at, coll_chunk_start(n, blocks, block + 1) - at };
}

/* Chunks [chunk, chunk + nr) of a vector without blocks, from the beginning of the plan's block. */
static struct coll_cut coll_flat(const struct coll_plan *p, u64 count, u32 chunk, u32 nr)
{
	u64 at;

	if (p->marks)
		return (struct coll_cut){
			p->marks[chunk], p->marks[chunk + nr] - p->marks[chunk]
		};
	at = coll_chunk_start(count, p->chunks, chunk);
	return (struct coll_cut){
		at, coll_chunk_start(count, p->chunks, chunk + nr) - at
	};
}

u8 coll_part_has(const struct coll_plan *p, const struct coll_part *part, bool out)
{
	bool root = p->kind->flags & COLL_KIND_ROOTED && part->id == p->root;

	if (out)
		return root ? p->kind->root_out : p->kind->out;
	return root ? p->kind->root_in : p->kind->in;
}

/* Where chunk @i of a vector with blocks is in an input or output. */
static struct coll_cut coll_block_at(const struct coll_plan *p, const struct coll_part *part,
				     bool out, u32 i, u32 block)
{
	bool own = coll_part_has(p, part, out) == COLL_HAS_OWN;
	struct coll_cut s;

	/* If a rank knows only its own block, the count of its command is that of the block. */
	s = coll_cut_of(coll_block_count(p, part, out, i), p->x->blocks, block);
	if (!own)
		s.at += coll_block_start(p, part, out, i);
	return s;
}

struct coll_cut coll_plan_block(const struct coll_plan *p, const struct coll_part *part,
				bool out, u32 i)
{
	return coll_block_at(p, part, out, i, 0);
}

/* Number of elements of the range of a step, in any space. */
static u64 coll_range_count(const struct coll_plan *p, const struct coll_part *part,
			    const struct coll_step *s, u32 block)
{
	struct coll_cut b;
	bool out;

	if (!s->nr_chunks || !p->op->elem)
		return 0;
	if (!(p->kind->flags & COLL_KIND_BLOCKS)) {
		b = coll_cut_of(p->op->cmd.count, p->x->blocks, block);
		return coll_flat(p, b.n, s->chunk % p->chunks, s->nr_chunks).n;
	}
	/* The lengths of chunks are those of a vector with every chunk; W has the output's. */
	out = s->space != COLL_SPACE_INPUT &&
	      coll_part_has(p, part, true) != COLL_HAS_NONE;
	return coll_block_at(p, part, out, s->chunk % p->chunks, block).n;
}

/* Byte offset of chunk @chunk in scratch, of W or TMP. */
static u64 coll_scratch_at(const struct coll_plan *p, u32 chunk, u32 block)
{
	u32 set = chunk / p->chunks, i = chunk % p->chunks;
	u64 half = p->whole * max(DIV_ROUND_UP(p->tmp, p->chunks), 1U);
	struct coll_cut b;
	u64 at;

	if (p->starts) {
		at = p->starts[i];
	} else {
		b = coll_cut_of(p->op->cmd.count, p->x->blocks, block);
		at = coll_flat(p, b.n, i, 0).at;
	}
	return (block % p->x->at_once * half + set * p->whole + at) * p->x->reducer.partial;
}

/* Byte offset of a chunk in an input or output. */
static u64 coll_user_at(const struct coll_plan *p, const struct coll_part *part,
			bool out, u32 chunk, u32 block)
{
	struct coll_cut b;

	if (p->kind->flags & COLL_KIND_BLOCKS)
		return coll_block_at(p, part, out, chunk, block).at * p->op->elem;
	b = coll_cut_of(p->op->cmd.count, p->x->blocks, block);
	return (b.at + coll_flat(p, b.n, chunk, 0).at) * p->op->elem;
}

/* Can W be the first output? It can if the output has every chunk, in the size that W needs. */
static bool coll_work_is_out(const struct coll_plan *p, const struct coll_part *part)
{
	const struct coll_reducer *r = &p->x->reducer;

	return part->nr_out && coll_part_has(p, part, true) == COLL_HAS_ALL &&
	       (!r->part || r->partial == r->elem);
}

static struct coll_place coll_space_at(const struct coll_plan *p,
				       struct coll_part *part, u32 space,
				       u32 chunk, u32 block)
{
	switch (space) {
	case COLL_SPACE_INPUT:
		return (struct coll_place){
			&part->in[0], coll_user_at(p, part, false, chunk, block)
		};
	case COLL_SPACE_TMP:
		return (struct coll_place){
			&part->tmp, coll_scratch_at(p, chunk, block)
		};
	default:
		if (coll_work_is_out(p, part))
			return (struct coll_place){
				&part->out[0],
				coll_user_at(p, part, true, chunk, block)
			};
		return (struct coll_place){
			&part->work, coll_scratch_at(p, chunk, block)
		};
	}
}

/* Does this step produce partial results? */
static bool coll_gives_partial(const struct coll_step *s)
{
	return !(s->flags & COLL_STEP_FINAL);
}

/*
 * Does a step that copies read a partial result, and write a final result to the outputs? In an
 * allreduce all participants have the same result, so a step that copies there reads a final one.
 */
static bool coll_step_finishes(const struct coll_plan *p, const struct coll_step *s)
{
	if (!p->x->reducer.part || !(s->flags & COLL_STEP_FINAL))
		return false;
	return s->action == COLL_ACT_MOVE ||
	       (s->action == COLL_ACT_COPY && p->op->cmd.collective != COLL_ALLREDUCE);
}

/*
 * Does a send read a partial result? It does if the last step that wrote the chunk produced partial
 * results. That is the step it depends on, or an earlier step before a fence.
 */
static bool coll_send_is_partial(const struct coll_plan *p, const struct coll_exec_step *st)
{
	const struct coll_exec_step *steps = p->x->steps;
	u32 i = st - steps, begin = p->x->parts[st->part].begin;

	if (st->s.space == COLL_SPACE_INPUT)
		return false;
	if (st->s.dep != COLL_DEP_NONE)
		return coll_gives_partial(&steps[st->s.dep].s);
	while (i-- > begin) {
		const struct coll_step *s = &steps[i].s;

		if (s->kind != COLL_STEP_SEND && s->space == st->s.space &&
		    s->chunk <= st->s.chunk && st->s.chunk < s->chunk + s->nr_chunks)
			return coll_gives_partial(s);
	}
	return true;
}

/* Does this step move, or make, partial results? */
static bool coll_step_is_partial(const struct coll_plan *p,
				 const struct coll_exec_step *st)
{
	const struct coll_step *s = &st->s;

	if (!p->x->reducer.part)
		return false;
	if (st->finish)
		return true;
	if (s->kind == COLL_STEP_SEND)
		return coll_send_is_partial(p, st);
	/* A copy that is not final gets the partial result of another participant. */
	if (s->kind == COLL_STEP_RECV && s->action != COLL_ACT_COPY)
		return true;
	return coll_gives_partial(s);
}

/* Does the step use a link, with elements of a smaller type? Then participants are nodes. */
static bool coll_step_narrows(const struct coll_plan *p, const struct coll_step *s)
{
	return p->x->reducer.wire.elem && s->kind != COLL_STEP_LOCAL;
}

void coll_plan_place(struct coll_plan *p, u32 i, u32 block)
{
	struct coll_exec_step *st = &p->x->steps[i];
	struct coll_part *part = &p->x->parts[st->part];
	const struct coll_step *s = &st->s;
	bool partial;
	bool token = !s->nr_chunks || !p->op->elem;
	u32 in_chunk = s->chunk % p->chunks;

	st->link = block % p->op->links;
	st->pair = COLL_DEP_NONE;
	st->prev = COLL_DEP_NONE;
	st->next = COLL_DEP_NONE;
	st->finish = coll_step_finishes(p, s);
	partial = coll_step_is_partial(p, st);
	st->unit = (partial ? p->x->reducer.partial : p->op->elem) ?: 1;
	st->wire = !token && coll_step_narrows(p, s);
	if (st->wire)
		st->unit = p->x->reducer.wire.elem;
	if (token)
		return;
	st->len = coll_range_count(p, part, s, block) * st->unit;
	st->dst = coll_space_at(p, part, s->space, s->chunk, block);
	if (part->nr_in && s->space != COLL_SPACE_TMP)
		st->in_at = coll_user_at(p, part, false, in_chunk, block);
	else if (part->nr_in && !(p->kind->flags & COLL_KIND_BLOCKS))
		st->in_at = coll_user_at(p, part, false, in_chunk, block);
	if (s->flags & COLL_STEP_FINAL)
		st->out_at = coll_user_at(p, part, true, in_chunk, block);
	if (s->kind == COLL_STEP_SEND) {
		st->src = st->dst;
		/* Final results are in the outputs, in elements of the type. */
		if (!partial && s->space == COLL_SPACE_WORK && part->nr_out &&
		    coll_part_has(p, part, true) == COLL_HAS_ALL)
			st->src = (struct coll_place){
				&part->out[0],
				coll_user_at(p, part, true, in_chunk, block)
			};
	}
	if (s->action == COLL_ACT_FOLD || s->action == COLL_ACT_MOVE)
		st->src = coll_space_at(p, part, s->from_space, s->from, block);
	/* An earlier block uses the same scratch: wait until it is done. */
	if (block >= p->x->at_once && s->kind != COLL_STEP_SEND)
		st->after = part->begin + (part->end - part->begin) / p->x->blocks *
					  (block - p->x->at_once + 1);
}

/* Set where the chunks of W begin in scratch. Each has room for its part in the largest block. */
static int coll_plan_starts(struct coll_plan *p)
{
	const struct coll_part *part = &p->x->parts[0];
	bool out = p->kind->out == COLL_HAS_ALL;
	u64 at = 0;
	u32 i;

	if (!(p->kind->flags & COLL_KIND_BLOCKS)) {
		p->whole = div_u64(p->op->cmd.count + p->x->blocks - 1, p->x->blocks);
		return 0;
	}
	p->starts = kvmalloc_array(p->n + 1, sizeof(*p->starts), GFP_KERNEL_ACCOUNT);
	if (!p->starts)
		return -ENOMEM;
	for (i = 0; i < p->n; i++) {
		p->starts[i] = at;
		at += div_u64(coll_block_count(p, part, out, i) + p->x->blocks - 1,
			      p->x->blocks);
	}
	p->starts[p->n] = at;
	p->whole = at;
	return 0;
}

/*
 * Number of blocks for a vector that would need scratch of @bytes, in @sets, if it were one block;
 * 0: it need not be cut. The local ranks share the scratch that a node may use. All nodes must get
 * the same number.
 */
static u64 coll_blocks_wanted(const struct coll_plan *p, u64 bytes, u32 sets)
{
	u32 local = p->kind->flags & COLL_KIND_RANKS ? p->op->group->most_local : 1;
	u64 room = max_t(u64, COLL_SCRATCH / local, COLL_SCRATCH_MIN);
	u64 links = p->op->links, used = p->x->at_once * bytes;
	u64 want, small, node;

	if (bytes <= room)
		return 0;
	want = roundup(div64_u64(used, room) + 1, links);
	small = rounddown(div64_u64(bytes, (u64)sets * p->chunks * COLL_BLOCK_MIN), links);
	node = roundup(div64_u64(used * local, COLL_SCRATCH_NODE) + 1, links);
	return min(want, max3(small, node, links));
}

/* Number of steps of participant @id in one block, see coll_plan_width(). */
static u64 coll_count_steps(const struct coll_plan *p, u32 id)
{
	struct coll_emit e = {
		.radix = coll_chosen_radix(p->op, p->alg),
		.wide = coll_plan_is_wide(p),
	};

	/* The same error occurs again when the steps are laid out. */
	if (p->alg->emit(&e, p->n, id, p->root))
		return 0;
	return p->kind->flags & COLL_KIND_BLOCKS ? e.chunks + e.tokens : e.nr;
}

/*
 * The most blocks for which no node has too many steps. Each node counts the steps of all nodes,
 * because all have to cut in the same way. Return: 0 or -ENOMEM.
 */
static int coll_blocks_most(const struct coll_plan *p, u32 *most)
{
	const struct coll_group *g = p->op->group;
	u64 *steps, worst = 1;
	u32 i, node;

	steps = kvcalloc(g->nr_nodes, sizeof(*steps), GFP_KERNEL_ACCOUNT);
	if (!steps)
		return -ENOMEM;
	for (i = 0; i < p->n; i++) {
		node = p->kind->flags & COLL_KIND_RANKS ? g->node_of[i] : i;
		steps[node] += coll_count_steps(p, i);
		worst = max(worst, steps[node]);
		cond_resched();
	}
	kvfree(steps);
	*most = div64_u64(COLL_MAX_STEPS, worst) ?: 1;
	return 0;
}

/*
 * One block for each link, and all blocks run at once. If their scratch would be too large, there
 * are more and smaller blocks, and two blocks of each link run at a time.
 */
int coll_plan_blocks(struct coll_plan *p)
{
	const struct coll_reducer *r = &p->x->reducer;
	u32 sets = DIV_ROUND_UP(p->tmp, p->chunks);
	u32 links = p->op->links, most = 1;
	u64 want;
	int ret = 0;

	if (links > 1)
		ret = coll_blocks_most(p, &most);
	if (ret)
		return ret;
	p->x->blocks = min(links, most);
	p->x->at_once = 2 * links;
	/* No rank knows all counts of these collectives, and they need no scratch. */
	if (p->kind->flags & COLL_KIND_PRIVATE || !p->op->elem)
		return 0;
	if (p->kind->out != COLL_HAS_ALL || p->kind->root_out != COLL_HAS_ALL ||
	    (r->part && r->partial != r->elem))
		sets++;
	if (!sets)
		return 0;
	ret = coll_plan_starts(p);
	/* A fusion is one block: only such tensors are fused. */
	if (ret || p->marks)
		return ret;
	want = coll_blocks_wanted(p, p->whole * p->x->blocks * sets *
				  (r->partial ?: p->op->elem), sets);
	if (!want)
		return 0;
	if (links == 1)
		ret = coll_blocks_most(p, &most);
	if (ret)
		return ret;
	p->x->blocks = min_t(u64, most, want);
	kvfree(p->starts);
	p->starts = NULL;
	return coll_plan_starts(p);
}

/* Does the step write or read ->dst? A final step writes to the outputs instead. */
static bool coll_step_has_dst(const struct coll_exec_step *st)
{
	if (st->s.kind == COLL_STEP_SEND)
		return false;
	if (!(st->s.flags & COLL_STEP_FINAL))
		return true;
	switch (st->s.action) {
	case COLL_ACT_FOLD:
	case COLL_ACT_FOLD_INPUT:
	case COLL_ACT_REDUCE:
		return !st->with.vec;
	default:
		return false;
	}
}

static bool coll_step_uses(const struct coll_exec_step *st, const struct coll_vec *scratch)
{
	return (coll_step_has_dst(st) && st->dst.vec == scratch) ||
	       st->src.vec == scratch || st->with.vec == scratch;
}

/* Does any step that is still to run touch this scratch? */
static bool coll_scratch_used(const struct coll_plan *p, const struct coll_part *part,
			      const struct coll_vec *scratch)
{
	u32 i;

	for (i = part->begin; i < part->end; i++) {
		const struct coll_exec_step *st = &p->x->steps[i];

		if (st->len && !st->idle && coll_step_uses(st, scratch))
			return true;
	}
	return false;
}

/* Allocate @vec of a participant if a step uses it. @left: bytes that may be taken. */
static int coll_plan_scratch_of(struct coll_plan *p, struct coll_part *part, struct coll_vec *vec,
				u64 bytes, u64 *left)
{
	if (!coll_scratch_used(p, part, vec))
		return 0;
	if (bytes > min_t(u64, *left, COLL_SCRATCH_MAX))
		return -ENOMEM;
	*left -= bytes;
	vec->buf = coll_buf_scratch(bytes, false);
	return vec->buf ? 0 : -ENOMEM;
}

int coll_plan_scratch(struct coll_plan *p)
{
	u64 half = p->whole * max(DIV_ROUND_UP(p->tmp, p->chunks), 1U);
	u64 left = p->room - p->x->nr_steps * sizeof(*p->x->steps);
	u32 size = p->x->reducer.partial;
	u32 i;
	int ret;

	half *= min(p->x->blocks, p->x->at_once);
	for (i = 0; i < p->x->nr_parts; i++) {
		struct coll_part *part = &p->x->parts[i];

		ret = coll_plan_scratch_of(p, part, &part->work, half * size, &left);
		if (!ret)
			ret = coll_plan_scratch_of(p, part, &part->tmp, half * size, &left);
		if (ret)
			return ret;
	}
	return 0;
}

/* Are the @bytes at @at inside of each of @nr vectors, and not in a gap? */
static bool coll_inside(const struct coll_vec *vec, u32 nr, u64 at, u64 bytes)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (!vec[i].buf || !coll_vec_has(&vec[i], at, bytes))
			return false;
	return true;
}

/* Does the step write only to buffers that may be written? */
static bool coll_step_may_write(const struct coll_plan *p, const struct coll_exec_step *st)
{
	const struct coll_part *part = &p->x->parts[st->part];
	u32 i = !p->x->reducer.part && coll_step_keeps_first(part, st);

	if (!(st->s.flags & COLL_STEP_FINAL))
		return !coll_step_has_dst(st) || st->dst.vec->buf->write;
	while (i < part->nr_out && part->out[i].buf->write)
		i++;
	return i == part->nr_out;
}

static bool coll_step_has_input(const struct coll_exec_step *st)
{
	return st->s.action == COLL_ACT_INPUT || st->s.action == COLL_ACT_REDUCE_IN ||
	       st->s.action == COLL_ACT_FOLD_INPUT;
}

/* Are all operands that coll_step_args() will use inside of their vectors? */
static bool coll_step_inside(const struct coll_plan *p, const struct coll_exec_step *st)
{
	const struct coll_part *part = &p->x->parts[st->part];
	u64 elems = st->len / st->unit * p->op->elem;
	/* With a smaller type on links, partial results in memory have the size of elements. */
	u64 bytes = st->wire ? elems : st->len;

	/* The result of the last fold has the size of elements, but partial results are read. */
	if (st->s.action == COLL_ACT_FOLD && !st->wire)
		bytes = st->len / st->unit * p->x->reducer.partial;
	if (st->src.vec && !coll_inside(st->src.vec, 1, st->src.at, bytes))
		return false;
	if (st->s.kind == COLL_STEP_SEND)
		return st->src.vec;
	if (st->s.flags & COLL_STEP_FINAL &&
	    (!part->nr_out || !coll_inside(part->out, part->nr_out, st->out_at, elems)))
		return false;
	if (coll_step_has_input(st) &&
	    (!part->nr_in || !coll_inside(part->in, part->nr_in, st->in_at, elems)))
		return false;
	if (st->with.vec && !coll_inside(st->with.vec, 1, st->with.at, bytes))
		return false;
	return !coll_step_has_dst(st) ||
	       coll_inside(st->dst.vec, 1, st->dst.at, st->len / st->unit *
			   (coll_gives_partial(&st->s) && !st->wire ? st->unit :
								      p->x->reducer.partial));
}

int coll_plan_check(struct coll_plan *p)
{
	u32 i;

	for (i = 0; i < p->x->nr_steps; i++) {
		const struct coll_exec_step *st = &p->x->steps[i];

		if (st->len && !st->idle &&
		    (!coll_step_inside(p, st) || !coll_step_may_write(p, st)))
			return -EBADE;
		/* A step may have a thousand vectors, and there are tens of thousands of steps. */
		cond_resched();
	}
	return 0;
}
