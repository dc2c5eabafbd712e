// SPDX-License-Identifier: GPL-2.0
/*
 * Very many messages, or collectives, that end at once: cancelled, or because a rank leaves, or
 * because the communicator fails. The kernel looks at a slice of them, then lets others have the lock. How
 * many it looks at is counted by a tracepoint. Each command completes once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "trace.h"
#include "raw.h"
#include "util.h"

/* At COLL_TEST_SCALE 100 */
#define MANY		6000U
/* COLL_MSG_SLICE of the module */
#define SLICE		64U
#define COLLECT_NS	60000000000ULL
#define EVENT		"coll_walk"

static struct raw_comm c;
static uint32_t many;
static int max_inflight;
static uint8_t byte[2];

/* struct walked - what the tracepoint has seen */
struct walked {
	uint64_t messages;
	uint32_t most;
	uint32_t holds;
};

static bool begin(uint32_t size, uint32_t nodes)
{
	many = test_scale(MANY) < MANY ? test_scale(MANY) : MANY;
	max_inflight = raw_max_inflight(4 * MANY);
	return max_inflight >= 0 && !raw_start(&c, size, nodes);
}

static void end(void)
{
	test_trace_stop(EVENT);
	raw_stop(&c);
	raw_max_inflight(max_inflight);
}

/* Everything since test_trace_start(EVENT). */
static void trace_end(struct walked *s)
{
	FILE *f = fopen(TEST_TRACE, "r");
	char line[256], *at;
	uint32_t n;

	memset(s, 0, sizeof(*s));
	test_trace_stop(EVENT);
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, " messages=");
		if (!strstr(line, "coll_walk: ") || !at || sscanf(at, " messages=%u", &n) != 1)
			continue;
		s->messages += n;
		s->holds++;
		if (n > s->most)
			s->most = n;
	}
	if (f)
		fclose(f);
}

static int recv_one(uint32_t rank, uint32_t source, uint64_t tag)
{
	struct coll_cmd cmd;

	raw_recv(&cmd, &byte[0], 1, COLL_BYTE, source, tag, NULL);
	return raw_post_cmd(c.fd[rank], &cmd, tag);
}

static int send_one(uint32_t rank, uint32_t dest, uint64_t tag)
{
	struct coll_cmd cmd;

	raw_send(&cmd, &byte[1], 1, COLL_BYTE, dest, tag);
	return raw_post_cmd(c.fd[rank], &cmd, tag);
}

/* All of @n commands of a rank complete with @result, each once. */
static void all_end(struct __test_metadata *_metadata, uint32_t rank, uint32_t n, int result)
{
	static struct coll_completion done[COLL_POST_MAX];
	static uint8_t over[4 * MANY];
	uint32_t left = n, others = 0, twice = 0;
	int got, i;

	memset(over, 0, sizeof(over));
	while (left) {
		got = raw_collect_cmds(c.fd[rank], done, COLL_POST_MAX, 1, COLLECT_NS);
		ASSERT_LT(0, got) TH_LOG("%u commands do not end", left);
		for (i = 0; i < got; i++) {
			ASSERT_GT(4 * MANY, done[i].tag);
			twice += over[done[i].tag]++;
			others += done[i].result != result;
			left--;
		}
	}
	EXPECT_EQ(0, twice);
	EXPECT_EQ(0, others);
	EXPECT_EQ(0, raw_collect_cmds(c.fd[rank], done, 1, 1, 0));
}

/* The lock was held for a slice each time, and for all of @least messages. */
static void bounded(struct __test_metadata *_metadata, uint32_t least)
{
	struct walked s;

	trace_end(&s);
	TH_LOG("%llu messages in %u holds of the lock, %u in one of them",
	       (unsigned long long)s.messages, s.holds, s.most);
	EXPECT_GE(s.messages, least);
	EXPECT_GE(SLICE, s.most);
	EXPECT_LE(least / SLICE, s.holds);
}

TEST(cancelled)
{
	uint32_t i;

	ASSERT_TRUE(begin(3, 1));
	for (i = 0; i < many; i++)
		ASSERT_EQ(1, recv_one(1, i & 1 ? 0 : COLL_RANK_ANY, i));
	if (!test_trace_start(EVENT))
		SKIP(return, "no tracepoint");
	EXPECT_EQ((int)many, raw_cancel_receives(c.fd[1]));
	bounded(_metadata, many);
	all_end(_metadata, 1, many, -ECANCELED);
	EXPECT_EQ(0, test_good(&c));
	end();
}

/* A thread that posts receives meanwhile does not keep the call from its end. */
static volatile bool quit;
static volatile uint32_t posted;

static void *post_on(void *arg)
{
	while (!quit && posted < 3 * many)
		if (recv_one(1, 0, posted) == 1)
			posted++;
	return NULL;
}

TEST(cancelled_while_others_come)
{
	uint32_t i, cancelled = 0;
	pthread_t t;

	ASSERT_TRUE(begin(2, 1));
	quit = false;
	posted = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, post_on, NULL));
	for (i = 0; i < 20; i++) {
		test_sleep_us(2000);
		cancelled += raw_cancel_receives(c.fd[1]);
	}
	quit = true;
	pthread_join(t, NULL);
	cancelled += raw_cancel_receives(c.fd[1]);
	EXPECT_EQ(posted, cancelled);
	all_end(_metadata, 1, posted, -ECANCELED);
	EXPECT_EQ(0, test_good(&c));
	end();
}

/* Wait until rank 0 has heard of a message of rank 1, and of all that were sent before. */
static bool has_heard(uint64_t tag)
{
	struct coll_message got;
	struct coll_cmd cmd;
	int i, ret = -ENOMSG;

	for (i = 0; i < 10000 && ret == -ENOMSG; i++) {
		raw_probe(&cmd, COLL_PROBE, 1, tag, &got);
		cmd.flags = COLL_CMD_NOWAIT;
		ret = raw_submit(c.fd[0], &cmd);
		if (ret)
			test_sleep_us(1000);
	}
	return !ret;
}

/* Rank 0 leaves: receives from it end, and so do sends to it, which wait for its receives. */
static void leaves(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint32_t i;

	ASSERT_TRUE(begin(2, nodes));
	for (i = 0; i < many; i++) {
		ASSERT_EQ(1, recv_one(1, 0, i));
		ASSERT_EQ(1, send_one(1, 0, many + i));
	}
	ASSERT_TRUE(has_heard(2 * many - 1));
	if (!test_trace_start(EVENT))
		SKIP(return, "no tracepoint");
	close(c.fd[0]);
	c.fd[0] = -1;
	all_end(_metadata, 1, 2 * many, -EHOSTDOWN);
	bounded(_metadata, 2 * many);
	end();
}

TEST(rank_leaves)		{ leaves(_metadata, 1); }
TEST(rank_of_another_node_leaves)	{ leaves(_metadata, 2); }

static void fails(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint32_t i, r;

	ASSERT_TRUE(begin(2, nodes));
	for (r = 0; r < 2; r++)
		for (i = 0; i < many; i++)
			ASSERT_EQ(1, i & 1 ? recv_one(r, !r, many + i) : send_one(r, !r, i));
	if (!test_trace_start(EVENT))
		SKIP(return, "no tracepoint");
	EXPECT_EQ(0, raw_abort(c.fd[0], 1));
	for (r = 0; r < 2; r++)
		all_end(_metadata, r, many, -ESHUTDOWN);
	bounded(_metadata, 2 * many);
	end();
}

TEST(communicator_fails)	{ fails(_metadata, 1); }
TEST(communicator_of_two_nodes_fails)	{ fails(_metadata, 2); }

/* Collectives that a rank has posted alone. */
TEST(communicator_with_many_ops_fails)
{
	struct coll_cmd cmd;
	uint32_t i;

	ASSERT_TRUE(begin(2, 1));
	raw_barrier(&cmd);
	for (i = 0; i < many; i++)
		ASSERT_EQ(1, raw_post_cmd(c.fd[0], &cmd, i));
	if (!test_trace_start(EVENT))
		SKIP(return, "no tracepoint");
	EXPECT_EQ(0, raw_abort(c.fd[1], 1));
	all_end(_metadata, 0, many, -ESHUTDOWN);
	bounded(_metadata, many);
	end();
}

/* Three ranks leave while a fourth one has messages with all of them, and posts more. */
static void *leave(void *arg)
{
	uint32_t r = (uintptr_t)arg;

	close(c.fd[r]);
	c.fd[r] = -1;
	return NULL;
}

TEST(several_leave_at_once)
{
	unsigned int round, rounds = test_scale(20) + 1;
	uint64_t lots = test_seed();
	uint32_t i, n, r, most;
	pthread_t t[3];

	for (round = 0; round < rounds; round++) {
		ASSERT_TRUE(begin(4, 1 + test_below(&lots, 4)));
		n = 0;
		most = 300 + test_below(&lots, 600);
		for (i = 0; i < most; i++) {
			r = test_below(&lots, 4);
			n += recv_one(3, r > 2 ? COLL_RANK_ANY : r, n) == 1;
			n += send_one(3, test_below(&lots, 3), n) == 1;
		}
		for (i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&t[i], NULL, leave, (void *)(uintptr_t)i));
		for (i = 0; i < 100; i++)
			n += recv_one(3, test_below(&lots, 3), n) == 1;
		for (i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		all_end(_metadata, 3, n, -EHOSTDOWN);
		end();
	}
}

TEST_HARNESS_MAIN
