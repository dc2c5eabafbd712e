// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: what is in W, and when.
 */
#include "check_priv.h"

/* Where the bytes of a step come from; NONE: from the inputs. */
static u32 parent(const struct check *k, u32 x)
{
	return is_recv(k, x) ? step_pair(k, x) : step_dep(k, x);
}

/* Number the forest, so that an ancestor is seen by two comparisons. */
static void number_forest(struct check *k)
{
	u32 *next_child = k->dep_head;
	u32 i, x, up, next = 0;

	for (x = 0; x < k->nr; x++) {
		k->below[x] = 1;
		k->stamp[x] = 0;
	}
	for (i = k->nr; i--; ) {
		up = parent(k, k->order[i]);
		if (up != NONE)
			k->below[up] += k->below[k->order[i]];
	}
	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		up = parent(k, x);
		if (up == NONE) {
			k->pre[x] = next;
			next += k->below[x];
		} else {
			k->pre[x] = next_child[up];
			next_child[up] += k->below[x];
		}
		next_child[x] = k->pre[x] + 1;
	}
}

static bool is_ancestor(const struct check *k, u32 a, u32 b)
{
	return k->pre[b] - k->pre[a] < k->below[a];
}

static bool fenced_by(const struct check *k, u32 a, u32 b)
{
	return (k->steps[b].flags & COLL_STEP_FENCE) && a < b &&
	       k->owner[a] == k->owner[b] && !is_send(k, a);
}

static void visit(struct check *k, u32 x, u32 *tail)
{
	if (x != NONE && k->stamp[x] != k->searches) {
		k->stamp[x] = k->searches;
		k->queue[(*tail)++] = x;
	}
}

/* Search backwards from @b; slow, for what the shortcuts do not decide. */
static bool search(struct check *k, u32 a, u32 b)
{
	u32 head = 0, tail = 0, x, y;

	k->searches++;
	visit(k, b, &tail);
	while (head < tail) {
		x = k->queue[head++];
		if (is_ancestor(k, a, x) || fenced_by(k, a, x))
			return true;
		visit(k, step_dep(k, x), &tail);
		if (k->steps[x].kind != COLL_STEP_LOCAL)
			visit(k, link_prev(k, x), &tail);
		if (is_recv(k, x))
			visit(k, step_pair(k, x), &tail);
		if (k->steps[x].flags & COLL_STEP_FENCE) {
			for (y = k->base[k->owner[x]]; y < x; y++) {
				if (!is_send(k, y))
					visit(k, y, &tail);
			}
		}
	}
	return false;
}

/*
 * Has receive or local step @a surely happened when @b happens? Of bytes that
 * both touch, if @a is an ancestor; else of all.
 */
static bool before(struct check *k, u32 a, u32 b)
{
	if (is_ancestor(k, a, b) || fenced_by(k, a, b))
		return true;
	if (is_recv(k, a) && is_recv(k, b) && same_link(k, a, b) && a < b)
		return true;
	return search(k, a, b);
}

static bool reads_w(const struct coll_step *s)
{
	return s->kind == COLL_STEP_SEND || s->action == COLL_ACT_REDUCE;
}

static bool reads_input(const struct coll_step *s)
{
	return s->action == COLL_ACT_INPUT || s->action == COLL_ACT_REDUCE_IN;
}

static int read_chunk(struct check *k, u32 x, u32 chunk, u32 slot)
{
	u32 w = k->writer[chunk];

	if (w == NONE)
		return check_fail(k, x, "reads what was never written");
	if (!before(k, w, x))
		return check_fail(k, x, "may read before the write");
	k->from[slot] = k->slot[w] + chunk - k->steps[w].chunk;
	if (is_send(k, x)) {
		k->reader_next[slot] = k->readers[chunk];
		k->readers[chunk] = slot;
	}
	return 0;
}

/* A send has read when its receive is complete: no copy is made on the way. */
static int write_chunk(struct check *k, u32 x, u32 chunk, u32 slot)
{
	u32 w = k->writer[chunk], r;

	if (w != NONE && (k->steps[w].flags & COLL_STEP_FINAL))
		return check_fail(k, x, "writes what is final");
	for (r = k->readers[chunk]; r != NONE; r = k->reader_next[r]) {
		if (!before(k, step_pair(k, k->slot_step[r]), x))
			return check_fail(k, x, "may overwrite what is still being sent");
	}
	if (w != NONE && !before(k, w, x))
		return check_fail(k, x, "may write before an earlier write");
	k->readers[chunk] = NONE;
	k->writer[chunk] = x;
	return 0;
}

static int check_chunk(struct check *k, u32 x, u32 chunk, u32 slot)
{
	const struct coll_step *s = &k->steps[x];
	int err = 0;

	k->slot_step[slot] = x;
	if (k->c->in_place && reads_input(s) && k->writer[chunk] != NONE)
		return check_fail(k, x, "reads an input that was overwritten");
	if (reads_w(s))
		err = read_chunk(k, x, chunk, slot);
	if (!err && s->kind != COLL_STEP_SEND)
		err = write_chunk(k, x, chunk, slot);
	return err;
}

/* Walk each participant's array; whatever may happen must give the same. */
int check_races(struct check *k)
{
	bool has_data = k->c->alg->collective != COLL_BARRIER;
	u32 p, x, i, w;
	int err;

	number_forest(k);
	k->searches = 0;
	for (p = 0; p < k->n; p++) {
		for (i = 0; i < k->chunks; i++) {
			k->writer[i] = NONE;
			k->readers[i] = NONE;
		}
		for (x = k->base[p]; x < k->base[p + 1]; x++) {
			for (i = 0; i < k->steps[x].nr_chunks; i++) {
				err = check_chunk(k, x, k->steps[x].chunk + i,
						  k->slot[x] + i);
				if (err)
					return err;
			}
		}
		for (i = 0; has_data && i < k->chunks; i++) {
			w = k->writer[i];
			if (w == NONE || !(k->steps[w].flags & COLL_STEP_FINAL))
				return check_fail_at(k, p, "a chunk never becomes final");
		}
	}
	return 0;
}

/* A digest of an ordered pair; the mixer is explained in wire.c. */
static u64 digest(u64 a, u64 b)
{
	u64 h = (a ^ 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL + b;

	h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
	return h ^ h >> 31;
}

static u64 contribution(u32 p)
{
	return digest(p, ~(u64)0);
}

/* What the step makes of one chunk, as an expression over the inputs. */
static u64 evaluate(const struct check *k, u32 x, u32 i)
{
	u32 slot = k->slot[x] + i, pair = NONE;

	if (is_send(k, x))
		return k->value[k->from[slot]];
	if (is_recv(k, x))
		pair = k->slot[step_pair(k, x)] + i;

	switch (k->steps[x].action) {
	case COLL_ACT_COPY:
		return k->value[pair];
	case COLL_ACT_REDUCE_IN:
		return digest(k->value[pair], contribution(k->owner[x]));
	case COLL_ACT_REDUCE:
		return digest(k->value[pair], k->value[k->from[slot]]);
	default:
		return contribution(k->owner[x]);
	}
}

/*
 * Take the expression of @slot apart and count whose input is in it; each at
 * most once, so there are never more branches left than participants.
 */
static int count_inputs(struct check *k, u32 slot)
{
	u32 *stack = k->cursor;
	u32 top = 0, inputs = 0, x, p;

	memset(k->seen, 0, k->n * sizeof(u32));
	for (;;) {
		x = k->slot_step[slot];
		if (reads_input(&k->steps[x])) {
			p = k->owner[x];
			if (k->seen[p]++)
				return check_fail(k, x, "an input counts twice");
			inputs++;
		}
		if (k->steps[x].action == COLL_ACT_REDUCE) {
			if (inputs + top + 1 >= k->n)
				return check_fail(k, x, "an input counts twice");
			stack[top++] = k->from[slot];
		}
		if (is_recv(k, x))
			slot = k->slot[step_pair(k, x)] + slot - k->slot[x];
		else if (is_send(k, x))
			slot = k->from[slot];
		else if (top)
			slot = stack[--top];
		else
			break;
	}
	if (k->c->alg->collective == COLL_BROADCAST)
		return inputs == 1 && k->seen[k->c->root] ? 0 :
			check_fail(k, x, "not the root's data");
	return inputs == k->n ? 0 : check_fail(k, x, "an input is missing");
}

/*
 * Digests tell whether all participants end up with the same expression; what is
 * in it, is then counted exactly, once for each chunk.
 */
int check_values(struct check *k)
{
	u32 i, j, x, slot;
	int err;

	for (i = 0; i < k->chunks; i++)
		k->final_slot[i] = NONE;
	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		for (j = 0; j < k->steps[x].nr_chunks; j++) {
			slot = k->slot[x] + j;
			k->value[slot] = evaluate(k, x, j);
			if (!(k->steps[x].flags & COLL_STEP_FINAL))
				continue;
			if (k->final_slot[k->steps[x].chunk + j] == NONE) {
				k->final_slot[k->steps[x].chunk + j] = slot;
				k->final_value[k->steps[x].chunk + j] = k->value[slot];
			} else if (k->value[slot] != k->final_value[k->steps[x].chunk + j]) {
				return check_fail(k, x, "participants get different expressions");
			}
		}
	}
	for (i = 0; i < k->chunks; i++) {
		if (k->final_slot[i] == NONE)
			continue;
		err = count_inputs(k, k->final_slot[i]);
		if (err)
			return err;
	}
	return 0;
}
