// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that disagree on what the n-th collective is: EBADE on all of them, for
 * good, and nothing but posted buffers touched.
 */
#include <pthread.h>

#include "harness.h"
#include "util.h"

#define COUNT	1000
#define SECOND	1000000000ULL

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 2, 1 }, { 5, 1 }, { 2, 2 }, { 4, 2 }, { 3, 3 }, { 5, 3 }, { 4, 4 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

enum kind {
	BASE_ALLREDUCE,
	BASE_BROADCAST,
};

struct change {
	const char *name;
	enum kind base;
	void (*apply)(struct coll_cmd *cmd);
};

static void less(struct coll_cmd *cmd)	{ cmd->count = COUNT - 1; }
static void one(struct coll_cmd *cmd)	{ cmd->count = 1; }
static void none(struct coll_cmd *cmd)	{ cmd->count = 0; }
static void other_op(struct coll_cmd *cmd)	{ cmd->op = COLL_OP_MAX; }
static void other_dtype(struct coll_cmd *cmd)	{ cmd->dtype = COLL_F32; }
static void wide_dtype(struct coll_cmd *cmd)
{
	cmd->dtype = COLL_I64;
	cmd->count = COUNT / 2;
}
static void other_root(struct coll_cmd *cmd)	{ cmd->root = 1; }
static void barrier(struct coll_cmd *cmd)
{
	raw_barrier(cmd);
}
static void broadcast(struct coll_cmd *cmd)
{
	cmd->collective = COLL_BROADCAST;
	cmd->op = COLL_OP_NONE;
	cmd->send_addr = 0;
}

static const struct change changes[] = {
	{ "count - 1", BASE_ALLREDUCE, less },
	{ "count 1", BASE_ALLREDUCE, one },
	{ "count 0", BASE_ALLREDUCE, none },
	{ "op", BASE_ALLREDUCE, other_op },
	{ "dtype of the same size", BASE_ALLREDUCE, other_dtype },
	{ "wider dtype, same bytes", BASE_ALLREDUCE, wide_dtype },
	{ "barrier for allreduce", BASE_ALLREDUCE, barrier },
	{ "broadcast for allreduce", BASE_ALLREDUCE, broadcast },
	{ "bcast count - 1", BASE_BROADCAST, less },
	{ "bcast count 0", BASE_BROADCAST, none },
	{ "bcast dtype", BASE_BROADCAST, other_dtype },
	{ "barrier for bcast", BASE_BROADCAST, barrier },
	{ "root", BASE_BROADCAST, other_root },
};

#define NR_CHANGES (sizeof(changes) / sizeof(changes[0]))

struct world {
	struct raw_comm c;
	struct test_guarded in[RAW_MAX], out[RAW_MAX];
	struct coll_cmd cmds[RAW_MAX];
	int first[RAW_MAX], next[RAW_MAX];
};

static void make_cmds(struct world *w, const struct change *ch, uint32_t odd)
{
	uint32_t r;

	for (r = 0; r < w->c.size; r++) {
		if (ch->base == BASE_BROADCAST)
			raw_broadcast(&w->cmds[r], w->out[r].mem, COUNT, COLL_I32, 0);
		else
			raw_allreduce(&w->cmds[r], w->in[r].mem, w->out[r].mem,
				      COUNT, COLL_I32, COLL_OP_SUM);
		if (r == odd)
			ch->apply(&w->cmds[r]);
		w->cmds[r].timeout_ns = 20 * SECOND;
	}
}

/*
 * The byte that a buffer is filled with first. It is different in each one, so that a copy
 * between two of them shows.
 */
static int before(uint32_t rank, bool out)
{
	return 1 + 2 * rank + out;
}

static bool world_start(struct world *w, uint32_t size, uint32_t nodes)
{
	uint32_t r;

	if (raw_start(&w->c, size, nodes) || test_good(&w->c))
		return false;
	for (r = 0; r < size; r++) {
		if (!test_guard(&w->in[r], COUNT * 4, r & 1) ||
		    !test_guard(&w->out[r], COUNT * 4, !(r & 1)))
			return false;
		memset(w->in[r].mem, before(r, false), w->in[r].bytes);
		memset(w->out[r].mem, before(r, true), w->out[r].bytes);
	}
	return true;
}

/* Bytes that the command of a rank may have written: on one node nothing has begun. */
static size_t may_change(const struct world *w, uint32_t r)
{
	const struct coll_cmd *cmd = &w->cmds[r];

	if (w->c.nodes == 1 || !cmd->recv_addr ||
	    (cmd->collective == COLL_BROADCAST && cmd->root == r))
		return 0;
	return cmd->count * (cmd->dtype == COLL_I64 ? 8 : 4);
}

/* Bytes of inputs, guards, and outputs beyond what was posted, that have changed. */
static size_t world_stop(struct world *w)
{
	size_t hurt = 0, i;
	uint32_t r;

	raw_stop(&w->c);
	for (r = 0; r < w->c.size; r++) {
		for (i = 0; i < w->in[r].bytes; i++)
			hurt += w->in[r].mem[i] != before(r, false);
		for (i = may_change(w, r); i < w->out[r].bytes; i++)
			hurt += w->out[r].mem[i] != before(r, true);
		hurt += test_guard_hurt(&w->in[r]) + test_guard_hurt(&w->out[r]);
		test_unguard(&w->in[r]);
		test_unguard(&w->out[r]);
	}
	return hurt;
}

static void disagree(struct __test_metadata *_metadata, uint32_t size,
		     uint32_t nodes, const struct change *ch, uint32_t odd)
{
	static struct world w;
	struct coll_status s;
	uint32_t r;

	ASSERT_TRUE(world_start(&w, size, nodes));
	make_cmds(&w, ch, odd);
	ASSERT_EQ(0, raw_all(&w.c, w.cmds, w.first));
	for (r = 0; r < size; r++)
		raw_barrier(&w.cmds[r]), w.cmds[r].timeout_ns = SECOND;
	ASSERT_EQ(0, raw_all(&w.c, w.cmds, w.next));
	make_cmds(&w, ch, odd);
	for (r = 0; r < size; r++) {
		EXPECT_EQ(-EBADE, w.first[r]) {
			TH_LOG("%s: %u ranks, %u nodes, odd %u: rank %u got %d",
			       ch->name, size, nodes, odd, r, w.first[r]);
		}
		EXPECT_EQ(-EBADE, w.next[r]) {
			TH_LOG("%s: %u ranks, %u nodes, odd %u: rank %u next %d",
			       ch->name, size, nodes, odd, r, w.next[r]);
		}
		ASSERT_EQ(0, raw_status(w.c.fd[r], &s));
		EXPECT_EQ(COLL_STATE_FAILED, s.state);
		EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
		EXPECT_EQ(EBADE, s.cause.error);
		EXPECT_EQ(2, s.cause.seq);
	}
	EXPECT_EQ(0, world_stop(&w)) {
		TH_LOG("%s: %u ranks, %u nodes: bytes changed", ch->name, size, nodes);
	}
}

TEST(one_node)
{
	size_t s, i;

	for (s = 0; s < NR_SHAPES; s++)
		for (i = 0; i < NR_CHANGES && shapes[s].nodes == 1; i++)
			disagree(_metadata, shapes[s].size, 1, &changes[i],
				 shapes[s].size - 1);
}

TEST(several_nodes)
{
	size_t s, i;

	for (s = 0; s < NR_SHAPES; s++)
		for (i = 0; i < NR_CHANGES && shapes[s].nodes > 1; i++)
			if (changes[i].apply != other_root)
				disagree(_metadata, shapes[s].size, shapes[s].nodes,
					 &changes[i], shapes[s].size - 1);
}

/* The odd one is node 0, which others send to first. */
TEST(several_nodes_first_is_odd)
{
	size_t s, i;

	for (s = 0; s < NR_SHAPES; s++)
		for (i = 0; i < NR_CHANGES && shapes[s].nodes > 1; i++)
			if (changes[i].base == BASE_ALLREDUCE)
				disagree(_metadata, shapes[s].size, shapes[s].nodes,
					 &changes[i], 0);
}

/* Two ranks both think that they are the root: neither waits for the other. */
TEST(several_nodes_two_roots)
{
	size_t s, i;

	for (s = 0; s < NR_SHAPES; s++)
		for (i = 0; i < NR_CHANGES && shapes[s].nodes > 1; i++)
			if (changes[i].apply == other_root)
				disagree(_metadata, shapes[s].size, shapes[s].nodes,
					 &changes[i], 1);
}

/* One rank does things in another order: its command does not match the others. */
TEST(order)
{
	static struct world w;
	size_t s;
	uint32_t r;

	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_TRUE(world_start(&w, shapes[s].size, shapes[s].nodes));
		make_cmds(&w, &changes[0], RAW_MAX);
		raw_broadcast(&w.cmds[0], w.out[0].mem, COUNT, COLL_I32, 0);
		w.cmds[0].timeout_ns = 20 * SECOND;
		ASSERT_EQ(0, raw_all(&w.c, w.cmds, w.first));
		make_cmds(&w, &changes[0], RAW_MAX);
		ASSERT_EQ(0, raw_all(&w.c, w.cmds, w.next));
		for (r = 0; r < w.c.size; r++)
			EXPECT_EQ(-EBADE, w.first[r]) TH_LOG("shape %zu rank %u", s, r);
		for (r = 0; r < w.c.size; r++)
			EXPECT_EQ(-EBADE, w.next[r]) TH_LOG("shape %zu rank %u", s, r);
		EXPECT_EQ(0, world_stop(&w)) TH_LOG("shape %zu: bytes changed", s);
	}
}

TEST_HARNESS_MAIN
