// SPDX-License-Identifier: GPL-2.0
/*
 * The checker over every algorithm and many sizes; and the checker itself, on
 * schedules that are wrong in one place.
 */
#include <errno.h>
#include <string.h>

#include "pure/check.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* coll_check() with memory of its own; returns what it returns. */
static int check(struct coll_check *c)
{
	size_t size = coll_check_memory(c);
	void *mem = malloc(size ? size : 1);
	int err;

	if (!mem)
		abort();
	memset(mem, 0xa5, size < 65536 ? size : 65536);
	err = coll_check(c, mem, size);
	free(mem);
	return err;
}

/* Both kinds of links, in place and not. */
static bool check_modes(const struct coll_algorithm *a, u32 n, u32 root)
{
	struct coll_check c;
	u32 mode;

	for (mode = 0; mode < 4; mode++) {
		c = (struct coll_check){ .alg = a, .n = n, .root = root,
					 .link_slots = mode & 1, .in_place = mode & 2 };
		if (!check(&c))
			continue;
		printf("# %s n=%u root=%u mode=%u: %s (participant %d step %d)\n",
		       a->name, n, root, mode, c.error, (int)c.participant, (int)c.step);
		return false;
	}
	return true;
}

static u64 prove_sizes(const struct coll_algorithm *a, const u32 *sizes, u32 nr, bool *ok)
{
	bool rooted = a->collective == COLL_BROADCAST;
	u64 proofs = 0;
	u32 i, n, root;

	for (i = 0; i < nr; i++) {
		n = sizes[i];
		for (root = 0; root < (rooted ? n : 1); root++) {
			/* all roots of small sizes; of large ones, odd places */
			if (n > 40 && root > 1 && root != n / 2 && root != n - 1)
				continue;
			*ok &= check_modes(a, n, root);
			proofs += 4;
		}
	}
	return proofs;
}

static void test_proofs(void)
{
	static const u32 odd[] = { 65, 80, 95, 96, 97, 127, 128, 129, 160, 191,
				   192, 193, 255, 256, 257 };
	static const u32 large[] = { 1000, 1023, 1024, 1025, 2047, 2048, 4095 };
	const struct coll_algorithm *a;
	u32 small[64], i;
	u64 proofs;
	bool ok;

	for (i = 0; i < 64; i++)
		small[i] = i + 1;
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		ok = true;
		proofs = prove_sizes(a, small, 64, &ok);
		tap_ok(ok, "%s: %llu proofs, n 1..64", a->name, (unsigned long long)proofs);
		ok = true;
		proofs = prove_sizes(a, odd, COUNT(odd), &ok);
		tap_ok(ok, "%s: %llu proofs, n 65..257", a->name, (unsigned long long)proofs);
		if (a->id == COLL_ALG_RING)	/* quadratic in n */
			continue;
		ok = true;
		proofs = prove_sizes(a, large, COUNT(large), &ok);
		tap_ok(ok, "%s: %llu proofs, n 1000..4095", a->name,
		       (unsigned long long)proofs);
	}
}

/* Once, since it takes seconds under ASan. */
static void test_ring_1024(void)
{
	struct coll_check c = {
		.alg = coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_RING),
		.n = 1024, .link_slots = 1, .in_place = true,
	};

	bool ok = !check(&c);

	tap_ok(ok, "ring: n 1024, %u steps, latency %u", c.nr_steps, c.latency);
}

/* Algorithms whose emit changes a step of the true one. */

enum mutation {
	DROP, TWICE, OTHER_PEER, OTHER_CHUNK, TOGGLE_FINAL, NEXT_ACTION, NO_DEP,
	DEP_ON_SELF, DEP_ON_SEND, NO_FENCE, NO_BYTES, BAD_KIND, NR_MUTATIONS
};

static const char *const mutation_name[] = {
	"dropped step", "step twice", "other peer", "other chunk", "final flag toggled",
	"other action", "no dependency", "dependency on itself", "dependency on a send",
	"no fence", "no bytes", "unknown kind",
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

static u64 mutant_sent(u32 n, u32 me, u32 root)
{
	return mutant.of->sent(n, me, root);
}

static u32 mutant_latency(u32 n)
{
	return mutant.of->latency(n);
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
		s->action = s->action % 3 + 1;
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
	struct coll_emit count = {}, e;

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
		if (i == at && mutant.how == TWICE)
			coll_emit_step(e, &s);
		if (i == at)
			mutate(&s, i, n, me, mutant.of->chunks(n));
		coll_emit_step(e, &s);
	}
	free(steps);
	return 0;
}

/* Does this mutation change anything here that matters? */
static bool applies(const struct coll_step *steps, u32 nr, u32 i, u32 n)
{
	const struct coll_step *s = &steps[i];
	u32 j, waits_for = 0;

	for (j = 0; j < i; j++)
		waits_for += steps[j].kind != COLL_STEP_SEND;
	switch (mutant.how) {
	case OTHER_PEER:
		return s->kind != COLL_STEP_LOCAL && n > 2;
	case NEXT_ACTION:
	case TOGGLE_FINAL:
	case NO_BYTES:
		return s->nr_chunks;
	case NO_DEP:	/* a fence is as good */
		return s->dep != COLL_DEP_NONE && !(s->flags & COLL_STEP_FENCE);
	case DEP_ON_SEND:
		return i && steps[i - 1].kind == COLL_STEP_SEND;
	case NO_FENCE:	/* with nothing to wait for it is idle */
		if (!(s->flags & COLL_STEP_FENCE) || !waits_for)
			return false;
		/* the last token of 2^k + 1 has only its sender to tell of */
		return mutant.of->id != COLL_ALG_DISSEMINATION ||
		       ((n - 1) & (n - 2)) || i + 2 < nr;
	default:
		return true;
	}
}

static void test_mutants(const struct coll_algorithm *a, enum mutation how)
{
	static const struct coll_algorithm wrapper = {
		.chunks = mutant_chunks, .emit = mutant_emit,
		.sent = mutant_sent, .latency = mutant_latency,
	};
	struct coll_algorithm m = wrapper;
	struct coll_step *steps;
	u32 n, me, i, nr, root, tried = 0, missed = 0;

	m.name = a->name;
	m.collective = a->collective;
	mutant.of = a;
	mutant.how = how;
	for (n = 2; n <= 9; n++) {
		root = a->collective == COLL_BROADCAST ? n / 2 : 0;
		for (me = 0; me < n; me++) {
			steps = true_steps(a, n, me, root, &nr);
			for (i = 0; i < nr; i++) {
				struct coll_check c = {
					.alg = &m, .n = n, .root = root,
					.link_slots = (me + i) & 1,
				};

				if (!applies(steps, nr, i, n))
					continue;
				mutant.who = me;
				mutant.step = i;
				tried++;
				if (check(&c) == -EINVAL && c.error)
					continue;
				missed++;
				printf("# accepted: n=%u participant %u step %u\n", n, me, i);
			}
			free(steps);
		}
	}
	if (tried)
		tap_ok(!missed, "%s, %s: all of %u refused", a->name, mutation_name[how], tried);
}

/* Schedules made by hand, of which the checker must say what is wrong. */

#define INPUT(c, f)		{ COLL_STEP_LOCAL, COLL_ACT_INPUT, f, 0, 0, c, 1, ~0U }
#define SEND(p, c, d)		{ COLL_STEP_SEND, 0, 0, 0, p, c, 1, d }
#define RECV(p, c, a, f)	{ COLL_STEP_RECV, COLL_ACT_##a, f, 0, p, c, 1, ~0U }
#define TOKEN_TO(p)		{ COLL_STEP_SEND, 0, COLL_STEP_FENCE, 0, p, 0, 0, ~0U }
#define TOKEN_FROM(p)		{ COLL_STEP_RECV, 0, 0, 0, p, 0, 0, ~0U }
#define F			COLL_STEP_FINAL

static const struct by_hand {
	const char *what;
	const char *error;	/* NULL: fine */
	const char *error_in_place;
	u16 collective;
	u32 latency;
	struct coll_step steps[2][6];
} hands[] = {
	{
		"two who wait for each other", "deadlock", "deadlock", COLL_BARRIER, 0,
		{ { TOKEN_FROM(1), TOKEN_TO(1) }, { TOKEN_FROM(0), TOKEN_TO(0) } },
	}, {
		"a barrier one way", "is through before all have started",
		"is through before all have started", COLL_BARRIER, 1,
		{ { TOKEN_TO(1) }, { TOKEN_FROM(0) } },
	}, {
		"an exchange that overwrites what it sends",
		"may overwrite what is still being sent",
		"may overwrite what is still being sent", COLL_ALLREDUCE, 1,
		{ { INPUT(0, 0), SEND(1, 0, 0), RECV(1, 0, COPY, F) },
		  { INPUT(0, 0), SEND(0, 0, 0), RECV(0, 0, COPY, F) } },
	}, {
		"a broadcast that does not ask first",
		"payload moves before all have started",
		"payload moves before all have started", COLL_BROADCAST, 1,
		{ { INPUT(0, F), SEND(1, 0, 0) }, { RECV(0, 0, COPY, F) } },
	}, {
		"an input used after W was written", NULL,
		"reads an input that was overwritten", COLL_ALLREDUCE, 2,
		{ { RECV(1, 0, COPY, 0), RECV(1, 0, REDUCE_IN, F), SEND(1, 0, 1) },
		  { INPUT(0, 0), SEND(0, 0, 0), SEND(0, 0, 0), RECV(0, 0, COPY, F) } },
	}, {
		"a sum of one participant too few", "an input is missing",
		"an input is missing", COLL_ALLREDUCE, 1,
		{ { INPUT(0, F), SEND(1, 0, 0) }, { RECV(0, 0, COPY, F) } },
	}, {
		"an input in there twice", "an input counts twice",
		"reads an input that was overwritten", COLL_ALLREDUCE, 3,
		{ { INPUT(0, 0), SEND(1, 0, 0), RECV(1, 0, REDUCE_IN, F), SEND(1, 0, 2) },
		  { RECV(0, 0, REDUCE_IN, 0), SEND(0, 0, 0), RECV(0, 0, COPY, F) } },
	}, {
		"everybody keeps his own", "participants get different expressions",
		"participants get different expressions", COLL_ALLREDUCE, 0,
		{ { INPUT(0, F) }, { INPUT(0, F) } },
	}, {
		"a longer chain than stated", "longest chain differs from the formula",
		"longest chain differs from the formula", COLL_BARRIER, 1,
		{ { TOKEN_TO(1), TOKEN_FROM(1) }, { TOKEN_FROM(0), TOKEN_TO(0) } },
	},
};

static const struct by_hand *hand;

static u32 hand_chunks(u32 n)
{
	u32 p, i, max = 0;

	for (p = 0; p < 2; p++) {
		for (i = 0; i < 6; i++)
			max = hand->steps[p][i].chunk > max ? hand->steps[p][i].chunk : max;
	}
	return max + 1;
}

static int hand_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 i;

	for (i = 0; i < 6 && hand->steps[me][i].kind; i++)
		coll_emit_step(e, &hand->steps[me][i]);
	return 0;
}

static u64 hand_sent(u32 n, u32 me, u32 root)
{
	u64 sent = 0;
	u32 i;

	for (i = 0; i < 6; i++) {
		if (hand->steps[me][i].kind == COLL_STEP_SEND)
			sent += hand->steps[me][i].nr_chunks;
	}
	return sent;
}

static u32 hand_latency(u32 n)
{
	return hand->latency;
}

static void test_by_hand(void)
{
	u32 i, mode;

	for (i = 0; i < COUNT(hands); i++) {
		struct coll_algorithm a = {
			.chunks = hand_chunks, .emit = hand_emit, .sent = hand_sent,
			.latency = hand_latency, .collective = hands[i].collective,
		};
		bool ok = true;

		hand = &hands[i];
		for (mode = 0; mode < 4; mode++) {
			struct coll_check c = {
				.alg = &a, .n = 2, .link_slots = mode & 1,
				.in_place = mode & 2,
			};
			const char *want = mode & 2 ? hand->error_in_place : hand->error;
			int err = check(&c);

			if (want ? err == -EINVAL && !strcmp(c.error, want) : !err)
				continue;
			printf("# mode %u: %s\n", mode, c.error);
			ok = false;
		}
		tap_ok(ok, "checker: %s", hand->what);
	}
}

static void test_arguments(void)
{
	const struct coll_algorithm *a;
	struct coll_emit e = {};
	struct coll_check c;
	bool ok = true;
	u8 mem[16];
	u32 i;

	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		ok &= a->emit(&e, 0, 0, 0) == -EINVAL && a->emit(&e, 4, 4, 0) == -EINVAL &&
		      a->emit(&e, 4, 0, 4) == -EINVAL && a->emit(&e, ~0U, 0, 0) == -EINVAL;
		if (a->collective != COLL_BROADCAST)
			ok &= a->emit(&e, 4, 0, 1) == -EINVAL;
		ok &= !e.nr;
		ok &= coll_algorithm_find(a->collective, a->id) == a &&
		      coll_algorithm_find(a->collective, COLL_ALG_AUTO);
	}
	tap_ok(ok, "emit refuses arguments out of range and emits nothing then");
	tap_ok(!coll_algorithm_find(COLL_BARRIER, COLL_ALG_RING) &&
	       !coll_algorithm_find(0, 0) && !coll_algorithm_find(~0U, ~0U) &&
	       !coll_algorithm_find(COLL_SCAN, COLL_ALG_AUTO), "no such algorithm");

	c = (struct coll_check){ .alg = coll_algorithm_at(0), .n = 5 };
	tap_ok(coll_check(&c, mem, sizeof(mem)) == -ENOMEM, "checker: too little memory");
}

static void test_chunks(void)
{
	static const u64 counts[] = { 0, 1, 2, 5, 63, 64, 65, 1000003, 1ULL << 40,
				      ~0ULL, ~0ULL - 1, 1ULL << 63 };
	u64 size, prev, least, start;
	bool ok = true;
	u32 i, c, j;

	for (i = 0; i < COUNT(counts); i++) {
		for (c = 1; c <= 1025; c += c < 70 ? 1 : 191) {
			prev = ~0ULL;
			least = counts[i] / c;
			for (j = 0; j < c; j++) {
				start = coll_chunk_start(counts[i], c, j);
				size = coll_chunk_start(counts[i], c, j + 1) - start;
				ok &= size <= prev && size >= least && size - least <= 1;
				prev = size;
			}
			ok &= !coll_chunk_start(counts[i], c, 0) &&
			      coll_chunk_start(counts[i], c, c) == counts[i];
		}
	}
	tap_ok(ok, "chunks cover the vector, longer ones first, up to 2^64 - 1 elements");
}

int main(void)
{
	const struct coll_algorithm *a;
	u32 i, how;

	test_arguments();
	test_chunks();
	test_by_hand();
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		for (how = 0; how < NR_MUTATIONS; how++)
			test_mutants(a, how);
	}
	test_proofs();
	test_ring_1024();
	return tap_done();
}
