// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: an order of all steps, and what follows from the order: the longest
 * chain, and who is known to have started.
 */
#include "order.h"

static u32 max32(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* Sort steps by key, and within a participant as in its array: counting sort. */
void check_order(struct check *k)
{
	u32 keys = 3 * (k->max_round + 1) + 1, i, sum = 0, count;

	memset(k->key_start, 0, (keys + 1) * sizeof(u32));
	for (i = 0; i < k->nr; i++)
		k->key_start[k->key[i]]++;
	for (i = 0; i <= keys; i++) {
		count = k->key_start[i];
		k->key_start[i] = sum;
		sum += count;
	}
	for (i = 0; i < k->nr; i++)
		k->order[k->key_start[k->key[i]]++] = i;
}

/*
 * All steps that a fence waits for stand before it in the order; those counted once
 * need not be counted again.
 */
static u32 fence_level(struct check *k, u32 x)
{
	u32 p = k->owner[x], y;

	for (y = k->cursor[p]; y < x; y++) {
		if (!is_send(k, y))
			k->fence_level[p] = max32(k->fence_level[p], k->level[y]);
	}
	k->cursor[p] = max32(k->cursor[p], x);
	return k->fence_level[p];
}

int check_latency(struct check *k)
{
	u32 i, x, p, level, longest = 0;

	for (p = 0; p < k->n; p++) {
		k->cursor[p] = k->base[p];
		k->fence_level[p] = 0;
	}
	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		level = is_fence(k, x) ? fence_level(k, x) : 0;
		if (step_dep(k, x) != NONE)
			level = max32(level, k->level[step_dep(k, x)]);
		if (is_recv(k, x))
			level = max32(level, k->level[step_pair(k, x)]);
		k->level[x] = level + is_send(k, x);
		longest = max32(longest, k->level[x]);
	}
	k->c->latency = longest;
	if (!k->c->radix && longest != k->c->alg->latency(k->n, k->c->root))
		return check_fail_at(k, 0, "longest chain differs from the formula");
	return 0;
}

static u64 *set_of(struct check *k, u32 x)
{
	return k->know + (u64)k->token[x] * k->words;
}

static void learn(struct check *k, u64 *to, const u64 *from)
{
	u32 w;

	for (w = 0; w < k->words; w++)
		to[w] |= from[w];
}

static bool all_known(const struct check *k, const u64 *set)
{
	u32 w;

	for (w = 0; w < k->n / 64; w++) {
		if (~set[w])
			return false;
	}
	return !(k->n % 64) || set[w] == (1ULL << k->n % 64) - 1;
}

/* Add to the fence set of @p those that are known to have started after its steps before @end. */
static void gather_fence(struct check *k, u32 p, u32 end)
{
	u64 *set = k->fence_know + (u64)p * k->words;
	u32 y;

	for (y = k->cursor[p]; y < end; y++) {
		if (is_send(k, y) && end < k->base[p + 1])
			continue;
		if (k->all[y])
			k->fence_all[p] = 1;
		else if (k->token[y] != NONE)
			learn(k, set, set_of(k, y));
	}
	k->cursor[p] = max32(k->cursor[p], end);
	if (!k->fence_all[p])
		k->fence_all[p] = all_known(k, set);
}

/* Does @x know that all have started, from steps that know it themselves? */
static bool knows_all(struct check *k, u32 x)
{
	u32 dep = step_dep(k, x);

	if (is_fence(k, x)) {
		gather_fence(k, k->owner[x], x);
		if (k->fence_all[k->owner[x]])
			return true;
	}
	return (dep != NONE && k->all[dep]) || (is_recv(k, x) && k->all[step_pair(k, x)]);
}

/* The set of a token: me, and what it waits for. */
static void token_set(struct check *k, u32 x)
{
	u32 p = k->owner[x], dep = step_dep(k, x);
	u64 *set = set_of(k, x);

	memset(set, 0, k->words * sizeof(u64));
	set[p / 64] |= 1ULL << p % 64;
	if (is_fence(k, x))
		learn(k, set, k->fence_know + (u64)p * k->words);
	if (dep != NONE && k->token[dep] != NONE)
		learn(k, set, set_of(k, dep));
	if (is_recv(k, x) && k->token[step_pair(k, x)] != NONE)
		learn(k, set, set_of(k, step_pair(k, x)));
	k->all[x] = all_known(k, set);
}

/*
 * The participants that are known to have started, at each step. Not needed where each result
 * is made of every participant's contribution.
 */
int check_started(struct check *k)
{
	u32 i, x, p, tokens = 0;

	memset(k->fence_know, 0, (u64)k->n * k->words * sizeof(u64));
	memset(k->fence_all, 0, k->n);
	for (p = 0; p < k->n; p++) {
		k->cursor[p] = k->base[p];
		k->fence_know[(u64)p * k->words + p / 64] |= 1ULL << p % 64;
		k->fence_all[p] = k->n == 1;
	}
	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		k->token[x] = NONE;
		k->all[x] = knows_all(k, x);
		if (k->all[x] || k->steps[x].kind == COLL_STEP_LOCAL)
			continue;
		if (k->steps[x].nr_chunks && is_send(k, x))
			return check_fail(k, x, "payload moves before all have started");
		if (k->steps[x].nr_chunks)
			continue;
		if (tokens == k->nr_tokens)
			return check_fail(k, x, "too many tokens");
		k->token[x] = tokens++;
		token_set(k, x);
	}
	for (p = 0; p < k->n; p++) {
		gather_fence(k, p, k->base[p + 1]);
		if (!k->fence_all[p])
			return check_fail_at(k, p, "is through before all have started");
	}
	return 0;
}
