// SPDX-License-Identifier: GPL-2.0
/*
 * Another thread changes the command, and the SQE, while the kernel takes them: the kernel acts on
 * what it has checked. Nothing outside of what is mapped is touched, every call ends, and each SQE
 * has one CQE.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "pages.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
/* A buffer does not end with a page. No power of two of elements ends in the rest of the page. */
#define COUNT	5000

struct race {
	struct coll_cmd *cmd;
	struct coll_cmd good;
	uint64_t lots;
	volatile bool stop;
	volatile uint64_t changes;
};

/* Numbers that were checked become others, and come back. */
static void *change(void *arg)
{
	struct race *r = arg;
	volatile uint32_t *words = (volatile uint32_t *)r->cmd;
	const uint32_t *good = (const uint32_t *)&r->good;
	unsigned int at;

	while (!r->stop) {
		at = test_below(&r->lots, sizeof(*r->cmd) / 4);
		/* not the deadline: everything is to end */
		if (at == 10 || at == 11)
			continue;
		words[at] = test_below(&r->lots, 2) ? ~0U : 1U << test_below(&r->lots, 32);
		words[at] = good[at];
		/* User-mode Linux runs the threads of a process by turns. */
		if (!(++r->changes % 16))
			test_sleep_us(1);
	}
	return NULL;
}

FIXTURE(race) {
	struct raw_comm c;
	struct test_guarded in, out;
	struct coll_cmd shared;
	struct race r;
	pthread_t thread;
};

FIXTURE_SETUP(race)
{
	ASSERT_EQ(0, raw_start(&self->c, 1, 1));
	ASSERT_TRUE(test_guard(&self->in, COUNT * 4, true));
	ASSERT_TRUE(test_guard(&self->out, COUNT * 4, false));
	raw_allreduce(&self->r.good, self->in.mem, self->out.mem, COUNT, COLL_I32, COLL_OP_SUM);
	self->r.good.timeout_ns = SECOND / 50;
	self->shared = self->r.good;
	self->r.cmd = &self->shared;
	self->r.lots = test_seed();
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, change, &self->r));
	while (!self->r.changes)
		test_sleep_us(1000);
}

FIXTURE_TEARDOWN(race)
{
	self->r.stop = true;
	pthread_join(self->thread, NULL);
	EXPECT_LT(0, self->r.changes);
	EXPECT_EQ(0, test_guard_hurt(&self->in));
	EXPECT_EQ(0, test_guard_hurt(&self->out));
	raw_stop(&self->c);
	test_unguard(&self->in);
	test_unguard(&self->out);
}

/* A communicator that has failed cannot be used for the next race. */
static int again(struct raw_comm *c)
{
	struct coll_status s;

	if (!raw_status(c->fd[0], &s) && s.state != COLL_STATE_FAILED)
		return 0;
	raw_stop(c);
	return raw_start(c, 1, 1);
}

TEST_F(race, ioctl)
{
	unsigned int i, n = test_scale(3000), good = 0;

	for (i = 0; i < n; i++) {
		good += !raw_submit(self->c.fd[0], &self->shared);
		ASSERT_EQ(0, again(&self->c));
	}
	TH_LOG("%u of %u went through", good, n);
	EXPECT_LT(0, good);
}

TEST_F(race, uring)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	unsigned int i, n = test_scale(1000);
	struct io_uring_cqe *cqe;
	struct io_uring ring;

	ASSERT_EQ(0, io_uring_queue_init(8, &ring, 0));
	for (i = 0; i < n; i++) {
		ring_prep(io_uring_get_sqe(&ring), self->c.fd[0], &self->shared, i);
		ASSERT_EQ(1, io_uring_submit(&ring));
		ASSERT_EQ(0, io_uring_wait_cqe_timeout(&ring, &cqe, &ts));
		EXPECT_EQ(i, cqe->user_data);
		io_uring_cqe_seen(&ring, cqe);
		EXPECT_NE(0, io_uring_peek_cqe(&ring, &cqe));
		ASSERT_EQ(0, again(&self->c));
	}
	io_uring_queue_exit(&ring);
}

/* --- a change between two reads, for certain --- */

/*
 * The page border lies here in a command. Behind it all bytes are 0 in a plain allreduce: as in the
 * page that comes when the userfaultfd is closed.
 */
#define HEAD	offsetof(struct coll_cmd, counts_addr)

enum way { BY_IOCTL, BY_POST, BY_RING, WAYS };

/**
 * struct split - a command whose second page comes late
 * @head: its first part
 * @fd: userfaultfd of the page of the second part
 * @at: word of the first part that becomes another one when the kernel has read it
 * @waited: the kernel has waited for the page
 */
struct split {
	volatile uint32_t *head;
	int fd;
	unsigned int at;
	bool waited;
};

static void *change_behind(void *arg)
{
	struct split *s = arg;
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	/* Without it poll() reports an error. */
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	s->waited = poll(&p, 1, 20000) == 1 && p.revents == POLLIN;
	s->head[s->at] = ~s->head[s->at];
	close(s->fd);
	return NULL;
}

static int by_post(int fd, const struct coll_cmd *cmd)
{
	struct coll_completion done;
	int ret = raw_post_cmd(fd, cmd, 7);

	if (ret == 1)
		ret = raw_collect_cmds(fd, &done, 1, 1, 20 * SECOND);
	return ret == 1 ? done.result : -EIO;
}

static int by_ring(struct io_uring *ring, int fd, struct coll_cmd *cmd)
{
	struct __kernel_timespec ts = { .tv_sec = 20 };
	struct io_uring_cqe *cqe;
	int res;

	ring_prep(io_uring_get_sqe(ring), fd, cmd, 0);
	if (io_uring_submit(ring) != 1 || io_uring_wait_cqe_timeout(ring, &cqe, &ts))
		return -EIO;
	res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

/* Return: the result of the command. @s->waited is set if it was changed between two reads. */
static int run_split(struct split *s, struct raw_comm *c, struct io_uring *ring,
		     const struct coll_cmd *good, enum way way)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *mem = pages_map_absent(page, &s->fd);
	struct coll_cmd *cmd = (void *)(mem + page - HEAD);
	pthread_t thread;
	int ret;

	if (!mem)
		return -EIO;
	memcpy(cmd, good, HEAD);
	s->head = (void *)cmd;
	s->waited = false;
	if (pthread_create(&thread, NULL, change_behind, s))
		return -EIO;
	ret = way == BY_IOCTL ? raw_submit(c->fd[0], cmd) :
	      way == BY_POST ? by_post(c->fd[0], cmd) : by_ring(ring, c->fd[0], cmd);
	pthread_join(thread, NULL);
	munmap(mem, 2 * page);
	return ret;
}

TEST(read_once)
{
	static int32_t in[COUNT], out[COUNT];
	struct split s = { };
	struct io_uring ring;
	struct coll_cmd good;
	struct raw_comm c;
	unsigned int way;
	char *probe;

	probe = pages_map_absent(sysconf(_SC_PAGESIZE), &s.fd);
	if (!probe)
		SKIP(return, "no userfaultfd");
	close(s.fd);
	munmap(probe, 2 * sysconf(_SC_PAGESIZE));
	ASSERT_EQ(0, raw_start(&c, 1, 1));
	ASSERT_EQ(0, io_uring_queue_init(8, &ring, 0));
	raw_allreduce(&good, in, out, COUNT, COLL_I32, COLL_OP_SUM);
	for (way = 0; way < WAYS; way++)
		for (s.at = 0; s.at < HEAD / 4; s.at++) {
			memset(out, 0x5a, sizeof(out));
			EXPECT_EQ(0, run_split(&s, &c, &ring, &good, way))
				TH_LOG("way %u, word %u", way, s.at);
			EXPECT_TRUE(s.waited);
			EXPECT_EQ(0, memcmp(out, in, sizeof(out)));
		}
	io_uring_queue_exit(&ring);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
