// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: memory, steps one by one, pairing of sends and receives. The
 * rest is in check_run.c and check_data.c.
 */
#include "check_priv.h"

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

static void carve_all(struct check *k, struct arena *a)
{
	u64 nr = k->nr, n = k->n, slots = k->nr_slots, chunks = k->chunks;

	k->steps = carve(a, nr, sizeof(*k->steps));
	k->base = carve(a, n + 1, sizeof(u32));
	k->owner = carve(a, nr, sizeof(u32));
	k->slot = carve(a, nr + 1, sizeof(u32));
	k->sends = carve(a, nr, sizeof(u32));
	k->recvs = carve(a, nr, sizeof(u32));
	k->pos = carve(a, nr, sizeof(u32));
	k->order = carve(a, nr, sizeof(u32));
	k->level = carve(a, nr, sizeof(u32));
	k->dep_head = carve(a, nr, sizeof(u32));
	k->dep_next = carve(a, nr, sizeof(u32));
	k->cursor = carve(a, n, sizeof(u32));
	k->fence_level = carve(a, n, sizeof(u32));
	k->pending = carve(a, nr, 1);
	k->done = carve(a, nr, 1);
	k->know = carve(a, nr * k->words, sizeof(u64));
	k->know_end = carve(a, k->words, sizeof(u64));
	k->pre = carve(a, nr, sizeof(u32));
	k->below = carve(a, nr, sizeof(u32));
	k->stamp = carve(a, nr, sizeof(u32));
	k->queue = carve(a, nr, sizeof(u32));
	k->writer = carve(a, chunks, sizeof(u32));
	k->readers = carve(a, chunks, sizeof(u32));
	k->reader_next = carve(a, slots, sizeof(u32));
	k->from = carve(a, slots, sizeof(u32));
	k->slot_step = carve(a, slots, sizeof(u32));
	k->value = carve(a, slots, sizeof(u64));
	k->final_value = carve(a, chunks, sizeof(u64));
	k->final_slot = carve(a, chunks, sizeof(u32));
	k->seen = carve(a, n, sizeof(u32));
}

/*
 * Steps of all participants, and an upper bound of slots: a step that names more
 * chunks than there are is refused before its slots are used.
 */
static int measure(struct check *k, const struct coll_check *c)
{
	u64 nr = 0, slots = 0;
	u32 p;

	k->n = c->n;
	k->chunks = c->alg->chunks(c->n);
	for (p = 0; p < c->n; p++) {
		struct coll_emit e = {};

		if (c->alg->emit(&e, c->n, p, c->root))
			return -EINVAL;
		nr += e.nr;
		if (nr > MAX_STEPS)
			return -EINVAL;
		/* what it sends and as much received, and all chunks local */
		slots += 3 * c->alg->sent(c->n, p, c->root) + k->chunks + 16;
	}
	if (!k->n || !k->chunks || slots > MAX_STEPS)
		return -EINVAL;
	k->nr = nr;
	k->nr_slots = slots;
	if (c->alg->collective == COLL_BARRIER || c->alg->collective == COLL_BROADCAST)
		k->words = (c->n + 63) / 64;
	return 0;
}

size_t coll_check_memory(const struct coll_check *c)
{
	struct arena a = {};
	struct check k = {};

	if (measure(&k, c))
		return 0;
	carve_all(&k, &a);
	return a.used;
}

static int load_steps(struct check *k)
{
	const struct coll_check *c = k->c;
	u32 p, x, at = 0;

	for (p = 0; p < k->n; p++) {
		struct coll_emit e = { .steps = k->steps + at, .cap = k->nr - at };

		k->base[p] = at;
		if (c->alg->emit(&e, k->n, p, c->root) || e.nr > e.cap)
			return check_fail_at(k, p, "emits differently the second time");
		for (x = at; x < at + e.nr; x++)
			k->owner[x] = p;
		at += e.nr;
	}
	k->base[p] = at;
	return at == k->nr ? 0 : check_fail_at(k, 0, "emits differently the second time");
}

static const char *dep_error(const struct check *k, u32 x)
{
	const struct coll_step *s = &k->steps[x], *d;

	if (s->dep == NONE)
		return NULL;
	if (s->dep >= x - k->base[k->owner[x]])
		return "dependency is not an earlier step";
	d = &k->steps[k->base[k->owner[x]] + s->dep];
	if (d->kind == COLL_STEP_SEND)
		return "dependency is a send";
	if (d->chunk != s->chunk || d->nr_chunks != s->nr_chunks)
		return "dependency has another range";
	return NULL;
}

static const char *step_error(const struct check *k, u32 x)
{
	const struct coll_step *s = &k->steps[x];
	bool action_ok;

	if (s->reserved || (s->flags & ~(COLL_STEP_FINAL | COLL_STEP_FENCE)))
		return "unknown bits";
	if ((u64)s->chunk + s->nr_chunks > k->chunks)
		return "range beyond the vector";
	switch (s->kind) {
	case COLL_STEP_SEND:
		action_ok = s->action == COLL_ACT_NONE;
		break;
	case COLL_STEP_RECV:
		action_ok = s->nr_chunks ? s->action >= COLL_ACT_COPY &&
					   s->action <= COLL_ACT_REDUCE :
					   s->action == COLL_ACT_NONE;
		break;
	case COLL_STEP_LOCAL:
		action_ok = s->nr_chunks && s->action == COLL_ACT_INPUT;
		break;
	default:
		return "unknown kind";
	}
	if (!action_ok)
		return "action does not fit the kind and range";
	if (s->kind != COLL_STEP_LOCAL &&
	    (s->peer >= k->n || s->peer == k->owner[x]))
		return "no such peer";
	if ((s->flags & COLL_STEP_FINAL) &&
	    (s->kind == COLL_STEP_SEND || !s->nr_chunks))
		return "final, but produces nothing";
	return dep_error(k, x);
}

/* Each step by itself, slots, and the formula of the payload. */
static int check_steps(struct check *k)
{
	const struct coll_check *c = k->c;
	const char *error;
	u64 slots = 0, sent;
	u32 p, x;

	for (p = 0; p < k->n; p++) {
		sent = 0;
		for (x = k->base[p]; x < k->base[p + 1]; x++) {
			error = step_error(k, x);
			if (error)
				return check_fail(k, x, error);
			k->slot[x] = slots;
			slots += k->steps[x].nr_chunks;
			if (slots > k->nr_slots)
				return check_fail(k, x, "more transfers than the formula allows");
			if (is_send(k, x))
				sent += k->steps[x].nr_chunks;
		}
		if (sent != c->alg->sent(k->n, p, c->root))
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

/*
 * Bring sends and receives into the same order, that of (receiver, sender, place
 * in the array): they must then agree one by one.
 */
static int check_pairs(struct check *k)
{
	u32 *list = k->order, *tmp = k->level;
	const struct coll_step *s, *r;
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
		s = &k->steps[k->sends[i]];
		r = &k->steps[k->recvs[i]];
		if (s->peer != k->owner[k->recvs[i]] || r->peer != k->owner[k->sends[i]])
			return check_fail(k, k->recvs[i], "receive without its send");
		if (s->chunk != r->chunk || s->nr_chunks != r->nr_chunks)
			return check_fail(k, k->recvs[i], "send has another range");
		k->pos[k->sends[i]] = i;
		k->pos[k->recvs[i]] = i;
	}
	return 0;
}

int coll_check(struct coll_check *c, void *mem, size_t size)
{
	struct check k = { .c = c };
	struct arena need = {}, a = { .at = mem };
	int err;

	c->error = NULL;
	if (measure(&k, c)) {
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
		err = check_steps(&k);
	if (!err)
		err = check_pairs(&k);
	if (!err)
		err = check_run(&k);
	if (!err && k.words)
		err = check_started(&k);
	if (!err)
		err = check_races(&k);
	if (!err)
		err = check_values(&k);
	return err;
}
