// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: which one a receive gets, what it is told, what is refused, and that
 * collectives and messages do not wait for each other.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "harness.h"
#include "talk.h"
#include "util.h"

#define SECOND	1000000000ULL

/* Ranks and nodes. Ranks 0 and 1 talk: on one node, or not. */
static const struct { uint32_t size, nodes; } shapes[] = {
	{ 2, 1 }, { 4, 1 }, { 2, 2 }, { 4, 2 }, { 4, 4 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct talk t;

static void fill(void *mem, size_t bytes, uint32_t salt)
{
	uint8_t *p = mem;
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = (uint8_t)((i * 2654435761U >> 13) + salt * 31);
}

static size_t wrong(const void *mem, size_t bytes, uint32_t salt)
{
	const uint8_t *p = mem;
	size_t i, n = 0;

	for (i = 0; i < bytes; i++)
		n += p[i] != (uint8_t)((i * 2654435761U >> 13) + salt * 31);
	return n;
}

/* Run @body for each shape, @last being a rank as far away as can be. */
#define FOR_SHAPES(last)						\
	for (unsigned int sh = 0; sh < NR_SHAPES; sh++)			\
		for (uint32_t last = shapes[sh].size - 1, once = 1; once--; )

TEST(sizes_whoever_comes_first)
{
	static const uint64_t sizes[] = {
		0, 1, 7, 4096, 65536, 65537, 300000, (4 << 20) + 3,
	};
	uint8_t *in = malloc(5 << 20), *out = malloc(5 << 20);
	struct coll_message got;
	unsigned int i, first, s, r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			for (first = 0; first < 2; first++) {
				fill(in, sizes[i], i);
				memset(out, 0x11, sizes[i] + 1);
				memset(&got, 0xff, sizeof(got));
				if (first)
					s = talk_send(&t, 0, last, 5, in, sizes[i]);
				r = talk_recv(&t, last, 0, 5, out, sizes[i], &got);
				if (!first)
					s = talk_send(&t, 0, last, 5, in, sizes[i]);
				EXPECT_EQ(0, talk_result(&t, last, r));
				EXPECT_EQ(0, talk_result(&t, 0, s));
				EXPECT_EQ(0, wrong(out, sizes[i], i));
				EXPECT_EQ(0x11, out[sizes[i]]);
				EXPECT_EQ(sizes[i], got.bytes);
				EXPECT_EQ(0, got.source);
				EXPECT_EQ(5, got.tag);
				EXPECT_EQ(COLL_BYTE, got.dtype);
				EXPECT_EQ(0, got.reserved | got.id);
			}
		}
		talk_stop(&t);
	}
	free(in);
	free(out);
}

TEST(unaligned_and_guarded)
{
	struct test_guarded a, b;
	unsigned int i, s, r;
	size_t bytes = 150001;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++) {
			ASSERT_TRUE(test_guard(&a, bytes, i & 1));
			ASSERT_TRUE(test_guard(&b, bytes, i & 2));
			fill(a.mem, bytes, i);
			r = talk_recv(&t, last, 0, 1, b.mem, bytes, NULL);
			s = talk_send(&t, 0, last, 1, a.mem, bytes);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(0, talk_result(&t, 0, s));
			EXPECT_EQ(0, wrong(b.mem, bytes, i));
			EXPECT_EQ(0, test_guard_hurt(&a) + test_guard_hurt(&b));
			test_unguard(&a);
			test_unguard(&b);
		}
		talk_stop(&t);
	}
}

/* Sends first: receives pick by tag, and the earliest one that fits. */
TEST(receives_pick_messages)
{
	int32_t v[6] = { 0, 1, 2, 3, 4, 5 }, o[6];
	static const uint32_t tags[6] = { 7, 8, 7, 9, COLL_TAG_MAX, 0 };
	static const struct { uint32_t tag; int32_t want; } picks[6] = {
		{ 9, 3 }, { 7, 0 }, { COLL_TAG_ANY, 1 }, { COLL_TAG_MAX, 4 },
		{ COLL_TAG_ANY, 2 }, { 0, 5 },
	};
	struct coll_message got;
	unsigned int s[6], i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 6; i++)
			s[i] = talk_send(&t, 0, last, tags[i], &v[i], 4);
		EXPECT_TRUE(talk_pending(&t, 0, s[0]));
		for (i = 0; i < 6; i++) {
			unsigned int r;

			o[i] = -1;
			r = talk_recv(&t, last, i & 1 ? 0 : COLL_RANK_ANY,
				      picks[i].tag, &o[i], 4, &got);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(picks[i].want, o[i]) TH_LOG("pick %u", i);
			EXPECT_EQ(tags[picks[i].want], got.tag);
			EXPECT_EQ(0, got.source);
			EXPECT_EQ(0, talk_result(&t, 0, s[picks[i].want]));
		}
		talk_stop(&t);
	}
}

/* Receives first: a message goes to the earliest one that it fits. */
TEST(messages_pick_receives)
{
	static const uint32_t tags[5] = { 3, COLL_TAG_ANY, 3, 4, COLL_TAG_ANY };
	static const struct { uint32_t tag; unsigned int recv; } sends[5] = {
		{ 4, 1 }, { 3, 0 }, { 3, 2 }, { 3, 4 }, { 4, 3 },
	};
	struct coll_message got[5];
	int32_t o[5], v;
	unsigned int r[5], i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 5; i++)
			r[i] = talk_recv(&t, last, i & 1 ? 0 : COLL_RANK_ANY, tags[i],
					 &o[i], 4, &got[i]);
		for (i = 0; i < 5; i++) {
			unsigned int s;

			v = 100 + i;
			s = talk_send(&t, 0, last, sends[i].tag, &v, 4);
			EXPECT_EQ(0, talk_result(&t, 0, s));
			EXPECT_EQ(0, talk_result(&t, last, r[sends[i].recv]));
			EXPECT_EQ(100 + i, o[sends[i].recv]);
			EXPECT_EQ(sends[i].tag, got[sends[i].recv].tag);
		}
		talk_stop(&t);
	}
}

TEST(source_is_minded)
{
	int32_t v[2] = { 10, 11 }, o[2] = { };
	struct coll_message got;
	unsigned int s[2], r;

	FOR_SHAPES(last) {
		uint32_t other = last > 1 ? 1 : last;	/* or to itself */

		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s[0] = talk_send(&t, other, last, 1, &v[1], 4);
		s[1] = talk_send(&t, 0, last, 1, &v[0], 4);
		r = talk_recv(&t, last, 0, COLL_TAG_ANY, &o[0], 4, &got);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(10, o[0]);
		EXPECT_EQ(0, got.source);
		r = talk_recv(&t, last, COLL_RANK_ANY, COLL_TAG_ANY, &o[1], 4, &got);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(11, o[1]);
		EXPECT_EQ(other, got.source);
		EXPECT_EQ(0, talk_result(&t, 0, s[1]));
		EXPECT_EQ(0, talk_result(&t, other, s[0]));
		talk_stop(&t);
	}
}

/* Too long or of another type: that message alone fails, on both sides. */
TEST(what_does_not_fit)
{
	int32_t v[4] = { 1, 2, 3, 4 }, o[4];
	struct coll_message got;
	struct coll_cmd cmd;
	unsigned int i, s, r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++) {
			memset(o, 0, sizeof(o));
			if (i & 1)
				s = talk_send(&t, 0, last, 1, v, 16);
			r = talk_recv(&t, last, 0, 1, o, 15, &got);
			if (!(i & 1))
				s = talk_send(&t, 0, last, 1, v, 16);
			EXPECT_EQ(-EMSGSIZE, talk_result(&t, last, r));
			EXPECT_EQ(-EMSGSIZE, talk_result(&t, 0, s));
			EXPECT_EQ(16, got.bytes);
			EXPECT_EQ(0, o[0] | o[1] | o[2] | o[3]);

			raw_send(&cmd, v, 4, COLL_F32, last, 1);
			s = talk_post(&t, 0, &cmd);
			raw_recv(&cmd, o, 4, COLL_I32, 0, 1, &got);
			r = talk_post(&t, last, &cmd);
			EXPECT_EQ(-EBADE, talk_result(&t, last, r));
			EXPECT_EQ(-EBADE, talk_result(&t, 0, s));
			EXPECT_EQ(COLL_F32, got.dtype);
			EXPECT_EQ(0, o[0] | o[1] | o[2] | o[3]);

			raw_send(&cmd, v, 4, i & 1 ? COLL_F32 : COLL_BYTE, last, 1);
			s = talk_post(&t, 0, &cmd);
			raw_recv(&cmd, o, i & 1 ? 16 : 4, i & 1 ? COLL_BYTE : COLL_I32,
				 0, 1, &got);
			r = talk_post(&t, last, &cmd);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(0, talk_result(&t, 0, s));
			EXPECT_EQ(i & 1 ? 16 : 4, got.bytes);
		}
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* A longer receive leaves the rest of its buffer alone. */
TEST(shorter_than_expected)
{
	uint8_t in[1000], *out = malloc(1 << 20);
	struct coll_message got;
	unsigned int s, r, i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		fill(in, sizeof(in), 1);
		memset(out, 0x77, 1 << 20);
		r = talk_recv(&t, last, 0, 1, out, 1 << 20, &got);
		s = talk_send(&t, 0, last, 1, in, sizeof(in));
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(sizeof(in), got.bytes);
		EXPECT_EQ(0, wrong(out, sizeof(in), 1));
		for (i = sizeof(in); i < 1 << 20 && out[i] == 0x77; i++)
			;
		EXPECT_EQ(1 << 20, i);
		talk_stop(&t);
	}
	free(out);
}

TEST(oneself)
{
	uint8_t in[100000], out[100000];
	struct coll_message got;
	struct coll_cmd cmd;
	unsigned int r;

	ASSERT_EQ(0, talk_start(&t, 1, 1));
	fill(in, sizeof(in), 2);
	raw_send(&cmd, in, sizeof(in), COLL_U8, 0, 9);
	raw_and_recv(&cmd, out, sizeof(out), 0, 9, &got);
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	EXPECT_EQ(0, wrong(out, sizeof(out), 2));
	EXPECT_EQ(sizeof(in), got.bytes);

	memset(out, 0, sizeof(out));
	r = talk_recv(&t, 0, COLL_RANK_ANY, COLL_TAG_ANY, out, sizeof(out), NULL);
	EXPECT_TRUE(talk_pending(&t, 0, r));
	raw_send(&cmd, in, sizeof(in), COLL_BYTE, 0, 9);
	EXPECT_EQ(0, raw_submit(t.c.fd[0], &cmd));
	EXPECT_EQ(0, talk_result(&t, 0, r));
	EXPECT_EQ(0, wrong(out, sizeof(out), 2));
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

				fill(buf, bytes, r);
				raw_send(&cmd, inplace ? NULL : buf, bytes, COLL_BYTE,
					 (r + 1) % n, 6);
				raw_and_recv(&cmd, out[r], bytes, (r + n - 1) % n, 6,
					     &got[r]);
				cmd.flags = inplace ? COLL_CMD_INPLACE : 0;
				talk_post(&t, r, &cmd);
			}
			for (r = 0; r < n; r++) {
				EXPECT_EQ(0, talk_result(&t, r, i));
				EXPECT_EQ(0, wrong(out[r], bytes, (r + n - 1) % n));
				EXPECT_EQ((r + n - 1) % n, got[r].source);
			}
		}
		talk_stop(&t);
	}
}

/* Blocking calls on both sides, so that ranks copy themselves. */
TEST(blocking)
{
	const size_t bytes = (8 << 20) + 5;
	uint8_t *in = malloc(bytes), *out = malloc(bytes);
	struct coll_cmd cmds[TALK_RANKS];
	int results[TALK_RANKS];
	unsigned int i;
	uint32_t r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 5; i++) {
			fill(in, bytes, i);
			memset(out, 0, bytes);
			for (r = 0; r <= last; r++)
				raw_send(&cmds[r], NULL, 0, COLL_BYTE, COLL_RANK_NULL, 0);
			raw_send(&cmds[0], in, bytes, COLL_BYTE, last, 1);
			raw_recv(&cmds[last], out, bytes, COLL_BYTE, 0, 1, NULL);
			ASSERT_EQ(0, raw_all(&t.c, cmds, results));
			EXPECT_EQ(0, results[0]);
			EXPECT_EQ(0, results[last]);
			EXPECT_EQ(0, wrong(out, bytes, i));
		}
		talk_stop(&t);
	}
	free(in);
	free(out);
}

TEST(registered)
{
	static uint8_t in[300000], out[300000];
	struct coll_register reg = { .addr = (uintptr_t)in, .len = sizeof(in) };
	struct coll_register wreg = {
		.addr = (uintptr_t)out, .len = sizeof(out), .flags = COLL_REG_WRITE,
	};
	struct coll_cmd send, recv;
	unsigned int s, r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		reg.id = 0;
		wreg.id = 0;
		ASSERT_EQ(0, ioctl(t.c.fd[0], COLL_IOC_REGISTER, &reg));
		ASSERT_EQ(0, ioctl(t.c.fd[last], COLL_IOC_REGISTER, &wreg));
		fill(in, sizeof(in), 3);
		memset(out, 0, sizeof(out));
		raw_send(&send, in + 1001, 200000, COLL_BYTE, last, 0);
		send.flags = COLL_CMD_REG_SEND;
		send.send_buf = reg.id;
		raw_recv(&recv, out + 1001, 200000, COLL_BYTE, 0, 0, NULL);
		recv.flags = COLL_CMD_REG_RECV;
		recv.recv_buf = wreg.id;
		r = talk_post(&t, last, &recv);
		s = talk_post(&t, 0, &send);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(0, memcmp(in + 1001, out + 1001, 200000));
		EXPECT_EQ(0, out[1000] | out[201001]);
		send.send_addr = (uintptr_t)in + 100001;
		EXPECT_EQ(-EFAULT, raw_submit(t.c.fd[0], &send));
		send.send_buf = 77;
		EXPECT_EQ(-ENOENT, raw_submit(t.c.fd[0], &send));
		talk_stop(&t);
	}
}

/*
 * A collective that waits stops no message, and is stopped by none; whatever the order
 * in which ranks come to the two.
 */
TEST(collectives_and_messages_pass_each_other)
{
	int32_t sum[TALK_RANKS], one = 1, v = 42, o = 0;
	unsigned int a[TALK_RANKS], s, r;
	struct coll_cmd cmd;
	uint32_t i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_allreduce(&cmd, &one, &sum[0], 1, COLL_I32, COLL_OP_SUM);
		a[0] = talk_post(&t, 0, &cmd);
		r = talk_recv(&t, last, 0, 0, &o, 4, NULL);
		for (i = 1; i <= last; i++) {
			raw_allreduce(&cmd, &one, &sum[i], 1, COLL_I32, COLL_OP_SUM);
			if (i < last)
				a[i] = talk_post(&t, i, &cmd);
		}
		EXPECT_TRUE(talk_pending(&t, 0, a[0]));
		s = talk_send(&t, 0, last, 0, &v, 4);
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(42, o);
		EXPECT_TRUE(talk_pending(&t, 0, a[0]));
		s = talk_send(&t, 0, last, 1, &v, 4);
		a[last] = talk_post(&t, last, &cmd);
		for (i = 0; i <= last; i++) {
			EXPECT_EQ(0, talk_result(&t, i, a[i]));
			EXPECT_EQ(last + 1, sum[i]);
		}
		EXPECT_TRUE(talk_pending(&t, 0, s));
		r = talk_recv(&t, last, 0, 1, &o, 4, NULL);
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(0, talk_result(&t, last, r));
		talk_stop(&t);
	}
}

/* The receiver cannot be told what it has received: that is not the sender's fault. */
TEST(nowhere_to_tell)
{
	struct coll_cmd cmd;
	int32_t v = 3, o = 0;
	unsigned int s, r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_recv(&cmd, &o, 4, COLL_BYTE, 0, 0, (void *)8);
		r = talk_post(&t, last, &cmd);
		s = talk_send(&t, 0, last, 0, &v, 4);
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(-EFAULT, talk_result(&t, last, r));
		EXPECT_EQ(3, o);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
