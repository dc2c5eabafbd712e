// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a message that has been probed or taken: it is cancelled, or a rank leaves or is
 * killed.
 */
#include <errno.h>
#include <signal.h>

#include "harness.h"
#include "probes.h"
#include "procs.h"
#include "shapes.h"
#include "util.h"

#define SETUP_MS	20000

static struct talk t;

/* A probed message may be cancelled, one that has been taken may not. */
TEST(cancelled)
{
	struct coll_message got;
	int32_t v = 4, o = 0;
	unsigned int s;
	int ret;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, 0, last, 1, &v, 4);
		ASSERT_EQ(0, probe_soon(&t, last, COLL_PROBE, 0, 1, &got));
		EXPECT_EQ(0, talk_cancel(&t, 0, s));
		EXPECT_EQ(-ECANCELED, talk_result(&t, 0, s));
		EXPECT_EQ(-ENOMSG, probe_now(&t, last, COLL_MPROBE, 0, 1, &got));

		s = talk_send(&t, 0, last, 1, &v, 4);
		ASSERT_EQ(0, probe_soon(&t, last, COLL_MPROBE, 0, 1, &got));
		/* Another node is asked, and does not answer before the message is received. */
		ret = talk_cancel(&t, 0, s);
		EXPECT_EQ(t.c.node_of[0] == t.c.node_of[last] ? -EALREADY : 0, ret);
		EXPECT_TRUE(talk_pending(&t, 0, s));
		EXPECT_EQ(0, probe_receive(&t, last, got.id, &o, 4, NULL));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(4, o);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* Probes and senders when their partner leaves in order. */
TEST(partner_leaves)
{
	struct coll_message got;
	unsigned int p[2], s;
	int32_t v = 4;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, 0, last, 1, &v, 4);
		ASSERT_EQ(0, probe_soon(&t, last, COLL_MPROBE, 0, 1, &got));
		p[0] = probe_post(&t, 0, COLL_PROBE, last, 1, &got);
		p[1] = probe_post(&t, 0, COLL_MPROBE, last, 1, &got);
		close(t.c.fd[last]);
		t.c.fd[last] = -1;
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, s));
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, p[0]));
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, p[1]));
		EXPECT_EQ(-EHOSTDOWN, probe_now(&t, 0, COLL_PROBE, last, 1, &got));
		talk_stop(&t);
	}
}

/* Rank 0 sends; the last one takes the messages, and is killed before it receives them. */
static void ops_taken(struct procs *p, uint32_t rank)
{
	uint32_t last = p->c.size - 1;
	struct coll_message got;
	struct coll_cmd cmd;
	static int32_t v;

	if (rank && rank != last) {
		pause();
		return;
	}
	if (!rank) {
		raw_send(&cmd, &v, 1, COLL_I32, last, 1);
		procs_result(p, rank, raw_submit(p->c.fd[rank], &cmd));
		return;
	}
	raw_probe(&cmd, COLL_MPROBE, COLL_RANK_ANY, 1, &got);
	p->sh->rank[rank].result = raw_submit(p->c.fd[rank], &cmd);
	p->sh->rank[rank].done = 1;
	pause();
}

TEST(killed_before_it_receives)
{
	static struct procs p;
	unsigned int ms;
	uint64_t when;

	FOR_FEW_SHAPES(last) {
		memset(&p, 0, sizeof(p));
		p.ops = ops_taken;
		ASSERT_EQ(0, procs_start(&p, shapes[sh].size, shapes[sh].nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
		p.sh->go = 1;
		for (ms = 0; ms < SETUP_MS && !p.sh->rank[last].done; ms++)
			test_sleep_us(1000);
		ASSERT_EQ(1, p.sh->rank[last].done);
		EXPECT_EQ(0, p.sh->rank[last].result);
		EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
		when = test_now_ns();
		kill(p.pid[last], SIGKILL);
		for (ms = 0; ms < SETUP_MS && p.sh->rank[0].phase != PROCS_ENDED; ms++)
			test_sleep_us(1000);
		ASSERT_EQ(PROCS_ENDED, p.sh->rank[0].phase);
		EXPECT_EQ(-EHOSTDOWN, p.sh->rank[0].result);
		EXPECT_EQ(COLL_CAUSE_EXIT, p.sh->rank[0].status.cause.kind);
		EXPECT_EQ(last, p.sh->rank[0].status.cause.rank);
		EXPECT_EQ(SIGKILL, p.sh->rank[0].status.cause.signal);
		EXPECT_FALSE(test_late(when, p.sh->rank[0].when));
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
