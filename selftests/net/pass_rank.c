// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... pass_rank SEED ROUNDS: one rank of a test of collectives on one node that are one pass
 * over the vectors of all ranks.
 *
 * Collectives, counts, roots and displacements are drawn, the same by all ranks; each rank draws
 * whether it works in place. Results are compared with sums in the order of ranks, bit by bit, and
 * what lies around them must not change. The inputs are floats whose sum depends on the order.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "rand.h"

#define RANKS_MAX	16
/* Elements of a vector, gaps included */
#define ROOM		(1 << 20)

static coll_comm_t *comm;
static uint32_t me, size;
static uint64_t lot, own_lot, round_nr;
static float *in, *out, *want, *fold;

/**
 * struct blocks - where the block of each rank is in a vector with all of them
 */
struct blocks {
	uint64_t counts[RANKS_MAX], displs[RANKS_MAX];
};

/**
 * struct what - an op
 * @count: elements of a vector, or of each block
 * @at: blocks of the ranks, in the vectors that have them all
 */
struct what {
	uint16_t collective;
	uint64_t count;
	uint32_t root;
	bool displs;
	struct blocks at;
};

/* Element @i of what @rank gives to @to. Large and small numbers, of both signs. */
static float value(uint32_t rank, uint32_t to, uint64_t i)
{
	static const float scale[] = { 1e-3f, 1, 1e3f, 1e6f };
	uint64_t x = (round_nr * 1009 + rank * 31 + to + 1) * 0x9e3779b97f4a7c15ULL + i * 2654435761U;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 32;
	return ((float)(x & 0xffff) - 32768) / 7 * scale[x >> 16 & 3];
}

static uint64_t draw_count(uint64_t most)
{
	/* Some go to many slices, most are small, some are nothing. */
	switch (test_below(&lot, 6)) {
	case 0:
		return 0;
	case 1:
		return test_below(&lot, (uint32_t)most);
	case 2:
		return test_below(&lot, (uint32_t)most / 16);
	default:
		return test_below(&lot, 300);
	}
}

static bool is_v(uint16_t c)
{
	return c == COLL_ALLGATHERV || c == COLL_GATHERV || c == COLL_SCATTERV ||
	       c == COLL_ALLTOALLV || c == COLL_REDUCE_SCATTER;
}

static void draw_blocks(struct what *w)
{
	uint64_t at = 0, most = ROOM / size / 2;
	uint32_t r;

	/* All blocks of an alltoallv have one count: two ranks must agree about their block. */
	w->displs = is_v(w->collective) && w->collective != COLL_REDUCE_SCATTER &&
		    test_below(&lot, 2);
	w->count = draw_count(most);
	for (r = 0; r < size; r++) {
		w->at.counts[r] = w->count;
		if (is_v(w->collective) && w->collective != COLL_ALLTOALLV)
			w->at.counts[r] = draw_count(most);
		at += w->displs ? test_below(&lot, 100) : 0;
		w->at.displs[r] = at;
		at += w->at.counts[r];
	}
}

static void draw(struct what *w)
{
	static const uint16_t all[] = {
		COLL_ALLGATHER, COLL_ALLGATHERV, COLL_GATHER, COLL_GATHERV, COLL_SCATTER,
		COLL_SCATTERV, COLL_ALLTOALL, COLL_ALLTOALLV, COLL_REDUCE_SCATTER,
		COLL_REDUCE_SCATTER_BLOCK, COLL_SCAN, COLL_EXSCAN,
	};

	memset(w, 0, sizeof(*w));
	w->collective = all[test_below(&lot, sizeof(all) / sizeof(all[0]))];
	w->root = test_below(&lot, size);
	draw_blocks(w);
}

static void fill(float *to, uint32_t rank, uint32_t block, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		to[i] = value(rank, block, i);
}

/* What ranks [0, @nr) give to @block, added one after the other. */
static void sum(float *to, uint32_t nr, uint32_t block, uint64_t count)
{
	uint64_t i;
	uint32_t r;

	fill(to, 0, block, count);
	for (r = 1; r < nr; r++) {
		fill(fold, r, block, count);
		for (i = 0; i < count; i++)
			to[i] += fold[i];
	}
}

/* The blocks that this rank gives, or @gets, where it has all. */
static void all_blocks(float *v, const struct what *w, bool gets)
{
	uint32_t r;

	for (r = 0; r < size; r++)
		fill(v + w->at.displs[r], gets ? r : me, gets ? me : r, w->at.counts[r]);
}

/* A gather of all inputs. A rank has one input for all others: block 0 of its values. */
static void gathered(float *v, const struct what *w)
{
	uint32_t r;

	for (r = 0; r < size; r++)
		fill(v + w->at.displs[r], r, 0, w->at.counts[r]);
}

static uint64_t packed_at(const struct what *w, uint32_t rank)
{
	uint64_t at = 0;
	uint32_t r;

	for (r = 0; r < rank; r++)
		at += w->at.counts[r];
	return at;
}

/* Fill in the input, and the result that is wanted over what the output has now. */
static void prepare(const struct what *w, float *to, uint64_t own)
{
	bool root = me == w->root;
	uint32_t r;

	switch (w->collective) {
	case COLL_ALLGATHER: case COLL_ALLGATHERV:
		fill(in, me, 0, own);
		gathered(to, w);
		break;
	case COLL_GATHER: case COLL_GATHERV:
		fill(in, me, 0, own);
		if (root)
			gathered(to, w);
		break;
	case COLL_SCATTER: case COLL_SCATTERV:
		if (root)
			all_blocks(in, w, false);
		fill(to, w->root, me, own);
		break;
	case COLL_ALLTOALL: case COLL_ALLTOALLV:
		all_blocks(in, w, false);
		all_blocks(to, w, true);
		break;
	case COLL_REDUCE_SCATTER: case COLL_REDUCE_SCATTER_BLOCK:
		for (r = 0; r < size; r++)
			fill(in + packed_at(w, r), me, r, w->at.counts[r]);
		sum(to, size, me, own);
		break;
	case COLL_SCAN:
		fill(in, me, 0, w->count);
		sum(to, me + 1, 0, w->count);
		break;
	case COLL_EXSCAN:
		fill(in, me, 0, w->count);
		if (me)
			sum(to, me, 0, w->count);
		break;
	}
}

static void command(const struct what *w, struct coll_cmd *c, uint64_t own, uint64_t *counts,
		    uint64_t *displs)
{
	bool root = me == w->root, v = is_v(w->collective);
	bool rooted = w->collective == COLL_GATHERV || w->collective == COLL_SCATTERV;

	memset(c, 0, sizeof(*c));
	c->collective = w->collective;
	c->dtype = COLL_F32;
	c->count = v && (!rooted || root) ? 0 : own;
	if (w->collective == COLL_SCAN || w->collective == COLL_EXSCAN)
		c->count = w->count;
	if (w->collective >= COLL_GATHER && w->collective <= COLL_SCATTERV)
		c->root = w->root;
	if (w->collective == COLL_REDUCE_SCATTER || w->collective == COLL_REDUCE_SCATTER_BLOCK ||
	    w->collective == COLL_SCAN || w->collective == COLL_EXSCAN)
		c->op = COLL_OP_SUM;
	c->send_addr = (uintptr_t)in;
	c->recv_addr = (uintptr_t)out;
	if (!v || (rooted && !root))
		return;
	memcpy(counts, w->at.counts, size * sizeof(*counts));
	memcpy(displs, w->at.displs, size * sizeof(*displs));
	if (w->collective == COLL_ALLTOALLV) {
		memcpy(counts + size, w->at.counts, size * sizeof(*counts));
		memcpy(displs + size, w->at.displs, size * sizeof(*displs));
	}
	c->counts_addr = (uintptr_t)counts;
	c->displs_addr = w->displs ? (uintptr_t)displs : 0;
}

static bool is_scatter(const struct what *w)
{
	return w->collective == COLL_SCATTER || w->collective == COLL_SCATTERV;
}

static bool is_gather(const struct what *w)
{
	return w->collective == COLL_GATHER || w->collective == COLL_GATHERV;
}

/* Clear addresses that this rank does not use. Draw whether it works in place. */
static void place(const struct what *w, struct coll_cmd *c, uint64_t *own_at)
{
	bool root = me == w->root;
	bool gathers = is_gather(w) || w->collective == COLL_ALLGATHER ||
		       w->collective == COLL_ALLGATHERV;

	*own_at = 0;
	if (is_scatter(w) && !root)
		c->send_addr = 0;
	if (is_gather(w) && !root)
		c->recv_addr = 0;
	if (!c->send_addr || !c->recv_addr || test_below(&own_lot, 2))
		return;
	c->flags |= COLL_CMD_INPLACE;
	if (is_scatter(w)) {
		c->recv_addr = 0;
		return;
	}
	c->send_addr = 0;
	*own_at = gathers ? w->at.displs[me] : 0;
}

/* Elements that this rank gives. */
static uint64_t given(const struct what *w, uint64_t own)
{
	switch (w->collective) {
	case COLL_ALLTOALL: case COLL_ALLTOALLV: case COLL_SCATTER: case COLL_SCATTERV:
		return w->at.displs[size - 1] + w->at.counts[size - 1];
	case COLL_REDUCE_SCATTER: case COLL_REDUCE_SCATTER_BLOCK:
		return packed_at(w, size);
	case COLL_SCAN: case COLL_EXSCAN:
		return w->count;
	default:
		return own;
	}
}

static bool run(const struct what *w)
{
	uint64_t counts[2 * RANKS_MAX], displs[2 * RANKS_MAX], own = w->at.counts[me], at, i;
	struct coll_cmd c;
	int ret;

	memset(in, 0x55, ROOM * sizeof(*in));
	memset(out, 0xaa, ROOM * sizeof(*out));
	memset(want, 0xaa, ROOM * sizeof(*want));
	command(w, &c, own, counts, displs);
	place(w, &c, &at);
	prepare(w, want, own);
	if (c.flags & COLL_CMD_INPLACE && !is_scatter(w)) {
		/* In place, the output has the input first; the result overwrites some of it. */
		memcpy(out + at, in, given(w, own) * sizeof(*in));
		memcpy(want, out, ROOM * sizeof(*want));
		prepare(w, want, own);
	}
	ret = coll_submit(comm, &c);
	if (ret) {
		printf("# round %llu: collective %u: %s\n", (unsigned long long)round_nr,
		       w->collective, coll_strerror(ret));
		return false;
	}
	if (!c.recv_addr)
		return true;
	for (i = 0; i < ROOM && !memcmp(&out[i], &want[i], sizeof(*out)); i++)
		;
	if (i < ROOM)
		printf("# round %llu: collective %u%s%s of %llu: rank %u, element %llu is %g, not %g\n",
		       (unsigned long long)round_nr, w->collective,
		       w->displs ? ", displacements" : "",
		       c.flags & COLL_CMD_INPLACE ? ", in place" : "",
		       (unsigned long long)own, me, (unsigned long long)i, out[i], want[i]);
	return i == ROOM;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 0) : 100;
	bool good = !coll_init(NULL, &comm);
	struct what w;

	if (!good) {
		printf("# coll_init: %s\n", coll_last_error());
		return 2;
	}
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	lot = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 2 + 1;
	own_lot = lot * 1000003 + me;
	in = calloc(ROOM, sizeof(*in));
	out = calloc(ROOM, sizeof(*out));
	want = calloc(ROOM, sizeof(*want));
	fold = calloc(ROOM, sizeof(*fold));
	if (size > RANKS_MAX || !in || !out || !want || !fold)
		return 2;
	for (round_nr = 0; round_nr < rounds && good; round_nr++) {
		draw(&w);
		good = run(&w);
	}
	coll_finalize(comm);
	return !good;
}
