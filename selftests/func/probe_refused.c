// SPDX-License-Identifier: GPL-2.0
/* Probes and matched receives that are refused. */
#include <errno.h>

#include "harness.h"
#include "probes.h"
#include "util.h"

static struct talk t;

#define REFUSED(err, what, change) do {					\
	struct coll_cmd cmd;						\
	raw_probe(&cmd, what, 1, 0, &got);				\
	cmd.flags = COLL_CMD_NOWAIT;					\
	change;								\
	EXPECT_EQ(-(err), raw_submit(t.c.fd[0], &cmd)) TH_LOG(#what ": " #change); \
} while (0)

TEST(refused)
{
	struct coll_message got;
	unsigned int i, what;
	int32_t o;

	ASSERT_EQ(0, talk_start(&t, 2, 1));
	for (what = COLL_PROBE; what <= COLL_MPROBE; what++) {
		REFUSED(ENOMSG, what, );
		REFUSED(EINVAL, what, cmd.dtype = COLL_BYTE);
		REFUSED(EINVAL, what, cmd.count = 1);
		REFUSED(EINVAL, what, cmd.recv_addr = (uintptr_t)&o);
		REFUSED(EINVAL, what, cmd.send_addr = (uintptr_t)&o);
		REFUSED(EINVAL, what, cmd.recv_count = 1);
		REFUSED(EINVAL, what, cmd.recv_dtype = COLL_BYTE);
		REFUSED(EINVAL, what, cmd.root = 1);
		REFUSED(EINVAL, what, cmd.send_tag = 1);
		REFUSED(EINVAL, what, cmd.matched = 1);
		REFUSED(EINVAL, what, cmd.recv_buf = 1);
		REFUSED(EINVAL, what, cmd.source = 2);
		REFUSED(EINVAL, what, cmd.recv_tag = COLL_TAG_MAX + 1U);
		REFUSED(EFAULT, what, cmd.message_addr = 8);
		for (i = 0; i < 32; i++)
			if (!((1U << i) & (COLL_CMD_NOWAIT | COLL_CMD_SPIN | COLL_CMD_SLEEP)))
				REFUSED(EINVAL, what, cmd.flags |= 1U << i);
	}
	REFUSED(EINVAL, COLL_MPROBE, cmd.message_addr = 0);
	REFUSED(ENOMSG, COLL_PROBE, cmd.message_addr = 0);
	REFUSED(EINVAL, COLL_BARRIER, cmd.source = cmd.message_addr = 0);
	REFUSED(EINVAL, COLL_BARRIER, cmd.source = cmd.message_addr = cmd.flags = 0;
		cmd.matched = 1);
	REFUSED(EINVAL, COLL_RECV, cmd.dtype = COLL_BYTE; cmd.flags = 0; cmd.matched = 1);
	REFUSED(EINVAL, COLL_MRECV, cmd.dtype = COLL_BYTE; cmd.flags = 0; cmd.source = 0);
	REFUSED(EINVAL, COLL_MRECV, cmd.dtype = COLL_BYTE; cmd.flags = 0; cmd.matched = 1);
	/* nobody's message */
	EXPECT_EQ(0, probe_now(&t, 0, COLL_PROBE, COLL_RANK_NULL, 1, &got));
	EXPECT_TRUE(got.source == COLL_RANK_NULL && got.tag == COLL_TAG_ANY && !got.bytes);
	EXPECT_EQ(0, probe_now(&t, 0, COLL_MPROBE, COLL_RANK_NULL, 1, &got));
	EXPECT_EQ(COLL_MESSAGE_NULL, got.id);
	REFUSED(0, COLL_MRECV, cmd.dtype = COLL_BYTE; cmd.flags = cmd.source = 0;
		cmd.matched = COLL_MESSAGE_NULL);
	EXPECT_EQ(COLL_RANK_NULL, got.source);
	EXPECT_EQ(0, test_good(&t.c));
	talk_stop(&t);
}

TEST_HARNESS_MAIN
