// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Nonblocking commands through a private io_uring. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <liburing.h>

#include "async.h"

/* SQEs: the kernel takes each one at once. */
#define ENTRIES		64
#define COMPLETIONS	4096

static int check_ring(struct io_uring *ring)
{
	struct io_uring_probe *probe;
	int ret = -EOPNOTSUPP;

	if (!(ring->features & IORING_FEAT_NODROP))
		return ret;
	probe = io_uring_get_probe_ring(ring);
	if (probe && io_uring_opcode_supported(probe, IORING_OP_URING_CMD))
		ret = 0;
	if (probe)
		io_uring_free_probe(probe);
	return ret;
}

static int ring_init(struct async *a)
{
	/*
	 * Room for many completions. io_uring keeps further ones in its own memory until we
	 * look (IORING_FEAT_NODROP), and charges the application for it.
	 */
	struct io_uring_params p = {
		.flags = IORING_SETUP_CQSIZE,
		.cq_entries = a->limit < COMPLETIONS ? a->limit + ENTRIES : COMPLETIONS,
	};
	struct io_uring *ring;
	int ret;

	if (!(a->comm->version.features & COLL_FEAT_URING))
		return -EOPNOTSUPP;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ret = io_uring_queue_init_params(ENTRIES, ring, &p);
	if (ret)
		goto out_free;
	ret = check_ring(ring);
	if (ret)
		goto out_exit;
	io_uring_ring_dontfork(ring);
	a->private = ring;
	return 0;

out_exit:
	io_uring_queue_exit(ring);
out_free:
	free(ring);
	return ret;
}

static void ring_destroy(struct async *a)
{
	struct io_uring *ring = a->private;

	/* A child does not have the mappings of the ring: others may be at their addresses. */
	if (comm_is_forked(a->comm))
		close(ring->ring_fd);
	else
		io_uring_queue_exit(ring);
	free(ring);
}

/* Make the kernel take the SQEs in the queue. -EAGAIN: not now. */
static int kick(struct io_uring *ring)
{
	while (io_uring_sq_ready(ring)) {
		int ret = io_uring_submit(ring);

		/* The ring is full of unread completions, or memory is short. */
		if (ret == -EBUSY || ret == -ENOMEM)
			return -EAGAIN;
		if (ret < 0 && ret != -EINTR)
			return ret;
	}
	return 0;
}

/*
 * An SQE that the kernel has not taken stays in the queue, and is submitted with the next
 * one. By then its request may be over, or be pushed again. So turn it into a NOP.
 */
static void blank(struct io_uring_sqe *sqe)
{
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, NULL);
}

static int ring_push(struct async *a, coll_request_t *req)
{
	struct io_uring *ring = a->private;
	struct io_uring_sqe *sqe;
	int ret = kick(ring);

	if (!ret) {
		sqe = io_uring_get_sqe(ring);
		if (!sqe)
			return -EAGAIN;
		coll_prep_cmd(sqe, a->comm, &req->cmd);
		io_uring_sqe_set_data(sqe, req);
		ret = kick(ring);
		if (ret)
			blank(sqe);
	}
	if (ret && ret != -EAGAIN)
		a->broken = ret;
	return ret;
}

static void drain(struct async *a)
{
	struct io_uring *ring = a->private;
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(ring, &cqe)) {
		if (io_uring_cqe_get_data(cqe))
			async_complete(a, io_uring_cqe_get_data(cqe), cqe->res);
		io_uring_cqe_seen(ring, cqe);
	}
}

/* Wait until a command completes; only a moment, if a refused command has to be submitted again. */
static int await(struct async *a, uint64_t ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = (int64_t)(ns / 1000000000),
		.tv_nsec = (long long)(ns % 1000000000),
	};
	struct io_uring_cqe *cqe;
	bool refused = a->refused;
	int ret = 0;

	pthread_mutex_unlock(&a->lock);
	if (refused)
		usleep(ASYNC_REFUSED_US);
	else
		ret = io_uring_wait_cqe_timeout(a->private, &cqe,
						ns == ASYNC_FOREVER ? NULL : &ts);
	pthread_mutex_lock(&a->lock);
	return ret == -EINTR || ret == -EAGAIN || ret == -ETIME ? 0 : ret;
}

static int ring_reap(struct async *a, uint64_t ns)
{
	uint64_t before = a->completed;
	int ret = 0;

	drain(a);
	if (ns && a->completed == before && (a->inflight || a->refused)) {
		ret = await(a, ns);
		drain(a);
	}
	return ret;
}

const struct async_backend async_ring = {
	.init = ring_init,
	.destroy = ring_destroy,
	.push = ring_push,
	.reap = ring_reap,
};
