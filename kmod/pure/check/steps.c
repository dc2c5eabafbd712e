// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: steps one by one, rounds, pairing of sends and receives.
 */
#include "steps.h"
#include "values.h"

/*
 * Do two chunks have the same size, whatever the sizes of the chunks are? Chunk k of TMP is
 * as large as chunk k mod chunks.
 */
static bool same_size(const struct check *k, u32 a, u32 b)
{
	return (k->c->alg->flags & COLL_ALG_EQUAL) || a % k->chunks == b % k->chunks;
}

static const char *dep_error(const struct check *k, const struct coll_step *steps, u32 i)
{
	const struct coll_step *s = &steps[i];

	if (s->dep == NONE)
		return NULL;
	if (s->dep >= i)
		return "dependency is not an earlier step";
	if (steps[s->dep].kind == COLL_STEP_SEND)
		return "dependency is a send";
	if (steps[s->dep].nr_chunks != s->nr_chunks ||
	    (s->nr_chunks && !same_size(k, steps[s->dep].chunk, s->chunk)))
		return "dependency has another length";
	return NULL;
}

static bool action_ok(const struct coll_step *s)
{
	switch (s->kind) {
	case COLL_STEP_SEND:
		return s->action == COLL_ACT_NONE;
	case COLL_STEP_RECV:
		if (!s->nr_chunks)
			return s->action == COLL_ACT_NONE;
		return s->action >= COLL_ACT_COPY && s->action <= COLL_ACT_REDUCE;
	case COLL_STEP_LOCAL:
		return s->nr_chunks && s->action >= COLL_ACT_INPUT &&
		       s->action <= COLL_ACT_MOVE;
	default:
		return false;
	}
}

/* Flags that the algorithm needs for this step. */
static u32 needs(const struct coll_step *s)
{
	u32 flags = 0;

	if (s->space == COLL_SPACE_TMP || s->from_space == COLL_SPACE_TMP)
		flags |= COLL_ALG_TMP;
	if ((s->flags & COLL_STEP_LAST) || s->action >= COLL_ACT_FOLD_INPUT)
		flags |= COLL_ALG_LAST;
	if (s->space == COLL_SPACE_INPUT || s->from_space == COLL_SPACE_INPUT)
		flags |= COLL_ALG_INPUT | COLL_ALG_RANKS;
	return flags;
}

static bool range_ok(const struct check *k, u32 space, u32 chunk, u32 nr)
{
	return (u64)chunk + nr <= (space == COLL_SPACE_TMP ? k->cells - k->chunks : k->chunks);
}

static const char *space_error(const struct check *k, const struct coll_step *s)
{
	bool from = s->action == COLL_ACT_FOLD || s->action == COLL_ACT_MOVE;

	if (s->space > COLL_SPACE_TMP ||
	    (s->space == COLL_SPACE_INPUT && s->kind != COLL_STEP_SEND))
		return "no such space";
	if (!range_ok(k, s->space, s->chunk, s->nr_chunks))
		return "range beyond the vector";
	if (!from)
		return s->from_space || s->from ? "unknown bits" : NULL;
	if (s->from_space > COLL_SPACE_TMP ||
	    (s->from_space == COLL_SPACE_INPUT && s->action != COLL_ACT_MOVE))
		return "no such space";
	if (!range_ok(k, s->from_space, s->from, s->nr_chunks))
		return "range beyond the vector";
	if (!same_size(k, s->chunk, s->from))
		return "reads a range of another length";
	if (s->from_space == s->space && s->from < s->chunk + s->nr_chunks &&
	    s->chunk < s->from + s->nr_chunks)
		return "reads from where it writes";
	return NULL;
}

/* Is this chunk in the input of @p? */
static bool has_input(const struct check *k, u32 p, u32 chunk)
{
	switch (k->c->alg->collective) {
	case COLL_BARRIER:
		return false;
	case COLL_BROADCAST:
	case COLL_SCATTER:
		return p == k->c->root;
	case COLL_ALLGATHER:
	case COLL_GATHER:
		return p == chunk;
	default:
		return true;
	}
}

/* In a scan whose partial results are wide: does it read W, where results are? */
static bool passes_result(const struct check *k, const struct coll_step *s)
{
	u32 collective = k->c->alg->collective;

	if (!k->c->wide || (collective != COLL_SCAN && collective != COLL_EXSCAN))
		return false;
	if (s->kind == COLL_STEP_SEND)
		return s->space == COLL_SPACE_WORK;
	return (s->action == COLL_ACT_FOLD || s->action == COLL_ACT_MOVE) &&
	       s->from_space == COLL_SPACE_WORK;
}

static const char *data_error(const struct check *k, const struct coll_step *s, u32 me)
{
	u32 i;

	if (passes_result(k, s))
		return "passes on a result";
	for (i = 0; i < s->nr_chunks; i++) {
		if (reads_input(s) && !has_input(k, me, input_chunk(k, s, i)))
			return "there is no such input";
		if (!(s->flags & COLL_STEP_FINAL))
			continue;
		if (!check_has_output(k, me, s->chunk + i))
			return "final where there is no output";
	}
	return NULL;
}

const char *check_step(const struct check *k, const struct coll_step *steps, u32 i, u32 me)
{
	const struct coll_step *s = &steps[i];
	const char *error;

	if (s->flags & ~(COLL_STEP_FINAL | COLL_STEP_FENCE | COLL_STEP_LAST))
		return "unknown bits";
	if (s->kind < COLL_STEP_SEND || s->kind > COLL_STEP_LOCAL)
		return "unknown kind";
	if (!action_ok(s))
		return "action does not fit the kind and range";
	if (needs(s) & ~k->c->alg->flags)
		return "the flags of the algorithm do not say so";
	if (s->kind != COLL_STEP_LOCAL && (s->peer >= k->n || s->peer == me))
		return "no such peer";
	if ((s->flags & COLL_STEP_FINAL) && (s->kind == COLL_STEP_SEND || !s->nr_chunks ||
					     s->space != COLL_SPACE_WORK))
		return "final, but produces nothing";
	error = space_error(k, s);
	if (!error)
		error = data_error(k, s, me);
	return error ? error : dep_error(k, steps, i);
}

/*
 * A transfer waits for transfers of earlier rounds only, and rounds never go back.
 * Fills in @key, by which all steps can be sorted so that none stands before what it
 * waits for: sends and receives of round r: 3 r + 1, 3 r + 2; local steps that wait for
 * round r: 3 (r + 1).
 */
const char *check_rounds(struct check *k, const struct coll_step *steps, u32 nr, u32 *key,
			 u32 *at)
{
	u32 i, after, fence = 0, round = 0;	/* after: 1 + round waited for */
	const struct coll_step *s;

	for (i = 0; i < nr; i++) {
		s = &steps[i];
		*at = i;
		after = s->flags & COLL_STEP_FENCE ? fence : 0;
		if (s->dep != NONE && key[s->dep] / 3 + (key[s->dep] % 3 > 0) > after)
			after = key[s->dep] / 3 + (key[s->dep] % 3 > 0);
		if (s->kind == COLL_STEP_LOCAL) {
			key[i] = 3 * after;
			fence = after > fence ? after : fence;
			continue;
		}
		if (s->round < round)
			return "rounds go back";
		if (s->round > k->max_round)
			return "round out of all proportion";
		round = s->round;
		if (after > round)
			return "waits for a transfer of its round or later";
		key[i] = 3 * round + (s->kind == COLL_STEP_SEND ? 1 : 2);
		if (s->kind == COLL_STEP_RECV)
			fence = round + 1;
	}
	return NULL;
}

/* Each step by itself, slots, rounds, and the formula of the payload. */
int check_all_steps(struct check *k)
{
	const struct coll_check *c = k->c;
	const char *error;
	u64 slots = 0, sent;
	u32 p, x, at;

	for (p = 0; p < k->n; p++) {
		sent = 0;
		for (x = k->base[p]; x < k->base[p + 1]; x++) {
			error = check_step(k, k->steps + k->base[p], x - k->base[p], p);
			if (error)
				return check_fail(k, x, error);
			k->slot[x] = slots;
			slots += k->steps[x].nr_chunks;
			if (is_send(k, x))
				sent += k->steps[x].nr_chunks;
		}
		error = check_rounds(k, k->steps + k->base[p], k->base[p + 1] - k->base[p],
				     k->key + k->base[p], &at);
		if (error)
			return check_fail(k, k->base[p] + at, error);
		if (!c->radix && sent != c->alg->sent(k->n, p, c->root))
			return check_fail_at(k, p, "payload sent differs from the formula");
	}
	k->slot[k->nr] = slots;
	return 0;
}

/* Stable counting sort of step numbers, by peer or else by owner. */
static void sort_steps(struct check *k, u32 *to, const u32 *list, u32 nr, bool by_peer)
{
	u32 *start = k->cursor;
	u32 i, key, sum = 0, count;

	memset(start, 0, k->n * sizeof(*start));
	for (i = 0; i < nr; i++)
		start[by_peer ? k->steps[list[i]].peer : k->owner[list[i]]]++;
	for (i = 0; i < k->n; i++) {
		count = start[i];
		start[i] = sum;
		sum += count;
	}
	for (i = 0; i < nr; i++) {
		key = by_peer ? k->steps[list[i]].peer : k->owner[list[i]];
		to[start[key]++] = list[i];
	}
}

static const char *pair_error(const struct check *k, u32 x, u32 y)
{
	const struct coll_step *s = &k->steps[x], *r = &k->steps[y];

	if (s->peer != k->owner[y] || r->peer != k->owner[x])
		return "receive without its send";
	if (s->nr_chunks != r->nr_chunks)
		return "send has another range";
	if (s->nr_chunks && !same_size(k, s->chunk, r->chunk) &&
	    k->c->alg->collective != COLL_ALLTOALL)
		return "send has another range";
	if (s->round != r->round)
		return "send has another round";
	return NULL;
}

/*
 * Bring sends and receives into the same order, that of (receiver, sender, place
 * in the array): they must then agree one by one.
 */
int check_pairs(struct check *k)
{
	u32 *list = k->order, *tmp = k->level;
	const char *error;
	u32 i, x, nr_recvs = 0;

	k->nr_sends = 0;
	for (x = 0; x < k->nr; x++) {
		if (is_send(k, x))
			list[k->nr_sends++] = x;
	}
	sort_steps(k, k->sends, list, k->nr_sends, true);
	for (x = 0; x < k->nr; x++) {
		if (is_recv(k, x))
			list[nr_recvs++] = x;
	}
	sort_steps(k, tmp, list, nr_recvs, true);
	sort_steps(k, k->recvs, tmp, nr_recvs, false);

	for (i = 0; i < k->nr_sends || i < nr_recvs; i++) {
		if (i == nr_recvs)
			return check_fail(k, k->sends[i], "send without a receive");
		if (i == k->nr_sends)
			return check_fail(k, k->recvs[i], "receive without a send");
		error = pair_error(k, k->sends[i], k->recvs[i]);
		if (error)
			return check_fail(k, k->recvs[i], error);
		k->pos[k->sends[i]] = i;
		k->pos[k->recvs[i]] = i;
	}
	return 0;
}
