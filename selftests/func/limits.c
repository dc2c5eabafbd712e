// SPDX-License-Identifier: GPL-2.0
/*
 * Where communicators become too large for a collective: beyond max_steps of
 * COLL_IOC_VERSION it fails with ENOMEM, and without the links it needs with ENOTCONN. Both
 * are what abi.rst says, on all ranks, and at once.
 */
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
#define MOST	1000U

static uint32_t max_steps(void)
{
	struct coll_version v = { };
	int fd = raw_open(), ret;

	ret = ioctl(fd, COLL_IOC_VERSION, &v);
	close(fd);
	return ret ? 0 : v.max_steps;
}

/* MOST ranks of one node: more than struct raw_comm has room for. */
static struct crowd {
	uint32_t size, node_of[MOST];
	int fd[MOST];
	struct io_uring ring;
	struct coll_cmd cmds[MOST];
	uint32_t in[MOST], out[MOST];
	uint64_t counts[MOST];
} crowd;

static int crowd_start(uint32_t size)
{
	struct rlimit files = { size + 64, size + 64 };
	struct coll_join j = { .size = size, .nr_nodes = 1 };
	struct raw_comm key;
	uint32_t r;
	int ret;

	raw_plan(&key, 1, 1);
	memcpy(j.key, key.key, sizeof(j.key));
	j.node_of = (uintptr_t)crowd.node_of;
	crowd.size = size;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return -errno;
	ret = io_uring_queue_init(1024, &crowd.ring, 0);
	for (r = 0; !ret && r < size; r++) {
		crowd.fd[r] = raw_open();
		j.rank = r;
		if (crowd.fd[r] < 0 || ioctl(crowd.fd[r], COLL_IOC_JOIN, &j))
			ret = -errno;
	}
	return ret;
}

/* All ranks' allgatherv of one element each. Return: how many ended with @result. */
static uint32_t crowd_gather(uint16_t algorithm, int result)
{
	struct __kernel_timespec ts = { .tv_sec = 100 };
	struct io_uring_cqe *cqe;
	uint32_t r, n = 0;

	for (r = 0; r < crowd.size; r++) {
		crowd.in[r] = r;
		crowd.counts[r] = 1;
		crowd.cmds[r] = (struct coll_cmd){
			.collective = COLL_ALLGATHERV, .dtype = COLL_U32, .algorithm = algorithm,
			.send_addr = (uintptr_t)&crowd.in[r],
			.recv_addr = (uintptr_t)crowd.out,
			.counts_addr = (uintptr_t)crowd.counts,
			.timeout_ns = 90 * SECOND,
		};
		ring_prep(io_uring_get_sqe(&crowd.ring), crowd.fd[r], &crowd.cmds[r], r);
	}
	if (io_uring_submit(&crowd.ring) != crowd.size)
		return 0;
	for (r = 0; r < crowd.size; r++) {
		if (io_uring_wait_cqe_timeout(&crowd.ring, &cqe, &ts))
			break;
		if (cqe->res != result)
			printf("# rank %llu: %d\n", (unsigned long long)cqe->user_data, cqe->res);
		n += cqe->res == result;
		io_uring_cqe_seen(&crowd.ring, cqe);
	}
	return n;
}

TEST(too_many_steps)
{
	struct coll_status s;
	uint32_t most = max_steps(), size = 2, r;

	if (test_scale(100) < 100)
		SKIP(return, "a slow machine");
	ASSERT_NE(0, most);
	/* In a ring each rank takes two steps for each rank. */
	while (2ULL * size * size <= most)
		size++;
	if (size > MOST)
		SKIP(return, "%u steps are enough for all communicators", most);
	ASSERT_EQ(0, crowd_start(size));
	/* One pass over the pages of all ranks needs fewer. */
	EXPECT_EQ(size, crowd_gather(COLL_ALG_AUTO, 0));
	for (r = 0; r < size; r++)
		EXPECT_EQ(r, crowd.out[r]);
	EXPECT_EQ(size, crowd_gather(COLL_ALG_RING, -ENOMEM));
	ASSERT_EQ(0, raw_status(crowd.fd[0], &s));
	EXPECT_EQ(COLL_STATE_FAILED, s.state);
	EXPECT_EQ(COLL_CAUSE_MEMORY, s.cause.kind);
	TH_LOG("%u ranks, %u steps at most", size, most);
}

/* Three nodes in a row. The two ends have no link, as some pairs of more than 128 nodes. */
static int row_start(struct raw_comm *c)
{
	uint32_t r, stripe;
	int ret, sv[2];

	raw_plan(c, 3, 3);
	for (r = 0; r < 3; r++) {
		c->fd[r] = raw_open();
		ret = raw_join(c->fd[r], c, r);
		for (stripe = 0; r && !ret && stripe < 2; stripe++) {
			ret = raw_tcp_pair(sv);
			if (ret)
				return ret;
			ret = raw_link(c->fd[r - 1], r, sv[0], stripe);
			if (!ret)
				ret = raw_link(c->fd[r], r - 1, sv[1], stripe);
			close(sv[0]);
			close(sv[1]);
		}
		if (ret)
			return ret;
	}
	return 0;
}

static const uint32_t needs_all_links[] = {
	COLL_ALLGATHER, COLL_ALLGATHERV, COLL_ALLTOALL, COLL_ALLTOALLV,
};

TEST(missing_links)
{
	static uint32_t in[3][3], out[3][3];
	static uint64_t counts[3][6];
	struct coll_cmd cmds[3];
	struct coll_status s;
	struct raw_comm c;
	uint32_t i, k, r;
	int results[3];

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, row_start(&c));
		for (r = 0; r < 3; r++) {
			cmds[r] = (struct coll_cmd){
				.collective = needs_all_links[i], .dtype = COLL_U32,
				.send_addr = (uintptr_t)in[r], .recv_addr = (uintptr_t)out[r],
				.timeout_ns = 20 * SECOND,
			};
			if (i & 1)
				cmds[r].counts_addr = (uintptr_t)counts[r];
			else
				cmds[r].count = 1;
			for (k = 0; k < 6; k++)
				counts[r][k] = 1;
		}
		ASSERT_EQ(0, raw_all(&c, cmds, results));
		for (r = 0; r < 3; r++) {
			EXPECT_EQ(-ENOTCONN, results[r]) TH_LOG("%u, rank %u", i, r);
			ASSERT_EQ(0, raw_status(c.fd[r], &s));
			EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
		}
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
