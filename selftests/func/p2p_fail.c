// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that go wrong: bad commands, partners that die, leave or do not come, and
 * processes that are killed while bytes move.
 */
#include <grp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness.h"
#include "procs.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL
#define SETUP_MS	20000

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

/* Nobody answers: the cause says who did not. */
TEST(deadline)
{
	struct coll_message got;
	struct coll_status s;
	struct coll_cmd cmd;
	unsigned int i;
	uint64_t start;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
			raw_send(&cmd, mem, 4, COLL_I32, last, 1);
			if (i == 1)
				raw_recv(&cmd, mem, 4, COLL_I32, last, 1, &got);
			if (i == 2)
				raw_recv(&cmd, mem, 4, COLL_I32, COLL_RANK_ANY, 1, &got);
			if (i == 3)
				raw_and_recv(&cmd, other, 4, last, 1, &got);
			cmd.timeout_ns = 100 * MS;
			start = test_now_ns();
			EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
			/* Jiffies may be a few behind, where ticks are emulated. */
			EXPECT_GE(test_now_ns() - start, 90 * MS);
			EXPECT_FALSE(test_late(start + 100 * MS, test_now_ns()));
			ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
			EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
			EXPECT_EQ(ETIMEDOUT, s.cause.error);
			EXPECT_EQ(i == 2 ? COLL_RANK_NONE : last, s.cause.rank);
			EXPECT_EQ(i == 2 ? COLL_RANK_NONE : t.c.node_of[last],
				  s.cause.node);
			cmd.timeout_ns = 0;
			EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
			talk_stop(&t);
		}
	}
}

/* In time: the deadline of something that is over does nothing. */
TEST(deadline_of_what_is_over)
{
	struct coll_cmd cmd;
	unsigned int r;

	ASSERT_EQ(0, talk_start(&t, 2, 1));
	raw_recv(&cmd, mem, 4, COLL_I32, 1, 1, NULL);
	cmd.timeout_ns = 50 * MS;
	r = talk_post(&t, 0, &cmd);
	talk_send(&t, 1, 0, 1, other, 16);
	EXPECT_EQ(0, talk_result(&t, 0, r));
	test_sleep_us(100000);
	EXPECT_EQ(0, test_good(&t.c));
	talk_stop(&t);
}

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

/* One that has left after all its messages harms nobody. */
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
	uint32_t uring;
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
			EXPECT_FALSE(test_late(when, k->when));
		}
		ASSERT_EQ(0, _metadata->exit_code);
		procs_stop(&p);
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
