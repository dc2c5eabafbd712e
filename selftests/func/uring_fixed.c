// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers that an application has registered with its ring: their pages are what is
 * read and written, whatever becomes of the mapping, of the registration or of the
 * process; and nothing is pinned or charged a second time.
 */
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness.h"
#include "procs.h"
#include "ring.h"
#include "util.h"

#define PAGE	4096UL
#define SECOND	1000000000ULL
#define MAX	4

#ifndef IORING_URING_CMD_FIXED
#define IORING_URING_CMD_FIXED	(1U << 0)
#endif

/**
 * struct frank - a rank whose memory is registered with its ring
 * @mem: all of it, buffer 0
 * @view: the same pages at another address, or @mem
 */
struct frank {
	int fd;
	struct io_uring ring;
	char *mem;
	char *view;
	size_t bytes;
	struct coll_cmd cmd;
};

static int frank_register(struct frank *f)
{
	struct iovec iov = { f->mem, f->bytes };

	return io_uring_register_buffers(&f->ring, &iov, 1);
}

static int frank_init(struct frank *f, int fd, size_t bytes, unsigned int setup)
{
	struct io_uring_params params = { .flags = setup };
	int ret;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->bytes = bytes;
	f->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->view = f->mem;
	ret = io_uring_queue_init_params(8, &f->ring, &params);
	return ret ?: frank_register(f);
}

static void frank_exit(struct frank *f)
{
	io_uring_queue_exit(&f->ring);
	munmap(f->mem, f->bytes);
	if (f->view != f->mem)
		munmap(f->view, f->bytes);
}

static struct io_uring_sqe *fixed_sqe(struct frank *f, unsigned int index)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&f->ring);

	f->cmd.timeout_ns = 20 * SECOND;
	ring_prep(sqe, f->fd, &f->cmd, index);
	sqe->rw_flags = IORING_URING_CMD_FIXED;
	sqe->buf_index = index;
	return sqe;
}

static int post(struct frank *f, unsigned int index)
{
	fixed_sqe(f, index);
	return io_uring_submit(&f->ring) == 1 ? 0 : -EIO;
}

static int result(struct frank *f)
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

static int post_all(struct frank *f, uint32_t size)
{
	uint32_t r;
	int ret = 0, one;

	for (r = 0; r < size; r++)
		ret = ret ?: post(&f[r], 0);
	for (r = 0; !ret && r < size; r++) {
		one = result(&f[r]);
		ret = ret ?: one;
	}
	return ret;
}

static void fill(struct frank *f, uint32_t rank, size_t at, uint64_t count)
{
	uint64_t i;
	int32_t v;

	for (i = 0; i < count; i++) {
		v = test_value(rank, i);
		memcpy(f->view + at + 4 * i, &v, 4);
	}
}

static uint64_t wrong_sums(const struct frank *f, uint32_t size, size_t at, uint64_t count)
{
	uint64_t i, wrong = 0;
	int32_t v;

	for (i = 0; i < count; i++) {
		memcpy(&v, f->view + at + 4 * i, 4);
		wrong += v != test_value_sum(size, i);
	}
	return wrong;
}

/* An allreduce from @in to @out in each one's memory. Return: 0, an error, wrong ones. */
static int64_t sum(struct frank *f, uint32_t size, size_t in, size_t out, uint64_t count)
{
	uint64_t wrong = 0;
	uint32_t r;
	int ret;

	for (r = 0; r < size; r++) {
		memset(f[r].view + out, 0x55, 4 * count);
		fill(&f[r], r, in, count);
		raw_allreduce(&f[r].cmd, in == out ? NULL : f[r].mem + in, f[r].mem + out,
			      count, COLL_I32, COLL_OP_SUM);
	}
	ret = post_all(f, size);
	for (r = 0; r < size; r++)
		wrong += wrong_sums(&f[r], size, out, count);
	return ret ?: wrong;
}

FIXTURE(fixed)
{
	struct raw_comm c;
	struct frank f[MAX];
	size_t bytes;
};

FIXTURE_VARIANT(fixed)
{
	uint32_t size;
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(fixed, node)	{ .size = 3, .nodes = 1 };
FIXTURE_VARIANT_ADD(fixed, nodes)	{ .size = 3, .nodes = 2 };

FIXTURE_SETUP(fixed)
{
	uint32_t r;

	self->bytes = 4 << 20;
	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	for (r = 0; r < variant->size; r++)
		ASSERT_EQ(0, frank_init(&self->f[r], self->c.fd[r], self->bytes, 0));
}

FIXTURE_TEARDOWN(fixed)
{
	uint32_t r;

	for (r = 0; r < variant->size; r++)
		frank_exit(&self->f[r]);
	raw_stop(&self->c);
}

TEST_F(fixed, sums)
{
	static const uint64_t counts[] = { 0, 1, 2, 1000, 1024, 1025, 30000, 300001 };
	static const size_t starts[] = { 0, 1, 4092, 4095, 12345 };
	size_t half = self->bytes / 2, at;
	unsigned int n, s;

	for (n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		for (s = 0; s < sizeof(starts) / sizeof(*starts); s++) {
			at = starts[s];
			EXPECT_EQ(0, sum(self->f, variant->size, at, at, counts[n]));
			EXPECT_EQ(0, sum(self->f, variant->size, at, half + at, counts[n]));
			EXPECT_EQ(0, sum(self->f, variant->size, half, at, counts[n]));
		}
	}
	/* to its last byte */
	EXPECT_EQ(0, sum(self->f, variant->size, self->bytes - 40000,
			 self->bytes - 40000, 10000));
	EXPECT_EQ(0, sum(self->f, variant->size, 0, half, half / 4));
	EXPECT_EQ(0, test_good(&self->c));
}

/* The other kinds of buffers: one for both, some of a rank, messages, saved inputs. */
TEST_F(fixed, other_collectives)
{
	uint32_t size = variant->size, r, i, wrong;
	struct frank *f = self->f;
	const uint64_t n = 5000;
	int32_t v;

	for (r = 0; r < size; r++) {
		fill(&f[r], r, 100, n);
		raw_broadcast(&f[r].cmd, f[r].mem + 100, n, COLL_I32, 1);
	}
	ASSERT_EQ(0, post_all(f, size));
	for (r = 0; r < size; r++)
		EXPECT_EQ(0, memcmp(f[r].mem + 100, f[1].mem + 100, 4 * n));

	for (r = 0; r < size; r++) {
		for (i = 0; i < size; i++)
			fill(&f[r], 10 * r + i, 4 * n * i, n);
		raw_allreduce(&f[r].cmd, NULL, f[r].mem, n, COLL_I32, COLL_OP_NONE);
		f[r].cmd.collective = COLL_ALLTOALL;
	}
	ASSERT_EQ(0, post_all(f, size));
	for (r = 0, wrong = 0; r < size; r++) {
		for (i = 0; i < size * n; i++) {
			memcpy(&v, f[r].mem + 4 * i, 4);
			wrong += v != test_value(10 * (i / n) + r, i % n);
		}
	}
	EXPECT_EQ(0, wrong);

	for (r = 0; r < size; r++) {
		fill(&f[r], r, 0, n);
		raw_send(&f[r].cmd, f[r].mem, n, COLL_I32, (r + 1) % size, 7);
		raw_and_recv(&f[r].cmd, f[r].mem + 4 * n, n, (r + size - 1) % size, 7, NULL);
	}
	ASSERT_EQ(0, post_all(f, size));
	for (r = 0; r < size; r++)
		EXPECT_EQ(0, memcmp(f[r].mem + 4 * n, f[(r + size - 1) % size].mem, 4 * n));

	for (r = 0; r < size; r++)
		raw_barrier(&f[r].cmd);
	EXPECT_EQ(0, post_all(f, size));
}

/* The pages count, not the addresses: nothing is mapped there any more. */
TEST_F(fixed, mapping_gone)
{
	struct frank *f = self->f;
	uint32_t r, size = variant->size;

	for (r = 0; r < size; r++) {
		int fd = memfd_create("fixed", 0);

		ASSERT_EQ(0, ftruncate(fd, f[r].bytes));
		ASSERT_EQ(0, io_uring_unregister_buffers(&f[r].ring));
		ASSERT_EQ(f[r].mem, mmap(f[r].mem, f[r].bytes, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_FIXED, fd, 0));
		f[r].view = mmap(NULL, f[r].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT_NE(MAP_FAILED, f[r].view);
		close(fd);
		ASSERT_EQ(0, frank_register(&f[r]));
		ASSERT_EQ(0, munmap(f[r].mem, f[r].bytes));
	}
	EXPECT_EQ(0, sum(f, size, 0, 0, 1));
	EXPECT_EQ(0, sum(f, size, 0, 4096, 100));
	EXPECT_EQ(0, sum(f, size, 77, 1 << 20, 200000));
	EXPECT_EQ(0, sum(f, size, 77, 77, 200000));
}

/* Ranges that are not all inside: refused, and the command does not count. */
TEST_F(fixed, outside)
{
	uint32_t size = variant->size;
	struct frank *f = self->f;
	char *mem = f->mem, *end = f->mem + f->bytes;
	static char other[8192];

#define BAD(send, recv, count, index) do {				\
	raw_allreduce(&f->cmd, send, recv, count, COLL_I32, COLL_OP_SUM); \
	ASSERT_EQ(0, post(f, index));					\
	EXPECT_EQ(-EFAULT, result(f)) TH_LOG("%s, %s", #send, #recv);	\
} while (0)
	BAD(NULL, mem - 4, 10, 0);
	BAD(NULL, mem - 40, 10, 0);
	BAD(NULL, end - 39, 10, 0);
	BAD(NULL, end, 10, 0);
	BAD(NULL, mem, f->bytes / 4 + 1, 0);
	BAD(NULL, other, 10, 0);
	BAD(mem, other, 10, 0);
	BAD(other, mem, 10, 0);
	BAD(other, mem, 2000, 0);
	BAD(NULL, (char *)0 - 4, 1, 0);
	BAD(NULL, (char *)0 - 8, 1000, 0);
	BAD(NULL, (char *)0xffff888000000000UL, 10, 0);
	BAD(NULL, mem, 10, 1);
	BAD(NULL, mem, 10, 65535);
	EXPECT_EQ(0, test_posted(&self->c, 0));
	EXPECT_EQ(0, sum(f, size, 0, 4000, 1000));
	/* what is registered with us need not lie in it */
	for (uint32_t r = 0; r < size; r++) {
		struct coll_register reg = { .addr = (uintptr_t)other, .len = sizeof(other) };

		ASSERT_EQ(0, ioctl(f[r].fd, COLL_IOC_REGISTER, &reg));
		raw_allreduce(&f[r].cmd, other, f[r].mem, 100, COLL_I32, COLL_OP_SUM);
		f[r].cmd.flags |= COLL_CMD_REG_SEND;
		f[r].cmd.send_buf = reg.id;
	}
	EXPECT_EQ(0, post_all(f, size));
	EXPECT_EQ(0, test_good(&self->c));
}

static void *unregister(void *arg)
{
	struct frank *f = arg;

	return (void *)(intptr_t)io_uring_unregister_buffers(&f->ring);
}

/* Linux 6.1 and 6.12 unregister when what is in flight has ended, later ones at once. */
TEST_F(fixed, unregistered_in_flight)
{
	uint32_t size = variant->size, r, round;
	struct frank *f = self->f;
	const uint64_t n = 300000;
	pthread_t thread;
	void *ret;

	for (round = 0; round < 3; round++) {
		for (r = 0; r < size; r++) {
			fill(&f[r], r, 0, n);
			raw_allreduce(&f[r].cmd, f[r].mem, f[r].mem + 4 * n, n, COLL_I32,
				      COLL_OP_SUM);
		}
		ASSERT_EQ(0, post(&f[0], 0));
		ASSERT_EQ(0, pthread_create(&thread, NULL, unregister, &f[0]));
		test_sleep_us(20000);
		for (r = 1; r < size; r++)
			ASSERT_EQ(0, post(&f[r], 0));
		for (r = 0; r < size; r++) {
			EXPECT_EQ(0, result(&f[r]));
			EXPECT_EQ(0, wrong_sums(&f[r], size, 4 * n, n));
		}
		ASSERT_EQ(0, pthread_join(thread, &ret));
		EXPECT_EQ(NULL, ret);
		ASSERT_EQ(0, post(&f[0], 0));
		EXPECT_EQ(-EFAULT, result(&f[0]));
		ASSERT_EQ(0, frank_register(&f[0]));
	}
}

/* Another buffer in its place: the op keeps the one it was posted with. */
TEST_F(fixed, replaced_in_flight)
{
	uint32_t size = variant->size, r;
	struct frank *f = self->f;
	const uint64_t n = 200000;
	struct iovec iov = { .iov_len = f->bytes };
	__u64 tag = 0;

	iov.iov_base = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (r = 0; r < size; r++) {
		fill(&f[r], r, 0, n);
		raw_allreduce(&f[r].cmd, f[r].mem, f[r].mem + 4 * n, n, COLL_I32, COLL_OP_SUM);
	}
	ASSERT_EQ(0, post(&f[0], 0));
	ASSERT_EQ(1, io_uring_register_buffers_update_tag(&f->ring, 0, &iov, &tag, 1));
	for (r = 1; r < size; r++)
		ASSERT_EQ(0, post(&f[r], 0));
	for (r = 0; r < size; r++) {
		EXPECT_EQ(0, result(&f[r]));
		EXPECT_EQ(0, wrong_sums(&f[r], size, 4 * n, n));
	}
	ASSERT_EQ(0, post(&f[0], 0));
	EXPECT_EQ(-EFAULT, result(&f[0]));
	munmap(iov.iov_base, iov.iov_len);
}

static uint64_t pins_so_far(void)
{
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "w");
	char name[64];
	uint64_t value;

	if (!f || fputs("1", f) < 0 || fclose(f))
		return ~0ULL;
	f = fopen("/proc/vmstat", "r");
	while (f && fscanf(f, "%63s %lu", name, &value) == 2)
		if (!strcmp(name, "nr_foll_pin_acquired"))
			break;
	if (!f || strcmp(name, "nr_foll_pin_acquired"))
		value = ~0ULL;
	if (f)
		fclose(f);
	return value;
}

TEST_F(fixed, nothing_is_pinned)
{
	struct coll_cmd cmds[MAX];
	int results[MAX];
	uint64_t before;
	uint32_t r;

	before = pins_so_far();
	ASSERT_NE(~0ULL, before);
	EXPECT_EQ(0, sum(self->f, variant->size, 0, 1 << 20, 200000));
	EXPECT_EQ(before, pins_so_far());
	/* as the same by ioctl does */
	for (r = 0; r < variant->size; r++)
		cmds[r] = self->f[r].cmd;
	ASSERT_EQ(0, raw_all(&self->c, cmds, results));
	EXPECT_LT(before, pins_so_far());
}

static bool set_send_mode(const char *mode)
{
	FILE *f = fopen("/sys/module/coll/parameters/send_mode", "w");

	return f && fprintf(f, "%s\n", mode) > 0 && !fclose(f);
}

/* Pages that were lent to a socket are back when the command completes. */
TEST_F(fixed, overwritten_at_once)
{
	static const char *const modes[] = { "splice", "ubuf", "copy" };
	uint32_t size = variant->size, r, i, m;
	struct frank *f = self->f;
	const uint64_t n = 400000;

	for (m = 0; m < 3; m++) {
		ASSERT_TRUE(set_send_mode(modes[m]));
		for (i = 0; i < test_scale(20) + 1; i++) {
			for (r = 0; r < size; r++) {
				fill(&f[r], r, 0, n);
				raw_allreduce(&f[r].cmd, f[r].mem, f[r].mem + 4 * n, n,
					      COLL_I32, COLL_OP_SUM);
				ASSERT_EQ(0, post(&f[r], 0));
			}
			for (r = 0; r < size; r++) {
				ASSERT_EQ(0, result(&f[r]));
				EXPECT_EQ(0, wrong_sums(&f[r], size, 4 * n, n))
					TH_LOG("%s", modes[m]);
				memset(f[r].mem, 0xee, 8 * n);
			}
		}
	}
	EXPECT_TRUE(set_send_mode("auto"));
}

/* Locked memory for the registered buffers and no more: they do, others do not. */
TEST(locked_memory_once)
{
	const size_t bytes = 1 << 20;
	struct rlimit rl = { 2 * bytes, 2 * bytes };
	struct coll_cmd cmds[2];
	struct coll_status s;
	struct frank f[2];
	struct raw_comm c;
	int results[2];
	uint32_t r;

	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &rl));
	ASSERT_EQ(0, setgroups(0, NULL) || setgid(65534) || setuid(65534));
	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, frank_init(&f[r], c.fd[r], bytes, 0));
	EXPECT_EQ(0, sum(f, 2, 0, bytes / 2, bytes / 8));
	EXPECT_EQ(0, sum(f, 2, 0, 0, bytes / 4));
	for (r = 0; r < 2; r++) {
		ASSERT_EQ(0, raw_status(c.fd[r], &s));
		EXPECT_EQ(0, s.memlock_wanted);
		EXPECT_EQ(0, s.pinned);
		cmds[r] = f[r].cmd;
	}
	ASSERT_EQ(0, raw_all(&c, cmds, results));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_LT(2 * bytes, s.memlock_wanted);
	for (r = 0; r < 2; r++)
		frank_exit(&f[r]);
	raw_stop(&c);
}

/* Pages that io_uring keeps as one piece: it begins anywhere, and ends anywhere. */
TEST(huge_pages)
{
	const size_t huge = 2 << 20, off = 5 * PAGE + 100;
	struct frank f[2];
	struct raw_comm c;
	FILE *nr = fopen("/proc/sys/vm/nr_hugepages", "w");
	uint32_t r;

	if (!nr || fputs("8", nr) < 0 || fclose(nr))
		SKIP(return, "no huge pages in this kernel");
	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++) {
		char *map = mmap(NULL, 3 * huge, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
		struct iovec iov = { map + off, 3 * huge - 2 * off };

		ASSERT_NE(MAP_FAILED, map);
		ASSERT_EQ(0, frank_init(&f[r], c.fd[r], PAGE, 0));
		ASSERT_EQ(0, io_uring_unregister_buffers(&f[r].ring));
		ASSERT_EQ(0, io_uring_register_buffers(&f[r].ring, &iov, 1));
		f[r].mem = map;
		f[r].view = map;
		f[r].bytes = 3 * huge;
	}
	EXPECT_EQ(0, sum(f, 2, off, off, 1));
	EXPECT_EQ(0, sum(f, 2, off, huge + off, 100000));
	EXPECT_EQ(0, sum(f, 2, huge - 400, 2 * huge - 4, 100));
	EXPECT_EQ(0, sum(f, 2, off, off + 2 * huge, 300001));
	EXPECT_EQ(0, sum(f, 2, huge + 1, huge + 1, (2 * huge - off - 8) / 4));
	for (r = 0; r < 2; r++)
		frank_exit(&f[r]);
	raw_stop(&c);
}

/* The result does not depend on the thread that issues the command, nor on the moment. */
TEST(kinds_of_rings)
{
	static const struct { unsigned int setup, sqe; } kinds[] = {
		{ 0, IOSQE_ASYNC }, { IORING_SETUP_SQE128, 0 }, { IORING_SETUP_SQPOLL, 0 },
		{ 1U << 12 | 1U << 13, 0 },	/* SINGLE_ISSUER | DEFER_TASKRUN */
	};
	struct io_uring_sqe *sqe;
	struct frank f[2];
	struct raw_comm c;
	uint32_t r, k;

	for (k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		ASSERT_EQ(0, raw_start(&c, 2, 2));
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, frank_init(&f[r], c.fd[r], 1 << 20, kinds[k].setup));
			fill(&f[r], r, 12, 100000);
			raw_allreduce(&f[r].cmd, f[r].mem + 12, f[r].mem + 500000, 100000,
				      COLL_I32, COLL_OP_SUM);
			sqe = fixed_sqe(&f[r], 0);
			if (kinds[k].setup & IORING_SETUP_SQE128)
				memset((char *)sqe + 64, 0, 64);
			sqe->flags |= kinds[k].sqe;
			ASSERT_EQ(1, io_uring_submit(&f[r].ring));
		}
		for (r = 0; r < 2; r++) {
			EXPECT_EQ(0, result(&f[r])) TH_LOG("kind %u", k);
			EXPECT_EQ(0, wrong_sums(&f[r], 2, 500000, 100000));
			frank_exit(&f[r]);
		}
		raw_stop(&c);
	}
}

/* Every rank for itself, for ever: rank 0 by io_uring. */
static void stream(struct procs *p, uint32_t rank)
{
	const uint64_t n = 250000;
	struct coll_cmd cmd;
	struct frank f;
	int ret;

	ret = frank_init(&f, p->c.fd[rank], 8 * n, 0);
	while (!ret) {
		fill(&f, rank, 0, n);
		raw_allreduce(&f.cmd, f.mem, f.mem + 4 * n, n, COLL_I32, COLL_OP_SUM);
		cmd = f.cmd;
		if (rank)
			ret = raw_submit(p->c.fd[rank], &cmd);
		else
			ret = post(&f, 0) ?: result(&f);
		if (!ret)
			p->sh->rank[rank].wrong += wrong_sums(&f, p->c.size, 4 * n, n);
		p->sh->rank[rank].done += !ret;
	}
	procs_result(p, rank, ret);
}

/* Commands in flight end with the process, and their pages go. The verdict counts them. */
TEST(killed_in_flight)
{
	uint64_t seed = test_seed();
	uint32_t n, r;

	for (n = 0; n < test_scale(20) + 2; n++) {
		struct procs p = { .ops = stream };

		ASSERT_EQ(0, procs_start(&p, 3, 1 + n % 3));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
		p.sh->go = 1;
		ASSERT_TRUE(procs_wait(&p, PROCS_RUNNING, 20000));
		while (!p.sh->rank[0].done && p.sh->rank[1].phase != PROCS_ENDED)
			test_sleep_us(200);
		test_sleep_us(test_below(&seed, 20000));
		ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
		EXPECT_EQ(SIGKILL, procs_reap(&p, 0, test_bound_ms() + 5000));
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, test_bound_ms() + 10000));
		for (r = 0; r < 3; r++)
			EXPECT_EQ(0, p.sh->rank[r].wrong);
		EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
		EXPECT_EQ(-EHOSTDOWN, p.sh->rank[2].result);
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
