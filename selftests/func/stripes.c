// SPDX-License-Identifier: GPL-2.0
/*
 * Several links between two nodes: what is refused, what is missing, who disagrees, a
 * link that is lost; and results, with vectors cut into parts down to single elements.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define SECOND	1000000000ULL
/* elements of i32: some parts of LEAST bytes */
#define COUNT	4001
#define LEAST	1000

static int ioc_stripe(int fd, struct coll_stripe *s)
{
	return ioctl(fd, COLL_IOC_STRIPE, s) ? -errno : 0;
}

struct posted {
	pthread_t thread;
	struct coll_cmd cmd;
	int fd, result;
};

static void *post(void *arg)
{
	struct posted *p = arg;

	p->result = raw_submit(p->fd, &p->cmd);
	return NULL;
}

/* All ranks sum up @count numbers. Return: 0, the error of all ranks, or 1. */
static int sum(struct raw_comm *c, uint64_t count)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX], ret;
	int32_t *in[RAW_MAX], *out[RAW_MAX];
	uint64_t i, wrong = 0;
	uint32_t r;

	for (r = 0; r < c->size; r++) {
		in[r] = malloc(count * 4 + 4);
		out[r] = calloc(count + 1, 4);
		for (i = 0; i < count; i++)
			in[r][i] = test_value(r, i);
		raw_allreduce(&cmds[r], in[r], out[r], count, COLL_I32, COLL_OP_SUM);
		cmds[r].timeout_ns = 10 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < c->size && !ret; r++) {
		for (i = 0; i < count && !results[r]; i++)
			wrong += out[r][i] != test_value_sum(c->size, i);
		wrong += out[r][count] != 0 || results[r] != results[0];
	}
	for (r = 0; r < c->size; r++) {
		free(in[r]);
		free(out[r]);
	}
	return ret ?: wrong ? 1 : results[0];
}

TEST(arguments)
{
	struct raw_comm c;
	struct coll_stripe s = { .links = 2 };
	struct posted p = { .fd = -1 };
	int fd = raw_open(), i;

	EXPECT_EQ(-ENOTCONN, raw_stripe(fd, 1, 0));
	close(fd);
	ASSERT_EQ(0, raw_start_links(&c, 2, 2, 1));
	EXPECT_EQ(-EINVAL, raw_stripe(c.fd[0], 0, 0));
	EXPECT_EQ(-EINVAL, raw_stripe(c.fd[0], COLL_MAX_LINKS + 1, 0));
	EXPECT_EQ(-EINVAL, raw_stripe(c.fd[0], ~0U, 0));
	for (i = 0; i < 32; i++) {
		s.flags = 1U << i;
		EXPECT_EQ(-EINVAL, ioc_stripe(c.fd[0], &s));
	}
	s.flags = 0;
	for (i = 0; i < 2; i++) {
		s.reserved[i] = 1;
		EXPECT_EQ(-EINVAL, ioc_stripe(c.fd[0], &s));
		s.reserved[i] = 0;
	}
	/* not while an op is posted, unless it is so already */
	EXPECT_EQ(0, raw_stripes(&c, COLL_MAX_LINKS, ~0ULL));
	p.fd = c.fd[0];
	raw_barrier(&p.cmd);
	ASSERT_EQ(0, pthread_create(&p.thread, NULL, post, &p));
	while (test_posted(&c, 0) != 1)
		test_sleep_us(1000);
	EXPECT_EQ(-EBUSY, raw_stripe(c.fd[0], 2, ~0ULL));
	EXPECT_EQ(-EBUSY, raw_stripe(c.fd[0], COLL_MAX_LINKS, 1));
	EXPECT_EQ(0, raw_stripe(c.fd[0], COLL_MAX_LINKS, ~0ULL));
	raw_barrier(&p.cmd);
	EXPECT_EQ(0, raw_submit(c.fd[1], &p.cmd));
	pthread_join(p.thread, NULL);
	EXPECT_EQ(0, p.result);
	EXPECT_EQ(0, raw_stripes(&c, 1, 0));
	EXPECT_EQ(0, sum(&c, COUNT));
	EXPECT_EQ(0, raw_abort(c.fd[0], 1));
	EXPECT_EQ(-ESHUTDOWN, raw_stripe(c.fd[0], 2, 0));
	raw_stop(&c);
}

/* An op that needs a link which is not there, or only half of it. */
TEST(missing)
{
	struct coll_status s;
	struct raw_comm c;
	int half, sv[2];

	for (half = 0; half < 2; half++) {
		ASSERT_EQ(0, raw_start_links(&c, 2, 2, 2));
		ASSERT_EQ(0, raw_tcp_pair(sv));
		if (half) {
			EXPECT_EQ(0, raw_link(c.fd[0], 1, sv[0], 5));
			EXPECT_EQ(0, raw_link(c.fd[1], 0, sv[1], 5));
		}
		EXPECT_EQ(0, raw_stripes(&c, 3, LEAST));
		/* what is small, or for two links, is not concerned */
		EXPECT_EQ(0, sum(&c, LEAST / 4));
		EXPECT_EQ(0, sum(&c, 2 * LEAST / 4));
		EXPECT_EQ(-ENOTCONN, sum(&c, 3 * LEAST / 4));
		EXPECT_EQ(0, raw_status(c.fd[0], &s));
		EXPECT_EQ(COLL_STATE_FAILED, s.state);
		EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
		raw_stop(&c);
		close(sv[0]);
		close(sv[1]);
	}
}

/* Links are counted, and ready one by one. */
TEST(status)
{
	struct coll_status s = { };
	struct raw_comm c;
	int i;

	ASSERT_EQ(0, raw_start_links(&c, 3, 3, 4));
	for (i = 0; i < 1000 && s.nr_links != 8; i++) {
		ASSERT_EQ(0, raw_status(c.fd[0], &s));
		test_sleep_us(1000);
	}
	EXPECT_EQ(8, s.nr_links);
	EXPECT_EQ(COLL_STATE_READY, s.state);
	raw_stop(&c);
}

/* Nodes that have set something else: all ranks hear EBADE, whatever the size. */
TEST(nodes_disagree)
{
	static const struct { uint32_t links; uint64_t least; } other[] = {
		{ 1, 0 }, { 2, LEAST }, { 4, LEAST }, { 3, LEAST + 1 }, { 3, 0 },
	};
	static const uint64_t counts[] = { 1, LEAST / 4, COUNT, 100003 };
	struct coll_status s;
	struct raw_comm c;
	uint32_t i, k, r;

	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			ASSERT_EQ(0, raw_start_links(&c, 4, 2, 4));
			ASSERT_EQ(0, raw_stripes(&c, 3, LEAST));
			ASSERT_EQ(0, raw_stripe(c.fd[3], other[i].links, other[i].least));
			EXPECT_EQ(-EBADE, sum(&c, counts[k]))
				TH_LOG("other %u, count %llu", i,
				       (unsigned long long)counts[k]);
			for (r = 0; r < c.size; r++) {
				ASSERT_EQ(0, raw_status(c.fd[r], &s));
				EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
			}
			raw_stop(&c);
		}
	}
}

/* Streams that meet another number at the other end. */
TEST(crossed)
{
	static const uint32_t pairs[][2] = { { 2, 4 }, { 3, 5 }, { 0, 2 }, { 15, 1 } };
	struct coll_status s;
	struct raw_comm c;
	uint32_t i, k;
	int sv[2];

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		raw_plan(&c, 2, 2);
		for (k = 0; k < 2; k++) {
			c.fd[k] = raw_open();
			ASSERT_EQ(0, raw_join(c.fd[k], &c, k));
		}
		ASSERT_EQ(0, raw_tcp_pair(sv));
		EXPECT_EQ(0, raw_link(c.fd[0], 1, sv[0], pairs[i][0]));
		EXPECT_EQ(0, raw_link(c.fd[1], 0, sv[1], pairs[i][1]));
		ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
		EXPECT_EQ(EPROTO, s.cause.error);
		close(sv[0]);
		close(sv[1]);
		raw_stop(&c);
	}
}

/* Any stream of any link that breaks ends the communicator, also of one not in use. */
TEST(lost)
{
	struct coll_status s;
	struct raw_comm c;
	uint32_t stripe;
	int sv[2];

	for (stripe = 2; stripe < 8; stripe++) {
		ASSERT_EQ(0, raw_start_links(&c, 2, 2, stripe / 2));
		ASSERT_EQ(0, raw_tcp_pair(sv));
		EXPECT_EQ(0, raw_link(c.fd[0], 1, sv[0], stripe));
		EXPECT_EQ(0, raw_link(c.fd[1], 0, sv[1], stripe));
		EXPECT_EQ(0, sum(&c, COUNT));
		shutdown(sv[0], SHUT_RDWR);
		ASSERT_EQ(0, raw_status_failed(c.fd[1], &s));
		EXPECT_EQ(EHOSTDOWN, s.cause.error) TH_LOG("stripe %u", stripe);
		EXPECT_EQ(-EHOSTDOWN, sum(&c, 1));
		close(sv[0]);
		close(sv[1]);
		raw_stop(&c);
	}
}

/* Parts of a single element, and of none. */
TEST(counts_and_shapes)
{
	static const struct { uint32_t size, nodes; } shapes[] = {
		{ 2, 2 }, { 3, 3 }, { 5, 3 }, { 4, 2 },
	};
	static const uint64_t counts[] = {
		0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 64, 1000, COUNT, 100003,
	};
	static const uint32_t links[] = { 2, 3, 8 };
	struct raw_comm c;
	uint32_t i, k, m;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ASSERT_EQ(0, raw_start_links(&c, shapes[i].size, shapes[i].nodes, 8));
		for (k = 0; k < 3; k++) {
			/* a part for each element, if it comes to that */
			ASSERT_EQ(0, raw_stripes(&c, links[k], 4));
			for (m = 0; m < sizeof(counts) / sizeof(counts[0]); m++)
				EXPECT_EQ(0, sum(&c, counts[m]))
					TH_LOG("%u ranks, %u nodes, %u links, %llu",
					       shapes[i].size, shapes[i].nodes, links[k],
					       (unsigned long long)counts[m]);
		}
		raw_stop(&c);
	}
}

static bool share_all(struct raw_comm *child, const struct raw_comm *parent, uint32_t links)
{
	uint32_t k, r;

	raw_plan(child, parent->size, parent->nodes);
	for (r = 0; r < child->size; r++) {
		child->fd[r] = raw_open();
		if (child->fd[r] < 0 || raw_join(child->fd[r], child, r))
			return false;
	}
	for (k = 0; k < links; k++) {
		for (r = 0; r < 2; r++) {
			struct coll_link_add l = {
				.peer = !r, .fd = parent->fd[r], .flags = COLL_LINK_SHARE,
				.parent_peer = !r, .stripe = 2 * k,
			};

			if (ioctl(child->fd[r], COLL_IOC_LINK, &l))
				return false;
		}
	}
	return true;
}

/* A part of a communicator uses each link of its parent, and outlives it. */
TEST(shared)
{
	struct coll_link_add l = { .peer = 1, .flags = COLL_LINK_SHARE, .parent_peer = 1 };
	struct raw_comm parent, child;

	ASSERT_EQ(0, raw_start_links(&parent, 2, 2, 3));
	ASSERT_EQ(0, raw_stripes(&parent, 3, LEAST));
	EXPECT_EQ(0, sum(&parent, COUNT));
	ASSERT_TRUE(share_all(&child, &parent, 3));
	l.fd = parent.fd[0];
	l.stripe = 5;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(EINVAL, errno);
	l.stripe = COLL_MAX_STRIPES;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(EINVAL, errno);
	l.stripe = 6;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(ENOTCONN, errno);
	l.stripe = 4;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(EEXIST, errno);
	ASSERT_EQ(0, raw_stripes(&child, 3, LEAST));
	EXPECT_EQ(0, sum(&child, COUNT));
	EXPECT_EQ(0, sum(&parent, 100003));
	raw_stop(&parent);
	EXPECT_EQ(0, sum(&child, 100003));
	raw_stop(&child);
}

/* Random collectives in processes: sizes from one element to several blocks of scratch. */
TEST(streams)
{
	struct procs_stream s = {
		.seed = test_seed(), .max_bytes = 1 << 20, .count = test_scale(150),
		.timeout_ns = 60 * SECOND,
	};
	static const struct { uint32_t size, nodes, links, uring; } cases[] = {
		{ 2, 2, 8, 0 }, { 4, 2, 2, 4 }, { 4, 4, 3, 0 },
	};
	uint32_t i, r;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct procs p = {
			.ops = procs_ops_stream, .arg = &s, .links = cases[i].links,
			.least = 4096,
		};

		s.uring = cases[i].uring;
		ASSERT_EQ(0, procs_start(&p, cases[i].size, cases[i].nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 10000));
		p.sh->go = 1;
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, 120000));
		for (r = 0; r < cases[i].size; r++) {
			EXPECT_EQ(0, p.sh->rank[r].result);
			EXPECT_EQ(0, p.sh->rank[r].wrong);
			EXPECT_EQ(s.count, p.sh->rank[r].done);
		}
		procs_stop(&p);
	}
}

/* When a rank could hear of the kill: then, or with its next call. */
static uint64_t asked_after(const struct procs_rank *k, uint64_t killed)
{
	return k->asked > killed ? k->asked : killed;
}

/* A rank is killed while parts are on their way. */
TEST(killed)
{
	struct procs_stream s = {
		.seed = test_seed(), .max_bytes = 4 << 20, .timeout_ns = 60 * SECOND,
	};
	uint64_t lots = s.seed, begin;
	uint32_t i, r;

	for (i = 0; i < test_scale(20); i++) {
		struct procs p = {
			.ops = procs_ops_stream, .arg = &s, .links = 1 + i % 8,
			.least = 1024,
		};

		s.uring = i % 2 * 4;
		ASSERT_EQ(0, procs_start(&p, 4, 2 + i % 3));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 10000));
		p.sh->go = 1;
		test_sleep_us(test_below(&lots, 60000));
		begin = test_now_ns();
		kill(p.pid[1], SIGKILL);
		ASSERT_NE(-1, procs_reap(&p, 1, 10000));
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, test_bound_ms() + 10000));
		for (r = 0; r < 4; r++) {
			const struct procs_rank *k = &p.sh->rank[r];

			if (r == 1)
				continue;
			EXPECT_EQ(-EHOSTDOWN, k->result);
			EXPECT_EQ(0, k->wrong);
			EXPECT_EQ(1, k->status.cause.rank);
			EXPECT_FALSE(test_late(asked_after(k, begin), k->when))
				TH_LOG("round %u, rank %u", i, r);
		}
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
