/* SPDX-License-Identifier: GPL-2.0 */
/* Ranks of one process that submit allreduces by rings of their own. */
#ifndef URING_H
#define URING_H

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define MANY	64
#define SECOND	1000000000ULL

/* One rank with its ring, and commands with buffers for as many ops as a test likes. */
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

/*
 * Make the ring, and @nr allreduces of @count elements each.
 * Return: false if the kernel has no such ring.
 */
static inline bool urank_init(struct urank *u, int fd, uint32_t rank, unsigned int nr,
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

static inline void urank_exit(struct urank *u)
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

/* Count the wrong elements in all results. */
static inline uint64_t urank_wrong(const struct urank *u, uint32_t size)
{
	uint64_t wrong = 0, e;
	unsigned int i;

	for (i = 0; i < u->nr; i++)
		for (e = 0; e < u->count; e++)
			wrong += u->out[i][e] != test_value_sum(size, e + i);
	return wrong;
}

/* Return: the result of the next CQE; -ETIME if there is none for ten seconds. */
static inline int next_cqe(struct io_uring *ring, uint64_t *user_data)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;
	uint64_t end = test_now_ns() + 10 * SECOND;
	int ret;

	*user_data = ~0ULL;	/* of no command */
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
static inline bool all_good(struct io_uring *ring, unsigned int first,
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
static inline bool quiet(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_nsec = 20000000 };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(ring, &cqe, &ts) == -ETIME;
}

#endif /* URING_H */
