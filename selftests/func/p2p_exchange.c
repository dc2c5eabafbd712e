// SPDX-License-Identifier: GPL-2.0
/* Commands that send and receive: round a ring, to the rank itself, and to COLL_RANK_NULL. */
#include <errno.h>

#include "harness.h"
#include "pattern.h"
#include "shapes.h"
#include "talk.h"

static struct talk t;

TEST(oneself)
{
	uint8_t in[100000], out[100000];
	struct coll_message got;
	struct coll_cmd cmd;
	unsigned int r;

	ASSERT_EQ(0, talk_start(&t, 1, 1));
	pattern_fill(in, sizeof(in), 2);
	raw_send(&cmd, in, sizeof(in), COLL_U8, 0, 9);
	raw_and_recv(&cmd, out, sizeof(out), 0, 9, &got);
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	EXPECT_EQ(0, pattern_wrong(out, sizeof(out), 2));
	EXPECT_EQ(sizeof(in), got.bytes);

	memset(out, 0, sizeof(out));
	r = talk_recv(&t, 0, COLL_RANK_ANY, COLL_TAG_ANY, out, sizeof(out), NULL);
	EXPECT_TRUE(talk_pending(&t, 0, r));
	raw_send(&cmd, in, sizeof(in), COLL_BYTE, 0, 9);
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	EXPECT_EQ(0, talk_result(&t, 0, r));
	EXPECT_EQ(0, pattern_wrong(out, sizeof(out), 2));
	talk_stop(&t);
}

TEST(nobody)
{
	struct coll_message got = { 1, 1, 1, 1 };
	struct coll_cmd cmd;
	int32_t v = 5;

	ASSERT_EQ(0, talk_start(&t, 2, 1));
	/* nor is the memory looked at */
	raw_send(&cmd, (void *)8, 1000, COLL_I32, COLL_RANK_NULL, 0);
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	raw_recv(&cmd, (void *)8, 1000, COLL_I32, COLL_RANK_NULL, COLL_TAG_ANY, &got);
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	EXPECT_EQ(0, got.bytes);
	EXPECT_EQ(COLL_RANK_NULL, got.source);
	EXPECT_EQ(COLL_TAG_ANY, got.tag);
	EXPECT_EQ(COLL_DTYPE_NONE, got.dtype);
	raw_send(&cmd, &v, 1, COLL_I32, COLL_RANK_NULL, 0);
	raw_and_recv(&cmd, &v, 1, COLL_RANK_NULL, 0, NULL);
	cmd.flags = COLL_CMD_INPLACE;
	EXPECT_EQ(-EINVAL, raw_submit(t.c.fd[0], &cmd));
	cmd.send_addr = 0;
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	EXPECT_EQ(5, v);
	talk_stop(&t);
}

/* Round a ring, in both directions at once, in place and not. */
TEST(exchange)
{
	static uint8_t in[TALK_RANKS][200000], out[TALK_RANKS][200000];
	static const uint64_t sizes[] = { 0, 4, 5000, 200000 };
	struct coll_message got[TALK_RANKS];
	struct coll_cmd cmd;
	uint32_t n, r, i, inplace;

	FOR_SHAPES(last) {
		n = last + 1;
		ASSERT_EQ(0, talk_start(&t, n, shapes[sh].nodes));
		for (i = 0; i < 8; i++) {
			uint64_t bytes = sizes[i / 2];

			inplace = i & 1;
			for (r = 0; r < n; r++) {
				uint8_t *buf = inplace ? out[r] : in[r];

				pattern_fill(buf, bytes, r);
				raw_send(&cmd, inplace ? NULL : buf, bytes, COLL_BYTE,
					 (r + 1) % n, 6);
				raw_and_recv(&cmd, out[r], bytes, (r + n - 1) % n, 6,
					     &got[r]);
				cmd.flags = inplace ? COLL_CMD_INPLACE : 0;
				talk_post(&t, r, &cmd);
			}
			for (r = 0; r < n; r++) {
				EXPECT_EQ(0, talk_result(&t, r, i));
				EXPECT_EQ(0, pattern_wrong(out[r], bytes, (r + n - 1) % n));
				EXPECT_EQ((r + n - 1) % n, got[r].source);
			}
		}
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
