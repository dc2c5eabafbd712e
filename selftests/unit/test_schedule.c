// SPDX-License-Identifier: GPL-2.0
/*
 * The checker over every algorithm at small sizes; and the checker itself, on
 * schedules that are wrong in one place.
 */
#include <errno.h>
#include <string.h>

#include "checking.h"
#include "pure/algorithms/table.h"
#include "pure/check/check.h"
#include "tap.h"

static bool is_scan(const struct coll_algorithm *a)
{
	return a->collective == COLL_SCAN || a->collective == COLL_EXSCAN;
}

/* One size, all roots, in place and not, all at once and one by one; scans also wide. */
static bool prove_size(const struct coll_algorithm *a, u32 n, u32 radix, u32 *proofs)
{
	struct coll_check c;
	u32 root, mode;
	size_t size;
	void *mem;

	for (root = 0; root < (is_rooted(a) ? n : 1); root++) {
		for (mode = 0; mode < (is_scan(a) ? 4 : 3); mode++, ++*proofs) {
			c = (struct coll_check){ .alg = a, .n = n, .root = root,
						 .radix = radix, .in_place = mode == 1,
						 .wide = mode == 3 };
			if (mode == 2) {
				size = coll_check_shape_memory(&c);
				mem = malloc(size);
				if (!mem)
					abort();
				coll_check_shape(&c, mem, size);
				free(mem);
			} else {
				check(&c);
			}
			if (!c.error)
				continue;
			printf("# %s n=%u root=%u radix=%u mode=%u: %s (participant %d step %d)\n",
			       a->name, n, root, radix, mode, c.error, (int)c.participant,
			       (int)c.step);
			return false;
		}
	}
	return true;
}

/* Small sizes under ASan; tools/collplan check has the full table. */
static void test_proofs(const struct coll_algorithm *a)
{
	u32 n, radix, proofs = 0;
	bool ok = true;

	for (n = 1; n <= 20 && ok; n++) {
		ok = prove_size(a, n, 0, &proofs);
		for (radix = 2; radix < 8 && ok && a->id == COLL_ALG_KNOMIAL; radix++)
			ok = prove_size(a, n, radix, &proofs);
	}
	tap_ok(ok, "%s %u: %u proofs, n 1..20", a->name, a->collective, proofs);
}

/* Algorithms whose emit changes a step of the true one. */

enum mutation {
	DROP, TWICE, OTHER_PEER, OTHER_CHUNK, TOGGLE_FINAL, NEXT_ACTION, NO_DEP,
	DEP_ON_SELF, DEP_ON_SEND, NO_FENCE, NO_BYTES, BAD_KIND, TOGGLE_LAST, OTHER_SPACE,
	OTHER_ROUND, OTHER_FROM, NR_MUTATIONS
};

static const char *const mutation_name[] = {
	"dropped step", "step twice", "other peer", "other chunk", "final flag toggled",
	"other action", "no dependency", "dependency on itself", "dependency on a send",
	"no fence", "no bytes", "unknown kind", "order of operands", "other space",
	"other round", "other operand",
};

static struct {
	const struct coll_algorithm *of;
	enum mutation how;
	u32 who;
	u32 step;
} mutant;

static u32 mutant_chunks(u32 n)
{
	return mutant.of->chunks(n);
}

static u32 mutant_tmp(u32 n)
{
	return mutant.of->tmp ? mutant.of->tmp(n) : mutant.of->chunks(n);
}

static u64 mutant_sent(u32 n, u32 me, u32 root)
{
	return mutant.of->sent(n, me, root);
}

static u32 mutant_latency(u32 n, u32 root)
{
	return mutant.of->latency(n, root);
}

static void mutate(struct coll_step *s, u32 i, u32 n, u32 me, u32 chunks)
{
	switch (mutant.how) {
	case OTHER_PEER:
		do {
			s->peer = (s->peer + 1) % n;
		} while (s->peer == me);
		break;
	case OTHER_CHUNK:
		s->chunk = (s->chunk + 1) % (chunks + 1);
		break;
	case TOGGLE_FINAL:
		s->flags ^= COLL_STEP_FINAL;
		break;
	case NEXT_ACTION:
		s->action = s->kind == COLL_STEP_LOCAL ? 4 + (s->action - 3) % 4 :
							 s->action % 3 + 1;
		break;
	case TOGGLE_LAST:
		s->flags ^= COLL_STEP_LAST;
		break;
	case OTHER_SPACE:
		s->space = s->space == COLL_SPACE_TMP ? COLL_SPACE_WORK : COLL_SPACE_TMP;
		break;
	case OTHER_ROUND:
		s->round += 1;
		break;
	case OTHER_FROM:
		s->from++;
		break;
	case NO_DEP:
		s->dep = COLL_DEP_NONE;
		break;
	case DEP_ON_SELF:
		s->dep = i;
		break;
	case DEP_ON_SEND:
		s->dep = i - 1;
		break;
	case NO_FENCE:
		s->flags &= ~COLL_STEP_FENCE;
		break;
	case NO_BYTES:
		s->nr_chunks = 0;
		break;
	case BAD_KIND:
		s->kind = 0;
		break;
	default:
		break;
	}
}

static struct coll_step *true_steps(const struct coll_algorithm *a, u32 n, u32 me,
				    u32 root, u32 *nr)
{
	struct coll_emit count = {}, e = {};

	a->emit(&count, n, me, root);
	e.steps = calloc(count.nr + 1, sizeof(*e.steps));
	e.cap = count.nr;
	e.nr = 0;
	if (!e.steps || a->emit(&e, n, me, root))
		abort();
	*nr = e.nr;
	return e.steps;
}

static int mutant_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_step *steps, s;
	u32 i, nr, at = me == mutant.who ? mutant.step : ~0U;

	steps = true_steps(mutant.of, n, me, root, &nr);
	for (i = 0; i < nr; i++) {
		s = steps[i];
		if (mutant.how == DROP && at < i && s.dep != COLL_DEP_NONE)
			s.dep = s.dep == at ? COLL_DEP_NONE : s.dep - (s.dep > at);
		if (mutant.how == TWICE && at < i && s.dep != COLL_DEP_NONE)
			s.dep += s.dep > at;
		if (i == at && mutant.how == DROP)
			continue;
		e->round = s.round;
		if (i == at && mutant.how == TWICE)
			coll_emit_step(e, &s);
		if (i == at)
			mutate(&s, i, n, me, mutant.of->chunks(n));
		e->round = s.round;
		coll_emit_step(e, &s);
	}
	free(steps);
	return 0;
}

/* Does the step fold two operands? Then COLL_STEP_LAST says in which order. */
static bool folds(const struct coll_step *s)
{
	return s->action == COLL_ACT_REDUCE || s->action == COLL_ACT_REDUCE_IN ||
	       s->action == COLL_ACT_FOLD || s->action == COLL_ACT_FOLD_INPUT;
}

static bool ordered(void)
{
	return mutant.of->flags & COLL_ALG_ORDERED;
}

/* Some fences have nothing to wait for, or repeat what is known otherwise. */
static bool fence_matters(const struct coll_step *steps, u32 i, u32 n, u32 nr)
{
	u32 j, waits_for = 0;

	/* its fences make transfers go one by one; the result does not need them */
	if (mutant.of->id == COLL_ALG_PAIRWISE)
		return false;
	/* the rest of a range, behind its fenced beginning on the same link */
	if (i && steps[i - 1].kind == steps[i].kind && steps[i - 1].peer == steps[i].peer &&
	    (steps[i - 1].flags & COLL_STEP_FENCE))
		return false;
	/* for 2^k + 1, the last token brings news of its sender only */
	if (mutant.of->id == COLL_ALG_DISSEMINATION && !((n - 1) & (n - 2)) && i + 2 >= nr)
		return false;
	for (j = 0; j < i; j++)
		waits_for += steps[j].kind != COLL_STEP_SEND;
	return waits_for;
}

/* Does this mutation change anything here that must be noticed? */
static bool applies(const struct coll_step *steps, u32 i, u32 n, u32 nr)
{
	const struct coll_step *s = &steps[i];

	switch (mutant.how) {
	case OTHER_PEER:
		return s->kind != COLL_STEP_LOCAL;
	case TOGGLE_FINAL:
	case NO_BYTES:
	case OTHER_SPACE:
		return s->nr_chunks;
	case NEXT_ACTION:
		return s->nr_chunks && s->action;
	case OTHER_CHUNK:
		return s->nr_chunks;
	case NO_DEP:	/* a fence is as good */
		return s->dep != COLL_DEP_NONE && !(s->flags & COLL_STEP_FENCE);
	case DEP_ON_SEND:
		return i && steps[i - 1].kind == COLL_STEP_SEND;
	case NO_FENCE:
		return (s->flags & COLL_STEP_FENCE) && fence_matters(steps, i, n, nr);
	case TWICE:	/* a move may be made again, if it waits for all before it */
		return s->action != COLL_ACT_MOVE || !(s->flags & COLL_STEP_FENCE) ||
		       (s->flags & COLL_STEP_FINAL);
	case TOGGLE_LAST:	/* where the order is promised */
		return folds(s) && ordered();
	case OTHER_ROUND:
		return s->kind != COLL_STEP_LOCAL;
	case OTHER_FROM:
		return s->action == COLL_ACT_FOLD || s->action == COLL_ACT_MOVE;
	default:
		return true;
	}
}

static void test_mutants(const struct coll_algorithm *a, enum mutation how)
{
	static const struct coll_algorithm wrapper = {
		.chunks = mutant_chunks, .tmp = mutant_tmp, .emit = mutant_emit,
		.sent = mutant_sent, .latency = mutant_latency,
	};
	struct coll_algorithm m = wrapper;
	struct coll_step *steps;
	u32 n, me, i, nr, root, tried = 0, missed = 0;

	m.name = a->name;
	m.collective = a->collective;
	/* the checker must not refuse a mutant because a flag is missing */
	m.flags = a->flags | COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_INPUT | COLL_ALG_RANKS;
	mutant.of = a;
	mutant.how = how;
	for (n = 3; n <= 8; n++) {
		root = is_rooted(a) ? n / 2 : 0;
		for (me = 0; me < n; me++) {
			steps = true_steps(a, n, me, root, &nr);
			for (i = 0; i < nr; i++) {
				struct coll_check c = {
					.alg = &m, .n = n, .root = root,
					.in_place = true,
				};

				if (!applies(steps, i, n, nr))
					continue;
				mutant.who = me;
				mutant.step = i;
				tried++;
				if (check(&c) == -EINVAL && c.error)
					continue;
				missed++;
				printf("# accepted: %s %u %s n=%u participant %u step %u\n", a->name, a->collective, mutation_name[how], n, me, i);
			}
			free(steps);
		}
	}
	if (tried)
		tap_ok(!missed, "%s, %s: all of %u refused", a->name, mutation_name[how], tried);
}

int main(void)
{
	const struct coll_algorithm *a;
	u32 i, how;

	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		test_proofs(a);
		for (how = 0; how < NR_MUTATIONS; how++)
			test_mutants(a, how);
	}
	return tap_done();
}
