// SPDX-License-Identifier: GPL-2.0
/* Commands by io_uring: rings and SQEs of all kinds. Each SQE gets one CQE, and no more. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "ring.h"

#define WAIT_MS		3000
#define CMD_FLAGS	28	/* offset of uring_cmd_flags in an SQE */
#define CANCEL		1000	/* user_data of those who cancel */

static int start(void)
{
	return calls_memory();
}

static bool make_ring(struct io_uring *ring, uint64_t *lots)
{
	static const unsigned int flags[] = {
		0, 0, IORING_SETUP_SQPOLL, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_SINGLE_ISSUER, 1U << 8 /* COOP_TASKRUN */, IORING_SETUP_IOPOLL,
		1U << 7 /* SUBMIT_ALL */,
	};

	if (!io_uring_queue_init(16, ring, flags[test_below(lots, 8)]))
		return true;
	return !io_uring_queue_init(16, ring, 0);
}

/* The command of one call, in an SQE with something odd about it now and then. */
static void make_sqe(struct io_uring_sqe *sqe, const struct calls_files *f, struct call *c,
		     uint64_t *lots, unsigned int i, bool fixed)
{
	uint8_t *raw = (uint8_t *)sqe;
	uint32_t v;

	ring_prep(sqe, f->fd[c->file], &c->cmd, i);
	if (fixed && test_below(lots, 2)) {
		sqe->fd = c->file;
		sqe->flags |= IOSQE_FIXED_FILE;
	}
	if (!test_below(lots, 4))
		sqe->flags |= IOSQE_ASYNC;
	if (!test_below(lots, 8))
		sqe->flags |= IOSQE_IO_LINK;
	if (!test_below(lots, 16))
		sqe->flags |= IOSQE_IO_DRAIN;
	if (test_below(lots, 4))
		return;
	switch (test_below(lots, 6)) {
	case 0:
		v = test_rand(lots);
		memcpy(raw + RING_CMD_OP, &v, 4);
		break;
	case 1:
		v = test_below(lots, CALL_BYTES);
		memcpy(raw + RING_CMD_BYTES + 8, &v, 4);
		break;
	case 2:
		v = 1U << test_below(lots, 32);
		memcpy(raw + RING_CMD_BYTES + 12, &v, 4);
		break;
	case 3:
		v = 1U << test_below(lots, 4);
		memcpy(raw + CMD_FLAGS, &v, 4);
		sqe->buf_index = test_below(lots, 3);
		break;
	case 4:
		raw[RING_CMD_BYTES + test_below(lots, 8)] ^= 1 << test_below(lots, 8);
		break;
	case 5:
		sqe->fd = test_below(lots, 12);
		break;
	}
}

static unsigned int fill(struct io_uring *ring, const struct calls_files *f, struct calls *c,
			 bool fixed)
{
	struct io_uring_sqe *sqe;
	unsigned int i, n = 0;

	for (i = 0; i < c->n; i++) {
		sqe = io_uring_get_sqe(ring);
		if (!sqe)
			break;
		make_sqe(sqe, f, &c->call[i], &c->lots, ++n, fixed);
		if (test_below(&c->lots, 8))
			continue;
		sqe = io_uring_get_sqe(ring);
		if (!sqe)
			break;
		io_uring_prep_cancel(sqe, (void *)(uintptr_t)(1 + test_below(&c->lots, n)), 0);
		sqe->user_data = CANCEL + ++n;
	}
	return n;
}

/* The commands that a round is about to submit. */
static void show(const struct io_uring *ring, const struct calls *c, unsigned int n)
{
	const struct io_uring_sqe *s;
	unsigned int i, op, len;

	printf("# ring flags %#x, %u nodes\n", ring->flags, c->nodes);
	for (i = 0; i < n; i++) {
		s = &ring->sq.sqes[i];
		memcpy(&op, (const uint8_t *)s + RING_CMD_OP, sizeof(op));
		memcpy(&len, (const uint8_t *)s + RING_CMD_BYTES + 8, sizeof(len));
		printf("# SQE %llu: opcode %u, flags %#x, fd %d, cmd_op %#x, len %u\n",
		       (unsigned long long)s->user_data, s->opcode, s->flags, s->fd, op, len);
	}
	for (i = 0; i < c->n; i++) {
		const struct coll_cmd *cmd = &c->call[i].cmd;

		printf("# call %u: file %u, collective %u, dtype %u, op %u, flags %#x\n", i,
		       c->call[i].file, cmd->collective, cmd->dtype, cmd->op, cmd->flags);
		printf("#   count %llu, root %u, send %#llx, recv %#llx, %llu ns\n",
		       (unsigned long long)cmd->count, cmd->root,
		       (unsigned long long)cmd->send_addr, (unsigned long long)cmd->recv_addr,
		       (unsigned long long)cmd->timeout_ns);
	}
}

/*
 * Wait for one CQE of each. On a ring with IORING_SETUP_IOPOLL the kernel does not wait when
 * it has nothing to poll, so a timeout is one only when the time is over. Return: how many came.
 */
static unsigned int collect(struct io_uring *ring, unsigned int want, uint8_t *got, int ms,
			    int *error)
{
	struct __kernel_timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	uint64_t end = test_now_ns() + ms * 1000000ULL;
	struct io_uring_cqe *cqe;
	unsigned int n;
	int ret;

	for (n = 0; n < want; n++) {
		for (;;) {
			ret = io_uring_wait_cqe_timeout(ring, &cqe, &ts);
			if (!ret || (ret != -EINTR && test_now_ns() > end))
				break;
			test_sleep_us(1000);
		}
		*error = ret;
		if (ret)
			return n;
		got[cqe->user_data % CANCEL % 64]++;
		io_uring_cqe_seen(ring, cqe);
	}
	return n;
}

static void check(struct io_uring *ring, struct calls_files *f, unsigned int sent)
{
	struct io_uring_cqe *cqe;
	uint8_t got[64] = { };
	unsigned int i, n;
	int error = 0;

	n = collect(ring, sent, got, WAIT_MS, &error);
	if (n < sent) {
		/* Without a deadline, of a struct that was not meant as one? */
		for (i = 0; i < CALL_FILES; i++)
			raw_abort(f->fd[i], 0);
		n += collect(ring, sent - n, got, WAIT_MS, &error);
	}
	if (n < sent)
		fuzz_complain("%u CQEs of %u SQEs: %d", n, sent, error);
	for (i = 1; i <= sent; i++)
		if (got[i] != 1)
			fuzz_complain("SQE %u: %u CQEs", i, got[i]);
	if (!io_uring_peek_cqe(ring, &cqe))
		fuzz_complain("one CQE more, of SQE %llu", (unsigned long long)cqe->user_data);
}

static unsigned int round_uring(const struct fuzz_seeds *s)
{
	struct calls_files f;
	static struct calls c;
	struct io_uring ring;
	struct iovec iov;
	unsigned int n;
	bool fixed;
	int sent;

	calls_make(&c, s, true);
	if (!calls_open(&f, &c))
		return 0;
	if (!make_ring(&ring, &c.lots)) {
		calls_close(&f);
		return 0;
	}
	fixed = test_below(&c.lots, 2) && !io_uring_register_files(&ring, f.fd, CALL_FILES);
	iov.iov_base = (void *)(uintptr_t)(calls_address(&c.lots) & ~4095ULL);
	iov.iov_len = 65536;
	if (test_below(&c.lots, 2))
		io_uring_register_buffers(&ring, &iov, 1);
	n = fill(&ring, &f, &c, fixed);
	if (fuzz_verbose)
		show(&ring, &c, n);
	sent = io_uring_submit(&ring);
	if (sent > 0)
		check(&ring, &f, sent);
	else if (n && sent < 0 && sent != -EAGAIN && sent != -EBUSY && sent != -ENXIO)
		fuzz_complain("io_uring_submit: %d", sent);
	io_uring_queue_exit(&ring);
	calls_close(&f);
	calls_check_good(c.nodes);
	return n;
}

const struct fuzz_kind fuzz_uring = {
	.name = "uring", .start = start, .round = round_uring,
};
