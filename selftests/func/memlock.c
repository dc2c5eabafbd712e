// SPDX-License-Identifier: GPL-2.0
/*
 * Locked memory: what goes beyond RLIMIT_MEMLOCK is not registered, and nothing
 * stays charged; but a plain op of any size runs, through windows.
 */
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"
#include "util.h"

#define PAGES	16
#define PAGE	4096UL
#define SECOND	1000000000ULL

static int reg(int fd, void *addr, uint64_t len, struct coll_register *r)
{
	memset(r, 0, sizeof(*r));
	r->addr = (uintptr_t)addr;
	r->len = len;
	r->flags = COLL_REG_WRITE;
	return ioctl(fd, COLL_IOC_REGISTER, r) < 0 ? -errno : 0;
}

static int unreg(int fd, uint32_t id)
{
	struct coll_unregister u = { .id = id };

	return ioctl(fd, COLL_IOC_UNREGISTER, &u) < 0 ? -errno : 0;
}

static char *memory(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST(register_up_to_the_limit)
{
	struct coll_register r;
	struct coll_status s;
	char *mem = memory((PAGES + 1) * PAGE);
	uint32_t ids[PAGES];
	int fd, i, round;

	ASSERT_EQ(0, test_become_nobody(PAGES * PAGE));
	fd = raw_open();
	ASSERT_GE(fd, 0);
	for (round = 0; round < 3; round++) {
		EXPECT_EQ(-ENOMEM, reg(fd, mem, PAGES * PAGE + 1, &r));
		/* one byte on each side of a border counts both pages */
		EXPECT_EQ(-ENOMEM, reg(fd, mem + 1, PAGES * PAGE, &r));
		EXPECT_EQ(-ENOMEM, reg(fd, mem, (PAGES + 1) * PAGE, &r));
		ASSERT_EQ(0, raw_status(fd, &s));
		EXPECT_EQ(0, s.pinned);
		/* nothing stayed charged: exactly the limit fits */
		EXPECT_EQ(0, reg(fd, mem, PAGES * PAGE, &r));
		ids[0] = r.id;
		EXPECT_EQ(-ENOMEM, reg(fd, mem, 1, &r));
		EXPECT_EQ(0, unreg(fd, ids[0]));
	}
	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(0, reg(fd, mem + i * PAGE, PAGE, &r));
		ids[i] = r.id;
	}
	EXPECT_EQ(-ENOMEM, reg(fd, mem, 1, &r));
	/* a fault in the middle, after pages have been pinned already */
	for (i = 0; i < PAGES; i++)
		EXPECT_EQ(0, unreg(fd, ids[i]));
	munmap(mem + 5 * PAGE, PAGE);
	EXPECT_EQ(-EFAULT, reg(fd, mem, PAGES * PAGE, &r));
	EXPECT_EQ(0, reg(fd, mem + 6 * PAGE, (PAGES - 5) * PAGE, &r));
	EXPECT_EQ(0, reg(fd, mem, 5 * PAGE, &r));
	EXPECT_EQ(-ENOMEM, reg(fd, mem, 1, &r));
	close(fd);
	/* and the file took its registrations with it */
	fd = raw_open();
	EXPECT_EQ(0, reg(fd, mem + 6 * PAGE, (PAGES - 5) * PAGE, &r));
	EXPECT_EQ(0, reg(fd, mem, 5 * PAGE, &r));
	close(fd);
}

/* The limit is the user's, not the process's. */
TEST(processes_share_the_limit)
{
	struct coll_register r;
	char *mem = memory(PAGES * PAGE);
	int fd, status;
	pid_t pid;

	ASSERT_EQ(0, test_become_nobody(PAGES * PAGE));
	fd = raw_open();
	ASSERT_EQ(0, reg(fd, mem, PAGES / 2 * PAGE, &r));
	pid = fork();
	if (!pid) {
		int bad = 0;

		fd = raw_open();
		bad |= (reg(fd, mem, (PAGES / 2 + 1) * PAGE, &r) != -ENOMEM) << 0;
		bad |= (reg(fd, mem, PAGES / 2 * PAGE, &r) != 0) << 1;
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, reg(fd, mem, PAGES / 2 * PAGE, &r));
	close(fd);
}

TEST(root_has_no_limit)
{
	struct rlimit rl = { PAGE, PAGE };
	struct coll_register r;
	char *mem = memory(PAGES * PAGE);
	int fd;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &rl));
	fd = raw_open();
	EXPECT_EQ(0, reg(fd, mem, PAGES * PAGE, &r));
	close(fd);
}

/* i32 sums over ranks that may not pin: @off bytes off the page, in or out of place. */
static int windowed(struct raw_comm *c, uint64_t count, size_t off, bool inplace,
		    uint64_t *wanted)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX];
	char *in[RAW_MAX], *out[RAW_MAX];
	struct coll_status s;
	uint32_t r;
	uint64_t i;
	int ret, wrong = 0;
	int32_t v;

	for (r = 0; r < c->size; r++) {
		in[r] = memory(count * 4 + 2 * PAGE) + off;
		out[r] = inplace ? in[r] : memory(count * 4 + 2 * PAGE) + 3 * off;
		for (i = 0; i < count; i++) {
			v = test_value(r, i);
			memcpy(in[r] + i * 4, &v, 4);
		}
		raw_allreduce(&cmds[r], inplace ? NULL : in[r], out[r], count,
			      COLL_I32, COLL_OP_SUM);
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	*wanted = ~0ULL;
	for (r = 0; r < c->size; r++) {
		if (!ret)
			ret = results[r];
		for (i = 0; i < count; i++) {
			v = test_value_sum(c->size, i);
			wrong += memcmp(out[r] + i * 4, &v, 4) != 0;
		}
		raw_status(c->fd[r], &s);
		if (s.memlock_wanted < *wanted)
			*wanted = s.memlock_wanted;
		munmap(in[r] - off, count * 4 + 2 * PAGE);
		if (!inplace)
			munmap(out[r] - 3 * off, count * 4 + 2 * PAGE);
	}
	return ret ? ret : wrong;
}

static void windows(struct __test_metadata *_metadata, uint32_t size,
		    uint32_t nodes, unsigned long limit)
{
	static const uint64_t counts[] = { 1, 1023, 1024, 1025, 20000, 200003 };
	struct raw_comm c;
	uint64_t wanted;
	size_t i, off;

	ASSERT_EQ(0, test_become_nobody(limit));
	ASSERT_EQ(0, raw_start(&c, size, nodes));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (off = 0; off < 4; off += 1 + 2 * (off == 1)) {
			EXPECT_EQ(0, windowed(&c, counts[i], off, false, &wanted)) {
				TH_LOG("%u ranks, %u nodes, count %llu, off %zu",
				       size, nodes, (unsigned long long)counts[i], off);
			}
			EXPECT_EQ(0, windowed(&c, counts[i], off, true, &wanted)) {
				TH_LOG("in place: %u ranks, %u nodes, count %llu, off %zu",
				       size, nodes, (unsigned long long)counts[i], off);
			}
		}
	}
	/* the last one did not fit for sure */
	EXPECT_GE(wanted, 200003 * 4ULL);
	raw_stop(&c);
}

/*
 * A buffer registered for reading before its first write: the pin must not hold
 * the zero page, which the write leaves behind (kernels before 6.2 do that).
 */
TEST(registered_before_the_first_write)
{
	int32_t *in = (int32_t *)memory(4 * PAGE), *out = (int32_t *)memory(4 * PAGE);
	struct coll_register r = { .addr = (uintptr_t)in, .len = 4 * PAGE };
	uint32_t i, n = 4 * PAGE / sizeof(*in);
	struct coll_cmd cmd;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_EQ(0, ioctl(c.fd[0], COLL_IOC_REGISTER, &r));
	for (i = 0; i < n; i++)
		in[i] = i + 1;
	raw_allreduce(&cmd, in, out, n, COLL_I32, COLL_OP_SUM);
	cmd.flags = COLL_CMD_REG_SEND;
	cmd.send_buf = r.id;
	EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
	for (i = 0; i < n; i++)
		ASSERT_EQ((int32_t)i + 1, out[i]);
	raw_stop(&c);
}

TEST(windows_one_rank)		{ windows(_metadata, 1, 1, 0); }
TEST(windows_one_node)		{ windows(_metadata, 4, 1, 0); }
TEST(windows_two_nodes)		{ windows(_metadata, 2, 2, 0); }
TEST(windows_three_nodes)	{ windows(_metadata, 5, 3, 0); }
/* some vectors are pinned, others go through windows */
TEST(windows_mixed_one_node)	{ windows(_metadata, 4, 1, 200 * PAGE); }
TEST(windows_mixed_two_nodes)	{ windows(_metadata, 4, 2, 200 * PAGE); }

TEST(windows_broadcast)
{
	struct coll_cmd cmds[3];
	int results[3];
	struct raw_comm c;
	char *mem[3];
	uint64_t i, wrong = 0, bytes = 1000003;
	uint32_t r;

	ASSERT_EQ(0, test_become_nobody(0));
	ASSERT_EQ(0, raw_start(&c, 3, 2));
	for (r = 0; r < 3; r++) {
		mem[r] = memory(bytes + PAGE) + r;
		for (i = 0; r == 2 && i < bytes; i++)
			mem[r][i] = i * 31 >> 3;
		raw_broadcast(&cmds[r], mem[r], bytes, COLL_BYTE, 2);
		cmds[r].timeout_ns = 10 * SECOND;
	}
	ASSERT_EQ(0, raw_all(&c, cmds, results));
	for (r = 0; r < 3; r++) {
		EXPECT_EQ(0, results[r]);
		for (i = 0; i < bytes; i++)
			wrong += mem[r][i] != (char)(i * 31 >> 3);
	}
	EXPECT_EQ(0, wrong);
	raw_stop(&c);
}

struct unmapper {
	pthread_t thread;
	int fd;
	char *mem;
	size_t bytes;
	unsigned int delay;
};

static void *unmap_later(void *arg)
{
	struct unmapper *u = arg;
	struct coll_status s;

	/* Earlier, the command itself would be refused. */
	while (!raw_status(u->fd, &s) && !s.posted)
		test_sleep_us(100);
	test_sleep_us(u->delay);
	munmap(u->mem, u->bytes);
	return NULL;
}

/* A window that is not there any more ends the communicator, no more. */
TEST(window_unmapped_on_the_way)
{
	const uint64_t bytes = 1 << 20;
	uint64_t seed = test_seed();
	struct coll_cmd cmds[4];
	struct unmapper u;
	struct raw_comm c;
	int results[4];
	uint32_t r, n;

	ASSERT_EQ(0, test_become_nobody(0));
	for (n = 0; n < test_scale(20); n++) {
		ASSERT_EQ(0, raw_start(&c, 4, 1 + n % 3));
		for (r = 0; r < 4; r++) {
			char *mem = memory(bytes);

			raw_allreduce(&cmds[r], NULL, mem, bytes / 4, COLL_I32,
				      COLL_OP_SUM);
			cmds[r].timeout_ns = 20 * SECOND;
			u.mem = mem;
			u.fd = c.fd[r];
		}
		u.bytes = bytes;
		u.delay = test_below(&seed, 20000);
		ASSERT_EQ(0, pthread_create(&u.thread, NULL, unmap_later, &u));
		ASSERT_EQ(0, raw_all(&c, cmds, results));
		pthread_join(u.thread, NULL);
		for (r = 0; r < 4; r++) {
			EXPECT_TRUE(results[r] == 0 || results[r] == -EFAULT) {
				TH_LOG("rank %u: %d", r, results[r]);
			}
			munmap((void *)cmds[r].recv_addr, bytes);
		}
		raw_stop(&c);
	}
}

/* Pages that are pinned now, by anybody. */
static long pins_out(void)
{
	long acquired = -1, released = 0, n;
	char name[64];
	FILE *f;

	f = fopen("/proc/sys/vm/stat_refresh", "w");
	if (!f || fputs("1", f) < 0 || fclose(f))
		return -1;
	f = fopen("/proc/vmstat", "r");
	while (f && fscanf(f, "%63s %ld", name, &n) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			acquired = n;
		if (!strcmp(name, "nr_foll_pin_released"))
			released = n;
	}
	if (f)
		fclose(f);
	return acquired - released;
}

/* Mapped all through, but some pages in the middle are behind the end of a file. */
static char *memory_that_ends(uint64_t bytes)
{
	char *mem = memory(bytes);
	int fd = memfd_create("coll", 0);

	if (fd < 0 || ftruncate(fd, 5 * PAGE) ||
	    mmap(mem, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != mem)
		return MAP_FAILED;
	close(fd);
	return mem;
}

/* Rank 0 has such memory, of which no look at the mappings, or at the ends, can tell. */
static int send_what_ends(void)
{
	const uint64_t bytes = 64 * PAGE;
	struct coll_cmd cmds[2];
	int results[2], ret;
	struct raw_comm c;
	uint32_t r;

	if (test_become_nobody(0) || raw_start(&c, 2, 2))
		return -1;
	for (r = 0; r < 2; r++) {
		raw_broadcast(&cmds[r], r ? memory(bytes) : memory_that_ends(bytes), bytes,
			      COLL_BYTE, 0);
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(&c, cmds, results);
	raw_stop(&c);
	return !ret && results[0] == -EFAULT && results[1] == -EFAULT ? 0 : -1;
}

/* The pages before those had been pinned, and are to be let go of once. */
TEST(window_that_ends)
{
	long before = pins_out();
	int i, status;
	pid_t child;

	ASSERT_LE(0, before);
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(send_what_ends() ? 1 : 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	for (i = 0; i < 100 && pins_out() != before; i++)
		test_sleep_us(10000);
	EXPECT_EQ(before, pins_out());
}

TEST_HARNESS_MAIN
