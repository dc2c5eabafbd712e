/* SPDX-License-Identifier: GPL-2.0 */
/* Collectives in an application's own ring, without libcoll. */
#ifndef COLL_SELFTESTS_RING_H
#define COLL_SELFTESTS_RING_H

#include <liburing.h>
#include <string.h>

#include <linux/coll.h>

/* Older liburing headers have no names for these. */
#define RING_CMD_BYTES	48	/* offset of the 16 command bytes in an SQE */
#define RING_CMD_OP	8	/* offset of cmd_op */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER	(1U << 12)
#endif
#ifndef IORING_URING_CMD_FIXED
#define IORING_URING_CMD_FIXED	(1U << 0)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN	(1U << 13)
#endif

/* COLL_URING_*, with the address and the size of its struct. The caller has made sure of an SQE. */
static inline void ring_prep_op(struct io_uring_sqe *sqe, int fd, uint32_t op, void *arg,
				uint32_t len, uint64_t user_data)
{
	struct coll_sqe c = { .arg = (uintptr_t)arg, .len = len };

	if (!sqe)
		__builtin_trap();
	memset(sqe, 0, 64);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->user_data = user_data;
	memcpy((char *)sqe + RING_CMD_OP, &op, sizeof(op));
	memcpy((char *)sqe + RING_CMD_BYTES, &c, sizeof(c));
}

/* A numbered command. */
static inline void ring_prep(struct io_uring_sqe *sqe, int fd,
			     struct coll_cmd *cmd, uint64_t user_data)
{
	ring_prep_op(sqe, fd, COLL_URING_SUBMIT, cmd, sizeof(*cmd), user_data);
}

#endif /* COLL_SELFTESTS_RING_H */
