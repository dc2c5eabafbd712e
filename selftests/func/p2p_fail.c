// SPDX-License-Identifier: GPL-2.0
/*
 * Communicators that fail with messages in flight: by an abort, by a ring that is closed, and by
 * a process that is killed while bytes move.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

#define SETUP_MS	20000

static struct talk t;
static int32_t mem[64], other[64];

TEST(abort_ends_them)
{
	struct coll_cmd cmd;
	unsigned int r[4], i;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		r[0] = talk_recv(&t, 0, last, 1, mem, 16, NULL);
		r[1] = talk_send(&t, 0, last, 1, other, 16);
		raw_send(&cmd, mem, 4, COLL_I32, last, 3);
		raw_and_recv(&cmd, other, 4, COLL_RANK_ANY, 4, NULL);
		r[2] = talk_post(&t, 0, &cmd);
		r[3] = talk_recv(&t, 0, COLL_RANK_ANY, COLL_TAG_ANY, mem, 16, NULL);
		ASSERT_EQ(0, raw_abort(t.c.fd[last], 5));
		for (i = 0; i < 4; i++)
			EXPECT_EQ(-ESHUTDOWN, talk_result(&t, 0, r[i]));
		talk_stop(&t);
	}
}

/* The ring goes, with messages in flight. */
TEST(ring_exit)
{
	struct coll_status s;
	struct talk *big = &t;
	unsigned int r;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		ASSERT_EQ(0, talk_start(big, shapes[sh].size, shapes[sh].nodes));
		r = talk_recv(big, last, 0, 1, mem, 16, NULL);
		talk_recv(big, 0, last, 1, other, 16, NULL);
		talk_send(big, 0, last, 2, other, 16);
		close(big->c.fd[0]);
		big->c.fd[0] = -1;
		io_uring_queue_exit(&big->r[0].ring);
		EXPECT_EQ(-EHOSTDOWN, talk_result(big, last, r));
		ASSERT_EQ(0, raw_status(big->c.fd[last], &s));
		EXPECT_EQ(0, s.cause.rank);
		ASSERT_EQ(0, io_uring_queue_init(8, &big->r[0].ring, 0));
		talk_stop(big);
	}
}

/* Ranks of a job exchange with a random partner, forever. */
struct storm {
	uint64_t seed;
	uint64_t bytes;
};

static void ops_storm(struct procs *p, uint32_t rank)
{
	struct storm *st = p->arg;
	uint64_t lots = st->seed, i;
	uint8_t *in = malloc(st->bytes), *out = malloc(st->bytes);
	uint32_t n = p->c.size, shift;
	struct coll_cmd cmd;
	int ret = 0;

	for (i = 0; !ret; i++) {
		uint64_t bytes = test_below(&lots, st->bytes);

		shift = test_below(&lots, n);
		memset(in, rank + i, bytes);
		raw_send(&cmd, in, bytes, COLL_BYTE, (rank + shift) % n, 1);
		raw_and_recv(&cmd, out, bytes, (rank + n - shift) % n, 1, NULL);
		p->sh->rank[rank].asked = test_now_ns();
		ret = raw_submit(p->c.fd[rank], &cmd);
		if (!ret && bytes && (out[0] != (uint8_t)((rank + n - shift) % n + i) ||
				      out[bytes - 1] != out[0]))
			p->sh->rank[rank].wrong++;
		p->sh->rank[rank].done++;
	}
	procs_result(p, rank, ret);
}

TEST(killed_while_bytes_move)
{
	uint64_t lots = test_seed(), when;
	uint32_t size, nodes, victim, r;
	struct storm st = { .bytes = 1 << 20 };
	struct procs p;
	unsigned int n;

	for (n = 0; n < test_scale(40); n++) {
		memset(&p, 0, sizeof(p));
		size = 2 + test_below(&lots, 4);
		nodes = shapes[test_below(&lots, NR_SHAPES)].nodes;
		nodes = nodes < size ? nodes : size;
		victim = test_below(&lots, size);
		st.seed = test_rand(&lots) | 1;
		p.ops = ops_storm;
		p.arg = &st;
		ASSERT_EQ(0, procs_start(&p, size, nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
		p.sh->go = 1;
		test_sleep_us(test_below(&lots, 30000));
		when = test_now_ns();
		ASSERT_EQ(0, kill(p.pid[victim], SIGKILL));
		ASSERT_NE(-1, procs_reap(&p, victim, 10000));
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, test_bound_ms() + 20000)) {
			TH_LOG("HANG: some rank heard nothing");
		}
		for (r = 0; r < size; r++) {
			struct procs_rank *k = &p.sh->rank[r];

			if (r == victim)
				continue;
			EXPECT_EQ(-EHOSTDOWN, k->result) TH_LOG("rank %u of %u", r, size);
			EXPECT_EQ(0, k->wrong);
			EXPECT_EQ(victim, k->status.cause.rank);
			EXPECT_EQ(COLL_CAUSE_EXIT, k->status.cause.kind);
			EXPECT_FALSE(test_late(procs_asked_after(k, when), k->when));
		}
		ASSERT_EQ(0, _metadata->exit_code);
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
