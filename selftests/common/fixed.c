// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "fixed.h"
#include "raw.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL

int fixed_register(struct fixed *f)
{
	struct iovec iov = { f->mem, f->bytes };

	return io_uring_register_buffers(&f->ring, &iov, 1);
}

int fixed_init(struct fixed *f, int fd, size_t bytes, unsigned int setup)
{
	struct io_uring_params params = { .flags = setup };
	int ret;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->bytes = bytes;
	f->mem = test_memory(bytes);
	f->view = f->mem;
	ret = io_uring_queue_init_params(8, &f->ring, &params);
	return ret ?: fixed_register(f);
}

void fixed_exit(struct fixed *f)
{
	io_uring_queue_exit(&f->ring);
	munmap(f->mem, f->bytes);
	if (f->view != f->mem)
		munmap(f->view, f->bytes);
}

struct io_uring_sqe *fixed_sqe(struct fixed *f, unsigned int index)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&f->ring);

	f->cmd.timeout_ns = 20 * SECOND;
	ring_prep(sqe, f->fd, &f->cmd, index);
	sqe->rw_flags = IORING_URING_CMD_FIXED;
	sqe->buf_index = index;
	return sqe;
}

int fixed_post(struct fixed *f, unsigned int index)
{
	fixed_sqe(f, index);
	return io_uring_submit(&f->ring) == 1 ? 0 : -EIO;
}

int fixed_result(struct fixed *f)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(&f->ring, &cqe, &ts);

	if (ret)
		return ret;
	ret = cqe->res;
	io_uring_cqe_seen(&f->ring, cqe);
	return ret;
}

int fixed_run(struct fixed *f, uint32_t size)
{
	uint32_t r;
	int ret = 0, one;

	for (r = 0; r < size; r++)
		ret = ret ?: fixed_post(&f[r], 0);
	for (r = 0; !ret && r < size; r++) {
		one = fixed_result(&f[r]);
		ret = ret ?: one;
	}
	return ret;
}

void fixed_fill(struct fixed *f, uint32_t rank, size_t at, uint64_t count)
{
	uint64_t i;
	int32_t v;

	for (i = 0; i < count; i++) {
		v = test_value(rank, i);
		memcpy(f->view + at + 4 * i, &v, 4);
	}
}

uint64_t fixed_wrong(const struct fixed *f, uint32_t size, size_t at, uint64_t count)
{
	uint64_t i, wrong = 0;
	int32_t v;

	for (i = 0; i < count; i++) {
		memcpy(&v, f->view + at + 4 * i, 4);
		wrong += v != test_value_sum(size, i);
	}
	return wrong;
}

int64_t fixed_sum(struct fixed *f, uint32_t size, size_t in, size_t out, uint64_t count)
{
	uint64_t wrong = 0;
	uint32_t r;
	int ret;

	for (r = 0; r < size; r++) {
		memset(f[r].view + out, 0x55, 4 * count);
		fixed_fill(&f[r], r, in, count);
		raw_allreduce(&f[r].cmd, in == out ? NULL : f[r].mem + in, f[r].mem + out,
			      count, COLL_I32, COLL_OP_SUM);
	}
	ret = fixed_run(f, size);
	for (r = 0; r < size; r++)
		wrong += fixed_wrong(&f[r], size, out, count);
	return ret ?: wrong;
}
