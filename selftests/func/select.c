// SPDX-License-Identifier: GPL-2.0
/*
 * COLL_IOC_SELECT: what it refuses, when it may come, and that tables which differ
 * between nodes end in EBADE, while equal ones choose what they say.
 */
#include <pthread.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "peer.h"
#include "pure/algorithms/table.h"
#include "util.h"

#define SECOND	1000000000ULL

/* Return: 0 or -errno. */
static int set(int fd, uint32_t collective, const struct coll_select_row *rows, uint32_t nr)
{
	struct coll_select s = {
		.collective = collective, .nr = nr, .rows = (uintptr_t)rows,
	};

	return ioctl(fd, COLL_IOC_SELECT, &s) < 0 ? -errno : 0;
}

static const struct coll_select_row good[] = {
	{ .bytes = 1024, .algorithm = COLL_ALG_RECURSIVE_DOUBLING },
	{ .bytes = 65536, .algorithm = COLL_ALG_AUTO, .segment = 64 },
	{ .bytes = ~0ULL, .algorithm = COLL_ALG_RING, .segment = 1 << 20 },
};

static const struct coll_select_row mesh[] = {
	{ .bytes = ~0ULL, .algorithm = COLL_ALG_MESH },
};

/* The good table with one thing wrong. */
#define REFUSED(error, change) do {					\
	struct coll_select_row rows[3];					\
	struct coll_select s = {					\
		.collective = COLL_ALLREDUCE, .nr = 3,			\
		.rows = (uintptr_t)rows,				\
	};								\
									\
	memcpy(rows, good, sizeof(rows));				\
	change;								\
	errno = 0;							\
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_SELECT, &s));		\
	EXPECT_EQ(error, errno) {					\
		TH_LOG("%s", #change);					\
	}								\
} while (0)

TEST(refused)
{
	struct coll_select_row many[COLL_SELECT_ROWS + 1] = { };
	struct raw_comm c;
	uint32_t i;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (i = 0; i <= COLL_SELECT_ROWS; i++)
		many[i].bytes = i == COLL_SELECT_ROWS ? ~0ULL : i;
	REFUSED(EINVAL, s.collective = 0);
	REFUSED(EINVAL, s.collective = COLL_SEND);
	REFUSED(EINVAL, s.collective = COLL_NR_COLLECTIVES);
	REFUSED(EINVAL, s.collective = ~0U);
	REFUSED(EINVAL, s.collective = COLL_BARRIER);	/* has no ring */
	REFUSED(EINVAL, s.nr = 2);			/* last one not ~0 */
	REFUSED(EINVAL, s.nr = COLL_SELECT_ROWS + 1; s.rows = (uintptr_t)many);
	REFUSED(EINVAL, s.nr = ~0U);
	REFUSED(EINVAL, s.flags = COLL_NR_SELECT_SOURCES);
	REFUSED(EINVAL, s.flags = 1ULL << 63);
	REFUSED(EINVAL, s.reserved[0] = 1);
	REFUSED(EINVAL, s.reserved[1] = 1);
	REFUSED(EINVAL, rows[1].bytes = 1024);
	REFUSED(EINVAL, rows[1].bytes = 1023);
	REFUSED(EINVAL, rows[1].bytes = ~0ULL);
	REFUSED(EINVAL, rows[2].bytes = ~0ULL - 1);
	REFUSED(EINVAL, rows[0].reserved = 1);
	REFUSED(EINVAL, rows[0].algorithm = COLL_ALG_BINOMIAL);
	REFUSED(EINVAL, rows[2].algorithm = COLL_NR_ALGS);
	REFUSED(EINVAL, rows[2].algorithm = 0xffff);
	REFUSED(EINVAL, rows[2].algorithm = COLL_ALG_RING | COLL_ALG_RADIX(4));
	REFUSED(EINVAL, rows[2].algorithm = COLL_ALG_KNOMIAL | COLL_ALG_RADIX(1));
	REFUSED(EINVAL, rows[0].segment = 63);
	REFUSED(EINVAL, rows[0].segment = (1 << 20) + 64);
	REFUSED(EFAULT, s.rows = 0);
	REFUSED(EFAULT, s.rows = 0xffff888000000000ULL);
	EXPECT_EQ(-EINVAL, set(c.fd[0], COLL_SEND, NULL, 0));
	EXPECT_EQ(0, test_good(&c));

	/* As many as there may be, and none again. */
	many[COLL_SELECT_ROWS - 1].bytes = ~0ULL;
	EXPECT_EQ(0, set(c.fd[0], COLL_ALLREDUCE, many, COLL_SELECT_ROWS));
	EXPECT_EQ(0, set(c.fd[1], COLL_ALLREDUCE, NULL, 0));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

TEST(every_algorithm_has_its_collective)
{
	struct coll_select_row row = { .bytes = ~0ULL };
	uint32_t what, alg, wrong = 0;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	for (what = 1; what <= COLL_EXSCAN; what++) {
		for (alg = 1; alg < COLL_NR_ALGS; alg++) {
			row.algorithm = alg;
			/* Private blocks have fewer algorithms than the registry says. */
			if (set(c.fd[0], what, &row, 1) == 0)
				wrong += !coll_algorithm_find(what, alg);
			else if (what != COLL_GATHERV && what != COLL_SCATTERV &&
				 what != COLL_ALLTOALLV)
				wrong += !!coll_algorithm_find(what, alg);
		}
	}
	EXPECT_EQ(0, wrong);
	raw_stop(&c);
}

TEST(sizes_and_joining)
{
	struct coll_select s = { .collective = COLL_ALLREDUCE };
	char big[256] = { };
	int fd = raw_open();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-ENOTCONN, set(fd, COLL_ALLREDUCE, good, 3));
	EXPECT_EQ(-1, ioctl(fd, _IOC(_IOC_WRITE, COLL_IOC_MAGIC, 8, sizeof(s) - 8), &s));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(fd, _IOC(_IOC_READ, COLL_IOC_MAGIC, 8, sizeof(s)), &s));
	EXPECT_EQ(ENOTTY, errno);
	memcpy(big, &s, sizeof(s));
	big[200] = 1;
	EXPECT_EQ(-1, ioctl(fd, _IOC(_IOC_WRITE, COLL_IOC_MAGIC, 8, sizeof(big)), big));
	EXPECT_EQ(E2BIG, errno);
	EXPECT_EQ(-1, ioctl(fd, COLL_IOC_SELECT, NULL));
	EXPECT_EQ(EFAULT, errno);
	close(fd);
}

static void *submit_barrier(void *arg)
{
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	return (void *)(intptr_t)raw_submit(*(int *)arg, &cmd);
}

/* While an op is posted another table is refused, the same one is not. */
TEST(busy)
{
	struct coll_cmd cmd;
	struct raw_comm c;
	pthread_t thread;
	void *result;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	EXPECT_EQ(0, set(c.fd[0], COLL_ALLREDUCE, good, 3));
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_barrier, &c.fd[0]));
	while (test_posted(&c, 0) == 0)
		test_sleep_us(100);
	EXPECT_EQ(0, set(c.fd[0], COLL_ALLREDUCE, good, 3));
	EXPECT_EQ(0, set(c.fd[1], COLL_ALLREDUCE, good, 3));
	EXPECT_EQ(-EBUSY, set(c.fd[1], COLL_ALLREDUCE, mesh, 1));
	EXPECT_EQ(-EBUSY, set(c.fd[1], COLL_ALLREDUCE, NULL, 0));
	EXPECT_EQ(-EINVAL, set(c.fd[1], COLL_ALLREDUCE, good, 2));
	EXPECT_EQ(0, set(c.fd[1], COLL_BROADCAST, NULL, 0));
	raw_barrier(&cmd);
	EXPECT_EQ(0, raw_submit(c.fd[1], &cmd));
	pthread_join(thread, &result);
	EXPECT_EQ(0, (intptr_t)result);
	EXPECT_EQ(0, set(c.fd[1], COLL_ALLREDUCE, mesh, 1));
	EXPECT_EQ(0, test_good(&c));
	raw_abort(c.fd[0], 7);
	EXPECT_EQ(-ESHUTDOWN, set(c.fd[1], COLL_ALLREDUCE, good, 3));
	raw_stop(&c);
}

static double value(uint32_t rank, uint64_t k)
{
	return (double)((k * 13 + rank * 101) % 1009);
}

/* Element @k of the result. COLL_OP_REPLACE leaves the value of the last rank. */
static double expected(uint32_t size, uint64_t k, uint16_t op)
{
	double sum = 0, most = 0;
	uint32_t r;

	for (r = 0; r < size; r++) {
		sum += value(r, k);
		most = value(r, k) > most ? value(r, k) : most;
	}
	return op == COLL_OP_SUM ? sum : op == COLL_OP_MAX ? most : value(size - 1, k);
}

/* Results of an allreduce of @count f64 on all of @c, as or'ed errno or wrong results. */
static int allreduce(struct raw_comm *c, uint64_t count, uint16_t algorithm, uint16_t op)
{
	double *in[RAW_MAX], *out[RAW_MAX];
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX], bad = 0;
	uint64_t k;
	uint32_t i;

	for (i = 0; i < c->size; i++) {
		in[i] = calloc(count, sizeof(double));
		out[i] = malloc(count * sizeof(double));
		for (k = 0; k < count; k++) {
			in[i][k] = value(i, k);
			out[i][k] = -1;
		}
		raw_allreduce(&cmds[i], in[i], out[i], count, COLL_F64, op);
		cmds[i].algorithm = algorithm;
		cmds[i].timeout_ns = 20 * SECOND;
	}
	raw_all(c, cmds, results);
	for (i = 0; i < c->size; i++) {
		bad = bad ?: results[i];
		for (k = 0; !bad && k < count; k++)
			bad |= out[i][k] != expected(c->size, k, op);
		free(in[i]);
		free(out[i]);
	}
	return bad;
}

TEST(equal_tables)
{
	static const uint64_t counts[] = { 0, 1, 128, 129, 8192, 8193, 100000 };
	struct raw_comm c;
	uint32_t i;

	ASSERT_EQ(0, raw_start(&c, 5, 3));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, set(c.fd[i], COLL_ALLREDUCE, good, 3));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		EXPECT_EQ(0, allreduce(&c, counts[i], COLL_ALG_AUTO, COLL_OP_SUM));
		EXPECT_EQ(0, allreduce(&c, counts[i], COLL_ALG_AUTO, COLL_OP_MAX));
		EXPECT_EQ(0, allreduce(&c, counts[i], COLL_ALG_AUTO, COLL_OP_REPLACE));
	}
	raw_stop(&c);
}

/* The table of one node only, or of another collective, or not asked for. */
TEST(different_tables)
{
	struct raw_comm c;
	uint32_t i;

	ASSERT_EQ(0, raw_start(&c, 4, 2));
	ASSERT_EQ(0, set(c.fd[0], COLL_ALLREDUCE, good, 3));
	ASSERT_EQ(0, set(c.fd[3], COLL_ALLREDUCE, mesh, 1));
	/* A command that names an algorithm does not look at tables. */
	EXPECT_EQ(0, allreduce(&c, 1000, COLL_ALG_MESH, COLL_OP_SUM));
	EXPECT_EQ(-EBADE, allreduce(&c, 1000, COLL_ALG_AUTO, COLL_OP_SUM));
	raw_stop(&c);

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, raw_start(&c, 2, 2));
		ASSERT_EQ(0, set(c.fd[i], i ? COLL_BROADCAST : COLL_ALLREDUCE,
				 i ? (const struct coll_select_row[]){
					{ .bytes = ~0ULL, .algorithm = COLL_ALG_LINEAR } } : good,
				 i ? 1 : 3));
		EXPECT_EQ(i ? 0 : -EBADE, allreduce(&c, 10, COLL_ALG_AUTO, COLL_OP_SUM));
		raw_stop(&c);
	}
}

/* Three nodes of which 0 and 2 have no link: what works tells what was chosen. */
static int start_line(struct raw_comm *c)
{
	int sv[2], ret = 0;
	uint32_t i, s;

	raw_plan(c, 3, 3);
	for (i = 0; !ret && i < 3; i++) {
		c->fd[i] = raw_open();
		ret = raw_join(c->fd[i], c, i);
	}
	for (i = 0; !ret && i < 2; i++) {
		for (s = 0; !ret && s < 2; s++) {
			ret = raw_tcp_pair(sv);
			ret = ret ?: raw_link(c->fd[i], i + 1, sv[0], s);
			ret = ret ?: raw_link(c->fd[i + 1], i, sv[1], s);
			close(sv[0]);
			close(sv[1]);
		}
	}
	return ret;
}

TEST(the_table_is_what_is_taken)
{
	static const struct coll_select_row rows[] = {
		{ .bytes = 800, .algorithm = COLL_ALG_CHAIN },
		{ .bytes = ~0ULL, .algorithm = COLL_ALG_MESH },
	};
	struct raw_comm c;
	uint32_t i;

	ASSERT_EQ(0, start_line(&c));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, set(c.fd[i], COLL_ALLREDUCE, rows, 2));
	/* A chain has the links it wants, up to the last byte of its row. */
	EXPECT_EQ(0, allreduce(&c, 1, COLL_ALG_AUTO, COLL_OP_SUM));
	EXPECT_EQ(0, allreduce(&c, 100, COLL_ALG_AUTO, COLL_OP_SUM));
	EXPECT_EQ(-ENOTCONN, allreduce(&c, 101, COLL_ALG_AUTO, COLL_OP_SUM));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
