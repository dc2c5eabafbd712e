// SPDX-License-Identifier: GPL-2.0
/*
 * Deadlines, stopped processes, and communicators made anew after a failure.
 */
#include <pthread.h>
#include <signal.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 2, 1 }, { 4, 1 }, { 2, 2 }, { 4, 2 }, { 5, 3 }, { 4, 4 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* A rank that waits, with a deadline far away. */
struct waiter {
	pthread_t thread;
	int fd, result;
};

static void *wait_long(void *arg)
{
	struct waiter *w = arg;
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	cmd.timeout_ns = 20 * SECOND;
	w->result = raw_submit(w->fd, &cmd);
	return NULL;
}

/* A rank waits in its op number @op. */
static bool has_posted(struct raw_comm *c, uint32_t r, int64_t op)
{
	uint64_t end = test_now_ns() + 10 * SECOND;

	while (test_posted(c, r) != op) {
		if (test_now_ns() > end)
			return false;
		test_sleep_us(200);
	}
	return true;
}

/*
 * All but one post op 2. The last of them has the deadline, which begins when the others wait.
 * Return: the time from there until all have an error; 0: a rank does not post.
 */
static uint64_t all_but(struct raw_comm *c, uint32_t missing, uint64_t timeout,
			int *results)
{
	uint32_t r, last = missing == c->size - 1 ? missing - 1 : c->size - 1;
	struct waiter w[RAW_MAX];
	struct coll_cmd cmd;
	bool posted = true;
	uint64_t start;

	for (r = 0; r < c->size; r++) {
		w[r] = (struct waiter){ .fd = c->fd[r] };
		if (r != missing && r != last &&
		    pthread_create(&w[r].thread, NULL, wait_long, &w[r]))
			return 0;
	}
	for (r = 0; r < c->size; r++)
		if (r != missing && r != last)
			posted &= has_posted(c, r, 2);
	raw_barrier(&cmd);
	cmd.timeout_ns = timeout;
	start = test_now_ns();
	w[last].result = raw_submit(w[last].fd, &cmd);
	for (r = 0; r < c->size; r++) {
		if (r != missing && r != last)
			pthread_join(w[r].thread, NULL);
		results[r] = w[r].result;
	}
	return posted ? test_now_ns() - start : 0;
}

static void one_missing(struct __test_metadata *_metadata, uint32_t size,
			uint32_t nodes, uint32_t missing)
{
	const uint64_t timeout = 150 * MS;
	struct coll_status s;
	struct coll_cmd cmd;
	struct raw_comm c;
	int results[RAW_MAX];
	uint64_t took, now;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, size, nodes));
	ASSERT_EQ(0, test_good(&c));
	took = all_but(&c, missing, timeout, results);
	now = test_now_ns();
	/* Jiffies may be a few behind, where ticks are emulated. */
	EXPECT_GE(took + 10 * MS, timeout);
	EXPECT_FALSE(test_late(now - took + timeout, now));
	/* A barrier that is posted before the rank knows of the failure might even complete. */
	ASSERT_EQ(0, raw_status_failed(c.fd[missing], &s));
	raw_barrier(&cmd);
	results[missing] = raw_submit(c.fd[missing], &cmd);
	for (r = 0; r < size; r++) {
		EXPECT_EQ(-ETIMEDOUT, results[r]) TH_LOG("rank %u", r);
		ASSERT_EQ(0, raw_status(c.fd[r], &s));
		EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
		EXPECT_EQ(2, s.cause.seq);
		/* with more than two nodes, a node may wait for one that waits itself */
		EXPECT_TRUE(s.cause.node == c.node_of[missing] ||
			    (nodes > 2 && s.cause.node < nodes)) {
			TH_LOG("%u ranks, %u nodes, %u missing: rank %u is told node %d",
			       size, nodes, missing, r, (int)s.cause.node);
		}
		/* only the node of the missing rank can know which rank is missing */
		EXPECT_TRUE(s.cause.rank == missing ||
			    (s.cause.rank == COLL_RANK_NONE && nodes > 1)) {
			TH_LOG("%u ranks, %u nodes, %u missing: rank %u is told %d",
			       size, nodes, missing, r, (int)s.cause.rank);
		}
	}
	raw_stop(&c);
}

TEST(missing_on_one_node)
{
	one_missing(_metadata, 2, 1, 1);
	one_missing(_metadata, 4, 1, 0);
	one_missing(_metadata, 4, 1, 2);
}

TEST(missing_on_several_nodes)
{
	one_missing(_metadata, 2, 2, 0);
	one_missing(_metadata, 2, 2, 1);
	one_missing(_metadata, 4, 4, 2);
}

/* Other ranks of the missing rank's node wait as well, and know which rank is missing. */
TEST(missing_beside_others)
{
	one_missing(_metadata, 4, 2, 1);
	one_missing(_metadata, 4, 2, 3);
	one_missing(_metadata, 5, 3, 0);
}

TEST(deadline_far_away_does_no_harm)
{
	struct coll_cmd cmds[4];
	struct raw_comm c;
	int results[4];
	uint32_t r, i;

	ASSERT_EQ(0, raw_start(&c, 4, 2));
	for (i = 0; i < 20; i++) {
		for (r = 0; r < 4; r++) {
			raw_barrier(&cmds[r]);
			cmds[r].timeout_ns = r & 1 ? ~0ULL : 1ULL << 62;
		}
		ASSERT_EQ(0, raw_all(&c, cmds, results));
		for (r = 0; r < 4; r++)
			EXPECT_EQ(0, results[r]);
	}
	raw_stop(&c);
}

/* A barrier of two ranks, one of them late. */
struct late {
	int fd;
	uint64_t ns;
	int result;
};

static void *post_late(void *arg)
{
	struct late *l = arg;
	struct coll_cmd cmd;

	test_sleep_us(l->ns / 1000);
	raw_barrier(&cmd);
	l->result = raw_submit(l->fd, &cmd);
	return NULL;
}

/* Rank 0 waits, @timeout at most, for rank 1, who is @late. Return: what rank 0 hears. */
static int one_is_late(struct raw_comm *c, uint64_t timeout, uint64_t late, int *other)
{
	struct late l = { .fd = c->fd[1], .ns = late };
	struct coll_cmd cmd;
	pthread_t thread;
	int ret;

	ret = pthread_create(&thread, NULL, post_late, &l);
	if (ret)
		return -ret;
	raw_barrier(&cmd);
	cmd.timeout_ns = timeout;
	ret = raw_submit(c->fd[0], &cmd);
	pthread_join(thread, NULL);
	*other = l.result;
	return ret;
}

#define LATE_OPS	40
#define LATE_KEPT	20

/*
 * A deadline ends with its op. The next op may use the memory of that op again, and has no
 * deadline: it ends well, though a rank comes long after the old deadline. Many ops end at about
 * the time of their deadline. If too few of them end in time, the deadline becomes longer.
 */
TEST(deadline_is_of_one_op)
{
	uint64_t i, timeout = 40 * MS;
	struct raw_comm c;
	int ret, other, kept = 0;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (i = 0; i < LATE_OPS || kept < LATE_KEPT; i++) {
		if (i >= LATE_OPS)
			timeout += 10 * MS;
		ASSERT_LT(timeout, SECOND);
		ret = one_is_late(&c, timeout, (20 + i % 25) * MS, &other);
		if (ret || other) {
			EXPECT_EQ(-ETIMEDOUT, ret);
			EXPECT_EQ(-ETIMEDOUT, other);
			raw_stop(&c);
			ASSERT_EQ(0, raw_start(&c, 2, 1));
			continue;
		}
		kept++;
		EXPECT_EQ(0, one_is_late(&c, 0, timeout + 20 * MS, &other)) {
			TH_LOG("op %u", (unsigned int)i);
		}
		EXPECT_EQ(0, other);
	}
	EXPECT_GE(kept, LATE_KEPT);
	TH_LOG("%d of %u in time", kept, (unsigned int)i);
	raw_stop(&c);
}

/* A failed communicator stays failed. A new key works; the old one works after the last close. */
TEST(anew_after_failure)
{
	struct raw_comm c, d;
	size_t s;
	uint32_t r;

	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		ASSERT_EQ(0, test_good(&c));
		ASSERT_EQ(0, raw_abort(c.fd[0], 1));
		for (r = 0; r < 100 && test_good(&c) != -ESHUTDOWN; r++)
			test_sleep_us(1000);
		EXPECT_EQ(-ESHUTDOWN, test_good(&c));
		ASSERT_EQ(0, raw_start(&d, shapes[s].size, shapes[s].nodes));
		EXPECT_EQ(0, test_good(&d));
		raw_stop(&d);
		raw_stop(&c);
		d = c;
		for (r = 0; r < d.size; r++) {
			d.fd[r] = raw_open();
			EXPECT_EQ(0, raw_join(d.fd[r], &d, r));
		}
		raw_stop(&d);
	}
}

TEST(abort_twice_and_after_failure)
{
	struct coll_status s;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	EXPECT_EQ(0, raw_abort(c.fd[1], 5));
	EXPECT_EQ(0, raw_abort(c.fd[0], 6));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(5, s.cause.code);
	EXPECT_EQ(1, s.cause.rank);
	raw_stop(&c);
}

/* A stopped process is not a dead one. */
TEST(stopped_is_not_dead)
{
	uint64_t lots = test_seed();
	struct procs_stream st = {
		.seed = lots, .max_bytes = 65536, .count = test_scale(200),
	};
	struct procs p = { .ops = procs_ops_stream, .arg = &st };
	uint32_t r;
	int i;

	ASSERT_EQ(0, procs_start(&p, 4, 2));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	for (i = 0; i < 5; i++) {
		uint32_t who = test_below(&lots, 4);

		kill(p.pid[who], SIGSTOP);
		test_sleep_us(200000);
		kill(p.pid[who], SIGCONT);
	}
	ASSERT_TRUE(procs_wait(&p, PROCS_ENDED, 40000));
	for (r = 0; r < 4; r++) {
		EXPECT_EQ(0, p.sh->rank[r].result);
		EXPECT_EQ(st.count, p.sh->rank[r].done);
		EXPECT_EQ(0, p.sh->rank[r].wrong);
	}
	procs_stop(&p);
}

TEST_HARNESS_MAIN
