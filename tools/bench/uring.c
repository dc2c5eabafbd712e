// SPDX-License-Identifier: GPL-2.0
/*
 * usage: collrun -n N uring [OPS]: what a small allreduce costs by a ring of the application's own
 *
 * One line for each way to set up a ring, and to wait, of rank 0: the time of an op, in the best of
 * 200 batches, and the mean number of switches between tasks. Under syscount: system calls instead.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <liburing.h>

#include "../clock.h"
#include <coll/coll.h>

#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER	(1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN	(1U << 13)
#endif

#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)
#define MOST	16

enum wait {
	AT_ONCE,	/* submit and wait in one call */
	APART,		/* in two */
	LOOK,		/* look at the queue first, for so many microseconds */
	IOCTL,		/* no ring */
};

#define LOOK_US	50
#define BATCHES	200

static const struct setup {
	const char *name;
	unsigned int flags;
	bool file, ring, buffers, spin;
	enum wait wait;
	int ops;
} setups[] = {
	{ .name = "ioctl", .wait = IOCTL, .ops = 1 },
	{ .name = "plain, submit and wait in one call", .ops = 1 },
	{ .name = "plain, in two calls", .wait = APART, .ops = 1 },
	{ .name = "plain, look at the CQ, then wait", .wait = LOOK, .ops = 1 },
	{ .name = "registered file", .file = true, .ops = 1 },
	{ .name = "registered buffers", .buffers = true, .ops = 1 },
	{ .name = "COOP_TASKRUN", .flags = IORING_SETUP_COOP_TASKRUN, .ops = 1 },
	{ .name = "DEFER_TASKRUN", .flags = DEFER, .ops = 1 },
	{ .name = "DEFER_TASKRUN, registered file and ring", .flags = DEFER, .file = true,
	  .ring = true, .ops = 1 },
	{ .name = "SQPOLL", .flags = IORING_SETUP_SQPOLL, .file = true, .ops = 1 },
	{ .name = "SQPOLL, look at the CQ", .flags = IORING_SETUP_SQPOLL, .file = true,
	  .wait = LOOK, .ops = 1 },
	{ .name = "plain, COLL_CMD_SPIN", .spin = true, .ops = 1 },
	{ .name = "DEFER_TASKRUN, registered, COLL_CMD_SPIN", .flags = DEFER, .file = true,
	  .ring = true, .spin = true, .ops = 1 },
	{ .name = "plain, 16 under way", .ops = 16 },
	{ .name = "DEFER_TASKRUN, registered, 16 under way", .flags = DEFER, .file = true,
	  .ring = true, .ops = 16 },
};

static coll_comm_t *comm;
static float *in, *out;
static struct coll_cmd cmds[MOST];

static void prepare(struct io_uring *ring, const struct setup *s)
{
	struct io_uring_sqe *sqe;
	int i;

	for (i = 0; i < s->ops; i++) {
		sqe = io_uring_get_sqe(ring);
		coll_prep_allreduce(sqe, comm, &cmds[i], in + 64 * i, out + 64 * i, 2, COLL_F32,
				    COLL_OP_SUM);
		if (s->spin)
			cmds[i].flags |= COLL_CMD_SPIN;
		if (s->buffers)
			coll_prep_fixed(sqe, 0);
		if (s->file) {
			sqe->fd = 0;
			sqe->flags |= IOSQE_FIXED_FILE;
		}
	}
}

static void look(struct io_uring *ring, int ops)
{
	double end = clock_now_us() + LOOK_US;

	while (io_uring_cq_ready(ring) < (unsigned int)ops && clock_now_us() < end)
		;
}

static int once(struct io_uring *ring, const struct setup *s)
{
	struct io_uring_cqe *cqe;
	int ret, i;

	if (s->wait == IOCTL) {
		coll_cmd_allreduce(comm, &cmds[0], in, out, 2, COLL_F32, COLL_OP_SUM);
		return ioctl(coll_comm_fd(comm), COLL_IOC_SUBMIT, &cmds[0]);
	}
	prepare(ring, s);
	if (s->wait == AT_ONCE)
		ret = io_uring_submit_and_wait(ring, (unsigned int)s->ops);
	else
		ret = io_uring_submit(ring);
	if (s->wait == LOOK)
		look(ring, s->ops);
	for (i = 0; i < s->ops && ret >= 0; i++) {
		ret = io_uring_wait_cqe(ring, &cqe);
		if (ret)
			break;
		ret = cqe->res;
		io_uring_cqe_seen(ring, cqe);
	}
	return ret < 0 ? ret : 0;
}

static int set_up(struct io_uring *ring, const struct setup *s)
{
	struct iovec all = { .iov_base = in, .iov_len = 2 * 4096 };
	struct io_uring_params p = { .flags = s->flags, .sq_thread_idle = 1000 };
	int fd = coll_comm_fd(comm), ret;

	ret = io_uring_queue_init_params(64, ring, &p);
	if (!ret && s->file)
		ret = io_uring_register_files(ring, &fd, 1);
	if (!ret && s->buffers)
		ret = io_uring_register_buffers(ring, &all, 1);
	if (!ret && s->ring && io_uring_register_ring_fd(ring) != 1)
		ret = -1;
	return ret;
}

static double switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_nvcsw + u.ru_nivcsw);
}

static const volatile uint64_t *calls(void)
{
	const char *fd = getenv("SYSCOUNT_FD");
	void *p;

	if (!fd)
		return NULL;
	p = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, atoi(fd), 0);
	return p == MAP_FAILED ? NULL : p;
}

static int measure(const struct setup *s, int ops, const volatile uint64_t *count)
{
	double begin, took, best = 1e9, switched;
	struct io_uring ring;
	uint64_t before = 0;
	int i, k, ret = 0;

	if (s->wait != IOCTL && set_up(&ring, s)) {
		fprintf(stderr, "%s: cannot be set up\n", s->name);
		return 1;
	}
	for (i = 0; i < ops / 10 && !ret; i++)
		ret = once(&ring, s);
	switched = switches();
	before = count ? *count : 0;
	for (k = 0; k < BATCHES; k++) {
		begin = clock_now_us();
		for (i = 0; i < ops / BATCHES && !ret; i++)
			ret = once(&ring, s);
		took = clock_now_us() - begin;
		best = took < best ? took : best;
	}
	if (!coll_comm_rank(comm) && count)
		printf("%-42s %8.2f calls\n", s->name,
		       (double)(*count - before) / 2 / ops / s->ops);
	else if (!coll_comm_rank(comm))
		printf("%-42s %8.2f us %6.2f switches\n", s->name, best / (ops / BATCHES) / s->ops,
		       (switches() - switched) / ops / s->ops);
	fflush(stdout);
	if (ret)
		fprintf(stderr, "%s: %d\n", s->name, ret);
	if (s->wait != IOCTL)
		io_uring_queue_exit(&ring);
	return ret != 0;
}

int main(int argc, char **argv)
{
	int ops = argc > 1 ? atoi(argv[1]) : 20000, ret;
	const volatile uint64_t *count = calls();
	size_t i;

	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "%s\n", coll_last_error());
		return 1;
	}
	in = aligned_alloc(4096, 2 * 4096);
	if (!in)
		return 1;
	out = in + 1024;
	for (i = 0; i < 2048; i++)
		in[i] = 1;
	clock_now_us();
	for (i = 0; i < sizeof(setups) / sizeof(setups[0]) && !ret; i++)
		ret = measure(&setups[i], ops, count);
	coll_finalize(comm);
	free(in);
	return ret != 0;
}
