// SPDX-License-Identifier: GPL-2.0
/*
 * Partners that leave in order: messages that need them fail, messages that have been sent arrive,
 * and the communicator does not fail.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

static struct talk t;
static int32_t mem[64], other[64];

/*
 * A rank leaves in order. Messages with it, posted before or after that, fail. The communicator
 * does not fail.
 */
TEST(partner_has_left)
{
	struct coll_status s;
	struct coll_cmd cmd;
	unsigned int i, r;
	int ret;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		for (i = 0; i < 7; i++) {
			ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
			ASSERT_EQ(0, test_good(&t.c));
			raw_send(&cmd, mem, 4, COLL_I32, last, 1);
			if (i & 4)
				raw_and_recv(&cmd, other, 4, last, 0, NULL);
			else if (i & 1)
				raw_recv(&cmd, mem, 4, COLL_I32, last, COLL_TAG_ANY, NULL);
			if (i & 2)
				close(t.c.fd[last]);
			if (i & 2)
				test_sleep_us(50000);	/* the news travels */
			r = talk_post(&t, 0, &cmd);
			if (!(i & 2)) {
				EXPECT_TRUE(talk_pending(&t, 0, r));
				close(t.c.fd[last]);
			}
			t.c.fd[last] = -1;
			ret = talk_result(&t, 0, r);
			EXPECT_EQ(-EHOSTDOWN, ret) TH_LOG("shape %u, case %u", sh, i);
			ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
			EXPECT_EQ(COLL_CAUSE_NONE, s.cause.kind);
			EXPECT_NE(COLL_STATE_FAILED, s.state);
			talk_stop(&t);
		}
	}
}

/* A receive from anybody ends when nobody is left. */
TEST(all_have_left)
{
	struct coll_cmd cmd;
	unsigned int r;
	uint32_t i;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_recv(&cmd, mem, 4, COLL_I32, COLL_RANK_ANY, COLL_TAG_ANY, NULL);
		r = talk_post(&t, 0, &cmd);
		for (i = 1; i < shapes[sh].size; i++) {
			EXPECT_TRUE(talk_pending(&t, 0, r));
			close(t.c.fd[i]);
			t.c.fd[i] = -1;
		}
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, r));
		talk_stop(&t);
	}
}

/* A rank that is alone receives from anybody what it has sent to itself. */
TEST(alone_with_its_own_message)
{
	struct coll_cmd cmd;
	unsigned int r, s;
	uint32_t i;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		ASSERT_EQ(0, test_good(&t.c));
		r = talk_recv(&t, 0, COLL_RANK_ANY, COLL_TAG_ANY, mem, 16, NULL);
		for (i = 1; i < shapes[sh].size; i++) {
			close(t.c.fd[i]);
			t.c.fd[i] = -1;
		}
		/* Then all have left. */
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, r));
		s = talk_send(&t, 0, 0, 1, other, 16);
		r = talk_recv(&t, 0, COLL_RANK_ANY, 2, mem, 16, NULL);
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, r));
		r = talk_recv(&t, 0, COLL_RANK_ANY, 1, mem, 16, NULL);
		EXPECT_EQ(0, talk_result(&t, 0, r)) TH_LOG("shape %u", sh);
		EXPECT_EQ(0, talk_result(&t, 0, s)) TH_LOG("shape %u", sh);
		raw_send(&cmd, mem, 4, COLL_I32, 0, 1);
		raw_and_recv(&cmd, other, 4, COLL_RANK_ANY, COLL_TAG_ANY, NULL);
		r = talk_post(&t, 0, &cmd);
		EXPECT_EQ(0, talk_result(&t, 0, r)) TH_LOG("shape %u", sh);
		raw_send(&cmd, mem, 4, COLL_I32, 0, 1);
		raw_and_recv(&cmd, other, 4, COLL_RANK_ANY, 2, NULL);
		r = talk_post(&t, 0, &cmd);
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, r));
		talk_stop(&t);
	}
}

/*
 * A rank that is through leaves while another one, which has a receive for anybody, still waits
 * for the end of a collective that both take part in: that ends well.
 */
TEST(leaving_beside_a_receive)
{
	unsigned int b[TALK_RANKS], r, n;
	struct coll_cmd cmd;
	uint32_t i;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		for (n = 0; n < 10; n++) {
			ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
			r = talk_recv(&t, 0, last, COLL_TAG_ANY, mem, 16, NULL);
			for (i = 0; i <= last; i++) {
				raw_barrier(&cmd);
				b[i] = talk_post(&t, i, &cmd);
			}
			EXPECT_EQ(0, talk_result(&t, last, b[last]));
			close(t.c.fd[last]);
			t.c.fd[last] = -1;
			for (i = 0; i < last; i++)
				EXPECT_EQ(0, talk_result(&t, i, b[i])) TH_LOG("rank %u", i);
			EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, r));
			talk_stop(&t);
		}
	}
}

/* A rank that leaves after all its messages harms nobody. */
TEST(leaving_after_the_last_message)
{
	const size_t bytes = 3 << 20;
	char *in = malloc(bytes), *out = malloc(bytes);
	unsigned int i, r, s;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		for (i = 0; i < 10; i++) {
			ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
			memset(in, i + 1, bytes);
			r = talk_recv(&t, 0, last, 1, out, bytes, NULL);
			s = talk_send(&t, last, 0, 1, in, bytes);
			EXPECT_EQ(0, talk_result(&t, last, s));
			close(t.c.fd[last]);
			t.c.fd[last] = -1;
			EXPECT_EQ(0, talk_result(&t, 0, r));
			EXPECT_EQ(0, memcmp(in, out, bytes));
			talk_stop(&t);
		}
	}
	free(in);
	free(out);
}

TEST_HARNESS_MAIN
