// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives: posted in another order by each rank, right results; ranks that
 * disagree, deadlines and ranks that leave.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "util.h"

#define NAMES	200
#define RANKS	6
#define ROUNDS	4
#define ROOM	(900 * RANKS)
#define SECOND	1000000000ULL
#define MS	1000000ULL

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 2, 1 }, { 5, 1 }, { 2, 2 }, { 4, 2 }, { 3, 3 }, { 6, 4 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

enum { ALLREDUCE, BROADCAST, ALLGATHER, REDUCE_SCATTER, ALLTOALL, BARRIER, NR_FORMS };

/**
 * struct job - tensors of all ranks
 * @seed: of the test
 * @lots: random numbers
 * @round: of all tensors
 * @order: in which each rank posts them
 * @next: number of tensors that it has posted
 */
struct job {
	struct raw_comm c;
	uint64_t seed, lots;
	uint32_t round;
	char names[NAMES][24];
	uint32_t order[RANKS][NAMES];
	uint32_t next[RANKS];
	struct coll_cmd cmds[RANKS][NAMES];
	struct coll_tensor tensors[RANKS][NAMES];
	int32_t in[RANKS][NAMES][ROOM];
	int32_t out[RANKS][NAMES][ROOM];
};

static uint64_t count_of(const struct job *j, uint32_t k)
{
	return 1 + (k * 7919ULL + j->round * 13) % (k % 3 ? 50 : 900);
}

static int32_t value(const struct job *j, uint32_t rank, uint32_t k, uint64_t i)
{
	return test_value(rank, i + 31 * k + j->round);
}

static int32_t sum(const struct job *j, uint32_t k, uint64_t i)
{
	uint32_t r, all = 0;

	for (r = 0; r < j->c.size; r++)
		all += (uint32_t)value(j, r, k, i);
	return all;
}

static void make_cmd(struct job *j, uint32_t r, uint32_t k)
{
	static const uint16_t collectives[] = {
		COLL_ALLREDUCE, COLL_BROADCAST, COLL_ALLGATHER, COLL_REDUCE_SCATTER_BLOCK,
		COLL_ALLTOALL, COLL_BARRIER,
	};
	uint32_t form = k % NR_FORMS;
	struct coll_cmd *cmd = &j->cmds[r][k];

	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = collectives[form];
	if (form == BARRIER)
		return;
	cmd->dtype = COLL_I32;
	cmd->count = count_of(j, k);
	cmd->op = form == ALLREDUCE || form == REDUCE_SCATTER ? COLL_OP_SUM : COLL_OP_NONE;
	cmd->recv_addr = (uintptr_t)j->out[r][k];
	if (form == BROADCAST)
		cmd->root = k % j->c.size;
	else
		cmd->send_addr = (uintptr_t)j->in[r][k];
}

static int32_t wanted(const struct job *j, uint32_t r, uint32_t k, uint64_t i)
{
	uint64_t count = count_of(j, k);

	switch (k % NR_FORMS) {
	case ALLREDUCE:
		return sum(j, k, i);
	case BROADCAST:
		return value(j, k % j->c.size, k, i);
	case ALLGATHER:
		return value(j, i / count, k, i % count);
	case REDUCE_SCATTER:
		return sum(j, k, r * count + i);
	default:
		return value(j, i / count, k, r * count + i % count);
	}
}

static uint64_t results_of(const struct job *j, uint32_t k)
{
	switch (k % NR_FORMS) {
	case BARRIER:
		return 0;
	case ALLGATHER:
	case ALLTOALL:
		return count_of(j, k) * j->c.size;
	default:
		return count_of(j, k);
	}
}

static void shuffle(struct job *j, uint32_t *order)
{
	uint32_t k, o, t;

	for (k = 0; k < NAMES; k++)
		order[k] = k;
	for (k = NAMES; k > 1; k--) {
		o = test_below(&j->lots, k);
		t = order[k - 1];
		order[k - 1] = order[o];
		order[o] = t;
	}
}

static void make_round(struct job *j, bool same)
{
	uint32_t r, k;
	uint64_t i;

	for (r = 0; r < j->c.size; r++) {
		shuffle(j, j->order[r]);
		if (same)
			memcpy(j->order[r], j->order[0], sizeof(j->order[r]));
		j->next[r] = 0;
		for (k = 0; k < NAMES; k++) {
			make_cmd(j, r, k);
			for (i = 0; i < count_of(j, k) * j->c.size; i++)
				j->in[r][k][i] = value(j, r, k, i);
			memset(j->out[r][k], 0xee, sizeof(j->out[r][k]));
			if (k % NR_FORMS == BROADCAST && k % j->c.size == r)
				memcpy(j->out[r][k], j->in[r][k], count_of(j, k) * 4);
		}
		for (k = 0; k < NAMES; k++)
			raw_tensor(&j->tensors[r][k], j->names[j->order[r][k]],
				   &j->cmds[r][j->order[r][k]], j->order[r][k]);
	}
}

/* Each rank in turn posts some. */
static int post_all(struct job *j)
{
	uint32_t r, left = j->c.size * NAMES, n, posted;
	int ret;

	while (left) {
		r = test_below(&j->lots, j->c.size);
		n = 1 + test_below(&j->lots, NAMES);
		if (n > NAMES - j->next[r])
			n = NAMES - j->next[r];
		if (!n)
			continue;
		ret = raw_post(j->c.fd[r], &j->tensors[r][j->next[r]], n, &posted);
		if (ret || posted != n)
			return ret ? ret : -EIO;
		j->next[r] += n;
		left -= n;
	}
	return 0;
}

/* Results of one rank: each tensor once, and right. Return: how many are wrong, or -errno. */
static long collect_all(struct job *j, uint32_t r)
{
	struct coll_tensor_result res[NAMES];
	bool seen[NAMES] = { };
	long wrong = 0;
	int n, k, got;
	uint64_t i;

	for (got = 0; got < NAMES; got += n) {
		n = raw_collect(j->c.fd[r], res, 1 + test_below(&j->lots, NAMES), 1, 20 * SECOND);
		if (n <= 0)
			return n ? n : -EIO;
		for (k = 0; k < n; k++) {
			if (res[k].tag >= NAMES || seen[res[k].tag])
				return -EBADMSG;
			seen[res[k].tag] = true;
			wrong += res[k].result || res[k].cause;
		}
	}
	for (k = 0; k < NAMES; k++)
		for (i = 0; i < results_of(j, k); i++)
			wrong += j->out[r][k][i] != wanted(j, r, k, i);
	return wrong;
}

static struct job *job_start(uint32_t size, uint32_t nodes)
{
	struct job *j = calloc(1, sizeof(*j));
	uint32_t k;

	if (!j)
		return NULL;
	j->seed = test_seed();
	j->lots = j->seed | 1;
	for (k = 0; k < NAMES; k++)
		snprintf(j->names[k], sizeof(j->names[k]), "layer.%u/grad", k);
	return raw_start_named(&j->c, size, nodes) ? NULL : j;
}

static void job_stop(struct job *j)
{
	raw_stop(&j->c);
	free(j);
}

TEST(any_order)
{
	struct job *j;
	uint32_t r;
	size_t s;

	for (s = 0; s < NR_SHAPES; s++) {
		j = job_start(shapes[s].size, shapes[s].nodes);
		ASSERT_NE(NULL, j);
		for (j->round = 0; j->round < ROUNDS; j->round++) {
			make_round(j, false);
			ASSERT_EQ(0, post_all(j));
			for (r = 0; r < j->c.size; r++)
				ASSERT_EQ(0, collect_all(j, r)) {
					TH_LOG("seed %llu: %u ranks, %u nodes, round %u, rank %u",
					       (unsigned long long)j->seed, j->c.size,
					       j->c.nodes, j->round, r);
				}
		}
		job_stop(j);
	}
}

/* --- two ranks, one tensor ---------------------------------------------------- */

struct pair {
	struct raw_comm c;
	struct coll_cmd cmd[2];
	struct coll_tensor t[2];
	int32_t in[2][8192], out[2][8192];
};

static int pair_start(struct pair *p, uint32_t nodes)
{
	memset(p, 0, sizeof(*p));
	return raw_start_named(&p->c, 2, nodes);
}

static void pair_make(struct pair *p, const char *name, uint64_t count)
{
	uint32_t r;

	for (r = 0; r < 2; r++) {
		p->in[r][0] = r + 1;
		p->out[r][0] = 0;
		raw_allreduce(&p->cmd[r], p->in[r], p->out[r], count, COLL_I32, COLL_OP_SUM);
		raw_tensor(&p->t[r], name, &p->cmd[r], 70 + r);
	}
}

/* Rank @r gets one result: @error, and nothing more comes. */
static void hears(struct __test_metadata *_metadata, struct pair *p, uint32_t r, int error,
		  struct coll_tensor_result *res)
{
	struct coll_tensor_result more;

	ASSERT_EQ(1, raw_collect(p->c.fd[r], res, 1, 1, 20 * SECOND)) {
		TH_LOG("rank %u", r);
	}
	EXPECT_EQ(error, -res->result);
	EXPECT_EQ(70 + r, res->tag);
	EXPECT_EQ(0, raw_collect(p->c.fd[r], &more, 1, 0, 0));
}

/* The communicator has not failed. */
static bool goes_on(struct pair *p)
{
	struct coll_status s;
	uint32_t r;

	for (r = 0; r < 2; r++)
		if (raw_status(p->c.fd[r], &s) || s.state == COLL_STATE_FAILED)
			return false;
	return true;
}

/* Both post, and it works. */
static void works(struct __test_metadata *_metadata, struct pair *p, const char *name)
{
	struct coll_tensor_result res;
	uint32_t r;

	pair_make(p, name, 3);
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, raw_post(p->c.fd[r], &p->t[r], 1, NULL));
	for (r = 0; r < 2; r++) {
		hears(_metadata, p, r, 0, &res);
		EXPECT_EQ(COLL_BAD_NONE, res.cause);
		EXPECT_EQ(3, p->out[r][0]);
	}
	EXPECT_TRUE(goes_on(p));
}

static void op_max(struct pair *p)	{ p->cmd[1].op = COLL_OP_MAX; }
static void of_u32(struct pair *p)	{ p->cmd[1].dtype = COLL_U32; }
static void of_two(struct pair *p)	{ p->cmd[1].count = 2; }
static void urgent(struct pair *p)	{ p->t[1].priority = 9; }
static void by_ring(struct pair *p)	{ p->cmd[1].algorithm = COLL_ALG_RING; }
static void scan(struct pair *p)	{ p->cmd[1].collective = COLL_SCAN; }
static void narrow(struct pair *p)	{ p->cmd[1].flags |= COLL_CMD_NARROW; }
static void flat(struct pair *p)
{
	p->t[1].ndim = 2;
	p->t[1].dims[0] = 1;
	p->t[1].dims[1] = 3;
}
static void shaped(struct pair *p)
{
	flat(p);
	p->t[0].ndim = 2;
	p->t[0].dims[0] = 3;
	p->t[0].dims[1] = 1;
}
static void roots(struct pair *p)
{
	uint32_t r;

	for (r = 0; r < 2; r++)
		raw_broadcast(&p->cmd[r], p->out[r], 3, COLL_I32, r);
}

static const struct {
	const char *name;
	void (*change)(struct pair *p);
	uint32_t field;
	uint64_t value[2];
} changes[] = {
	{ "op", op_max, COLL_FIELD_OP, { COLL_OP_SUM, COLL_OP_MAX } },
	{ "dtype", of_u32, COLL_FIELD_DTYPE, { COLL_I32, COLL_U32 } },
	{ "count", of_two, COLL_FIELD_DIM0, { 3, 2 } },
	{ "priority", urgent, COLL_FIELD_PRIORITY, { 0, 9 } },
	{ "algorithm", by_ring, COLL_FIELD_ALGORITHM, { COLL_ALG_AUTO, COLL_ALG_RING } },
	{ "collective", scan, COLL_FIELD_COLLECTIVE, { COLL_ALLREDUCE, COLL_SCAN } },
	{ "flags", narrow, COLL_FIELD_FLAGS, { 0, COLL_CMD_NARROW } },
	{ "ndim", flat, COLL_FIELD_NDIM, { 1, 2 } },
	{ "dims", shaped, COLL_FIELD_DIM0, { 3, 1 } },
	{ "root", roots, COLL_FIELD_ROOT, { 0, 1 } },
};

static void disagree(struct __test_metadata *_metadata, struct pair *p, size_t n, uint32_t first)
{
	struct coll_tensor_result res;
	uint32_t r, a, k;

	pair_make(p, changes[n].name, 3);
	changes[n].change(p);
	ASSERT_EQ(0, raw_post(p->c.fd[first], &p->t[first], 1, NULL));
	ASSERT_EQ(0, raw_post(p->c.fd[!first], &p->t[!first], 1, NULL));
	for (r = 0; r < 2; r++) {
		hears(_metadata, p, r, EBADE, &res);
		EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
		EXPECT_EQ(changes[n].field, res.field) {
			TH_LOG("%s", changes[n].name);
		}
		ASSERT_LT(res.rank[0], 2U);
		ASSERT_EQ(!res.rank[0], res.rank[1]);
		for (k = 0; k < 2; k++) {
			a = res.rank[k];
			EXPECT_EQ(changes[n].value[a], res.value[k]) {
				TH_LOG("%s of rank %u", changes[n].name, a);
			}
		}
		EXPECT_EQ(0, p->out[r][0]);
	}
	works(_metadata, p, changes[n].name);
}

TEST(mismatch_ends_this_tensor_only)
{
	struct pair p;
	uint32_t nodes;
	size_t n;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		for (n = 0; n < sizeof(changes) / sizeof(changes[0]); n++) {
			disagree(_metadata, &p, n, 0);
			disagree(_metadata, &p, n, 1);
		}
		raw_stop(&p.c);
	}
}

TEST(pending_twice)
{
	struct coll_tensor both[3];
	struct coll_tensor_result res;
	uint32_t nodes, posted;
	struct pair p;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		pair_make(&p, "one", 3);
		both[0] = p.t[0];
		both[1] = p.t[0];
		both[2] = p.t[0];
		EXPECT_EQ(-EEXIST, raw_post(p.c.fd[0], both, 3, &posted));
		EXPECT_EQ(1, posted);
		EXPECT_EQ(-EEXIST, raw_post(p.c.fd[0], both, 1, &posted));
		EXPECT_EQ(0, posted);
		ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
		hears(_metadata, &p, 0, 0, &res);
		hears(_metadata, &p, 1, 0, &res);
		works(_metadata, &p, "one");
		raw_stop(&p.c);
	}
}

/* Rank @first waits until its deadline; the other one comes late, and is told so. */
static void late(struct __test_metadata *_metadata, struct pair *p, uint32_t first)
{
	struct coll_tensor_result res;
	uint64_t when;

	pair_make(p, "late", 3);
	p->cmd[first].timeout_ns = 50 * MS;
	when = test_now_ns();
	ASSERT_EQ(0, raw_post(p->c.fd[first], &p->t[first], 1, NULL));
	hears(_metadata, p, first, ETIMEDOUT, &res);
	EXPECT_GE(test_now_ns(), when + 50 * MS);
	EXPECT_FALSE(test_late(when + 50 * MS, test_now_ns()));
	EXPECT_EQ(COLL_BAD_TIMEOUT, res.cause);
	EXPECT_EQ(first, res.rank[0]);
	EXPECT_TRUE(goes_on(p));
	works(_metadata, p, "another");
	pair_make(p, "late", 3);
	ASSERT_EQ(0, raw_post(p->c.fd[!first], &p->t[!first], 1, NULL));
	hears(_metadata, p, !first, ETIMEDOUT, &res);
	EXPECT_EQ(COLL_BAD_TIMEOUT, res.cause);
	EXPECT_EQ(first, res.rank[0]);
	works(_metadata, p, "late");
}

TEST(deadlines)
{
	struct pair p;
	uint32_t nodes;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		late(_metadata, &p, 0);
		late(_metadata, &p, 1);
		raw_stop(&p.c);
	}
}

TEST(a_rank_leaves)
{
	struct coll_tensor_result res;
	struct coll_status s;
	uint32_t nodes, leaver;
	bool before;
	struct pair p;
	int n;

	for (n = 0; n < 8; n++) {
		nodes = 1 + n % 2;
		leaver = n / 2 % 2;
		before = n / 4;
		ASSERT_EQ(0, pair_start(&p, nodes));
		works(_metadata, &p, "first");
		pair_make(&p, "never", 3);
		if (before)
			ASSERT_EQ(0, raw_post(p.c.fd[!leaver], &p.t[!leaver], 1, NULL));
		close(p.c.fd[leaver]);
		p.c.fd[leaver] = -1;
		if (!before)
			ASSERT_EQ(0, raw_post(p.c.fd[!leaver], &p.t[!leaver], 1, NULL));
		hears(_metadata, &p, !leaver, EHOSTDOWN, &res);
		EXPECT_EQ(COLL_BAD_NONE, res.cause);
		ASSERT_EQ(0, raw_status(p.c.fd[!leaver], &s));
		EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
		EXPECT_EQ(leaver, s.cause.rank);
		raw_stop(&p.c);
	}
}

TEST(abort_ends_all)
{
	struct coll_tensor_result res;
	uint32_t nodes, r;
	struct pair p;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, pair_start(&p, nodes));
			pair_make(&p, "pending", 3000);
			ASSERT_EQ(0, raw_post(p.c.fd[r], &p.t[r], 1, NULL));
			ASSERT_EQ(0, raw_abort(p.c.fd[!r], 5));
			hears(_metadata, &p, r, ESHUTDOWN, &res);
			EXPECT_EQ(-ESHUTDOWN, raw_post(p.c.fd[r], &p.t[r], 1, NULL));
			raw_stop(&p.c);
		}
	}
}

TEST(closing_with_pending_ones)
{
	struct coll_tensor_result res;
	uint32_t nodes, r;
	struct pair p;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, pair_start(&p, nodes));
			pair_make(&p, "mine", 3000);
			ASSERT_EQ(0, raw_post(p.c.fd[r], &p.t[r], 1, NULL));
			pair_make(&p, "yours", 2000);
			ASSERT_EQ(0, raw_post(p.c.fd[!r], &p.t[!r], 1, NULL));
			close(p.c.fd[r]);
			p.c.fd[r] = -1;
			hears(_metadata, &p, !r, EHOSTDOWN, &res);
			raw_stop(&p.c);
		}
	}
}

TEST(numbers_and_names_do_not_mix)
{
	struct coll_tensor_result res;
	struct coll_cmd barrier;
	struct pair p;

	raw_barrier(&barrier);
	ASSERT_EQ(0, pair_start(&p, 1));
	EXPECT_EQ(-EOPNOTSUPP, raw_submit(p.c.fd[0], &barrier));
	works(_metadata, &p, "name");
	raw_stop(&p.c);
	ASSERT_EQ(0, raw_start(&p.c, 2, 1));
	pair_make(&p, "name", 3);
	EXPECT_EQ(-EOPNOTSUPP, raw_post(p.c.fd[0], &p.t[0], 1, NULL));
	EXPECT_EQ(-EOPNOTSUPP, raw_collect(p.c.fd[0], &res, 1, 0, 0));
	raw_stop(&p.c);
	/* All ranks of a node join alike. */
	raw_plan(&p.c, 2, 1);
	p.c.fd[0] = raw_open();
	p.c.fd[1] = raw_open();
	EXPECT_EQ(0, raw_join(p.c.fd[0], &p.c, 0));
	p.c.flags = COLL_JOIN_NAMED;
	EXPECT_EQ(-EINVAL, raw_join(p.c.fd[1], &p.c, 1));
	raw_stop(&p.c);
	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSORS);
}

TEST(waiting)
{
	struct coll_tensor_result res[2];
	uint64_t when;
	struct pair p;

	ASSERT_EQ(0, pair_start(&p, 1));
	/* Nothing is posted: nothing to wait for. */
	EXPECT_EQ(0, raw_collect(p.c.fd[0], res, 2, 2, 0));
	pair_make(&p, "x", 3);
	ASSERT_EQ(0, raw_post(p.c.fd[0], &p.t[0], 1, NULL));
	when = test_now_ns();
	EXPECT_EQ(0, raw_collect(p.c.fd[0], res, 2, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, raw_collect(p.c.fd[0], res, 2, 1, 30 * MS));
	EXPECT_GE(test_now_ns(), when + 30 * MS);
	ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
	/* Two are wanted, and only one will ever come. */
	EXPECT_EQ(1, raw_collect(p.c.fd[0], res, 2, 2, 0));
	EXPECT_EQ(1, raw_collect(p.c.fd[1], res, 2, 1, 0));
	raw_stop(&p.c);
}

#define URGENT	20

TEST(priority)
{
	struct coll_tensor t[2][URGENT];
	struct coll_tensor_result res[URGENT];
	char names[URGENT][8];
	struct coll_cmd cmd;
	uint32_t r, k;
	struct pair p;

	raw_barrier(&cmd);
	ASSERT_EQ(0, pair_start(&p, 1));
	for (k = 0; k < URGENT; k++) {
		snprintf(names[k], sizeof(names[k]), "p%u", k);
		for (r = 0; r < 2; r++) {
			raw_tensor(&t[r][k], names[k], &cmd, k);
			t[r][k].priority = k / 2;
		}
	}
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, raw_post(p.c.fd[r], t[r], URGENT, NULL));
	ASSERT_EQ(URGENT, raw_collect(p.c.fd[1], res, URGENT, URGENT, 20 * SECOND));
	/* By priority, and in order where it is the same. */
	for (k = 0; k < URGENT; k++)
		EXPECT_EQ((URGENT - 1 - k) / 2 * 2 + k % 2, res[k].tag);
	raw_stop(&p.c);
}

TEST_HARNESS_MAIN
