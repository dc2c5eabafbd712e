// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: what is in W and TMP, and when.
 */
#include "races.h"
#include "values.h"

/*
 * The parent of step @x. Forest 0: the step that its bytes come from; for a receive: its send.
 * Forest 1: the same, but for a receive with a dependency: that dependency. NONE: there is none.
 */
static u32 parent(const struct check *k, u32 x, u32 forest)
{
	u32 dep = step_dep(k, x);

	return is_recv(k, x) && (!forest || dep == NONE) ? step_pair(k, x) : dep;
}

/* Number the forest, so that an ancestor is seen by two comparisons. */
static void number_forest(struct check *k, u32 forest)
{
	u32 *pre = k->pre[forest], *below = k->below[forest], *next_child = k->key;
	u32 i, x, up, next = 0;

	for (x = 0; x < k->nr; x++)
		below[x] = 1;
	for (i = k->nr; i--; ) {
		up = parent(k, k->order[i], forest);
		if (up != NONE)
			below[up] += below[k->order[i]];
	}
	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		up = parent(k, x, forest);
		if (up == NONE) {
			pre[x] = next;
			next += below[x];
		} else {
			pre[x] = next_child[up];
			next_child[up] += below[x];
		}
		next_child[x] = pre[x] + 1;
	}
}

static bool is_ancestor(const struct check *k, u32 a, u32 b)
{
	return k->pre[0][b] - k->pre[0][a] < k->below[0][a] ||
	       k->pre[1][b] - k->pre[1][a] < k->below[1][a];
}

static bool fenced_by(const struct check *k, u32 a, u32 b)
{
	return is_fence(k, b) && a < b && k->owner[a] == k->owner[b] && !is_send(k, a);
}

/* @whole: has a step been waited for as a whole on the way? */
static void visit(struct check *k, u32 x, bool whole, u32 *tail)
{
	if (x == NONE || (k->stamp[x] >> 1 == k->searches && (k->stamp[x] & 1) >= whole))
		return;
	k->stamp[x] = k->searches << 1 | whole;
	k->queue[(*tail)++] = x;
}

/* Search backwards from @b; slow, for what the shortcuts do not decide. */
static bool search(struct check *k, u32 a, u32 b, bool aligned)
{
	u32 head = 0, tail = 0, x, y;
	bool whole;

	k->searches++;
	visit(k, b, false, &tail);
	while (head < tail) {
		x = k->queue[head++];
		whole = k->stamp[x] & 1;
		if (fenced_by(k, a, x) || ((whole || aligned) && is_ancestor(k, a, x)))
			return true;
		if (is_recv(k, a) && is_recv(k, x) && same_link(k, a, x) && a < x)
			return true;
		visit(k, step_dep(k, x), whole, &tail);
		if (is_recv(k, x))
			visit(k, step_pair(k, x), whole, &tail);
		if (k->steps[x].kind != COLL_STEP_LOCAL)
			visit(k, link_prev(k, x), true, &tail);
		for (y = k->base[k->owner[x]]; is_fence(k, x) && y < x; y++) {
			if (!is_send(k, y))
				visit(k, y, true, &tail);
		}
	}
	return false;
}

/*
 * Has receive or local step @a surely happened when @b happens? If @aligned, the bytes in
 * question are at the same place of both; else all of @a must have.
 */
static bool before(struct check *k, u32 a, u32 b, bool aligned)
{
	if (fenced_by(k, a, b) || (aligned && is_ancestor(k, a, b)))
		return true;
	return search(k, a, b, aligned);
}

/* The place of @cell in the range of step @x, which writes it. */
static u32 place(const struct check *k, u32 x, u32 cell)
{
	return cell - cell_of(k, k->steps[x].space, k->steps[x].chunk);
}

/* Note that @slot has read @cell. The next write to @cell drops the note. */
static void add_reader(struct check *k, u32 cell, u32 slot)
{
	k->reader_next[slot] = k->readers[cell];
	k->readers[cell] = slot;
}

/* @x reads @cell as chunk @i of a range; the slot that wrote it goes to @from. */
static int read_cell(struct check *k, u32 x, u32 i, u32 cell, u32 *from)
{
	u32 w = k->writer[cell];

	if (w == NONE)
		return check_fail(k, x, "reads what was never written");
	if (!before(k, w, x, place(k, w, cell) == i))
		return check_fail(k, x, "may read before the write");
	*from = k->slot[w] + place(k, w, cell);
	return 0;
}

/*
 * Nothing is copied on the way: a send reads its bytes until the receive is complete. A step walks
 * both of its ranges from the beginning, so equal places are worked on at the same time.
 */
static int write_cell(struct check *k, u32 x, u32 i, u32 cell)
{
	u32 w = k->writer[cell], r, s, end;

	if (w != NONE && (k->steps[w].flags & COLL_STEP_FINAL))
		return check_fail(k, x, "writes what is final");
	for (r = k->readers[cell]; r != NONE; r = k->reader_next[r]) {
		s = k->slot_step[r];
		end = is_send(k, s) ? step_pair(k, s) : s;
		if (end != x && !before(k, end, x, r - k->slot[s] == i))
			return check_fail(k, x, "may overwrite what is still being read");
	}
	/* a step that has read it did so after the write */
	if (w != NONE && k->readers[cell] == NONE && !before(k, w, x, place(k, w, cell) == i))
		return check_fail(k, x, "may write before an earlier write");
	k->readers[cell] = NONE;
	k->writer[cell] = x;
	return 0;
}

static int check_chunk(struct check *k, u32 x, u32 i)
{
	const struct coll_step *s = &k->steps[x];
	u32 slot = k->slot[x] + i, cell = cell_of(k, s->space, s->chunk + i), other;
	bool input = k->in_place && reads_input(s);
	int err = 0;

	k->slot_step[slot] = x;
	if (input) {
		other = input_chunk(k, s, i);
		if (k->writer[other] != NONE)
			return check_fail(k, x, "reads an input that was overwritten");
		add_reader(k, other, slot);
	}
	if (reads_range(s)) {
		err = read_cell(k, x, i, cell, &k->from[slot]);
		if (s->kind == COLL_STEP_SEND)
			add_reader(k, cell, slot);
	}
	if (!err && reads_other(s)) {
		other = cell_of(k, s->from_space, s->from + i);
		err = read_cell(k, x, i, other, &k->other[slot]);
		add_reader(k, other, slot);
	}
	if (!err && s->kind != COLL_STEP_SEND)
		err = write_cell(k, x, i, cell);
	return err;
}

/* Walk each participant's array: the result must be the same for every timing. */
int check_races(struct check *k)
{
	u32 p, x, i, w;
	int err;

	number_forest(k, 0);
	number_forest(k, 1);
	memset(k->stamp, 0, k->nr * sizeof(u32));
	k->searches = 0;
	for (p = 0; p < k->n; p++) {
		for (i = 0; i < k->cells; i++) {
			k->writer[i] = NONE;
			k->readers[i] = NONE;
		}
		for (x = k->base[p]; x < k->base[p + 1]; x++) {
			for (i = 0; i < k->steps[x].nr_chunks; i++) {
				err = check_chunk(k, x, i);
				if (err)
					return err;
			}
		}
		for (i = 0; i < k->chunks; i++) {
			w = k->writer[i];
			if (check_has_output(k, p, i) &&
			    (w == NONE || !(k->steps[w].flags & COLL_STEP_FINAL)))
				return check_fail_at(k, p, "a chunk never becomes final");
		}
	}
	return 0;
}
