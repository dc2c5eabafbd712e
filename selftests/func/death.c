// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that die, leave, abort or do not come: what the others hear, how soon,
 * and what their status says.
 */
#include <signal.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define SECOND	1000000000ULL
#define SETUP_MS	20000

static void expect_all_heard(struct __test_metadata *_metadata, struct procs *p,
			     uint32_t victim, uint64_t since, int error,
			     unsigned int kind)
{
	uint32_t r;

	EXPECT_TRUE(procs_wait(p, PROCS_ENDED, test_bound_ms() + 20000)) {
		TH_LOG("HANG: some rank heard nothing");
	}
	for (r = 0; r < p->c.size; r++) {
		struct procs_rank *k = &p->sh->rank[r];
		const struct coll_cause *c = &k->status.cause;

		if (r == victim && kind != COLL_CAUSE_ABORT)
			continue;
		EXPECT_EQ(-error, k->result) TH_LOG("rank %u", r);
		EXPECT_EQ(0, k->wrong);
		EXPECT_FALSE(test_late(procs_asked_after(k, since), k->when)) {
			TH_LOG("rank %u of %u on %u nodes heard late", r,
			       p->c.size, p->c.nodes);
		}
		EXPECT_EQ(kind, c->kind) TH_LOG("rank %u", r);
		EXPECT_EQ(error, c->error);
		EXPECT_EQ(victim, c->rank) TH_LOG("rank %u", r);
		EXPECT_EQ(p->c.node_of[victim], c->node);
		EXPECT_EQ(COLL_STATE_FAILED, k->status.state);
	}
}

static void draw_job(struct procs *p, struct procs_stream *s, uint64_t *lots,
		     uint32_t *size, uint32_t *nodes)
{
	memset(p, 0, sizeof(*p));
	memset(s, 0, sizeof(*s));
	*size = 2 + test_below(lots, 5);
	*nodes = 1 + test_below(lots, *size < 4 ? *size : 4);
	s->seed = test_rand(lots) | 1;
	s->max_bytes = 256 << 10;
	s->uring = test_below(lots, 2) * (1 + test_below(lots, 8));
	p->ops = procs_ops_stream;
	p->arg = s;
}

static void kills(struct __test_metadata *_metadata)
{
	uint64_t lots = test_seed(), when;
	uint32_t size, nodes, victim, r;
	unsigned int n, delay;
	struct procs_stream s;
	struct procs p;
	pid_t pid;

	for (n = 0; n < test_scale(40); n++) {
		draw_job(&p, &s, &lots, &size, &nodes);
		victim = test_below(&lots, size);
		delay = test_below(&lots, 20000);
		ASSERT_EQ(0, procs_start(&p, size, nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
		p.sh->go = 1;
		test_sleep_us(delay);
		pid = p.pid[victim];
		when = test_now_ns();
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_NE(-1, procs_reap(&p, victim, 10000));
		expect_all_heard(_metadata, &p, victim, when, EHOSTDOWN,
				 COLL_CAUSE_EXIT);
		for (r = 0; r < size; r++) {
			const struct coll_cause *c = &p.sh->rank[r].status.cause;

			if (r == victim)
				continue;
			EXPECT_EQ(pid, c->pid);
			EXPECT_EQ(SIGKILL, c->signal);
		}
		if (_metadata->exit_code)
			TH_LOG("loop %u: %u ranks, %u nodes, uring %u, rank %u, %u us",
			       n, size, nodes, s.uring, victim, delay);
		ASSERT_EQ(0, _metadata->exit_code);
		procs_stop(&p);
	}
}

TEST(kill_during_a_stream)	{ kills(_metadata); }

/* Pages are pinned only while they are used. Those of a dying process cannot be pinned. */
TEST(kill_during_a_stream_in_windows)
{
	ASSERT_EQ(0, test_become_nobody(0));
	kills(_metadata);
}

/* One rank does something in the middle of an op while others go on. */
struct scene {
	struct procs_stream s;
	uint32_t who;
	void (*act)(struct procs *p, uint32_t rank);
	volatile uint64_t *when;
};

static void ops_scene(struct procs *p, uint32_t rank)
{
	struct scene *sc = p->arg;
	uint64_t count = sc->s.count;

	if (rank != sc->who)
		sc->s.count = 0;
	p->arg = &sc->s;
	procs_ops_stream(p, rank);
	p->arg = sc;
	sc->s.count = count;
	if (rank == sc->who && !p->sh->rank[rank].result)
		sc->act(p, rank);
}

static void act_close(struct procs *p, uint32_t rank)
{
	*((struct scene *)p->arg)->when = test_now_ns();
	close(p->c.fd[rank]);
}

static void act_exit(struct procs *p, uint32_t rank)
{
	*((struct scene *)p->arg)->when = test_now_ns();
	_exit(3);
}

static void act_abort(struct procs *p, uint32_t rank)
{
	struct coll_cmd cmd;

	*((struct scene *)p->arg)->when = test_now_ns();
	raw_abort(p->c.fd[rank], 77);
	raw_barrier(&cmd);
	procs_result(p, rank, raw_submit(p->c.fd[rank], &cmd));
}

/* Play a scene with a random rank. All other ranks must hear what it does. */
static void play(struct __test_metadata *_metadata, struct procs *p, uint64_t *lots,
		 void (*act)(struct procs *p, uint32_t rank), int error,
		 unsigned int kind)
{
	static volatile uint64_t *when;
	struct procs_stream s;
	struct scene sc = { };
	uint32_t size, nodes;

	if (!when)
		when = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	draw_job(p, &s, lots, &size, &nodes);
	sc.s = s;
	sc.s.count = 1 + test_below(lots, 30);
	sc.who = test_below(lots, size);
	sc.act = act;
	sc.when = when;
	p->ops = ops_scene;
	p->arg = &sc;
	ASSERT_EQ(0, procs_start(p, size, nodes));
	ASSERT_TRUE(procs_wait(p, PROCS_JOINED, SETUP_MS));
	*when = 0;
	p->sh->go = 1;
	while (!*when && p->sh->rank[sc.who].phase != PROCS_ENDED)
		test_sleep_us(200);
	ASSERT_NE(0, *when);
	if (act == act_exit)
		ASSERT_EQ(3 << 8, procs_reap(p, sc.who, 10000));
	expect_all_heard(_metadata, p, sc.who, *when, error, kind);
	if (_metadata->exit_code)
		TH_LOG("%u ranks, %u nodes, uring %u, rank %u", size, nodes,
		       s.uring, sc.who);
	ASSERT_EQ(0, _metadata->exit_code);
	p->arg = NULL;
}

TEST(close_during_a_stream)
{
	uint64_t lots = test_seed();
	struct procs p;
	unsigned int n;

	for (n = 0; n < test_scale(15); n++) {
		play(_metadata, &p, &lots, act_close, EHOSTDOWN, COLL_CAUSE_CLOSE);
		procs_stop(&p);
	}
}

TEST(exit_during_a_stream)
{
	uint64_t lots = test_seed();
	struct procs p;
	unsigned int n;
	uint32_t r;

	for (n = 0; n < test_scale(15); n++) {
		play(_metadata, &p, &lots, act_exit, EHOSTDOWN, COLL_CAUSE_EXIT);
		for (r = 0; r < p.c.size; r++) {
			const struct procs_rank *k = &p.sh->rank[r];

			if (k->status.state == COLL_STATE_FAILED) {
				EXPECT_EQ(3, k->status.cause.code);
				EXPECT_EQ(0, k->status.cause.signal);
				EXPECT_NE(0, k->status.cause.pid);
			}
		}
		procs_stop(&p);
	}
}

TEST(abort_during_a_stream)
{
	uint64_t lots = test_seed();
	struct procs p;
	unsigned int n;
	uint32_t r;

	for (n = 0; n < test_scale(15); n++) {
		play(_metadata, &p, &lots, act_abort, ESHUTDOWN, COLL_CAUSE_ABORT);
		for (r = 0; r < p.c.size; r++)
			EXPECT_EQ(77, p.sh->rank[r].status.cause.code);
		procs_stop(&p);
	}
}

/* All do the same number of ops, and leave when they are done with theirs. */
static void ops_then_leave(struct procs *p, uint32_t rank)
{
	procs_ops_stream(p, rank);
	p->sh->rank[rank].phase = PROCS_ENDED;
	_exit(p->sh->rank[rank].result ? 1 : 0);
}

TEST(leaving_after_the_last_op_harms_nobody)
{
	uint64_t lots = test_seed();
	struct procs_stream s;
	uint32_t size, nodes, r;
	struct procs p;
	unsigned int n;

	for (n = 0; n < test_scale(25); n++) {
		draw_job(&p, &s, &lots, &size, &nodes);
		s.count = 1 + test_below(&lots, 20);
		p.ops = ops_then_leave;
		ASSERT_EQ(0, procs_start(&p, size, nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
		p.sh->go = 1;
		for (r = 0; r < size; r++) {
			ASSERT_EQ(0, procs_reap(&p, r, 30000)) {
				TH_LOG("loop %u: rank %u of %u, %u nodes, uring %u: %d after %llu",
				       n, r, size, nodes, s.uring,
				       p.sh->rank[r].result,
				       (unsigned long long)p.sh->rank[r].done);
			}
			EXPECT_EQ(s.count, p.sh->rank[r].done);
			EXPECT_EQ(0, p.sh->rank[r].wrong);
		}
		procs_stop(&p);
	}
}

/* One leaves in order; the others find out with their next op, not before. */
static void ops_one_more(struct procs *p, uint32_t rank)
{
	struct procs_stream *s = p->arg;
	struct coll_cmd cmd;

	procs_ops_stream(p, rank);
	if (p->sh->rank[rank].result || rank == s->seed % p->c.size) {
		close(p->c.fd[rank]);
		return;
	}
	raw_barrier(&cmd);
	procs_result(p, rank, raw_submit(p->c.fd[rank], &cmd));
}

TEST(next_op_after_one_has_left)
{
	uint64_t lots = test_seed();
	struct procs_stream s;
	uint32_t size, nodes, r, who;
	struct procs p;
	unsigned int n;

	for (n = 0; n < test_scale(25); n++) {
		draw_job(&p, &s, &lots, &size, &nodes);
		s.count = 1 + test_below(&lots, 10);
		p.ops = ops_one_more;
		who = s.seed % size;
		ASSERT_EQ(0, procs_start(&p, size, nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
		p.sh->go = 1;
		ASSERT_TRUE(procs_wait(&p, PROCS_ENDED, 30000));
		for (r = 0; r < size; r++) {
			const struct procs_rank *k = &p.sh->rank[r];

			EXPECT_EQ(s.count, k->done) TH_LOG("%u: %d", r, k->result);
			EXPECT_EQ(0, k->wrong);
			EXPECT_EQ(r == who ? 0 : -EHOSTDOWN, k->result);
			if (r == who)
				continue;
			EXPECT_EQ(COLL_CAUSE_CLOSE, k->status.cause.kind);
			EXPECT_EQ(who, k->status.cause.rank);
		}
		if (_metadata->exit_code)
			TH_LOG("loop %u: %u ranks, %u nodes, uring %u, rank %u left",
			       n, size, nodes, s.uring, who);
		ASSERT_EQ(0, _metadata->exit_code);
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
