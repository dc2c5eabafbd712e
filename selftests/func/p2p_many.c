// SPDX-License-Identifier: GPL-2.0
/*
 * Very many messages at once, received in other orders than they are sent: all arrive, and the
 * kernel finds partners without looking through all that wait. That is counted, not timed.
 */
#include <string.h>

#include "harness.h"
#include "raw.h"
#include "ring.h"
#include "util.h"

/* At COLL_TEST_SCALE 100. */
#define MANY	20000U
#define SQES	64U
/* With lists it would be MANY / 2; with trees less than 5 questions of 2 * log2(MANY) each. */
#define STEPS	200U

static struct raw_comm c;
static uint32_t many;
static struct io_uring rings[2];
static uint32_t sent[MANY], received[MANY];
static struct coll_message got[MANY];

static bool open_rings(void)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_CQSIZE, .cq_entries = 2 * MANY,
	};

	many = test_scale(MANY) < MANY ? test_scale(MANY) : MANY;
	return !io_uring_queue_init_params(SQES, &rings[0], &p) &&
	       !io_uring_queue_init_params(SQES, &rings[1], &p);
}

static bool post(uint32_t rank, struct coll_cmd *cmd, uint64_t ud)
{
	ring_prep(io_uring_get_sqe(&rings[rank]), c.fd[rank], cmd, ud);
	return io_uring_submit(&rings[rank]) == 1;
}

/* Message @i, which has tag @i, or tag 0 like all others. */
static bool post_send(uint32_t i, bool tags)
{
	struct coll_cmd cmd;

	sent[i] = i + 1;
	raw_send(&cmd, &sent[i], 4, COLL_BYTE, 1, tags ? i : 0);
	return post(0, &cmd, i);
}

static bool post_recv(uint32_t i, bool any_source, bool tags)
{
	struct coll_cmd cmd;

	received[i] = 0;
	raw_recv(&cmd, &received[i], 4, COLL_BYTE, any_source ? COLL_RANK_ANY : 0,
		 tags ? i : COLL_TAG_ANY, &got[i]);
	return post(1, &cmd, i);
}

/* All commands of a rank, each once and well. */
static bool all_over(uint32_t rank)
{
	struct __kernel_timespec wait = { .tv_sec = 60 };
	static bool over[MANY];
	struct io_uring_cqe *cqe;
	uint32_t i;

	memset(over, 0, sizeof(over));
	for (i = 0; i < many; i++) {
		if (io_uring_wait_cqe_timeout(&rings[rank], &cqe, &wait) || cqe->res ||
		    cqe->user_data >= many || over[cqe->user_data])
			return false;
		over[cqe->user_data] = true;
		io_uring_cqe_seen(&rings[rank], cqe);
	}
	return true;
}

static uint64_t steps(void)
{
	struct coll_status s;

	return raw_status(c.fd[1], &s) ? 0 : s.match_steps;
}

struct scene {
	const char *name;
	bool recv_first, any_source, tags, reverse;
};

static const struct scene scenes[] = {
	{ "receives in reverse, then sends", true, false, true, true },
	{ "sends, then receives in reverse", false, false, true, true },
	{ "from any, in reverse, then sends", true, true, true, true },
	{ "sends, then from any, in reverse", false, true, true, true },
	{ "any tag, then sends", true, false, false, false },
	{ "sends, then any tag", false, false, false, false },
	{ "from any with any tag, then sends", true, true, false, false },
	{ "sends, then from any with any tag", false, true, false, false },
};

static bool one_side(const struct scene *s, bool receives)
{
	uint32_t n, i;

	for (n = 0; n < many; n++) {
		i = receives && s->reverse ? many - 1 - n : n;
		if (!(receives ? post_recv(i, s->any_source, s->tags) : post_send(i, s->tags)))
			return false;
	}
	return true;
}

/* Two scenes from @k on. */
static void run(struct __test_metadata *_metadata, uint32_t nodes, uint32_t k)
{
	uint64_t before, took;
	uint32_t end = k + 2, i, wrong;

	ASSERT_EQ(0, raw_start(&c, 2, nodes));
	ASSERT_TRUE(open_rings());
	for (; k < end; k++) {
		before = steps();
		ASSERT_TRUE(one_side(&scenes[k], scenes[k].recv_first));
		ASSERT_TRUE(one_side(&scenes[k], !scenes[k].recv_first));
		EXPECT_TRUE(all_over(0)) TH_LOG("%s", scenes[k].name);
		EXPECT_TRUE(all_over(1)) TH_LOG("%s", scenes[k].name);
		took = steps() - before;
		TH_LOG("%s: %llu comparisons for each", scenes[k].name,
		       (unsigned long long)took / many);
		EXPECT_LT(took, (uint64_t)many * STEPS);
		for (i = wrong = 0; i < many; i++)
			wrong += received[i] != i + 1 || got[i].bytes != 4 ||
				 got[i].tag != (scenes[k].tags ? i : 0);
		EXPECT_EQ(0U, wrong) TH_LOG("%s", scenes[k].name);
	}
	EXPECT_EQ(0, test_good(&c));
	io_uring_queue_exit(&rings[0]);
	io_uring_queue_exit(&rings[1]);
	raw_stop(&c);
}

TEST(reverse)			{ run(_metadata, 1, 0); }
TEST(any_source)		{ run(_metadata, 1, 2); }
TEST(any_tag)			{ run(_metadata, 1, 4); }
TEST(any)			{ run(_metadata, 1, 6); }
TEST(reverse_from_afar)		{ run(_metadata, 2, 0); }
TEST(any_source_from_afar)	{ run(_metadata, 2, 2); }
TEST(any_tag_from_afar)		{ run(_metadata, 2, 4); }
TEST(any_from_afar)		{ run(_metadata, 2, 6); }

/* All receives are taken back by one call. */
TEST(all_taken_back)
{
	uint32_t i;

	ASSERT_EQ(0, raw_start(&c, 2, 2));
	ASSERT_TRUE(open_rings());
	for (i = 0; i < many; i++)
		ASSERT_TRUE(post_recv(i, i & 1, true));
	EXPECT_EQ((int)many, raw_cancel_receives(c.fd[1]));
	EXPECT_EQ(0, test_good(&c));
	io_uring_queue_exit(&rings[0]);
	io_uring_queue_exit(&rings[1]);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
