// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "gaps.h"
#include "raw.h"

#define SECOND	1000000000ULL

const uint32_t gaps_kinds[GAPS_KINDS] = {
	COLL_ALLGATHERV, COLL_GATHERV, COLL_SCATTERV, COLL_ALLTOALLV,
};

/* No huge pages: one that covers a block would cover the gap beside it, too. */
char *gaps_memory(void *at)
{
	char *mem = mmap(at, GAPS_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (mem != MAP_FAILED)
		madvise(mem, GAPS_BYTES, MADV_NOHUGEPAGE);	/* EINVAL: there are none */
	return mem;
}

int gaps_start(struct gaps *g, uint32_t size, uint32_t nodes)
{
	int ret = raw_start(&g->c, size, nodes);
	uint32_t r;

	for (r = 0; !ret && r < size; r++) {
		g->mem[r] = gaps_memory(NULL);
		if (g->mem[r] == MAP_FAILED)
			ret = -ENOMEM;
	}
	return ret;
}

void gaps_stop(struct gaps *g)
{
	uint32_t r;

	raw_stop(&g->c);
	for (r = 0; r < g->c.size; r++)
		munmap(g->mem[r], GAPS_BYTES);
}

/* Number of elements that @from has for @to; may be 0. The largest block has 20 KB. */
static uint64_t block(uint32_t from, uint32_t to)
{
	return (from + to) % 4 == 3 ? 0 : 1 + (from * 1733 + to * 2411) % 5000;
}

/* The values of each round are different, so that what an earlier op has left is wrong. */
static int32_t value(const struct gaps *g, uint32_t from, uint32_t to, uint64_t i)
{
	return (int32_t)((from + 1) << 24 | g->round % 32 << 19 | (to + 1) << 16 | (i & 0xffff));
}

char *gaps_slot(struct gaps *g, uint32_t rank, uint32_t slot)
{
	return g->mem[rank] + slot * GAPS_SLOT + GAPS_HEAD;
}

uint64_t gaps_displ(struct gaps *g, uint32_t slot)
{
	return (slot * GAPS_SLOT + GAPS_HEAD) / sizeof(int32_t) + g->before;
}

uint32_t gaps_in_slot(uint32_t i)
{
	return 2 * i;
}

uint32_t gaps_out_slot(struct gaps *g, uint32_t i)
{
	return 2 * (g->c.size - 1 - i) + 1;
}

/* Does a rank get different data from each rank, or give different data to each? */
static bool for_each_other(uint32_t kind)
{
	return kind == COLL_SCATTERV || kind == COLL_ALLTOALLV;
}

static bool has_all_in(uint32_t kind, uint32_t rank)
{
	return kind == COLL_ALLTOALLV || (kind == COLL_SCATTERV && !rank);
}

static bool has_all_out(uint32_t kind, uint32_t rank)
{
	return kind == COLL_ALLTOALLV || kind == COLL_ALLGATHERV ||
	       (kind == COLL_GATHERV && !rank);
}

static void put_block(const struct gaps *g, char *at, uint32_t from, uint32_t to)
{
	uint64_t i;

	for (i = 0; i < block(from, to); i++)
		((int32_t *)at)[i] = value(g, from, to, i);
}

uint64_t gaps_wrong_block(const struct gaps *g, const char *at, uint32_t from, uint32_t to)
{
	uint64_t i, wrong = 0;

	for (i = 0; i < block(from, to); i++)
		wrong += ((int32_t *)at)[i] != value(g, from, to, i);
	return wrong;
}

static void put_input(struct gaps *g, uint32_t kind, uint32_t r)
{
	uint32_t i;

	if (!has_all_in(kind, r) && kind != COLL_SCATTERV)
		put_block(g, gaps_slot(g, r, 0), r, 0);
	for (i = 0; has_all_in(kind, r) && i < g->c.size; i++)
		put_block(g, gaps_slot(g, r, gaps_in_slot(i)), r, i);
}

uint64_t gaps_wrong_output(struct gaps *g, uint32_t kind, uint32_t r)
{
	uint64_t wrong = 0;
	uint32_t i;

	if (kind == COLL_SCATTERV)
		return gaps_wrong_block(g, gaps_slot(g, r, gaps_out_slot(g, 0)), 0, r);
	for (i = 0; has_all_out(kind, r) && i < g->c.size; i++)
		wrong += gaps_wrong_block(g, gaps_slot(g, r, gaps_out_slot(g, i)), i,
					  for_each_other(kind) ? r : 0);
	return wrong;
}

static void poison_block(char *at, uint32_t from, uint32_t to)
{
	memset(at, 0xee, block(from, to) * sizeof(int32_t));
}

static void poison_output(struct gaps *g, uint32_t kind, uint32_t r)
{
	uint32_t i;

	if (kind == COLL_SCATTERV)
		poison_block(gaps_slot(g, r, gaps_out_slot(g, 0)), 0, r);
	for (i = 0; has_all_out(kind, r) && i < g->c.size; i++)
		poison_block(gaps_slot(g, r, gaps_out_slot(g, i)), i, for_each_other(kind) ? r : 0);
}

/* The command of rank @r: input and output in the same array. */
static void prepare(struct gaps *g, uint32_t kind, uint32_t r)
{
	uint32_t n = g->c.size, first = kind == COLL_ALLTOALLV ? n : 0, i;
	uintptr_t base = (uintptr_t)g->mem[r] - g->before * sizeof(int32_t);
	struct coll_cmd *c = &g->cmds[r];
	bool all_in = has_all_in(kind, r), all_out = has_all_out(kind, r);

	memset(c, 0, sizeof(*c));
	c->collective = kind;
	c->dtype = COLL_I32;
	c->timeout_ns = 20 * SECOND;
	for (i = 0; i < n; i++) {
		if (all_in) {
			g->counts[r][i] = block(r, i);
			g->displs[r][i] = gaps_displ(g, gaps_in_slot(i));
		}
		if (all_out) {
			g->counts[r][first + i] = block(i, for_each_other(kind) ? r : 0);
			g->displs[r][first + i] = gaps_displ(g, gaps_out_slot(g, i));
		}
	}
	/* An empty block may be anywhere. */
	for (i = 0; i < 2 * n; i++)
		if (!g->counts[r][i])
			g->displs[r][i] = ~0ULL / (i + 1);
	if (all_in || all_out) {
		c->counts_addr = (uintptr_t)g->counts[r];
		c->displs_addr = (uintptr_t)g->displs[r];
	} else {
		c->count = kind == COLL_SCATTERV ? block(0, r) : block(r, 0);
	}
	if (all_in)
		c->send_addr = base;
	else if (kind != COLL_SCATTERV)
		c->send_addr = (uintptr_t)gaps_slot(g, r, 0);
	if (all_out)
		c->recv_addr = base;
	else if (kind == COLL_SCATTERV)
		c->recv_addr = (uintptr_t)gaps_slot(g, r, gaps_out_slot(g, 0));
}

void gaps_prepare(struct gaps *g, uint32_t kind)
{
	uint32_t r;

	g->round++;
	for (r = 0; r < g->c.size; r++) {
		prepare(g, kind, r);
		put_input(g, kind, r);
		poison_output(g, kind, r);
	}
}

int64_t gaps_run(struct gaps *g, uint32_t kind)
{
	int results[GAPS_MAX], ret;
	uint64_t wrong = 0;
	uint32_t r;

	ret = raw_all(&g->c, g->cmds, results);
	for (r = 0; !ret && r < g->c.size; r++)
		ret = results[r];
	for (r = 0; !ret && r < g->c.size; r++)
		wrong += gaps_wrong_output(g, kind, r);
	return ret ? ret : (int64_t)wrong;
}

int64_t gaps_each_kind(struct gaps *g)
{
	int64_t ret = 0;
	size_t k;

	for (k = 0; !ret && k < GAPS_KINDS; k++) {
		gaps_prepare(g, gaps_kinds[k]);
		ret = gaps_run(g, gaps_kinds[k]);
	}
	return ret;
}

int gaps_each(struct gaps *g, int (*change)(char *at, size_t len))
{
	uint32_t r, s;
	int ret = 0;

	for (r = 0; r < g->c.size; r++)
		for (s = 0; s < GAPS_SLOTS; s++)
			ret |= change(g->mem[r] + s * GAPS_SLOT + GAPS_USED,
				      GAPS_SLOT - GAPS_USED);
	return ret;
}

int gap_unmap(char *at, size_t len)
{
	return munmap(at, len);
}

int gap_forbid(char *at, size_t len)
{
	return mprotect(at, len, PROT_NONE);
}

int gap_read_only(char *at, size_t len)
{
	return mprotect(at, len, PROT_READ);
}

int gap_throw_away(char *at, size_t len)
{
	return madvise(at, len, MADV_DONTNEED);
}

int gap_mark(char *at, size_t len)
{
	memset(at, 0x77, len);
	return 0;
}

int gap_is_hurt(char *at, size_t len)
{
	return *at != 0x77 || memcmp(at, at + 1, len - 1);
}

int gap_is_there(char *at, size_t len)
{
	unsigned char vec[GAPS_SLOT / GAPS_PAGE] = { };
	size_t i;
	int there = mincore(at, len, vec);

	for (i = 0; i < len / GAPS_PAGE; i++)
		there |= vec[i] & 1;
	return there;
}
