// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Nonblocking commands through a private io_uring. */
#include <errno.h>
#include <stdlib.h>

#include <liburing.h>

#include "async.h"

/*
 * An SQE leaves the queue at once, and completions beyond the queue's size are
 * kept by the kernel (IORING_FEAT_NODROP): this bounds nothing but memory.
 */
#define ENTRIES		64

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
	struct io_uring *ring;
	int ret;

	if (!(a->comm->version.features & COLL_FEAT_URING))
		return -EOPNOTSUPP;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ret = io_uring_queue_init(ENTRIES, ring, 0);
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
	io_uring_queue_exit(a->private);
	free(a->private);
}

/* Make the kernel take what stands in the queue; 0, or it never will. */
static int kick(struct io_uring *ring)
{
	while (io_uring_sq_ready(ring)) {
		int ret = io_uring_submit(ring);

		/* Full of unread completions or short of memory: after reaping. */
		if (ret == -EBUSY || ret == -EAGAIN)
			return 0;
		if (ret < 0 && ret != -EINTR)
			return ret;
	}
	return 0;
}

static int ring_push(struct async *a, coll_request_t *req)
{
	struct io_uring *ring = a->private;
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	int ret;

	if (!sqe)
		return -EAGAIN;
	coll_prep_cmd(sqe, a->comm, &req->cmd);
	io_uring_sqe_set_data(sqe, req);
	ret = kick(ring);
	if (ret)		/* the SQE stays in the queue: never submit again */
		a->broken = ret;
	return ret;
}

static void drain(struct async *a)
{
	struct io_uring *ring = a->private;
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(ring, &cqe)) {
		async_complete(a, io_uring_cqe_get_data(cqe), cqe->res);
		io_uring_cqe_seen(ring, cqe);
	}
}

static int ring_reap(struct async *a, bool wait)
{
	struct io_uring *ring = a->private;
	uint64_t before = a->completed;
	struct io_uring_cqe *cqe;
	int ret = 0;

	drain(a);
	if (wait && a->completed == before && a->inflight) {
		pthread_mutex_unlock(&a->lock);
		ret = io_uring_wait_cqe(ring, &cqe);
		pthread_mutex_lock(&a->lock);
		if (ret == -EINTR || ret == -EAGAIN)
			ret = 0;
		drain(a);
	}
	return ret ? ret : kick(ring);
}

const struct async_backend async_ring = {
	.init = ring_init,
	.destroy = ring_destroy,
	.push = ring_push,
	.reap = ring_reap,
};
