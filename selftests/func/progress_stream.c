// SPDX-License-Identifier: GPL-2.0
/*
 * Rank 0 always has ops in flight, and is stopped by SIGSTOP at random moments. All ops that it
 * has posted end on rank 1 while it is stopped.
 */
#include <signal.h>
#include <sys/wait.h>

#include "progress.h"

#define STREAM_COUNT	(256 << 10)
#define STREAM_DEPTH	4

/* Count the wrong sums, and make all wrong. */
static void check_stream(int32_t *out)
{
	uint32_t i;

	for (i = 0; i < STREAM_COUNT; i++)
		scene->wrong += out[i] != test_value_sum(2, i);
	memset(out, 0xee, STREAM_COUNT * sizeof(*out));
}

static int post_stream(struct procs *p, struct io_uring *ring, int32_t *buf)
{
	static struct coll_cmd cmd[STREAM_DEPTH];
	uint32_t left = STREAM_DEPTH, i;
	int ret = 0;

	for (i = 0; !ret && i < STREAM_DEPTH; i++) {
		raw_allreduce(&cmd[i], buf, buf + (i + 1) * STREAM_COUNT, STREAM_COUNT, COLL_I32,
			      COLL_OP_SUM);
		ring_prep(io_uring_get_sqe(ring), p->c.fd[0], &cmd[i], i);
		ret = io_uring_submit(ring) == 1 ? 0 : -EIO;
		scene->posted += !ret;
	}
	while (!ret && left--)
		ret = collect(ring);
	for (i = 0; !ret && i < STREAM_DEPTH; i++)
		check_stream(buf + (i + 1) * STREAM_COUNT);
	return ret;
}

static void ops_stream(struct procs *p, uint32_t rank)
{
	int32_t *buf = calloc((STREAM_DEPTH + 1) * STREAM_COUNT, sizeof(*buf));
	struct io_uring ring = { };
	struct coll_cmd cmd;
	int ret = buf ? 0 : -ENOMEM;
	uint32_t i;

	/* The input; outputs follow. */
	for (i = 0; !ret && i < STREAM_COUNT; i++)
		buf[i] = test_value(rank, i);

	if (!ret && rank == 0)
		ret = io_uring_queue_init(8, &ring, 0);
	while (!ret && rank == 0 && !scene->post)
		ret = post_stream(p, &ring, buf);
	if (rank == 0)
		scene->ended = 1;
	while (!ret && rank == 1) {
		if (p->sh->rank[1].done == scene->posted) {
			if (scene->ended)
				break;
			test_sleep_us(50);
			continue;
		}
		raw_allreduce(&cmd, buf, buf + STREAM_COUNT, STREAM_COUNT, COLL_I32, COLL_OP_SUM);
		ret = raw_submit(p->c.fd[rank], &cmd);
		if (!ret)
			check_stream(buf + STREAM_COUNT);
		p->sh->rank[1].done += !ret;
	}
	procs_result(p, rank, ret);
}

static void stopped_in_a_stream(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint64_t lots = test_seed(), target;
	struct procs p = { .ops = ops_stream };
	unsigned int n, ms;
	int status;

	make_scene();
	ASSERT_EQ(0, procs_start(&p, 2, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
	p.sh->go = 1;
	while (scene->posted < WARM && p.sh->rank[0].phase != PROCS_ENDED)
		test_sleep_us(1000);
	for (n = 0; n < test_scale(60); n++) {
		test_sleep_us(test_below(&lots, 30000));
		ASSERT_EQ(0, kill(p.pid[0], SIGSTOP));
		ASSERT_EQ(p.pid[0], waitpid(p.pid[0], &status, WUNTRACED));
		target = scene->posted;
		for (ms = 0; ms < WAIT_MS && p.sh->rank[1].done < target &&
		     p.sh->rank[1].phase != PROCS_ENDED; ms++)
			test_sleep_us(1000);
		ASSERT_LE(target, p.sh->rank[1].done) {
			TH_LOG("HANG: stop %u, rank 1 waits for a thread that is stopped", n);
		}
		ASSERT_EQ(0, kill(p.pid[0], SIGCONT));
	}
	scene->post = 1;
	end_well(_metadata, &p);
}

TEST(stopped_in_a_stream_one_node)	{ stopped_in_a_stream(_metadata, 1); }
TEST(stopped_in_a_stream_two_nodes)	{ stopped_in_a_stream(_metadata, 2); }

TEST_HARNESS_MAIN
