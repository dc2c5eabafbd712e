/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ranks, each a process of its own, on one node or on two. Rank 0 posts an allreduce by
 * io_uring, and a progress thread of its process works on it.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "procs.h"
#include "progress_ticks.h"
#include "ring.h"
#include "util.h"

#define COUNT		(1 << 20)
#define WARM		20	/* ops until the thread has surely begun */
#define SETUP_MS	20000
#define WAIT_MS		20000

/**
 * struct scene - memory that the processes of a test share
 * @warm: ops that both ranks do first
 * @posted: how many ops rank 0 has posted after those
 * @ticks: CPU time of the progress thread of rank 0 before that
 * @paid: microseconds of CPU time that the control group of rank 0 had used then
 * @post: rank 1 may post; in a stream, rank 0 stops posting
 * @ended: rank 0 has posted all, or its file has been closed
 * @wrong: how many elements are wrong
 */
struct scene {
	volatile uint32_t warm;
	volatile uint32_t posted;
	volatile uint64_t ticks;
	volatile uint64_t paid;
	volatile uint32_t post;
	volatile uint32_t ended;
	volatile uint64_t wrong;
};

static struct scene *scene;

static inline bool has_threads(void)
{
	return raw_features() & COLL_FEAT_PROGRESS;
}

static inline int post(struct procs *p, struct io_uring *ring, int32_t *buf)
{
	static struct coll_cmd cmd;

	raw_allreduce(&cmd, NULL, buf, COUNT, COLL_I32, COLL_OP_SUM);
	ring_prep(io_uring_get_sqe(ring), p->c.fd[0], &cmd, 0);
	return io_uring_submit(ring) == 1 ? 0 : -EIO;
}

static inline int collect(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_sec = WAIT_MS / 1000 };
	struct io_uring_cqe *cqe;
	int ret;

	/* SIGCONT ends the wait */
	do {
		ret = io_uring_wait_cqe_timeout(ring, &cqe, &ts);
	} while (ret == -EINTR);
	if (ret)
		return ret;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static inline void check(const int32_t *buf)
{
	uint64_t i;

	for (i = 0; i < COUNT; i++)
		scene->wrong += buf[i] != test_value_sum(2, i);
}

static inline void fill(int32_t *buf, uint32_t rank)
{
	uint64_t i;

	for (i = 0; i < COUNT; i++)
		buf[i] = test_value(rank, i);
}

/* One op of a rank, waited for. */
static inline int post_and_wait(struct procs *p, uint32_t rank, struct io_uring *ring, int32_t *buf)
{
	struct coll_cmd cmd;
	int ret;

	if (rank == 0) {
		ret = post(p, ring, buf);
		return ret ?: collect(ring);
	}
	raw_allreduce(&cmd, NULL, buf, COUNT, COLL_I32, COLL_OP_SUM);
	return raw_submit(p->c.fd[rank], &cmd);
}

static inline void ops(struct procs *p, uint32_t rank)
{
	int32_t *buf = malloc(COUNT * sizeof(*buf));
	struct io_uring ring = { };
	int ret = buf ? 0 : -ENOMEM;
	uint32_t i;

	if (!ret && rank == 0)
		ret = io_uring_queue_init(8, &ring, 0);
	for (i = 0; !ret && i < scene->warm; i++)
		ret = post_and_wait(p, rank, &ring, buf);
	if (ret) {
		procs_result(p, rank, ret);
		return;
	}
	fill(buf, rank);
	if (rank == 0) {
		scene->ticks = progress_ticks();
		scene->paid = number_in(p->arg ?: "/dev/null", "usage_usec");
		ret = post(p, &ring, buf);
		scene->posted = 1;
		ret = ret ?: collect(&ring);
	} else {
		while (!scene->post && !p->sh->quit)
			test_sleep_us(200);
		ret = post_and_wait(p, rank, NULL, buf);
	}
	if (!ret)
		check(buf);
	procs_result(p, rank, ret);
}

static inline void make_scene(void)
{
	if (!scene)
		scene = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(scene, 0, sizeof(*scene));
}

static inline void begin(struct __test_metadata *_metadata, struct procs *p, uint32_t nodes,
		  uint32_t warm)
{
	unsigned int ms;

	make_scene();
	scene->warm = warm;
	p->ops = ops;
	ASSERT_EQ(0, procs_start(p, 2, nodes));
	ASSERT_TRUE(procs_wait(p, PROCS_JOINED, SETUP_MS));
	p->sh->go = 1;
	for (ms = 0; !scene->posted && ms < 10 * WAIT_MS && p->sh->rank[0].phase != PROCS_ENDED;
	     ms++)
		test_sleep_us(1000);
	ASSERT_EQ(1, scene->posted) TH_LOG("result %d", p->sh->rank[0].result);
}

static inline void end_well(struct __test_metadata *_metadata, struct procs *p)
{
	EXPECT_TRUE(procs_wait(p, PROCS_ENDED, WAIT_MS));
	EXPECT_EQ(0, p->sh->rank[0].result);
	EXPECT_EQ(0, p->sh->rank[1].result);
	EXPECT_EQ(0, scene->wrong);
	procs_stop(p);
}

#endif /* PROGRESS_H */
