// SPDX-License-Identifier: GPL-2.0
/* Messages that are refused: wrong commands, and more messages than a rank may have in flight. */
#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "talk.h"
#include "util.h"

static struct talk t;
static int32_t mem[64], other[64];

static void a_send(struct coll_cmd *cmd)
{
	raw_send(cmd, mem, 4, COLL_I32, 1, 0);
}

static void a_recv(struct coll_cmd *cmd)
{
	raw_recv(cmd, mem, 4, COLL_I32, 1, 0, NULL);
}

static void both(struct coll_cmd *cmd)
{
	a_send(cmd);
	raw_and_recv(cmd, other, 4, 1, 0, NULL);
}

#define REFUSED(err, make, change) do {					\
	struct coll_cmd c_;						\
	make(&c_);							\
	change;								\
	EXPECT_EQ(-(err), raw_submit(t.c.fd[0], &c_)) TH_LOG(#make ": " #change); \
} while (0)

TEST(bad_commands)
{
	struct coll_status s;
	unsigned int i;

	ASSERT_EQ(0, talk_start(&t, 2, 1));
	for (i = 5; i < 32; i++) {
		REFUSED(EINVAL, a_send, c_.flags |= 1U << i);
		REFUSED(EINVAL, a_recv, c_.flags |= 1U << i);
	}
	for (i = 0; i < 3; i++) {
		void (*make)(struct coll_cmd *cmd) = i == 0 ? a_send : i == 1 ? a_recv : both;

		REFUSED(EINVAL, make, c_.op = COLL_OP_SUM);
		REFUSED(EINVAL, make, c_.algorithm = COLL_ALG_RING);
		REFUSED(EINVAL, make, c_.scalar = 1);
		REFUSED(EINVAL, make, c_.segment = 4096);
		REFUSED(EINVAL, make, c_.counts_addr = (uintptr_t)mem);
		REFUSED(EINVAL, make, c_.displs_addr = (uintptr_t)mem);
		REFUSED(EINVAL, make, c_.send_buf = 1);
		REFUSED(EINVAL, make, c_.recv_buf = 1);
		REFUSED(EINVAL, make, c_.dtype = COLL_DTYPE_NONE);
		REFUSED(EINVAL, make, c_.dtype = COLL_NR_DTYPES);
		REFUSED(EINVAL, make, c_.dtype = 0xffff);
		REFUSED(EOPNOTSUPP, make, c_.dtype = COLL_OPAQUE);
		REFUSED(EINVAL, make, c_.count = 1ULL << 62);
		REFUSED(EINVAL, make, c_.count = 1ULL << 40);
	}
	REFUSED(EINVAL, a_send, c_.root = 2);
	REFUSED(EINVAL, a_send, c_.root = COLL_RANK_ANY);
	REFUSED(EINVAL, a_send, c_.root = COLL_RANK_NULL - 1);
	REFUSED(EINVAL, a_send, c_.send_tag = COLL_TAG_MAX + 1);
	REFUSED(EINVAL, a_send, c_.send_tag = COLL_TAG_ANY);
	REFUSED(EINVAL, a_send, c_.recv_tag = 1);
	REFUSED(EINVAL, a_send, c_.source = 1);
	REFUSED(EINVAL, a_send, c_.recv_count = 1);
	REFUSED(EINVAL, a_send, c_.recv_dtype = COLL_I32);
	REFUSED(EINVAL, a_send, c_.recv_addr = (uintptr_t)mem);
	REFUSED(EINVAL, a_send, c_.message_addr = (uintptr_t)mem);
	REFUSED(EINVAL, a_send, c_.flags = COLL_CMD_INPLACE);
	REFUSED(EINVAL, a_send, c_.flags = COLL_CMD_REG_RECV);
	REFUSED(EFAULT, a_send, c_.send_addr = 0);
	REFUSED(EFAULT, a_send, c_.send_addr = ~0ULL - 8);
	REFUSED(ENOENT, a_send, c_.flags = COLL_CMD_REG_SEND);

	REFUSED(EINVAL, a_recv, c_.source = 2);
	REFUSED(EINVAL, a_recv, c_.source = COLL_RANK_NULL - 1);
	REFUSED(EINVAL, a_recv, c_.recv_tag = COLL_TAG_MAX + 1);
	REFUSED(EINVAL, a_recv, c_.recv_tag = COLL_TAG_ANY - 1);
	REFUSED(EINVAL, a_recv, c_.send_tag = 1);
	REFUSED(EINVAL, a_recv, c_.root = 1);
	REFUSED(EINVAL, a_recv, c_.recv_count = 1);
	REFUSED(EINVAL, a_recv, c_.recv_dtype = COLL_I32);
	REFUSED(EINVAL, a_recv, c_.send_addr = (uintptr_t)mem);
	REFUSED(EINVAL, a_recv, c_.flags = COLL_CMD_INPLACE);
	REFUSED(EINVAL, a_recv, c_.flags = COLL_CMD_REG_SEND);
	REFUSED(EFAULT, a_recv, c_.recv_addr = (uintptr_t)"not to be written");

	REFUSED(EINVAL, both, c_.recv_dtype = COLL_NR_DTYPES);
	REFUSED(EINVAL, both, c_.recv_dtype = ~0U);
	REFUSED(EINVAL, both, c_.recv_count = 1ULL << 62);
	REFUSED(EINVAL, both, c_.flags = COLL_CMD_INPLACE);	/* with send_addr */
	REFUSED(EINVAL, both, c_.recv_addr = c_.send_addr + 4);
	REFUSED(EINVAL, both, c_.recv_addr = c_.send_addr);

	/* none of them counts, or has done any harm */
	ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
	EXPECT_EQ(0, s.messages);
	EXPECT_EQ(0, test_good(&t.c));
	talk_stop(&t);
}

TEST(too_many)
{
	struct coll_version v;
	struct coll_status s;
	struct coll_cmd cmd;
	unsigned int i;
	int before;

	before = raw_max_inflight(20);
	ASSERT_LT(0, before);
	ASSERT_EQ(0, talk_start(&t, 2, 1));
	ASSERT_EQ(0, ioctl(t.c.fd[0], COLL_IOC_VERSION, &v));
	ASSERT_EQ(20, v.max_inflight);
	for (i = 0; i < RAW_INFLIGHT_FREE + 20; i++)
		talk_recv(&t, 0, 1, i, NULL, 0, NULL);
	a_recv(&cmd);
	EXPECT_EQ(-ENOMEM, raw_submit(t.c.fd[0], &cmd));
	raw_barrier(&cmd);
	EXPECT_EQ(-ENOMEM, raw_submit(t.c.fd[0], &cmd));
	ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
	EXPECT_EQ(i, s.messages);
	while (i--) {
		unsigned int r = talk_send(&t, 1, 0, i, NULL, 0);

		EXPECT_EQ(0, talk_result(&t, 1, r));
		EXPECT_EQ(0, talk_result(&t, 0, i));
	}
	EXPECT_EQ(0, test_good(&t.c));
	talk_stop(&t);
	EXPECT_LT(0, raw_max_inflight(before));
}

TEST_HARNESS_MAIN
