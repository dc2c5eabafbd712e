// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: memory, and the order of the checks. The rest is in the other files here.
 */
#include "../algorithms/algorithms.h"
#include "check.h"
#include "order.h"
#include "races.h"
#include "state.h"
#include "steps.h"
#include "values.h"

/* Keeps every index and every size below in 32 and 64 bits. */
#define MAX_STEPS	(1U << 28)

struct arena {
	u8 *at;		/* NULL: only count */
	size_t used;
};

static void *carve(struct arena *a, u64 nr, size_t size)
{
	void *p = a->at ? a->at + a->used : NULL;

	a->used += (nr * size + 15) & ~(size_t)15;
	return p;
}

static void carve_started(struct check *k, struct arena *a)
{
	k->all = carve(a, k->nr, 1);
	k->token = carve(a, k->nr, sizeof(u32));
	k->know = carve(a, (u64)k->nr_tokens * k->words, sizeof(u64));
	k->fence_know = carve(a, (u64)k->n * k->words, sizeof(u64));
	k->fence_all = carve(a, k->n, 1);
}

static void carve_all(struct check *k, struct arena *a)
{
	u64 nr = k->nr, n = k->n, slots = k->nr_slots, cells = k->cells, i;

	k->steps = carve(a, nr, sizeof(*k->steps));
	k->base = carve(a, n + 1, sizeof(u32));
	k->owner = carve(a, nr, sizeof(u32));
	k->slot = carve(a, nr + 1, sizeof(u32));
	k->sends = carve(a, nr, sizeof(u32));
	k->recvs = carve(a, nr, sizeof(u32));
	k->pos = carve(a, nr, sizeof(u32));
	k->key = carve(a, nr, sizeof(u32));
	k->key_start = carve(a, 3 * (u64)k->max_round + 6, sizeof(u32));
	k->order = carve(a, nr, sizeof(u32));
	k->level = carve(a, nr, sizeof(u32));
	k->cursor = carve(a, n, sizeof(u32));
	k->fence_level = carve(a, n, sizeof(u32));
	if (k->words)
		carve_started(k, a);
	for (i = 0; i < 2; i++) {
		k->pre[i] = carve(a, nr, sizeof(u32));
		k->below[i] = carve(a, nr, sizeof(u32));
	}
	k->stamp = carve(a, nr, sizeof(u32));
	k->queue = carve(a, 2 * nr, sizeof(u32));
	k->writer = carve(a, cells, sizeof(u32));
	k->readers = carve(a, cells, sizeof(u32));
	k->reader_next = carve(a, slots, sizeof(u32));
	k->from = carve(a, slots, sizeof(u32));
	k->other = carve(a, slots, sizeof(u32));
	k->slot_step = carve(a, slots, sizeof(u32));
	k->value = carve(a, slots, sizeof(*k->value));
	k->final = carve(a, k->chunks, sizeof(*k->final));
	k->full = carve(a, k->chunks, sizeof(u64));
}

static int emit(const struct coll_check *c, struct coll_emit *e, u32 me)
{
	e->radix = c->radix;
	e->wide = c->wide;
	return c->alg->emit(e, c->n, me, c->root);
}

/* Can inputs lie in W? Not in these collectives: their W is not an output. */
static bool may_be_in_place(u32 collective)
{
	return collective != COLL_ALLTOALL && collective != COLL_SCATTER &&
	       collective != COLL_REDUCE_SCATTER;
}

/* Sizes, and the steps of the largest participant. */
static int measure(struct check *k, const struct coll_check *c, u64 *all, u32 *most)
{
	u64 slots = 0;
	u32 p;

	k->n = c->n;
	k->in_place = c->in_place && may_be_in_place(c->alg->collective);
	*all = 0;
	*most = 0;
	if (!c->n || c->n > COLL_MAX_PARTICIPANTS)
		return -EINVAL;
	k->chunks = c->alg->chunks(c->n);
	k->cells = k->chunks + (c->alg->tmp ? c->alg->tmp(c->n) : 0) + c->wide;
	for (p = 0; p < c->n; p++) {
		struct coll_emit e = {};

		if (emit(c, &e, p))
			return -EINVAL;
		*all += e.nr;
		slots += e.chunks;
		*most = e.nr > *most ? e.nr : *most;
	}
	k->max_round = *most + 8 * c->n + 64;
	if (!k->chunks || *most > MAX_STEPS)
		return -EINVAL;
	k->nr = *all < MAX_STEPS ? *all : MAX_STEPS;
	k->nr_slots = slots < MAX_STEPS ? slots : MAX_STEPS;
	if (c->alg->collective == COLL_BARRIER || c->alg->collective == COLL_BROADCAST)
		k->words = (c->n + 63) / 64;
	/* tokens: at most those of dissemination, or two trees */
	k->nr_tokens = *all < 4ULL * c->n + 2ULL * c->n * 25 ? *all : 54 * c->n;
	return 0;
}

size_t coll_check_memory(const struct coll_check *c)
{
	struct arena a = {};
	struct check k = {};
	u64 all;
	u32 most;

	if (measure(&k, c, &all, &most) || k.nr == MAX_STEPS || k.nr_slots == MAX_STEPS)
		return 0;
	carve_all(&k, &a);
	return a.used;
}

static int load_steps(struct check *k)
{
	const struct coll_check *c = k->c;
	u32 p, x, at = 0;
	u64 slots = 0;

	for (p = 0; p < k->n; p++) {
		struct coll_emit e = { .steps = k->steps + at, .cap = k->nr - at };

		k->base[p] = at;
		if (emit(c, &e, p) || e.nr > e.cap || slots + e.chunks > k->nr_slots)
			return check_fail_at(k, p, "emits differently the second time");
		for (x = at; x < at + e.nr; x++)
			k->owner[x] = p;
		at += e.nr;
		slots += e.chunks;
	}
	k->base[p] = at;
	return at == k->nr ? 0 : check_fail_at(k, 0, "emits differently the second time");
}

int coll_check(struct coll_check *c, void *mem, size_t size)
{
	struct check k = { .c = c };
	struct arena need = {}, a = { .at = mem };
	u64 all;
	u32 most;
	int err;

	c->error = NULL;
	c->latency = 0;
	if (measure(&k, c, &all, &most) || k.nr == MAX_STEPS || k.nr_slots == MAX_STEPS) {
		c->error = "refuses the arguments, or too many steps";
		return -EINVAL;
	}
	carve_all(&k, &need);
	if (need.used > size)
		return -ENOMEM;
	carve_all(&k, &a);
	c->nr_steps = k.nr;

	err = load_steps(&k);
	if (!err)
		err = check_all_steps(&k);
	if (!err)
		err = check_pairs(&k);
	if (err)
		return err;
	check_order(&k);
	err = check_latency(&k);
	if (!err && k.words)
		err = check_started(&k);
	if (!err)
		err = check_races(&k);
	if (!err)
		err = check_values(&k);
	return err;
}

size_t coll_check_shape_memory(const struct coll_check *c)
{
	struct check k = {};
	u64 all;
	u32 most;

	if (measure(&k, c, &all, &most))
		return 0;
	return most * (sizeof(struct coll_step) + sizeof(u32)) + c->n * 2 * sizeof(u32) + 64;
}

/* Add the sends of one participant to the digest, take its receives away. */
static u64 link_digest(const struct check *k, const struct coll_step *s, u32 nr, u32 me,
		       u32 *nth)
{
	u64 sum = 0, h;
	u32 i, send;

	memset(nth, 0, 2 * k->n * sizeof(u32));
	for (i = 0; i < nr; i++, s++) {
		if (s->kind == COLL_STEP_LOCAL)
			continue;
		send = s->kind == COLL_STEP_SEND;
		h = check_digest(send ? me : s->peer, send ? s->peer : me);
		h = check_digest(h, nth[2 * s->peer + send]++);
		h = check_digest(h, (u64)s->nr_chunks << 32 | s->round);
		sum += send ? h : -h;
	}
	return sum;
}

static int shape_of(struct check *k, struct coll_step *steps, u32 most, u32 *key, u32 me,
		    u32 *nr)
{
	struct coll_emit e = { .steps = steps, .cap = most };
	const char *error = NULL;
	u64 sent = 0;
	u32 i, at = NONE;

	if (emit(k->c, &e, me) || e.nr > most)
		return check_fail_at(k, me, "emits differently the second time");
	*nr = e.nr;
	for (i = 0; i < e.nr && !error; i++) {
		error = check_step(k, steps, i, me);
		at = i;
		if (steps[i].kind == COLL_STEP_SEND)
			sent += steps[i].nr_chunks;
	}
	if (!error)
		error = check_rounds(k, steps, e.nr, key, &at);
	if (error) {
		check_fail_at(k, me, error);
		k->c->step = at;
		return -EINVAL;
	}
	if (!k->c->radix && sent != k->c->alg->sent(k->n, me, k->c->root))
		return check_fail_at(k, me, "payload sent differs from the formula");
	return 0;
}

int coll_check_shape(struct coll_check *c, void *mem, size_t size)
{
	struct check k = { .c = c };
	struct coll_step *steps = mem;
	u32 *key, *nth, most, p, nr;
	u64 sum = 0;
	int err;

	c->error = NULL;
	if (measure(&k, c, &c->nr_steps, &most)) {
		c->error = "refuses the arguments, or too many steps";
		return -EINVAL;
	}
	if (size < coll_check_shape_memory(c))
		return -ENOMEM;
	key = (u32 *)(steps + most);
	nth = key + most;
	for (p = 0; p < k.n; p++) {
		err = shape_of(&k, steps, most, key, p, &nr);
		if (err)
			return err;
		sum += link_digest(&k, steps, nr, p, nth);
	}
	return sum ? check_fail_at(&k, 0, "sends and receives do not pair") : 0;
}
