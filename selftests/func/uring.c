// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives in an application's own ring: plain 64-byte SQEs, every kind of
 * ring, exactly one CQE each, with the right result behind it.
 */
#include <pthread.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define MANY	64
#define SECOND	1000000000ULL

/* One rank with its ring, and buffers for as many ops as a test likes. */
struct urank {
	int fd;
	uint32_t rank;
	struct io_uring ring;
	struct coll_cmd *cmds;
	int32_t **in;
	int32_t **out;
	uint64_t count;
	unsigned int nr;
};

static bool urank_init(struct urank *u, int fd, uint32_t rank, unsigned int nr,
		       uint64_t count, unsigned int entries, unsigned int flags)
{
	struct io_uring_params params = { .flags = flags };
	unsigned int i;
	uint64_t e;

	memset(u, 0, sizeof(*u));
	u->fd = fd;
	u->rank = rank;
	u->nr = nr;
	u->count = count;
	u->cmds = calloc(nr, sizeof(*u->cmds));
	u->in = calloc(nr, sizeof(*u->in));
	u->out = calloc(nr, sizeof(*u->out));
	for (i = 0; i < nr; i++) {
		u->in[i] = calloc(count, 4);
		u->out[i] = calloc(count, 4);
		for (e = 0; e < count; e++)
			u->in[i][e] = test_value(rank, e + i);
		raw_allreduce(&u->cmds[i], u->in[i], u->out[i], count, COLL_I32,
			      COLL_OP_SUM);
		u->cmds[i].timeout_ns = 20 * SECOND;
	}
	return !io_uring_queue_init_params(entries, &u->ring, &params);
}

static void urank_exit(struct urank *u)
{
	unsigned int i;

	io_uring_queue_exit(&u->ring);
	for (i = 0; i < u->nr; i++) {
		free(u->in[i]);
		free(u->out[i]);
	}
	free(u->in);
	free(u->out);
	free(u->cmds);
}

static uint64_t urank_wrong(const struct urank *u, uint32_t size)
{
	uint64_t wrong = 0, e;
	unsigned int i;

	for (i = 0; i < u->nr; i++)
		for (e = 0; e < u->count; e++)
			wrong += u->out[i][e] != test_value_sum(size, e + i);
	return wrong;
}

/* The next CQE; -ETIME if there is none for ten seconds. */
static int next_cqe(struct io_uring *ring, uint64_t *user_data)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;
	uint64_t end = test_now_ns() + 10 * SECOND;
	int ret;

	/* A polled ring does not wait. */
	do {
		ret = io_uring_wait_cqe_timeout(ring, &cqe, &ts);
	} while (ret == -ETIME && test_now_ns() < end);
	if (ret)
		return ret;
	*user_data = cqe->user_data;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

/*
 * @nr CQEs, all 0, one for each user_data from @first on, @step apart. Ops end in
 * order, but Linux 6.1 turns CQEs around that come together.
 */
static bool all_good(struct io_uring *ring, unsigned int first,
		     unsigned int step, unsigned int nr)
{
	bool seen[4096] = { };
	unsigned int i;
	uint64_t ud;

	for (i = 0; i < nr; i++) {
		if (next_cqe(ring, &ud) || ud < first || (ud - first) % step ||
		    (ud - first) / step >= nr || seen[(ud - first) / step])
			return false;
		seen[(ud - first) / step] = true;
	}
	return true;
}

/* No further CQE comes. */
static bool quiet(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_nsec = 20000000 };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(ring, &cqe, &ts) == -ETIME;
}

static void many(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes,
		 unsigned int entries, uint64_t count)
{
	struct urank u[8];
	struct raw_comm c;
	unsigned int i, posted;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, size, nodes));
	for (r = 0; r < size; r++) {
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, MANY, count, entries, 0));
		for (posted = 0; posted < MANY; ) {
			for (i = 0; i < entries && posted < MANY; i++, posted++)
				ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r],
					  &u[r].cmds[posted], posted);
			ASSERT_EQ(i, io_uring_submit(&u[r].ring));
		}
	}
	for (r = 0; r < size; r++) {
		EXPECT_TRUE(all_good(&u[r].ring, 0, 1, MANY));
		EXPECT_TRUE(quiet(&u[r].ring));
		EXPECT_EQ(0, urank_wrong(&u[r], size));
	}
	for (r = 0; r < size; r++)
		urank_exit(&u[r]);
	raw_stop(&c);
}

TEST(back_to_back_one_node)	{ many(_metadata, 4, 1, MANY, 1000); }
TEST(back_to_back_nodes)	{ many(_metadata, 4, 2, MANY, 1000); }
TEST(back_to_back_large)	{ many(_metadata, 3, 3, MANY, 50000); }
/* a CQ with room for less than what is in flight */
TEST(small_rings)		{ many(_metadata, 4, 2, 4, 100); }
TEST(single_entry_ring)		{ many(_metadata, 2, 1, 1, 10); }

/* More than the kernel keeps: ENOMEM for those beyond, the others go on. */
TEST(too_many_in_flight)
{
	struct coll_version v;
	struct coll_status s;
	struct urank u[2];
	struct raw_comm c;
	unsigned int i, over = 5, most = RAW_INFLIGHT_FREE + 100;
	uint64_t ud;
	uint32_t r;
	int before = raw_max_inflight(100);

	ASSERT_LT(0, before);
	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_EQ(0, ioctl(c.fd[0], COLL_IOC_VERSION, &v));
	ASSERT_EQ(100, v.max_inflight);
	for (r = 0; r < 2; r++)
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, most + over, 10, 1024, 0));
	for (i = 0; i < most + over; i++)
		ring_prep(io_uring_get_sqe(&u[0].ring), c.fd[0], &u[0].cmds[i], i);
	ASSERT_EQ(i, io_uring_submit(&u[0].ring));
	for (i = 0; i < over; i++) {
		EXPECT_EQ(-ENOMEM, next_cqe(&u[0].ring, &ud));
		EXPECT_LE(most, ud);
	}
	EXPECT_TRUE(quiet(&u[0].ring));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(most, s.posted);
	EXPECT_EQ(0, s.completed);
	EXPECT_EQ(1, s.late_rank);
	for (i = 0; i < most; i++) {
		ring_prep(io_uring_get_sqe(&u[1].ring), c.fd[1], &u[1].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[1].ring));
	}
	for (r = 0; r < 2; r++)
		EXPECT_TRUE(all_good(&u[r].ring, 0, 1, most));
	u[0].nr = u[1].nr = most;
	EXPECT_EQ(0, urank_wrong(&u[0], 2));
	EXPECT_EQ(0, urank_wrong(&u[1], 2));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	EXPECT_LT(0, raw_max_inflight(before));
}

/* Kinds of rings. Those a kernel does not have are passed over. */
struct kind {
	const char *name;
	unsigned int setup;
	unsigned int sqe;
	bool fixed;
};

static const struct kind kinds[] = {
	{ "plain", 0, 0, false },
	{ "fixed file", 0, 0, true },
	{ "async", 0, IOSQE_ASYNC, false },
	{ "async, fixed file", 0, IOSQE_ASYNC, true },
	{ "SQE128", IORING_SETUP_SQE128, 0, false },
	{ "CQE32", IORING_SETUP_CQE32, 0, false },
	{ "COOP_TASKRUN", IORING_SETUP_COOP_TASKRUN, 0, false },
	{ "DEFER_TASKRUN", IORING_SETUP_SINGLE_ISSUER |
	  IORING_SETUP_DEFER_TASKRUN, 0, false },
	{ "SQPOLL", IORING_SETUP_SQPOLL, 0, false },
	{ "SQPOLL, fixed file", IORING_SETUP_SQPOLL, 0, true },
	{ "IOPOLL", IORING_SETUP_IOPOLL, 0, false },
};

/*
 * Was the SQE given to the kernel? io_uring_submit() returns how many SQEs the kernel has not
 * taken off the ring. The thread of SQPOLL takes one off after its CQE, so that the SQE
 * before this one may count as well.
 */
static bool submit_kind(struct urank *u, const struct kind *k, unsigned int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	int ret;

	ring_prep(sqe, k->fixed ? 0 : u->fd, &u->cmds[i], i);
	if (k->setup & IORING_SETUP_SQE128)
		memset((char *)sqe + 64, 0, 64);
	sqe->flags |= k->sqe | (k->fixed ? IOSQE_FIXED_FILE : 0);
	ret = io_uring_submit(&u->ring);
	return ret == 1 || (ret == 2 && k->setup & IORING_SETUP_SQPOLL);
}

static void try_kind(struct __test_metadata *_metadata, const struct kind *k)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint64_t ud;
	uint32_t r;
	int ret[2];

	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++) {
		if (!urank_init(&u[r], c.fd[r], r, 3, 5000, 8, k->setup)) {
			TH_LOG("%s: not in this kernel", k->name);
			raw_stop(&c);
			return;
		}
		if (k->fixed)
			ASSERT_EQ(0, io_uring_register_files(&u[r].ring, &c.fd[r], 1));
	}
	for (i = 0; i < 3; i++) {
		for (r = 0; r < 2; r++)
			ASSERT_TRUE(submit_kind(&u[r], k, i)) TH_LOG("%s", k->name);
		for (r = 0; r < 2; r++) {
			ret[r] = next_cqe(&u[r].ring, &ud);
			EXPECT_EQ(i, ud);
		}
		EXPECT_EQ(ret[0], ret[1]);
		EXPECT_TRUE(ret[0] == 0 || (ret[0] == -EOPNOTSUPP &&
					    k->setup & IORING_SETUP_IOPOLL)) {
			TH_LOG("%s: %d", k->name, ret[0]);
		}
	}
	for (r = 0; r < 2; r++) {
		if (!(k->setup & IORING_SETUP_IOPOLL))
			EXPECT_TRUE(quiet(&u[r].ring)) TH_LOG("%s", k->name);
		if (!ret[0])
			EXPECT_EQ(0, urank_wrong(&u[r], 2)) TH_LOG("%s", k->name);
		urank_exit(&u[r]);
	}
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

TEST(kinds_of_rings)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		try_kind(_metadata, &kinds[i]);
}

/* Links: the next SQE is issued when the one before has completed. */
TEST(linked)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint64_t ud;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (r = 0; r < 2; r++) {
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, 8, 300, 16, 0));
		for (i = 0; i < 8; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&u[r].ring);

			ring_prep(sqe, c.fd[r], &u[r].cmds[i], i);
			if (i < 7)
				sqe->flags |= IOSQE_IO_LINK;
		}
		ASSERT_EQ(8, io_uring_submit(&u[r].ring));
	}
	/* both tasks are this one: let the links of both go on */
	for (i = 0; i < 8; i++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, next_cqe(&u[r].ring, &ud));
			EXPECT_EQ(i, ud);
		}
	}
	EXPECT_EQ(0, urank_wrong(&u[0], 2));
	for (r = 0; r < 2; r++)
		urank_exit(&u[r]);
	raw_stop(&c);
}

/* The command runs as it was submitted, whatever happens to its memory then. */
TEST(overwritten_right_after_submit)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++) {
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, 16, 2000, 16, 0));
		for (i = 0; i < 16; i++)
			ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r],
				  &u[r].cmds[i], i);
		ASSERT_EQ(16, io_uring_submit(&u[r].ring));
		memset(u[r].cmds, 0xff, 16 * sizeof(struct coll_cmd));
		memset(u[r].ring.sq.sqes, 0xff, 16 * 64);
	}
	for (r = 0; r < 2; r++) {
		EXPECT_TRUE(all_good(&u[r].ring, 0, 1, 16));
		EXPECT_EQ(0, urank_wrong(&u[r], 2));
		urank_exit(&u[r]);
	}
	raw_stop(&c);
}

/* Bad commands: one CQE each, with the error, and no harm done. */
TEST(bad_commands)
{
	struct coll_sqe good = { .len = sizeof(struct coll_cmd) };
	struct io_uring_sqe *sqe;
	struct coll_sqe cs;
	struct urank u;
	struct raw_comm c;
	uint32_t op;
	uint64_t ud;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_TRUE(urank_init(&u, c.fd[0], 0, 1, 10, 8, 0));
	good.arg = (uintptr_t)u.cmds;
#define BAD(error, change) do {						\
	sqe = io_uring_get_sqe(&u.ring);				\
	ring_prep(sqe, c.fd[0], u.cmds, 9);				\
	cs = good;							\
	op = COLL_URING_SUBMIT;						\
	change;								\
	memcpy((char *)sqe + RING_CMD_BYTES, &cs, sizeof(cs));		\
	memcpy((char *)sqe + RING_CMD_OP, &op, sizeof(op));		\
	ASSERT_EQ(1, io_uring_submit(&u.ring));				\
	EXPECT_EQ(-(error), next_cqe(&u.ring, &ud)) TH_LOG("%s", #change); \
	EXPECT_EQ(9, ud);						\
} while (0)
	BAD(EINVAL, cs.flags = 1);
	BAD(EINVAL, cs.flags = 1U << 31);
	BAD(EINVAL, cs.len = 0);
	BAD(EINVAL, cs.len = 119);
	BAD(EINVAL, cs.len = ~0U);
	BAD(EFAULT, cs.arg = 0);
	BAD(EFAULT, cs.arg = ~0ULL - 7);
	BAD(EFAULT, cs.arg = 0xffff888000000000ULL);
	BAD(EOPNOTSUPP, op = 0);
	BAD(EOPNOTSUPP, op = COLL_IOC_SUBMIT);
	EXPECT_TRUE(quiet(&u.ring));
	BAD(0, (void)0);
	EXPECT_EQ(1, test_posted(&c, 0));
	urank_exit(&u);
	raw_stop(&c);
}

#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

/*
 * Who comes last has its CQE when the submission returns. In such a ring, what is left for the task
 * comes only with a call that waits for it.
 */
TEST(complete_when_submitted)
{
	struct urank u[2];
	struct raw_comm c;
	unsigned int i;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (r = 0; r < 2; r++)
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, MANY, 10, 8, DEFER));
	for (i = 0; i < MANY; i++) {
		r = i % 2;
		ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r], &u[r].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[r].ring));
		EXPECT_EQ(0, io_uring_cq_ready(&u[r].ring));
		r = !r;
		ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r], &u[r].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[r].ring));
		EXPECT_EQ(1, io_uring_cq_ready(&u[r].ring));
		for (r = 0; r < 2; r++)
			EXPECT_TRUE(all_good(&u[r].ring, i, 1, 1));
	}
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, urank_wrong(&u[r], 2));
		urank_exit(&u[r]);
	}
	raw_stop(&c);
}

#define SPINS	300

static void *submit_by_ioctl(void *arg)
{
	struct urank *u = arg;
	unsigned int i;

	for (i = 0; i < SPINS; i++)
		if (raw_submit(u->fd, &u->cmds[i]))
			return u;
	return NULL;
}

/* With COLL_CMD_SPIN who comes first has it then, too, if the other one comes soon. */
TEST(awake_when_submitted)
{
	unsigned int i, ready = 0;
	struct urank u[2];
	struct raw_comm c;
	pthread_t thread;
	void *failed;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_TRUE(urank_init(&u[0], c.fd[0], 0, SPINS, 10, 8, DEFER));
	ASSERT_TRUE(urank_init(&u[1], c.fd[1], 1, SPINS, 10, 8, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_by_ioctl, &u[1]));
	for (i = 0; i < SPINS; i++) {
		u[0].cmds[i].flags |= COLL_CMD_SPIN;
		ring_prep(io_uring_get_sqe(&u[0].ring), c.fd[0], &u[0].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[0].ring));
		ready += io_uring_cq_ready(&u[0].ring);
		EXPECT_TRUE(all_good(&u[0].ring, i, 1, 1));
	}
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
	TH_LOG("%u of %u CQEs came with the submission", ready, SPINS);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, urank_wrong(&u[i], 2));
		urank_exit(&u[i]);
	}
	/* The other one does not come: that has an end. */
	ASSERT_TRUE(urank_init(&u[0], c.fd[0], 0, 1, 10, 8, 0));
	u[0].cmds[0].flags |= COLL_CMD_SPIN;
	ring_prep(io_uring_get_sqe(&u[0].ring), c.fd[0], &u[0].cmds[0], 0);
	ASSERT_EQ(1, io_uring_submit(&u[0].ring));
	EXPECT_EQ(0, io_uring_cq_ready(&u[0].ring));
	EXPECT_EQ(0, raw_abort(c.fd[1], 1));
	urank_exit(&u[0]);
	raw_stop(&c);
}

/* ioctl and io_uring in turns are one sequence. */
TEST(mixed_with_ioctl)
{
	struct urank u;
	struct raw_comm c;
	unsigned int i;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_TRUE(urank_init(&u, c.fd[0], 0, 40, 100, 8, 0));
	for (i = 0; i < 40; i++) {
		if (i & 1) {
			EXPECT_EQ(0, raw_submit(c.fd[0], &u.cmds[i]));
			continue;
		}
		ring_prep(io_uring_get_sqe(&u.ring), c.fd[0], &u.cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u.ring));
	}
	EXPECT_TRUE(all_good(&u.ring, 0, 2, 20));
	EXPECT_EQ(0, urank_wrong(&u, 1));
	EXPECT_EQ(40, test_posted(&c, 0));
	urank_exit(&u);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
