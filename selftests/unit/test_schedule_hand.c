// SPDX-License-Identifier: GPL-2.0
/*
 * The checker on schedules made by hand, and on algorithms that promise too much; the
 * registry, and how vectors are cut.
 */
#include <errno.h>
#include <string.h>

#include "checking.h"
#include "pure/algorithms/table.h"
#include "pure/check/check.h"
#include "pure/collective.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* Schedules made by hand, of which the checker must say what is wrong. */

#define WORK			COLL_SPACE_WORK
#define TMP			COLL_SPACE_TMP
#define STEP(k, a, f, sp, p, c, d, r, fs, fr) \
	{ COLL_STEP_##k, COLL_ACT_##a, f, sp, p, c, 1, d, r, fs, fr }
#define INPUT(c, f)		STEP(LOCAL, INPUT, f, WORK, 0, c, ~0U, 0, 0, 0)
#define INPUT_TMP(c)		STEP(LOCAL, INPUT, 0, TMP, 0, c, ~0U, 0, 0, 0)
#define SEND(p, c, d)		STEP(SEND, NONE, 0, WORK, p, c, d, 0, 0, 0)
#define SEND_AT(p, c, d, r)	STEP(SEND, NONE, 0, WORK, p, c, d, r, 0, 0)
#define SEND_TMP(p, c, d, r)	STEP(SEND, NONE, 0, TMP, p, c, d, r, 0, 0)
#define RECV(p, c, a, f)	STEP(RECV, a, f, WORK, p, c, ~0U, 0, 0, 0)
#define RECV_AT(p, c, a, f, r)	STEP(RECV, a, f, WORK, p, c, ~0U, r, 0, 0)
#define RECV_DEP(p, c, a, f, d, r) STEP(RECV, a, f, WORK, p, c, d, r, 0, 0)
#define FOLD(c, f, d, from)	STEP(LOCAL, FOLD, f, WORK, 0, c, d, 0, TMP, from)
#define TOKEN(k, p, f, r)	{ COLL_STEP_##k, 0, f, 0, p, 0, 0, ~0U, r }
#define F			COLL_STEP_FINAL
#define FENCE			COLL_STEP_FENCE
#define LAST			COLL_STEP_LAST
#define ORDERED			COLL_ALG_ORDERED

static const struct by_hand {
	const char *what;
	const char *error;	/* NULL: fine */
	const char *error_in_place;
	u16 collective;
	u32 flags;
	u32 latency;
	struct coll_step steps[2][6];
} hands[] = {
	{
		"two who wait for each other", "waits for a transfer of its round or later",
		"waits for a transfer of its round or later", COLL_BARRIER, 0, 0,
		{ { TOKEN(RECV, 1, 0, 0), TOKEN(SEND, 1, FENCE, 0) },
		  { TOKEN(RECV, 0, 0, 0), TOKEN(SEND, 0, FENCE, 0) } },
	}, {
		"the same with other rounds", "send has another round",
		"send has another round", COLL_BARRIER, 0, 0,
		{ { TOKEN(RECV, 1, 0, 0), TOKEN(SEND, 1, FENCE, 1) },
		  { TOKEN(RECV, 0, 0, 0), TOKEN(SEND, 0, FENCE, 1) } },
	}, {
		"rounds that go back", "rounds go back", "rounds go back", COLL_BARRIER, 0, 1,
		{ { TOKEN(SEND, 1, 0, 1), TOKEN(RECV, 1, 0, 0) },
		  { TOKEN(SEND, 0, 0, 0), TOKEN(RECV, 0, 0, 1) } },
	}, {
		"a barrier one way", "is through before all have started",
		"is through before all have started", COLL_BARRIER, 0, 1,
		{ { TOKEN(SEND, 1, 0, 0) }, { TOKEN(RECV, 0, 0, 0) } },
	}, {
		"an exchange that overwrites what it sends",
		"may overwrite what is still being read",
		"may overwrite what is still being read", COLL_ALLREDUCE, 0, 1,
		{ { INPUT(0, 0), SEND(1, 0, 0), RECV(1, 0, COPY, F) },
		  { INPUT(0, 0), SEND(0, 0, 0), RECV(0, 0, COPY, F) } },
	}, {
		"an exchange out of scratch", NULL, NULL, COLL_ALLREDUCE, ORDERED, 1,
		{ { INPUT_TMP(0), SEND_TMP(1, 0, 0, 0),
		    RECV_DEP(1, 0, REDUCE_IN, F | LAST, 0, 0) },
		  { INPUT_TMP(0), SEND_TMP(0, 0, 0, 0), RECV_DEP(0, 0, REDUCE_IN, F, 0, 0) } },
	}, {
		"the same, in another order", "not in the order of participants",
		"not in the order of participants", COLL_ALLREDUCE, ORDERED, 1,
		{ { INPUT_TMP(0), SEND_TMP(1, 0, 0, 0), RECV_DEP(1, 0, REDUCE_IN, F, 0, 0) },
		  { INPUT_TMP(0), SEND_TMP(0, 0, 0, 0),
		    RECV_DEP(0, 0, REDUCE_IN, F | LAST, 0, 0) } },
	}, {
		"the same without order, other bits", "participants get different expressions",
		"participants get different expressions", COLL_ALLREDUCE, 0, 1,
		{ { INPUT_TMP(0), SEND_TMP(1, 0, 0, 0), RECV_DEP(1, 0, REDUCE_IN, F, 0, 0) },
		  { INPUT_TMP(0), SEND_TMP(0, 0, 0, 0), RECV_DEP(0, 0, REDUCE_IN, F, 0, 0) } },
	}, {
		"the same without waiting for the scratch", NULL,
		"may overwrite what is still being read", COLL_ALLREDUCE, ORDERED, 1,
		{ { INPUT_TMP(0), SEND_TMP(1, 0, 0, 0), RECV(1, 0, REDUCE_IN, F | LAST) },
		  { INPUT_TMP(0), SEND_TMP(0, 0, 0, 0), RECV(0, 0, REDUCE_IN, F) } },
	}, {
		"a local fold that waits for one operand", "may read before the write",
		"may overwrite what is still being read", COLL_ALLREDUCE, 0, 1,
		{ { INPUT_TMP(0), SEND_TMP(1, 0, 0, 0), RECV(1, 0, COPY, 0), FOLD(0, F, 0, 0) },
		  { INPUT_TMP(0), SEND_TMP(0, 0, 0, 0), RECV(0, 0, COPY, 0), FOLD(0, F, 0, 0) } },
	}, {
		"a broadcast that does not ask first",
		"payload moves before all have started",
		"payload moves before all have started", COLL_BROADCAST, 0, 1,
		{ { INPUT(0, F), SEND(1, 0, 0) }, { RECV(0, 0, COPY, F) } },
	}, {
		"an input used after W was written", NULL,
		"reads an input that was overwritten", COLL_ALLREDUCE, 0, 2,
		{ { RECV(1, 0, COPY, 0), RECV_DEP(1, 0, REDUCE_IN, F, 0, 1), SEND_AT(1, 0, 1, 2) },
		  { INPUT(0, 0), SEND(0, 0, 0), SEND_AT(0, 0, 0, 1), RECV_AT(0, 0, COPY, F, 2) } },
	}, {
		"a sum of one participant too few", "an input is missing or counts twice",
		"an input is missing or counts twice", COLL_ALLREDUCE, 0, 1,
		{ { INPUT(0, F), SEND(1, 0, 0) }, { RECV(0, 0, COPY, F) } },
	}, {
		"an input in there twice", "an input is missing or counts twice",
		"reads an input that was overwritten", COLL_ALLREDUCE, 0, 3,
		{ { INPUT(0, 0), SEND(1, 0, 0), RECV_AT(1, 0, REDUCE_IN, F, 1),
		    SEND_AT(1, 0, 2, 2) },
		  { RECV(0, 0, REDUCE_IN, 0), SEND_AT(0, 0, 0, 1), RECV_AT(0, 0, COPY, F, 2) } },
	}, {
		"everybody keeps his own", "an input is missing or counts twice",
		"an input is missing or counts twice", COLL_ALLREDUCE, 0, 0,
		{ { INPUT(0, F) }, { INPUT(0, F) } },
	}, {
		"the blocks of others", "not the data that belong there",
		"not the data that belong there", COLL_ALLTOALL, 0, 0,
		{ { INPUT(0, F), INPUT(1, F) }, { INPUT(0, F), INPUT(1, F) } },
	}, {
		"an input that is not there", "there is no such input",
		"there is no such input", COLL_ALLGATHER, 0, 0,
		{ { INPUT(0, F), INPUT(1, F) }, { INPUT(0, F), INPUT(1, F) } },
	}, {
		"an output that is not there", "final where there is no output",
		"final where there is no output", COLL_REDUCE, 0, 1,
		{ { RECV(1, 0, REDUCE_IN, F) }, { INPUT(0, F), SEND(0, 0, 0) } },
	}, {
		"a scan that has too much", "an input is missing or counts twice",
		"an input is missing or counts twice", COLL_SCAN, ORDERED, 1,
		{ { INPUT_TMP(0), SEND_TMP(1, 0, 0, 0),
		    RECV_DEP(1, 0, REDUCE_IN, F | LAST, 0, 0) },
		  { INPUT_TMP(0), SEND_TMP(0, 0, 0, 0), RECV_DEP(0, 0, REDUCE_IN, F, 0, 0) } },
	}, {
		"a longer chain than stated", "longest chain differs from the formula",
		"longest chain differs from the formula", COLL_BARRIER, 0, 1,
		{ { TOKEN(SEND, 1, FENCE, 0), TOKEN(RECV, 1, 0, 1) },
		  { TOKEN(RECV, 0, 0, 0), TOKEN(SEND, 0, FENCE, 1) } },
	},
};

static const struct by_hand *hand;

static u32 hand_chunks(u32 n)
{
	u32 p, i, max = hand->collective == COLL_ALLTOALL || hand->collective == COLL_ALLGATHER;

	for (p = 0; p < 2; p++) {
		for (i = 0; i < 6; i++)
			max = hand->steps[p][i].chunk > max ? hand->steps[p][i].chunk : max;
	}
	return max + 1;
}

static int hand_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 i;

	for (i = 0; i < 6 && hand->steps[me][i].kind; i++) {
		e->round = hand->steps[me][i].round;
		coll_emit_step(e, &hand->steps[me][i]);
	}
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

static u32 hand_tmp(u32 n)
{
	return 1;
}

static u32 hand_latency(u32 n, u32 root)
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
			.flags = hands[i].flags | COLL_ALG_TMP | COLL_ALG_LAST,
			.tmp = hand_tmp,
		};
		bool ok = true;

		hand = &hands[i];
		for (mode = 0; mode < 2; mode++) {
			struct coll_check c = { .alg = &a, .n = 2, .in_place = mode };
			const char *want = mode ? hand->error_in_place : hand->error;
			int err = check(&c);

			if (want ? err == -EINVAL && !strcmp(c.error, want) : !err)
				continue;
			printf("# mode %u: %s\n", mode, c.error);
			ok = false;
		}
		tap_ok(ok, "checker: %s", hand->what);
	}
}

/* True schedules whose flags promise more than the schedule keeps. */
static void test_promises(void)
{
	static const struct {
		u16 collective;
		u16 id;
		u32 flag;
		const char *error;
	} lies[] = {
		{ COLL_ALLREDUCE, COLL_ALG_RING, COLL_ALG_ORDERED,
		  "not in the order of participants" },
		{ COLL_ALLREDUCE, COLL_ALG_RABENSEIFNER, COLL_ALG_ORDERED,
		  "not in the order of participants" },
		{ COLL_REDUCE, COLL_ALG_BINOMIAL, COLL_ALG_ORDERED,
		  "not in the order of participants" },
		{ COLL_REDUCE_SCATTER, COLL_ALG_PAIRWISE, COLL_ALG_ORDERED,
		  "not in the order of participants" },
		{ COLL_ALLREDUCE, COLL_ALG_RECURSIVE_DOUBLING, COLL_ALG_ONE_PLACE,
		  "not summed up in one place" },
		{ COLL_ALLREDUCE, COLL_ALG_KNOMIAL, COLL_ALG_ONE_PLACE,
		  "not summed up in one place" },
		{ COLL_ALLREDUCE, COLL_ALG_MESH_FULL, COLL_ALG_ONE_PLACE,
		  "not summed up in one place" },
		{ COLL_GATHER, COLL_ALG_BINOMIAL, COLL_ALG_DIRECT,
		  "a block does not go straight" },
		{ COLL_ALLTOALL, COLL_ALG_BRUCK, COLL_ALG_DIRECT,
		  "a block does not go straight" },
	};
	struct coll_algorithm a;
	struct coll_check c;
	u32 i, flag;

	for (i = 0; i < COUNT(lies); i++) {
		a = *coll_algorithm_find(lies[i].collective, lies[i].id);
		a.flags |= lies[i].flag;
		c = (struct coll_check){ .alg = &a, .n = 6 };
		tap_ok(check(&c) == -EINVAL && !strcmp(c.error, lies[i].error),
		       "%s %u: %s", a.name, a.collective, lies[i].error);
	}
	/* and flags that say too little: a flag must say what a step needs */
	a = *coll_algorithm_find(COLL_ALLTOALL, COLL_ALG_BRUCK);
	for (flag = COLL_ALG_TMP; flag <= COLL_ALG_RANKS; flag <<= 1) {
		a.flags = coll_algorithm_find(COLL_ALLTOALL, COLL_ALG_BRUCK)->flags & ~flag;
		c = (struct coll_check){ .alg = &a, .n = 6 };
		tap_ok(check(&c) == -EINVAL &&
		       !strcmp(c.error, "the flags of the algorithm do not say so"),
		       "bruck without flag %u", flag);
	}
}

/* Do both ways through the registry meet the same algorithms in the same order? */
static bool registry_agrees(void)
{
	const struct coll_algorithm *a;
	u32 c, i, n, all = 0, mine = 0;

	for (i = 0; coll_algorithm_at(i); i++)
		all++;
	for (c = 0; c < COLL_NR_COLLECTIVES + 2; c++) {
		u32 plain = coll_plain_collective(c);

		for (i = 0, n = 0; (a = coll_algorithm_at(i)); i++) {
			if (a->collective == plain && coll_algorithm_of(c, n++) != a)
				return false;
		}
		if (coll_algorithm_of(c, n) || coll_algorithm_of(c, ~0U))
			return false;
		mine += plain == c ? n : 0;
	}
	return all && mine == all;
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
		if (!is_rooted(a))
			ok &= a->emit(&e, 4, 0, 1) == -EINVAL;
		ok &= !e.nr;
		ok &= coll_algorithm_find(a->collective, a->id) == a &&
		      coll_algorithm_find(a->collective, COLL_ALG_AUTO);
	}
	tap_ok(ok, "emit refuses arguments out of range and emits nothing then");
	tap_ok(!coll_algorithm_find(COLL_BARRIER, COLL_ALG_RING) &&
	       !coll_algorithm_find(0, 0) && !coll_algorithm_find(~0U, ~0U) &&
	       !coll_algorithm_find(COLL_ALLTOALLV, COLL_ALG_BRUCK) &&
	       coll_algorithm_find(COLL_ALLTOALLV, COLL_ALG_PAIRWISE) &&
	       !coll_algorithm_find(COLL_SEND, COLL_ALG_AUTO), "no such algorithm");
	tap_ok(coll_algorithm_find(COLL_ALLREDUCE, COLL_ALG_AUTO)->id == COLL_ALG_RING &&
	       coll_algorithm_find(COLL_BROADCAST, COLL_ALG_AUTO)->id == COLL_ALG_BINOMIAL &&
	       coll_algorithm_find(COLL_BARRIER, COLL_ALG_AUTO)->id == COLL_ALG_DISSEMINATION,
	       "the defaults");
	tap_ok(registry_agrees(), "by collective as one after the other");

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
	test_arguments();
	test_chunks();
	test_by_hand();
	test_promises();
	return tap_done();
}
