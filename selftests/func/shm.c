// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the ranks of a node: who may map what, for how long, what the kernel writes
 * there, and waiting for what ranks write there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "util.h"

#define MS	1000000ULL
#define SECOND	(1000 * MS)
#define RANKS	3

/**
 * struct view - the memory as one rank has it
 * @fd: its file
 * @s: what COLL_IOC_SHM said
 * @all: everything, read-only
 * @own: the own area
 */
struct view {
	int fd;
	struct coll_shm s;
	const uint8_t *all;
	uint8_t *own;
};

static int shm_ioctl(int fd, struct coll_shm *s)
{
	memset(s, 0, sizeof(*s));
	return ioctl(fd, COLL_IOC_SHM, s) ? -errno : 0;
}

/* An address, or -errno. */
static long try_map(int fd, size_t size, uint64_t offset, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	return p == MAP_FAILED ? -errno : (long)p;
}

static int shm_wait(int fd, uint64_t pos, uint64_t timeout_ns)
{
	struct coll_shm_wait w = { .pos = pos, .timeout_ns = timeout_ns };

	return ioctl(fd, COLL_IOC_SHM_WAIT, &w) ? -errno : 0;
}

static int shm_wake(int fd)
{
	return ioctl(fd, COLL_IOC_SHM_WAKE) ? -errno : 0;
}

static const struct coll_shm_header *header(const struct view *v)
{
	return (const void *)v->all;
}

static const struct coll_shm_rank *rank_of(const struct view *v, uint32_t local)
{
	return (const void *)(v->all + header(v)->rank_offset + local * header(v)->rank_size);
}

/* Says that the rank is at @pos. */
static void put_pos(const struct view *v, uint64_t pos)
{
	const struct coll_shm_header *h = header(v);
	struct coll_shm_slot *slot;

	slot = (void *)(v->own + h->slot_offset + pos % COLL_SHM_SLOTS * h->slot_size);
	__atomic_store_n(&slot->pos, pos, __ATOMIC_SEQ_CST);
}

FIXTURE(shm)
{
	struct raw_comm c;
	struct view v[RANKS];
};

static int map_rank(struct view *v)
{
	long p = try_map(v->fd, v->s.size, 0, PROT_READ, MAP_SHARED);

	if (p < 0)
		return p;
	v->all = (const uint8_t *)p;
	p = try_map(v->fd, v->s.own_size, v->s.own_offset, PROT_READ | PROT_WRITE, MAP_SHARED);
	if (p < 0)
		return p;
	v->own = (uint8_t *)p;
	return 0;
}

FIXTURE_SETUP(shm)
{
	uint32_t r;

	ASSERT_EQ(0, raw_start(&self->c, RANKS, 1));
	for (r = 0; r < RANKS; r++) {
		self->v[r].fd = self->c.fd[r];
		ASSERT_EQ(0, shm_ioctl(self->c.fd[r], &self->v[r].s));
	}
	for (r = 0; r < RANKS; r++)
		ASSERT_EQ(0, map_rank(&self->v[r]));
}

FIXTURE_TEARDOWN(shm)
{
	uint32_t r;

	raw_stop(&self->c);
	for (r = 0; r < RANKS; r++) {
		munmap((void *)self->v[r].all, self->v[r].s.size);
		munmap(self->v[r].own, self->v[r].s.own_size);
	}
}

/* Closed is closed, even though its memory is mapped. */
static void close_rank(struct raw_comm *c, uint32_t r)
{
	close(c->fd[r]);
	c->fd[r] = -1;
}

TEST_F(shm, layout_is_told)
{
	const struct coll_shm_header *h = header(&self->v[0]);
	uint32_t r;

	EXPECT_TRUE(raw_features() & COLL_FEAT_SHM);
	EXPECT_EQ(COLL_SHM_MAGIC, h->magic);
	EXPECT_EQ(COLL_SHM_VERSION, h->version);
	EXPECT_EQ(RANKS, h->nr_local);
	EXPECT_EQ(1, h->active);
	EXPECT_EQ(0, h->failed);
	EXPECT_GE(h->slot_size, h->data_size + sizeof(struct coll_shm_slot));
	EXPECT_GE(h->area_size, h->slot_offset + COLL_SHM_SLOTS * h->slot_size);
	EXPECT_EQ(self->v[0].s.size, h->area_offset + RANKS * h->area_size);
	for (r = 0; r < RANKS; r++) {
		EXPECT_EQ(r, self->v[r].s.local);
		EXPECT_EQ(r, rank_of(&self->v[0], r)->rank);
		EXPECT_EQ(h->area_size, self->v[r].s.own_size);
		EXPECT_EQ(h->area_offset + r * h->area_size, self->v[r].s.own_offset);
	}
}

TEST_F(shm, others_see_what_a_rank_writes)
{
	const struct view *v = self->v;
	uint64_t i, lot = test_seed();

	for (i = 0; i < v[1].s.own_size; i++)
		v[1].own[i] = test_rand(&lot);
	EXPECT_EQ(0, memcmp(v[1].own, v[0].all + v[1].s.own_offset, v[1].s.own_size));
	EXPECT_EQ(0, memcmp(v[1].own, v[2].all + v[1].s.own_offset, v[1].s.own_size));
}

TEST_F(shm, only_the_own_area_is_writable)
{
	const struct view *v = &self->v[1];
	const int rw = PROT_READ | PROT_WRITE, page = getpagesize();
	const uint64_t own = v->s.own_offset, size = v->s.own_size;

	EXPECT_EQ(-EACCES, try_map(v->fd, v->s.size, 0, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, page, 0, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, self->v[0].s.own_offset, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, self->v[2].s.own_offset, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, own - page, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, own + page, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, own, PROT_READ | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(v->fd, size, own, rw, MAP_PRIVATE));
	EXPECT_EQ(-EINVAL, try_map(v->fd, v->s.size + page, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(v->fd, page, v->s.size, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(v->fd, page, 1ULL << 40, PROT_READ, MAP_SHARED));
}

TEST_F(shm, a_mapping_gets_no_further_rights)
{
	const struct view *v = &self->v[0];
	void *all = (void *)v->all;

	EXPECT_EQ(-1, mprotect(all, v->s.size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(all + v->s.own_offset, v->s.own_size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-1, mprotect(all, v->s.size, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(v->own, v->s.own_size, PROT_READ | PROT_EXEC));
	EXPECT_TRUE(mremap(all, v->s.size, v->s.size + getpagesize(), MREMAP_MAYMOVE) ==
		    MAP_FAILED);
	EXPECT_EQ(-1, madvise(v->own, v->s.own_size, MADV_DOFORK));
	EXPECT_EQ(EINVAL, errno);
}

/* The status of a child that runs @fn. */
static int in_child(int (*fn)(struct view *v), struct view *v)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fn(v));
	waitpid(pid, &status, 0);
	return status;
}

static int child_reads(struct view *v)
{
	signal(SIGSEGV, SIG_DFL);
	return *(volatile const uint8_t *)v->all;
}

static int child_asks(struct view *v)
{
	struct coll_shm s;

	return shm_ioctl(v->fd, &s) != -EPERM || shm_wait(v->fd, 1, 1) != -EPERM ||
	       shm_wake(v->fd) != -EPERM ||
	       try_map(v->fd, v->s.size, 0, PROT_READ, MAP_SHARED) != -EPERM;
}

TEST_F(shm, a_child_has_no_part_in_it)
{
	int status = in_child(child_reads, &self->v[0]);

	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	EXPECT_EQ(0, in_child(child_asks, &self->v[0]));
}

TEST_F(shm, kernel_ops_are_told)
{
	const struct coll_shm_rank *r = rank_of(&self->v[0], 1);
	struct coll_status s;

	EXPECT_EQ(0, r->posted);
	ASSERT_EQ(0, test_good(&self->c));
	EXPECT_LE(1, r->posted);
	EXPECT_EQ(r->posted, r->completed);
	ASSERT_EQ(0, raw_status(self->c.fd[1], &s));
	EXPECT_EQ(s.posted, r->posted);
	((struct coll_shm_area *)self->v[1].own)->ops = 5;
	ASSERT_EQ(0, raw_status(self->c.fd[1], &s));
	EXPECT_EQ(5, s.shm_ops);
}

TEST_F(shm, leaving_and_failure_are_told)
{
	const struct view *v = &self->v[0];

	EXPECT_EQ(0, rank_of(v, 2)->left);
	close_rank(&self->c, 2);
	EXPECT_EQ(1, rank_of(v, 2)->left);
	EXPECT_EQ(0, header(v)->failed);
	ASSERT_EQ(0, raw_abort(v->fd, 3));
	EXPECT_EQ(ESHUTDOWN, header(v)->failed);
}

TEST_F(shm, memory_outlives_the_communicator)
{
	const struct view *v = &self->v[0];
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		close_rank(&self->c, r);
	/* A group is freed a moment later. */
	test_sleep_us(300000);
	memset(v->own, 0x5a, v->s.own_size);
	EXPECT_EQ(0x5a, self->v[1].all[v->s.own_offset]);
	EXPECT_EQ(COLL_SHM_MAGIC, header(v)->magic);
}

/* What a page has that nobody has written: zeroes. What is written there, others see. */
TEST_F(shm, pages_come_when_they_are_touched)
{
	const struct view *v = &self->v[0];
	uint64_t page = sysconf(_SC_PAGESIZE), i;

	for (i = v->s.own_size - page; i > v->s.own_size / 2; i -= page) {
		EXPECT_EQ(0, self->v[1].all[v->s.own_offset + i + 7]);
		v->own[i + 7] = i / page;
		EXPECT_EQ((uint8_t)(i / page), self->v[1].all[v->s.own_offset + i + 7]);
		EXPECT_EQ((uint8_t)(i / page), self->v[2].all[v->s.own_offset + i + 7]);
	}
}

/* Return: bytes that are free, or -1. */
static long long free_bytes(void)
{
	long long kib = -1;
	char line[128];
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %lld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib < 0 ? -1 : kib * 1024;
}

#define GROUPS	40

TEST(unused_memory_is_not_there)
{
	struct raw_comm c[GROUPS];
	struct view v[2] = { };
	long long before;
	uint64_t size = 0;
	uint32_t i, r;

	before = free_bytes();
	ASSERT_LT(0, before);
	for (i = 0; i < GROUPS; i++) {
		ASSERT_EQ(0, raw_start(&c[i], 2, 1));
		for (r = 0; r < 2; r++) {
			memset(&v[r].s, 0, sizeof(v[r].s));
			v[r].fd = c[i].fd[r];
			ASSERT_EQ(0, shm_ioctl(v[r].fd, &v[r].s));
		}
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, map_rank(&v[r]));
			/* It is mapped, and not used. */
			munmap((void *)v[r].all, v[r].s.size);
			munmap(v[r].own, v[r].s.own_size);
		}
		size += v[0].s.size;
	}
	EXPECT_GT(size / 4, before - free_bytes()) {
		TH_LOG("%llu bytes of shared memory, and %lld of the machine's are gone",
		       (unsigned long long)size, before - free_bytes());
	}
	for (i = 0; i < GROUPS; i++)
		raw_stop(&c[i]);
}

/**
 * struct sleeper - a thread in COLL_IOC_SHM_WAIT
 * @result: of the call; 1: it has not returned
 */
struct sleeper {
	pthread_t thread;
	int fd;
	uint64_t pos, timeout_ns;
	atomic_int result;
};

static void *sleep_thread(void *arg)
{
	struct sleeper *s = arg;

	s->result = shm_wait(s->fd, s->pos, s->timeout_ns);
	return NULL;
}

static void sleep_begin(struct sleeper *s, int fd, uint64_t pos, uint64_t timeout_ns)
{
	*s = (struct sleeper){ .fd = fd, .pos = pos, .timeout_ns = timeout_ns, .result = 1 };
	pthread_create(&s->thread, NULL, sleep_thread, s);
	test_sleep_us(50000);
}

static int sleep_end(struct sleeper *s)
{
	uint64_t start = test_now_ns();

	while (s->result == 1 && test_now_ns() - start < 20 * SECOND)
		test_sleep_us(1000);
	if (s->result == 1)
		return 1;
	pthread_join(s->thread, NULL);
	return s->result;
}

TEST_F(shm, a_sleeper_is_woken_when_all_are_there)
{
	struct view *v = self->v;
	struct sleeper s;

	put_pos(&v[0], 7);
	sleep_begin(&s, v[0].fd, 7, 0);
	EXPECT_EQ(1, s.result);
	put_pos(&v[1], 7);
	EXPECT_EQ(0, shm_wake(v[1].fd));
	test_sleep_us(50000);
	EXPECT_EQ(1, s.result);
	put_pos(&v[2], 7);
	EXPECT_EQ(0, shm_wake(v[2].fd));
	EXPECT_EQ(0, sleep_end(&s));
}

TEST_F(shm, a_sleeper_hears_of_who_goes_by_the_kernel)
{
	struct coll_cmd cmd, cmds[RANKS];
	int results[RANKS];
	struct sleeper s;

	sleep_begin(&s, self->v[0].fd, 1, 0);
	raw_barrier(&cmd);
	ASSERT_EQ(1, raw_post_cmd(self->v[2].fd, &cmd, 0));
	EXPECT_EQ(0, sleep_end(&s));
	/* It is the first op there. */
	raw_barrier(&cmds[0]);
	raw_barrier(&cmds[1]);
	self->c.size = 2;
	EXPECT_EQ(0, raw_all(&self->c, cmds, results));
	self->c.size = RANKS;
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(0, results[1]);
	EXPECT_EQ(1, rank_of(&self->v[0], 2)->completed);
}

/* The slots say it all, but whoever came last has been stopped before it could wake anybody. */
TEST_F(shm, a_sleeper_looks_by_itself)
{
	struct sleeper s;
	uint32_t r;

	sleep_begin(&s, self->v[0].fd, 1, 0);
	for (r = 0; r < RANKS; r++)
		put_pos(&self->v[r], 1);
	EXPECT_EQ(0, sleep_end(&s));
}

/* Another thread of this rank has given an op to the kernel: both ranks have posted one now. */
TEST_F(shm, a_sleeper_knows_what_was_posted_before)
{
	struct coll_cmd cmd;
	struct sleeper s;

	sleep_begin(&s, self->v[0].fd, 1, 0);
	raw_barrier(&cmd);
	ASSERT_EQ(1, raw_post_cmd(self->v[0].fd, &cmd, 0));
	test_sleep_us(50000);
	EXPECT_EQ(1, s.result);
	ASSERT_EQ(1, raw_post_cmd(self->v[2].fd, &cmd, 0));
	EXPECT_EQ(0, sleep_end(&s));
}

TEST_F(shm, posted_is_checked)
{
	struct coll_shm_wait w = { .pos = 1, .posted = 1 };

	EXPECT_EQ(-1, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
	EXPECT_EQ(EINVAL, errno);
}

/* Another thread closes the file, of which the sleeper holds the last reference. */
TEST_F(shm, close_ends_a_sleep)
{
	struct sleeper s;

	sleep_begin(&s, self->v[0].fd, 1, 0);
	close_rank(&self->c, 0);
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(EHOSTDOWN, header(&self->v[1])->failed);
}

TEST_F(shm, few_may_sleep)
{
	struct sleeper s[COLL_SHM_SLEEPERS];
	int i;

	for (i = 0; i < COLL_SHM_SLEEPERS; i++)
		sleep_begin(&s[i], self->v[0].fd, 1, 0);
	EXPECT_EQ(-EBUSY, shm_wait(self->v[0].fd, 1, 0));
	EXPECT_EQ(-ETIMEDOUT, shm_wait(self->v[1].fd, 1, MS) ?: -(int)header(self->v)->failed);
	for (i = 0; i < COLL_SHM_SLEEPERS; i++)
		EXPECT_EQ(0, sleep_end(&s[i]));
}

TEST_F(shm, a_sleeper_hears_of_who_leaves)
{
	struct sleeper s;

	sleep_begin(&s, self->v[0].fd, 1, 0);
	close_rank(&self->c, 1);
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(0, header(&self->v[0])->failed);
}

TEST_F(shm, a_sleeper_hears_of_a_failure)
{
	struct sleeper s;

	sleep_begin(&s, self->v[0].fd, 1, 0);
	ASSERT_EQ(0, raw_abort(self->v[1].fd, 1));
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(ESHUTDOWN, header(&self->v[0])->failed);
}

TEST_F(shm, a_look_ends_and_nothing_else)
{
	struct coll_shm_wait w = {
		.pos = 1, .timeout_ns = 20 * MS, .flags = COLL_SHM_WAIT_LOOK,
	};

	put_pos(&self->v[0], 1);
	put_pos(&self->v[2], 1);
	ASSERT_EQ(-1, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
	EXPECT_EQ(ETIME, errno);
	EXPECT_EQ(0, header(&self->v[0])->failed);
	put_pos(&self->v[1], 1);
	EXPECT_EQ(0, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
}

TEST_F(shm, a_deadline_ends_the_communicator)
{
	struct coll_status st;
	struct sleeper s;

	put_pos(&self->v[0], 1);
	put_pos(&self->v[2], 1);
	sleep_begin(&s, self->v[0].fd, 1, 0);
	ASSERT_EQ(0, raw_status(self->v[0].fd, &st));
	EXPECT_EQ(1, st.late_rank);
	EXPECT_EQ(1, st.nr_late);
	EXPECT_EQ(0, shm_wait(self->v[2].fd, 1, 100 * MS));
	EXPECT_EQ(0, sleep_end(&s));
	EXPECT_EQ(ETIMEDOUT, header(&self->v[0])->failed);
	ASSERT_EQ(0, raw_status(self->v[0].fd, &st));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, st.cause.kind);
	EXPECT_EQ(1, st.cause.rank);
	EXPECT_EQ(1, st.cause.seq);
}

static void nothing(int sig)
{
}

TEST_F(shm, a_signal_ends_the_sleep)
{
	struct sigaction act = { .sa_handler = nothing };
	struct sleeper s;

	sigaction(SIGUSR1, &act, NULL);
	sleep_begin(&s, self->v[0].fd, 1, 0);
	pthread_kill(s.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, sleep_end(&s));
}

/* Ranks may write anything there: the others see what the kernel knows, or wait in vain. */
TEST_F(shm, random_bytes_do_no_harm)
{
	uint64_t lot = test_seed();
	struct coll_shm_wait w = { .timeout_ns = 1 };
	uint32_t i, r, at;
	struct coll_status s;

	for (i = 0; i < test_scale(1000); i++) {
		for (r = 0; r < RANKS; r++) {
			at = test_below(&lot, self->v[r].s.own_size / 8) * 8;
			*(uint64_t *)(self->v[r].own + at) = test_rand(&lot);
			*(uint64_t *)self->v[r].own = test_below(&lot, 4);
		}
		ASSERT_EQ(0, raw_status(self->v[0].fd, &s));
		ASSERT_EQ(0, shm_wake(self->v[1].fd));
		ASSERT_EQ(0, s.cause.error);
		if (!(i % 100))
			ASSERT_EQ(0, test_good(&self->c));
	}
	w.pos = test_rand(&lot) | 1;
	w.posted = rank_of(&self->v[0], 0)->posted;
	ASSERT_EQ(0, ioctl(self->v[0].fd, COLL_IOC_SHM_WAIT, &w));
	ASSERT_EQ(0, raw_status(self->v[0].fd, &s));
	EXPECT_EQ(ETIMEDOUT, s.cause.error);
}

TEST(who_has_none)
{
	struct coll_shm s;
	struct raw_comm c;
	int fd = raw_open();

	EXPECT_EQ(-ENOTCONN, shm_ioctl(fd, &s));
	EXPECT_EQ(-ENOTCONN, shm_wait(fd, 1, 0));
	EXPECT_EQ(-ENOTCONN, shm_wake(fd));
	EXPECT_EQ(-ENODEV, try_map(fd, 4096, 0, PROT_READ, MAP_SHARED));
	close(fd);

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	EXPECT_EQ(-EOPNOTSUPP, shm_ioctl(c.fd[0], &s));
	raw_stop(&c);
	ASSERT_EQ(0, raw_start(&c, 2, 2));
	EXPECT_EQ(-EOPNOTSUPP, shm_ioctl(c.fd[0], &s));
	raw_stop(&c);
	ASSERT_EQ(0, raw_start_named(&c, 2, 1));
	EXPECT_EQ(-EOPNOTSUPP, shm_ioctl(c.fd[0], &s));
	raw_stop(&c);
}

TEST(all_have_to_ask)
{
	struct coll_shm s[2];
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	EXPECT_EQ(-ENODEV, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-ENOTCONN, shm_wait(c.fd[0], 1, 0));
	ASSERT_EQ(0, shm_ioctl(c.fd[0], &s[0]));
	EXPECT_EQ(-EAGAIN, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-ENOTCONN, shm_wait(c.fd[0], 1, 0));
	/* Again: the same, and it does not count as another rank's. */
	ASSERT_EQ(0, shm_ioctl(c.fd[0], &s[1]));
	EXPECT_EQ(0, memcmp(&s[0], &s[1], sizeof(s[0])));
	EXPECT_EQ(-EAGAIN, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, shm_ioctl(c.fd[1], &s[1]));
	EXPECT_LT(0, try_map(c.fd[0], 4096, 0, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, raw_abort(c.fd[0], 0));
	EXPECT_EQ(-ESHUTDOWN, shm_ioctl(c.fd[0], &s[0]));
	raw_stop(&c);
}

#define REFUSED(what, ...)				\
do {							\
	memset(&s, 0, sizeof(s));			\
	memset(&w, 0, sizeof(w));			\
	w.pos = 1;					\
	__VA_ARGS__;					\
	EXPECT_EQ(-1, ioctl(c.fd[0], what, arg));	\
	EXPECT_EQ(EINVAL, errno);			\
} while (0)

TEST(bad_arguments)
{
	struct coll_shm_wait w;
	struct coll_shm s;
	struct raw_comm c;
	void *arg;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	arg = &s;
	REFUSED(COLL_IOC_SHM, s.flags = 1);
	REFUSED(COLL_IOC_SHM, s.local = 1);
	REFUSED(COLL_IOC_SHM, s.size = 1);
	REFUSED(COLL_IOC_SHM, s.reserved[1] = 1);
	arg = &w;
	REFUSED(COLL_IOC_SHM_WAIT, w.pos = 0);
	REFUSED(COLL_IOC_SHM_WAIT, w.flags = COLL_SHM_WAIT_LOOK << 1);
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_SHM, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_SHM_WAIT, NULL));
	EXPECT_EQ(EFAULT, errno);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
