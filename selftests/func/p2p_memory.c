// SPDX-License-Identifier: GPL-2.0
/*
 * Where the bytes of a message go: buffers that the ranks copy themselves, registered buffers,
 * memory that may not be pinned, and an address for struct coll_message that is not mapped.
 */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "pattern.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

static struct talk t;

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
			pattern_fill(in, bytes, i);
			memset(out, 0, bytes);
			for (r = 0; r <= last; r++)
				raw_send(&cmds[r], NULL, 0, COLL_BYTE, COLL_RANK_NULL, 0);
			raw_send(&cmds[0], in, bytes, COLL_BYTE, last, 1);
			raw_recv(&cmds[last], out, bytes, COLL_BYTE, 0, 1, NULL);
			ASSERT_EQ(0, raw_all(&t.c, cmds, results));
			EXPECT_EQ(0, results[0]);
			EXPECT_EQ(0, results[last]);
			EXPECT_EQ(0, pattern_wrong(out, bytes, i));
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
		pattern_fill(in, sizeof(in), 3);
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

/* Memory that may not be pinned is seen through windows, on either side. */
TEST(windows)
{
	struct rlimit rl = { 65536, 65536 };
	const size_t bytes = 3 << 20;
	uint8_t *in = malloc(bytes), *out = malloc(bytes);
	struct coll_status s;
	size_t b;
	unsigned int i, x, y;

	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &rl));
	ASSERT_EQ(0, setgroups(0, NULL) || setgid(65534) || setuid(65534));
	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++) {
			for (b = 0; b < bytes; b++)
				in[b] = (b * 40503 >> 7) + i;
			x = talk_recv(&t, last, 0, 0, out, bytes, NULL);
			y = talk_send(&t, 0, last, 0, in, bytes);
			EXPECT_EQ(0, talk_result(&t, 0, y));
			EXPECT_EQ(0, talk_result(&t, last, x));
			EXPECT_EQ(0, memcmp(in, out, bytes));
		}
		ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
		EXPECT_GE(s.memlock_wanted, bytes);
		talk_stop(&t);
	}
	free(in);
	free(out);
}

TEST_HARNESS_MAIN
