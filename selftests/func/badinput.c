// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that must be refused: each with its error, without counting as the
 * rank's n-th command, and without any harm to what is submitted next.
 */
#include <pthread.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "util.h"

#define COUNT	1000
#define SECOND	1000000000ULL

FIXTURE(bad) {
	struct raw_comm c;
	int32_t *in;
	int32_t *out;
	uint64_t counts[4];
	uint64_t displs[4];
	long page;
	int64_t posted;
};

FIXTURE_VARIANT(bad) {
	uint32_t size;
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(bad, one_node) { .size = 2, .nodes = 1 };
FIXTURE_VARIANT_ADD(bad, two_nodes) { .size = 2, .nodes = 2 };

FIXTURE_SETUP(bad)
{
	self->page = sysconf(_SC_PAGESIZE);
	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	self->in = calloc(COUNT, sizeof(int32_t));
	self->out = calloc(COUNT, sizeof(int32_t));
	ASSERT_EQ(0, test_good(&self->c));
	self->posted = test_posted(&self->c, 0);
}

/* After each refusal the communicator is as it was. */
FIXTURE_TEARDOWN(bad)
{
	struct coll_status s;

	EXPECT_EQ(0, raw_status(self->c.fd[0], &s));
	EXPECT_EQ(self->posted, s.posted);
	EXPECT_EQ(s.posted, s.completed);
	EXPECT_EQ(COLL_STATE_READY, s.state) {
		TH_LOG("cause kind %u error %u rank %u", s.cause.kind,
		       s.cause.error, s.cause.rank);
	}
	EXPECT_EQ(0, test_good(&self->c));
	EXPECT_EQ(self->posted + 1, test_posted(&self->c, 0));
	raw_stop(&self->c);
}

/* A right command with one thing wrong. Should it pass, it must not block. */
#define REFUSED(error, change) do {					\
	struct coll_cmd cmd;						\
									\
	raw_allreduce(&cmd, self->in, self->out, COUNT, COLL_I32,	\
		      COLL_OP_SUM);					\
	cmd.timeout_ns = SECOND / 2;					\
	change;								\
	EXPECT_EQ(-(error), raw_submit(self->c.fd[0], &cmd)) {		\
		TH_LOG("%s", #change);					\
	}								\
} while (0)

#define BROADCAST_REFUSED(error, change) \
	REFUSED(error, raw_broadcast(&cmd, self->out, COUNT, COLL_I32, 0); \
		cmd.timeout_ns = SECOND / 2; change)

#define BARRIER_REFUSED(error, change) \
	REFUSED(error, raw_barrier(&cmd); cmd.timeout_ns = SECOND / 2; change)

TEST_F(bad, numbers)
{
	unsigned int i;

	REFUSED(EINVAL, cmd.collective = 0);
	REFUSED(EINVAL, cmd.collective = COLL_NR_COLLECTIVES);
	REFUSED(EINVAL, cmd.collective = 0xffff);
	REFUSED(EINVAL, cmd.op = COLL_OP_NONE);
	REFUSED(EINVAL, cmd.op = COLL_NR_OPS);
	REFUSED(EINVAL, cmd.op = 0xffff);
	REFUSED(EINVAL, cmd.dtype = COLL_DTYPE_NONE);
	REFUSED(EINVAL, cmd.dtype = COLL_NR_DTYPES);
	REFUSED(EINVAL, cmd.dtype = 0xffff);
	REFUSED(EINVAL, cmd.algorithm = COLL_NR_ALGS);
	REFUSED(EINVAL, cmd.algorithm = 0xffff);
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_RING | COLL_ALG_RADIX(4));
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_KNOMIAL | COLL_ALG_RADIX(1));
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_AUTO | COLL_ALG_RADIX(4));
	REFUSED(EINVAL, cmd.algorithm = COLL_ALG_BINOMIAL);
	BROADCAST_REFUSED(EINVAL, cmd.algorithm = COLL_ALG_RING);
	BARRIER_REFUSED(EINVAL, cmd.algorithm = COLL_ALG_RING);
	for (i = 6; i < 32; i++)
		REFUSED(EINVAL, cmd.flags |= 1U << i);
	REFUSED(EINVAL, cmd.flags = COLL_CMD_SPIN | COLL_CMD_SLEEP);
	BARRIER_REFUSED(EINVAL, cmd.flags = COLL_CMD_SPIN | COLL_CMD_SLEEP);
	BARRIER_REFUSED(EINVAL, cmd.flags = COLL_CMD_NARROW);
	REFUSED(EINVAL, cmd.root = 1);
	BROADCAST_REFUSED(EINVAL, cmd.root = 2);
	BROADCAST_REFUSED(EINVAL, cmd.root = ~0U);
	BARRIER_REFUSED(EINVAL, cmd.root = 1);
}

TEST_F(bad, fields_that_must_be_zero)
{
	REFUSED(EINVAL, cmd.send_tag = 1);
	REFUSED(EINVAL, cmd.recv_tag = 1U << 31);
	REFUSED(EINVAL, cmd.source = 1);
	REFUSED(EINVAL, cmd.recv_dtype = COLL_I32);
	REFUSED(EINVAL, cmd.recv_count = 1ULL << 63);
	REFUSED(EINVAL, cmd.message_addr = (uintptr_t)self->in);
	REFUSED(EINVAL, cmd.counts_addr = (uintptr_t)self->in);
	REFUSED(EINVAL, cmd.displs_addr = (uintptr_t)self->in);
	REFUSED(EINVAL, cmd.scalar = 1);
	REFUSED(EINVAL, cmd.send_buf = 1);
	REFUSED(EINVAL, cmd.recv_buf = 1);
	REFUSED(EINVAL, cmd.flags = COLL_CMD_INPLACE);	/* with send_addr */
	BROADCAST_REFUSED(EINVAL, cmd.op = COLL_OP_SUM);
	BROADCAST_REFUSED(EINVAL, cmd.send_addr = (uintptr_t)self->in);
	BROADCAST_REFUSED(EINVAL, cmd.flags = COLL_CMD_INPLACE);
	BROADCAST_REFUSED(EINVAL, cmd.flags = COLL_CMD_REG_SEND);
	BROADCAST_REFUSED(EINVAL, cmd.flags = COLL_CMD_NARROW);
	BARRIER_REFUSED(EINVAL, cmd.op = COLL_OP_SUM);
	BARRIER_REFUSED(EINVAL, cmd.dtype = COLL_I32);
	BARRIER_REFUSED(EINVAL, cmd.count = 1);
	BARRIER_REFUSED(EINVAL, cmd.flags = COLL_CMD_INPLACE);
	BARRIER_REFUSED(EINVAL, cmd.send_addr = (uintptr_t)self->in);
	BARRIER_REFUSED(EINVAL, cmd.recv_addr = (uintptr_t)self->out);
}

/* A v-form: two blocks with gaps, of alltoallv two more for the output. */
static void use_blocks(FIXTURE_DATA(bad) *self, struct coll_cmd *cmd, uint32_t kind)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		self->counts[i] = 100;
		self->displs[i] = 200 * (i % 2) + 100 * (i / 2);
	}
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = kind;
	cmd->dtype = COLL_I32;
	cmd->send_addr = (uintptr_t)self->in;
	cmd->recv_addr = (uintptr_t)self->out;
	cmd->counts_addr = (uintptr_t)self->counts;
	cmd->displs_addr = (uintptr_t)self->displs;
	cmd->timeout_ns = SECOND / 2;
}

#define BLOCKS_REFUSED(error, kind, change) \
	REFUSED(error, use_blocks(self, &cmd, kind); change)

/* Blocks that overlap, or are no memory of the user's. Where, does not matter. */
TEST_F(bad, blocks)
{
	static const uint32_t out[] = { COLL_ALLGATHERV, COLL_GATHERV };
	uint64_t *counts = self->counts, *displs = self->displs;
	uintptr_t in = (uintptr_t)self->in;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		BLOCKS_REFUSED(EINVAL, out[i], displs[1] = 0);
		BLOCKS_REFUSED(EINVAL, out[i], displs[1] = 99);
		BLOCKS_REFUSED(EINVAL, out[i], displs[0] = 299);
		BLOCKS_REFUSED(EINVAL, out[i], displs[0] = 150; counts[0] = 300; counts[1] = 1);
		/* The input partly in a block, and not in place. */
		BLOCKS_REFUSED(EINVAL, out[i], cmd.recv_addr = in - 200 * 4 + 4);
		BLOCKS_REFUSED(EINVAL, out[i], cmd.recv_addr = in + 99 * 4);
		BLOCKS_REFUSED(EINVAL, out[i], displs[0] = 1ULL << 62);
		BLOCKS_REFUSED(EINVAL, out[i], displs[1] = ~0ULL);
		BLOCKS_REFUSED(EINVAL, out[i], counts[1] = 1ULL << 62);
		BLOCKS_REFUSED(EINVAL, out[i], counts[1] = 1ULL << 37);
		BLOCKS_REFUSED(EFAULT, out[i], displs[1] = ~0ULL / 4 - 100);
		BLOCKS_REFUSED(EFAULT, out[i], displs[1] = 1ULL << 61);
		BLOCKS_REFUSED(EFAULT, out[i], displs[1] = 1ULL << 45);
	}
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, displs[3] = displs[2] + 99);
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in + 4);
	/* The same array: every second block, and not quite. */
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in; displs[2] = 99);
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in; displs[2] = 299;
		       displs[3] = 500);
	/* As long as the input, but not the same bytes. */
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in; displs[2] = 0; displs[3] = 120;
		       counts[3] = 180);
	BLOCKS_REFUSED(EINVAL, COLL_SCATTERV, cmd.recv_addr = in + 200 * 4 + 4);
	BLOCKS_REFUSED(EFAULT, COLL_SCATTERV, displs[1] = ~0ULL / 4 - 100);
	BLOCKS_REFUSED(EFAULT, COLL_SCATTERV, displs[1] = 1ULL << 45);
}

/* A collective that the version masks do not announce is refused. */
TEST_F(bad, not_there)
{
	struct coll_version v;
	unsigned int i;

	ASSERT_EQ(0, ioctl(self->c.fd[0], COLL_IOC_VERSION, &v));
	for (i = 1; i < COLL_NR_COLLECTIVES; i++)
		if (!(v.collectives & 1ULL << i))
			REFUSED(EOPNOTSUPP, cmd.collective = i);
	for (i = 1; i < COLL_NR_OPS; i++)
		if (!(v.ops & 1ULL << i))
			REFUSED(EOPNOTSUPP, cmd.op = i);
	for (i = 1; i < COLL_NR_DTYPES; i++)
		if (!(v.dtypes & 1ULL << i))
			REFUSED(EOPNOTSUPP, cmd.dtype = i);
	REFUSED(EOPNOTSUPP, cmd.op = COLL_OP_BAND; cmd.dtype = COLL_F32);
	REFUSED(EOPNOTSUPP, cmd.dtype = COLL_BYTE);
}

/* No size in bytes: 64 bits, and no more than a buffer may have. */
TEST_F(bad, sizes)
{
	REFUSED(EINVAL, cmd.count = ~0ULL);
	REFUSED(EINVAL, cmd.count = 1ULL << 63);
	REFUSED(EINVAL, cmd.count = (1ULL << 63) - 1);
	REFUSED(EINVAL, cmd.count = (1ULL << 63) + 1);
	REFUSED(EINVAL, cmd.count = 1ULL << 62);
	REFUSED(EINVAL, cmd.count = (1ULL << 62) + 1);
	REFUSED(EINVAL, cmd.count = 1ULL << 61; cmd.dtype = COLL_F64);
	REFUSED(EINVAL, cmd.count = (1ULL << 61) + 1; cmd.dtype = COLL_F64);
	BROADCAST_REFUSED(EINVAL, cmd.count = 1ULL << 62);
	BROADCAST_REFUSED(EINVAL, cmd.count = ~0ULL; cmd.dtype = COLL_F64);
}

/* Sizes that fit into 64 bits, but reach beyond what is mapped there. */
TEST_F(bad, sizes_beyond_the_mapping)
{
	static const uint64_t counts[] = {
		(1ULL << 29) - 1, 1ULL << 29, (1ULL << 29) + 1,
		(1ULL << 30) - 1, 1ULL << 30, (1ULL << 30) + 1,
		(1ULL << 31) - 1, 1ULL << 31, (1ULL << 31) + 1,
		(1ULL << 32) - 1, 1ULL << 32, (1ULL << 32) + 1,
	};
	struct test_guarded g;
	unsigned int i;

	/* Input and output so far apart that they do not overlap. */
	ASSERT_TRUE(test_guard(&g, COUNT * 4, true));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		REFUSED(EFAULT, cmd.count = counts[i]; cmd.send_addr = 0;
			cmd.flags = COLL_CMD_INPLACE;
			cmd.recv_addr = (uintptr_t)g.mem);
		BROADCAST_REFUSED(EFAULT, cmd.count = counts[i];
				  cmd.recv_addr = (uintptr_t)g.mem);
	}
	EXPECT_EQ(0, test_guard_hurt(&g));
	test_unguard(&g);
}

TEST_F(bad, addresses)
{
	uint64_t kernel = 0xffff888000000000ULL;
	struct test_guarded g;
	void *ro, *none, *gone;

	ro = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	none = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	gone = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, munmap(gone, 65536));
	ASSERT_TRUE(test_guard(&g, COUNT * 4, true));

	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)ro);
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)none);
	REFUSED(EFAULT, cmd.send_addr = (uintptr_t)none);
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)gone);
	REFUSED(EFAULT, cmd.send_addr = (uintptr_t)gone);
	REFUSED(EFAULT, cmd.recv_addr = kernel);
	REFUSED(EFAULT, cmd.send_addr = kernel);
	REFUSED(EFAULT, cmd.recv_addr = 0);
	REFUSED(EFAULT, cmd.send_addr = 0);
	REFUSED(EFAULT, cmd.recv_addr = ~0ULL - 7);
	REFUSED(EFAULT, cmd.send_addr = ~0ULL - 7);
	REFUSED(EFAULT, cmd.send_addr = ~0ULL - COUNT * 4 + 1);
	/* in place, by flag and by giving the same address twice */
	REFUSED(EFAULT, cmd.flags = COLL_CMD_INPLACE; cmd.send_addr = 0;
		cmd.recv_addr = (uintptr_t)ro);
	REFUSED(EFAULT, cmd.recv_addr = cmd.send_addr = (uintptr_t)ro);
	/* one byte beyond the end, one page before the beginning */
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)g.mem + 1);
	REFUSED(EFAULT, cmd.send_addr = (uintptr_t)g.mem + 1);
	REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)g.mem - self->page);
	BROADCAST_REFUSED(EFAULT, cmd.recv_addr = (uintptr_t)none);
	BROADCAST_REFUSED(EFAULT, cmd.recv_addr = kernel);
	EXPECT_EQ(0, test_guard_hurt(&g));
	test_unguard(&g);
}

TEST_F(bad, hole_in_the_middle)
{
	char *map = mmap(NULL, 8 * self->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(0, munmap(map + 3 * self->page, self->page));
	REFUSED(EFAULT, cmd.count = 2 * self->page;
		cmd.recv_addr = (uintptr_t)map; cmd.send_addr = 0;
		cmd.flags = COLL_CMD_INPLACE);
}

TEST_F(bad, overlap)
{
	uintptr_t in = (uintptr_t)self->in;

	REFUSED(EINVAL, cmd.recv_addr = in + 4; cmd.count = 2);
	REFUSED(EINVAL, cmd.recv_addr = in + 1; cmd.count = 1);
	REFUSED(EINVAL, cmd.recv_addr = in; cmd.send_addr = in + 4; cmd.count = 2);
	REFUSED(EINVAL, cmd.recv_addr = in + 2000; cmd.count = 501);
}

TEST_F(bad, registered)
{
	struct coll_register reg = {
		.addr = (uintptr_t)self->in, .len = COUNT * 4,
	};
	struct coll_unregister un = { };
	int fd = self->c.fd[0];

	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND);
	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = 1);
	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = ~0U);
	ASSERT_EQ(0, ioctl(fd, COLL_IOC_REGISTER, &reg));
	/* not writable, and outside */
	REFUSED(EFAULT, cmd.flags = COLL_CMD_REG_RECV; cmd.recv_buf = reg.id;
		cmd.recv_addr = reg.addr; cmd.send_addr = (uintptr_t)self->out);
	REFUSED(EFAULT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = reg.id;
		cmd.send_addr = reg.addr + 4);
	REFUSED(EFAULT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = reg.id;
		cmd.send_addr = reg.addr - 4);
	un.id = reg.id;
	ASSERT_EQ(0, ioctl(fd, COLL_IOC_UNREGISTER, &un));
	REFUSED(ENOENT, cmd.flags = COLL_CMD_REG_SEND; cmd.send_buf = reg.id;
		cmd.send_addr = reg.addr);
}

static int submit_sized(int fd, void *arg, unsigned int size)
{
	unsigned long nr = _IOC(_IOC_WRITE, COLL_IOC_MAGIC, 0x10, size);

	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

static void *submit_other(void *arg)
{
	struct raw_comm *c = arg;
	static struct coll_cmd cmd;

	raw_barrier(&cmd);
	cmd.timeout_ns = 5 * SECOND;
	return (void *)(long)raw_submit(c->fd[1], &cmd);
}

/* Structs of another age: shorter never was, longer must end in zeros. */
TEST_F(bad, struct_sizes)
{
	char buf[4096] = { };
	struct coll_cmd *cmd = (struct coll_cmd *)buf;
	pthread_t other;
	void *ret;
	int err;

	raw_barrier(cmd);
	cmd->timeout_ns = 5 * SECOND;
	/* All that was published first; what has been added since may be left out. */
	err = submit_sized(self->c.fd[0], buf, offsetof(struct coll_cmd, handle) - 8);
	EXPECT_TRUE(err == -EINVAL || err == -ENOTTY) TH_LOG("%d", err);
	EXPECT_NE(0, submit_sized(self->c.fd[0], buf, 0));
	buf[sizeof(*cmd)] = 1;
	EXPECT_EQ(-E2BIG, submit_sized(self->c.fd[0], buf, sizeof(*cmd) + 8));
	buf[sizeof(*cmd)] = 0;
	buf[4095] = 1;
	EXPECT_EQ(-E2BIG, submit_sized(self->c.fd[0], buf, 4096));
	buf[4095] = 0;

	ASSERT_EQ(0, pthread_create(&other, NULL, submit_other, &self->c));
	EXPECT_EQ(0, submit_sized(self->c.fd[0], buf, 4096));
	pthread_join(other, &ret);
	EXPECT_EQ(0, (long)ret);
	self->posted++;
	/* the struct itself not readable */
	EXPECT_EQ(-EFAULT, submit_sized(self->c.fd[0], NULL, sizeof(*cmd)));
	EXPECT_EQ(-EFAULT, submit_sized(self->c.fd[0], (void *)-4096L, sizeof(*cmd)));
}

TEST_F(bad, unknown_verbs)
{
	char buf[256] = { };
	int fd = self->c.fd[0];
	unsigned int nr;

	for (nr = 0x08; nr < 0x10; nr++)
		EXPECT_EQ(-1, ioctl(fd, _IOC(_IOC_WRITE, COLL_IOC_MAGIC, nr, 64), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(fd, COLL_URING_SUBMIT, buf));
	EXPECT_EQ(ENOTTY, errno);
	/* a number between others that has no verb */
	EXPECT_EQ(-1, ioctl(fd, _IOWR(COLL_IOC_MAGIC, 0x06, char[64]), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, read(fd, buf, 1));
	EXPECT_EQ(-1, write(fd, buf, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
}

/* A count of zero needs no buffer, and looks at none. */
TEST_F(bad, zero_count_is_good)
{
	struct coll_cmd cmds[2];
	int results[2], i;

	for (i = 0; i < 2; i++) {
		raw_allreduce(&cmds[i], (void *)16, (void *)0xfffffffffffff000ULL,
			      0, COLL_I32, COLL_OP_SUM);
		cmds[i].timeout_ns = 5 * SECOND;
	}
	ASSERT_EQ(0, raw_all(&self->c, cmds, results));
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(0, results[1]);
	self->posted++;
}

TEST_F(bad, child_has_no_rights)
{
	int32_t *in = self->in, *out = self->out;
	int fd = self->c.fd[0], status;
	struct coll_register reg = { .addr = (uintptr_t)in, .len = 4 };
	struct coll_status s;
	struct coll_cmd cmd;
	pid_t pid = fork();

	if (!pid) {
		int bad = 0;

		raw_allreduce(&cmd, in, out, COUNT, COLL_I32, COLL_OP_SUM);
		cmd.timeout_ns = SECOND;
		bad |= (raw_submit(fd, &cmd) != -EPERM) << 0;
		bad |= (raw_abort(fd, 1) != -EPERM) << 1;
		bad |= (ioctl(fd, COLL_IOC_REGISTER, &reg) != -1 || errno != EPERM) << 2;
		bad |= (raw_link(fd, 1, 0, 0) != -EPERM) << 3;
		bad |= (raw_status(fd, &s) != 0) << 4;
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	/* That the child's copies of the files are gone disturbs nobody. */
	EXPECT_EQ(0, test_good(&self->c));
	self->posted++;
	pid = fork();
	if (!pid)
		raise(SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
}

TEST_HARNESS_MAIN
