// SPDX-License-Identifier: GPL-2.0
/*
 * Several memory nodes: the slices of a large sweep are done once each, wherever the memory
 * lies, and for the most part by CPUs that are near to it. Runs where there are two nodes
 * or more: collvm run --numa 2.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#define TEST_SECONDS	900

#include "harness.h"
#include "trace.h"
#include "ring.h"
#include "util.h"

#define SLICE		65536UL
#define BYTES		(8UL << 20)
#define COUNT		(BYTES / 4)
#define RANKS		4
#define SECOND		1000000000ULL
#define MPOL_BIND	2

static bool node_there(int nid)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", nid);
	return !access(path, F_OK);
}

static int node_of_cpu(int cpu)
{
	char path[64];
	int nid;

	for (nid = 0; nid < 64; nid++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpu%d", nid, cpu);
		if (!access(path, F_OK))
			return nid;
	}
	return -1;
}

/* Where the vectors of the ranks are. */
enum where {
	HALVES,		/* the first half of each on node 0, the other on node 1 */
	SPREAD,		/* the vectors of a rank on one node, those of the next rank on the other */
	ONE,		/* all on node 1 */
	NR_WHERES
};

FIXTURE(numa)
{
	struct raw_comm c;
	int32_t *in[RANKS], *out[RANKS];
	uint64_t nr, near, wrong;
	uint64_t by_node[2];
};

static int place(void *mem, size_t bytes, int nid)
{
	unsigned long mask = 1UL << nid;

	if (syscall(SYS_mbind, mem, bytes, MPOL_BIND, &mask, 64, 0))
		return -errno;
	memset(mem, 1, bytes);
	return 0;
}

static int32_t *vector(enum where where, uint32_t rank)
{
	char *mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int a = where == ONE ? 1 : where == SPREAD ? rank & 1 : 0;
	int b = where == HALVES ? 1 : a;

	if (place(mem, BYTES / 2, a) || place(mem + BYTES / 2, BYTES / 2, b))
		return NULL;
	return (int32_t *)mem;
}

FIXTURE_SETUP(numa)
{
	if (!node_there(1))
		SKIP(return, "one memory node");
	ASSERT_TRUE(test_trace_start("coll_slice"));
	ASSERT_EQ(0, raw_start(&self->c, RANKS, 1));
}

FIXTURE_TEARDOWN(numa)
{
	test_trace_stop("coll_slice");
	raw_stop(&self->c);
}

static void vectors(FIXTURE_DATA(numa) *self, enum where where)
{
	uint32_t r, i;

	for (r = 0; r < RANKS; r++) {
		self->in[r] = vector(where, r);
		self->out[r] = vector(where, r);
		for (i = 0; i < COUNT; i++)
			self->in[r][i] = test_value(r, i);
	}
}

static void unmap(FIXTURE_DATA(numa) *self)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		munmap(self->in[r], BYTES);
		munmap(self->out[r], BYTES);
	}
}

/* Rank 0 on the first CPU, and so on: threads that wait in ioctl. */
struct caller {
	pthread_t thread;
	int fd, cpu, ret;
	struct coll_cmd cmd;
};

static void *call(void *arg)
{
	struct caller *c = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(c->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return NULL;
	c->ret = raw_submit(c->fd, &c->cmd);
	return NULL;
}

static int by_ioctl(FIXTURE_DATA(numa) *self, struct coll_cmd *cmds)
{
	struct caller callers[RANKS] = { };
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), ret = 0;
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		callers[r].fd = self->c.fd[r];
		callers[r].cpu = r % cpus;
		callers[r].ret = -EIO;
		callers[r].cmd = cmds[r];
		pthread_create(&callers[r].thread, NULL, call, &callers[r]);
	}
	for (r = 0; r < RANKS; r++) {
		pthread_join(callers[r].thread, NULL);
		ret = ret ?: callers[r].ret;
	}
	return ret;
}

/* Nobody waits in the kernel: workers do it all. */
static int by_uring(FIXTURE_DATA(numa) *self, struct coll_cmd *cmds)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int ret = io_uring_queue_init(8, &ring, 0);
	uint32_t r;

	for (r = 0; !ret && r < RANKS; r++)
		ring_prep(io_uring_get_sqe(&ring), self->c.fd[r], &cmds[r], r);
	ret = ret ?: io_uring_submit(&ring) == RANKS ? 0 : -EIO;
	for (r = 0; !ret && r < RANKS; r++) {
		ret = io_uring_wait_cqe(&ring, &cqe) ?: cqe->res;
		io_uring_cqe_seen(&ring, cqe);
	}
	io_uring_queue_exit(&ring);
	return ret;
}

/* Find out which rank has taken which slices. Return: are they all there, once each? */
static bool look(FIXTURE_DATA(numa) *self, uint64_t slices, enum where where)
{
	unsigned int seen[BYTES / SLICE] = { };
	FILE *f = fopen(TEST_TRACE, "r");
	uint64_t slice, n = 0;
	char line[512], *at;
	int cpu, nid;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "coll_slice:");
		if (!at || sscanf(strstr(at, "slice="), "slice=%lu", &slice) != 1 ||
		    !strchr(line, '[') || sscanf(strchr(line, '['), "[%d]", &cpu) != 1)
			continue;
		if (slice >= slices || seen[slice]++)
			return false;
		n++;
		nid = node_of_cpu(cpu);
		/* CPUs of further nodes are far from all vectors */
		if (nid < 0 || nid > 1)
			continue;
		self->nr++;
		self->by_node[nid]++;
		self->near += nid == (where == ONE ? 1 : slice >= slices / 2);
	}
	return f && !fclose(f) && n == slices;
}

/* One allreduce. Return: 0, an error, or 1 if slices are missing. */
static int sum(FIXTURE_DATA(numa) *self, enum where where, uint64_t count, bool uring)
{
	struct coll_cmd cmds[RANKS];
	uint32_t r, i;
	int ret;

	for (r = 0; r < RANKS; r++) {
		raw_allreduce(&cmds[r], self->in[r], self->out[r], count, COLL_I32,
			      COLL_OP_SUM);
		cmds[r].timeout_ns = 40 * SECOND;
	}
	test_trace_empty();
	ret = uring ? by_uring(self, cmds) : by_ioctl(self, cmds);
	for (r = 0; r < RANKS; r++)
		for (i = 0; i < count; i += 1 + (i & 7))
			self->wrong += self->out[r][i] != test_value_sum(RANKS, i);
	return ret ?: !look(self, (count * 4 + SLICE - 1) / SLICE, where);
}

TEST_F(numa, each_slice_once)
{
	static const uint64_t counts[] = { 16385, 40000, 131072, 999999, COUNT - 1, COUNT };
	unsigned int n, round;
	enum where where;

	for (where = 0; where < NR_WHERES; where++) {
		vectors(self, where);
		for (n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
			for (round = 0; round < 4; round++) {
				EXPECT_EQ(0, sum(self, where, counts[n], round & 1)) {
					TH_LOG("%lu elements, memory %d", counts[n], where);
				}
			}
		}
		unmap(self);
	}
	EXPECT_EQ(0, self->wrong);
}

/* Return: did both nodes do slices, mostly near ones? By chance, half of them would be near. */
static bool are_near(struct __test_metadata *_metadata, FIXTURE_DATA(numa) *self, bool uring)
{
	unsigned int round;

	self->nr = 0;
	self->near = 0;
	memset(self->by_node, 0, sizeof(self->by_node));
	for (round = 0; round < 16; round++)
		ASSERT_EQ(0, sum(self, HALVES, COUNT, uring));
	TH_LOG("%lu of %lu slices by CPUs of their node; node 0 did %lu, node 1 %lu",
	       self->near, self->nr, self->by_node[0], self->by_node[1]);
	return self->near > self->nr * 2 / 3 && self->by_node[0] > self->nr / 8 &&
	       self->by_node[1] > self->nr / 8;
}

/* Something else may use the CPUs of one node meanwhile. */
static void mostly_near(struct __test_metadata *_metadata, FIXTURE_DATA(numa) *self, bool uring)
{
	bool near = false;
	int i;

	vectors(self, HALVES);
	for (i = 0; i < 5 && !near; i++)
		near = are_near(_metadata, self, uring);
	EXPECT_TRUE(near);
	EXPECT_EQ(0, self->wrong);
	unmap(self);
}

TEST_F(numa, callers_near)	{ mostly_near(_metadata, self, false); }
TEST_F(numa, workers_near)	{ mostly_near(_metadata, self, true); }

TEST_HARNESS_MAIN
