// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: what comes out.
 */
#include "values.h"

/* Intervals of participants have 16 bits for each end. */
#define MAX_ORDERED	(1U << 16)

static bool is_ordered(const struct check *k)
{
	return k->c->alg->flags & COLL_ALG_ORDERED;
}

bool check_has_output(const struct check *k, u32 p, u32 chunk)
{
	switch (k->c->alg->collective) {
	case COLL_BARRIER:
		return false;
	case COLL_REDUCE:
	case COLL_GATHER:
		return p == k->c->root;
	case COLL_SCATTER:
	case COLL_REDUCE_SCATTER:
		return p == chunk;
	case COLL_EXSCAN:
		return p;
	default:
		return true;
	}
}

static u64 interval(u32 first, u32 last, u32 chunk)
{
	return (u64)first << 48 | (u64)last << 32 | chunk;
}

/* The input chunk of one participant. */
static struct check_value contribution(const struct check *k, u32 p, u32 chunk)
{
	struct check_value v = { .expr = check_digest((u64)p << 32 | chunk, ~(u64)0) };

	v.set = is_ordered(k) ? interval(p, p, chunk) : check_digest(v.expr, 1);
	return v;
}

/* @a op @b */
static int combine(struct check *k, u32 x, struct check_value a, struct check_value b,
		   struct check_value *v)
{
	v->expr = check_digest(a.expr, b.expr);
	v->set = a.set + b.set;
	if (!is_ordered(k))
		return 0;
	if ((u32)a.set != (u32)b.set)
		return check_fail(k, x, "folds different chunks");
	if ((a.set >> 32 & 0xffff) + 1 != b.set >> 48)
		return check_fail(k, x, "not in the order of participants");
	v->set = interval(a.set >> 48, b.set >> 32 & 0xffff, (u32)a.set);
	return 0;
}

/* The result of the step for one chunk, as an expression over the inputs. */
static int evaluate(struct check *k, u32 x, u32 i)
{
	const struct coll_step *s = &k->steps[x];
	u32 slot = k->slot[x] + i;
	struct check_value *v = &k->value[slot], come = {}, there = {};

	if (reads_input(s))
		there = contribution(k, k->owner[x], input_chunk(k, s, i));
	if (is_recv(k, x))
		come = k->value[k->slot[step_pair(k, x)] + i];
	if (reads_other(s))
		come = k->value[k->other[slot]];

	switch (s->action) {
	case COLL_ACT_NONE:
		*v = reads_input(s) ? there : k->value[k->from[slot]];
		return 0;
	case COLL_ACT_COPY:
		*v = come;
		return 0;
	case COLL_ACT_INPUT:
		*v = there;
		return 0;
	case COLL_ACT_MOVE:
		*v = reads_other(s) ? come : there;
		return 0;
	case COLL_ACT_FOLD_INPUT:
		come = there;
		there = k->value[k->from[slot]];
		break;
	case COLL_ACT_REDUCE:
	case COLL_ACT_FOLD:
		there = k->value[k->from[slot]];
		break;
	}
	return s->flags & COLL_STEP_LAST ? combine(k, x, there, come, v) :
					   combine(k, x, come, there, v);
}

/* Every participant's inputs: the set that a fold of all has. */
static void sum_up(struct check *k)
{
	u32 i, p;

	for (i = 0; i < k->chunks; i++) {
		k->full[i] = is_ordered(k) ? interval(0, k->n - 1, i) : 0;
		k->final[i] = (struct check_value){};
		for (p = 0; p < k->n && !is_ordered(k); p++)
			k->full[i] += contribution(k, p, i).set;
	}
}

/*
 * The value that output chunk @chunk of @p must have, in collectives that do not fold inputs.
 */
static struct check_value block(const struct check *k, u32 p, u32 chunk)
{
	switch (k->c->alg->collective) {
	case COLL_ALLTOALL:
		return contribution(k, chunk, p);
	case COLL_ALLGATHER:
	case COLL_GATHER:
		return contribution(k, chunk, chunk);
	default:
		return contribution(k, k->c->root, chunk);
	}
}

static int check_final(struct check *k, u32 x, u32 i)
{
	u32 p = k->owner[x], chunk = k->steps[x].chunk + i;
	const struct check_value *v = &k->value[k->slot[x] + i];
	struct check_value *first = &k->final[chunk];
	u64 want;

	switch (k->c->alg->collective) {
	case COLL_ALLREDUCE:
		if (first->set && first->expr != v->expr)
			return check_fail(k, x, "participants get different expressions");
		if (k->c->alg->flags & COLL_ALG_ONE_PLACE &&
		    !first->set == (k->steps[x].action == COLL_ACT_COPY))
			return check_fail(k, x, "not summed up in one place");
		*first = *v;
		want = k->full[chunk];
		break;
	case COLL_REDUCE:
	case COLL_REDUCE_SCATTER:
		want = k->full[chunk];
		break;
	case COLL_SCAN:
	case COLL_EXSCAN:
		if (!is_ordered(k))
			return check_fail(k, x, "a scan without order");
		want = interval(0, k->c->alg->collective == COLL_SCAN ? p : p - 1, chunk);
		break;
	default:
		if (v->expr != block(k, p, chunk).expr)
			return check_fail(k, x, "not the data that belong there");
		return 0;
	}
	return v->set == want ? 0 : check_fail(k, x, "an input is missing or counts twice");
}

/* COLL_ALG_DIRECT: a rank sends its own blocks only, and each goes straight to its destination. */
static int check_direct(struct check *k, u32 x, u32 i)
{
	u32 p = k->owner[x], chunk = k->steps[x].chunk + i;

	if (!(k->c->alg->flags & COLL_ALG_DIRECT))
		return 0;
	if (k->value[k->slot[x] + i].expr != contribution(k, p, chunk).expr ||
	    !(k->steps[step_pair(k, x)].flags & COLL_STEP_FINAL))
		return check_fail(k, x, "a block does not go straight");
	return 0;
}

int check_values(struct check *k)
{
	u32 i, j, x;
	int err = 0;

	if (is_ordered(k) && k->n > MAX_ORDERED)
		return check_fail_at(k, 0, "too many participants to check their order");
	sum_up(k);
	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		for (j = 0; j < k->steps[x].nr_chunks; j++) {
			err = evaluate(k, x, j);
			if (!err && is_send(k, x))
				err = check_direct(k, x, j);
			if (!err && (k->steps[x].flags & COLL_STEP_FINAL))
				err = check_final(k, x, j);
			if (err)
				return err;
		}
	}
	return 0;
}
