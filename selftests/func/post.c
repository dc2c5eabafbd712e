// SPDX-License-Identifier: GPL-2.0
/*
 * COLL_IOC_POST and COLL_IOC_COLLECT: each command completes once, what is refused is not
 * posted, every wait ends, and nothing is left when the file or the process goes.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define MS	1000000ULL
#define MANY	500
#define FEW	8

static struct raw_comm c;

/* Return: how many, or -errno. */
static int post(int fd, struct coll_cmd *cmd, uint32_t nr, uint64_t tag)
{
	static struct coll_post_entry e[COLL_POST_MAX];
	struct coll_post p = { .entries = (uintptr_t)e, .nr = nr };
	uint32_t i;
	int ret;

	for (i = 0; i < nr; i++)
		e[i] = (struct coll_post_entry){
			.arg = (uintptr_t)&cmd[i], .len = sizeof(cmd[i]), .tag = tag + i,
		};
	ret = ioctl(fd, COLL_IOC_POST, &p);
	return ret < 0 ? -errno : ret;
}

static int collect(int fd, struct coll_completion *got, uint32_t nr, uint32_t min, uint64_t ns)
{
	struct coll_collect a = {
		.completions = (uintptr_t)got, .nr = nr, .min = min, .timeout_ns = ns,
	};
	int ret = ioctl(fd, COLL_IOC_COLLECT, &a);

	return ret < 0 ? -errno : ret;
}

/* The result of the next one, which is to be @tag; -ETIME if none comes for ten seconds. */
static int result(int fd, uint64_t tag)
{
	struct coll_completion got = { };
	int ret = collect(fd, &got, 1, 1, 10000 * MS);

	if (ret != 1)
		return ret ? ret : -ETIME;
	return got.tag == tag && !got.reserved ? got.result : -EXDEV;
}

static int send_one(uint32_t from, uint32_t to, uint32_t tag, const void *buf, uint64_t bytes)
{
	struct coll_cmd cmd;

	raw_send(&cmd, buf, bytes, COLL_BYTE, to, tag);
	cmd.handle = tag + 1;
	return post(c.fd[from], &cmd, 1, tag);
}

static int recv_one(uint32_t to, uint32_t from, uint32_t tag, void *buf, uint64_t bytes,
		    struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_recv(&cmd, buf, bytes, COLL_BYTE, from, tag, got);
	cmd.handle = tag + 1;
	return post(c.fd[to], &cmd, 1, tag);
}

FIXTURE(post) {
	uint32_t nodes;
};

FIXTURE_VARIANT(post) {
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(post, node) { .nodes = 1 };
FIXTURE_VARIANT_ADD(post, nodes) { .nodes = 2 };

FIXTURE_SETUP(post)
{
	self->nodes = variant->nodes;
	ASSERT_TRUE(raw_features() & COLL_FEAT_POST);
	ASSERT_EQ(0, raw_start(&c, 2, variant->nodes));
}

FIXTURE_TEARDOWN(post)
{
	raw_stop(&c);
}

/* Many in one call, received in reverse order: each tag comes back once. */
TEST_F(post, many)
{
	static int32_t in[MANY], out[MANY];
	static struct coll_message told[MANY];
	static struct coll_cmd cmd[MANY];
	static struct coll_completion got[MANY];
	static bool seen[2][MANY];
	uint32_t i, r, n;
	int ret;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < MANY; i++) {
		in[i] = i + 1;
		out[i] = 0;
		raw_send(&cmd[i], &in[i], 4, COLL_BYTE, 1, i);
	}
	ASSERT_EQ(MANY, post(c.fd[0], cmd, MANY, 0));
	for (i = 0; i < MANY; i++)
		raw_recv(&cmd[i], &out[MANY - 1 - i], 4, COLL_BYTE, 0, MANY - 1 - i,
			 &told[MANY - 1 - i]);
	ASSERT_EQ(MANY, post(c.fd[1], cmd, MANY, 0));
	for (r = 0; r < 2; r++) {
		for (n = 0; n < MANY; n += ret) {
			ret = collect(c.fd[r], got, MANY, 1, 10000 * MS);
			ASSERT_LT(0, ret) TH_LOG("after %u", n);
			for (i = 0; i < (uint32_t)ret; i++) {
				ASSERT_EQ(0, got[i].result);
				ASSERT_GT(MANY, got[i].tag);
				ASSERT_FALSE(seen[r][got[i].tag]);
				seen[r][got[i].tag] = true;
			}
		}
		/* no more, and nothing to wait for */
		EXPECT_EQ(0, collect(c.fd[r], got, MANY, 1, COLL_COLLECT_FOREVER));
	}
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ((int)i + 1, out[i]);
		ASSERT_EQ(4, told[i].bytes);
		ASSERT_EQ(i, told[i].tag);
	}
	EXPECT_EQ(0, test_good(&c));
}

/* Collectives, small and large; completions come in the order of the commands. */
TEST_F(post, collectives)
{
	static int32_t in[2][FEW][20000], out[2][FEW][20000];
	struct coll_cmd cmd[FEW];
	uint32_t r, i, n, k;

	for (r = 0; r < 2; r++) {
		for (i = 0; i < FEW; i++) {
			n = i & 1 ? 20000 : 3;
			for (k = 0; k < n; k++)
				in[r][i][k] = test_value(r, k + i);
			raw_allreduce(&cmd[i], in[r][i], out[r][i], n, COLL_I32, COLL_OP_SUM);
		}
		ASSERT_EQ(FEW, post(c.fd[r], cmd, FEW, 0));
	}
	for (r = 0; r < 2; r++) {
		for (i = 0; i < FEW; i++) {
			ASSERT_EQ(0, result(c.fd[r], i));
			for (k = 0; k < (i & 1 ? 20000 : 3); k++)
				ASSERT_EQ(test_value_sum(2, k + i), out[r][i][k]);
		}
	}
}

/* The first that is refused ends the call; what came before it is posted. */
TEST_F(post, refused)
{
	struct coll_post_entry e = { .tag = 1, .len = sizeof(struct coll_cmd) };
	struct coll_post p = { .entries = (uintptr_t)&e, .nr = 1 };
	struct coll_completion got[3];
	struct coll_cmd cmd[3];
	int32_t o = 0;
	int fd;

	e.arg = (uintptr_t)cmd;
	raw_recv(&cmd[0], &o, 4, COLL_BYTE, 1, 1, NULL);
	raw_recv(&cmd[1], &o, 4, COLL_BYTE, 7, 1, NULL);
	raw_recv(&cmd[2], &o, 4, COLL_BYTE, 1, 2, NULL);
	EXPECT_EQ(1, post(c.fd[0], cmd, 3, 5));
	EXPECT_EQ(-EINVAL, post(c.fd[0], &cmd[1], 2, 5));
	EXPECT_EQ(1, raw_cancel_receives(c.fd[0]));
	EXPECT_EQ(-ECANCELED, result(c.fd[0], 5));
	EXPECT_EQ(0, collect(c.fd[0], got, 3, 0, 0));

#define REFUSED(err, change, back) do {						\
		change;								\
		EXPECT_EQ(-1, ioctl(c.fd[0], COLL_IOC_POST, &p));		\
		EXPECT_EQ(err, errno) TH_LOG(#change);				\
		back;								\
	} while (0)
	REFUSED(EINVAL, p.nr = 0, p.nr = 1);
	REFUSED(EINVAL, p.nr = COLL_POST_MAX + 1, p.nr = 1);
	REFUSED(EINVAL, p.flags = 1, p.flags = 0);
	REFUSED(EINVAL, p.reserved[0] = 1, p.reserved[0] = 0);
	REFUSED(EINVAL, p.reserved[1] = 1, p.reserved[1] = 0);
	REFUSED(EINVAL, e.flags = 1, e.flags = 0);
	REFUSED(EINVAL, e.len = 8, e.len = sizeof(struct coll_cmd));
	REFUSED(EINVAL, e.len = 1 << 20, e.len = sizeof(struct coll_cmd));
	REFUSED(EFAULT, e.arg = 8, e.arg = (uintptr_t)cmd);
	REFUSED(EFAULT, p.entries = 8, p.entries = (uintptr_t)&e);
	EXPECT_EQ(-EINVAL, collect(c.fd[0], got, 0, 0, 0));
	EXPECT_EQ(-EINVAL, collect(c.fd[0], got, COLL_POST_MAX + 1, 0, 0));
	EXPECT_EQ(-EINVAL, collect(c.fd[0], got, 1, 2, 0));

	fd = raw_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTCONN, post(fd, cmd, 1, 0));
	EXPECT_EQ(0, collect(fd, got, 1, 1, COLL_COLLECT_FOREVER));
	close(fd);
	EXPECT_EQ(0, test_good(&c));
}

/* A completion that cannot be stored is there for the next call. */
TEST_F(post, not_lost)
{
	struct coll_completion got[2];
	int32_t v = 3, o = 0;

	ASSERT_EQ(1, recv_one(1, 0, 4, &o, 4, NULL));
	ASSERT_EQ(1, send_one(0, 1, 4, &v, 4));
	EXPECT_EQ(-EFAULT, collect(c.fd[1], (void *)8, 2, 2, 10000 * MS));
	EXPECT_EQ(0, result(c.fd[1], 4));
	EXPECT_EQ(3, o);
	EXPECT_EQ(0, result(c.fd[0], 4));
	EXPECT_EQ(0, collect(c.fd[1], got, 2, 0, 0));
}

TEST_F(post, cancelled)
{
	int32_t v = 7, o[2] = { };
	uint32_t i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, recv_one(1, 0, i, &o[i], 4, NULL));
	EXPECT_EQ(0, raw_cancel(c.fd[1], 1));
	EXPECT_EQ(-ECANCELED, result(c.fd[1], 0));
	ASSERT_EQ(1, send_one(0, 1, 1, &v, 4));
	EXPECT_EQ(0, result(c.fd[1], 1));
	EXPECT_EQ(0, result(c.fd[0], 1));
	EXPECT_EQ(-ENOENT, raw_cancel(c.fd[1], 2));
	EXPECT_EQ(0, o[0]);
	EXPECT_EQ(7, o[1]);
	ASSERT_EQ(1, send_one(0, 1, 2, &v, 4));
	EXPECT_EQ(0, raw_cancel(c.fd[0], 3));
	EXPECT_EQ(-ECANCELED, result(c.fd[0], 2));
	EXPECT_EQ(0, test_good(&c));
}

/* Completions that nobody collects count. */
TEST_F(post, uncollected)
{
	static struct coll_completion got[COLL_POST_MAX];
	struct coll_cmd cmd;
	int old, ret, nr = 0;

	old = raw_max_inflight(10);
	ASSERT_LE(0, old);
	/* complete at once */
	raw_send(&cmd, NULL, 0, COLL_BYTE, COLL_RANK_NULL, 0);
	do {
		ret = post(c.fd[0], &cmd, 1, nr);
		nr += ret == 1;
	} while (ret == 1 && nr < COLL_POST_MAX);
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_EQ(RAW_INFLIGHT_FREE + 10, nr);
	EXPECT_EQ(nr, collect(c.fd[0], got, COLL_POST_MAX, nr, 10000 * MS));
	EXPECT_EQ(1, post(c.fd[0], &cmd, 1, 0));
	EXPECT_EQ(0, result(c.fd[0], 0));
	raw_max_inflight(old);
}

TEST_F(post, polled)
{
	struct pollfd p = { .fd = c.fd[1], .events = POLLIN };
	int32_t v = 1, o = 0;

	ASSERT_EQ(1, recv_one(1, 0, 0, &o, 4, NULL));
	EXPECT_EQ(0, poll(&p, 1, 20));
	ASSERT_EQ(1, send_one(0, 1, 0, &v, 4));
	EXPECT_EQ(1, poll(&p, 1, 10000));
	EXPECT_EQ(POLLIN, p.revents);
	EXPECT_EQ(0, result(c.fd[1], 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
}

static void nothing(int sig)
{
	(void)sig;
}

/* Somebody who interrupts the main thread until it is told to stop. */
static pthread_t main_thread;
static volatile bool quiet;

static void *interrupt(void *arg)
{
	(void)arg;
	while (!quiet) {
		test_sleep_us(30000);
		pthread_kill(main_thread, SIGUSR1);
	}
	return NULL;
}

static int start_interrupting(pthread_t *t, int flags)
{
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = flags };

	sigaction(SIGUSR1, &sa, NULL);
	main_thread = pthread_self();
	quiet = false;
	return pthread_create(t, NULL, interrupt, NULL);
}

static void stop_interrupting(pthread_t t)
{
	quiet = true;
	pthread_join(t, NULL);
}

/* It ends in time, with signals that restart the call, too; others end it. */
TEST_F(post, waits)
{
	struct coll_completion got[2];
	int32_t v = 1, o[2] = { };
	pthread_t t;
	uint64_t begin;
	uint32_t i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, recv_one(1, 0, i, &o[i], 4, NULL));
	begin = test_now_ns();
	EXPECT_EQ(0, collect(c.fd[1], got, 2, 1, 200 * MS));
	EXPECT_LE(200 * MS, test_now_ns() - begin);
	EXPECT_EQ(0, collect(c.fd[1], got, 2, 1, 0));

	ASSERT_EQ(0, start_interrupting(&t, SA_RESTART));
	begin = test_now_ns();
	EXPECT_EQ(0, collect(c.fd[1], got, 2, 1, 300 * MS));
	EXPECT_LE(300 * MS, test_now_ns() - begin);
	EXPECT_FALSE(test_late(begin + 300 * MS, test_now_ns()));
	stop_interrupting(t);

	ASSERT_EQ(0, start_interrupting(&t, 0));
	EXPECT_EQ(-EINTR, collect(c.fd[1], got, 2, 1, COLL_COLLECT_FOREVER));
	/* what there is, if a signal or the time ends the wait for more */
	ASSERT_EQ(1, send_one(0, 1, 1, &v, 4));
	while ((i = collect(c.fd[1], got, 2, 2, 10000 * MS)) == (uint32_t)-EINTR)
		;
	stop_interrupting(t);
	EXPECT_EQ(1, i);
	EXPECT_TRUE(got[0].tag == 1 && !got[0].result);
	ASSERT_EQ(1, send_one(0, 1, 0, &v, 4));
	EXPECT_EQ(0, result(c.fd[1], 0));
}

static void *close_later(void *arg)
{
	test_sleep_us(100000);
	close(*(int *)arg);
	return NULL;
}

/* Another thread closes the file of who waits: the wait ends, and the others hear of it. */
TEST_F(post, closed_under)
{
	struct coll_completion got = { };
	struct coll_status s;
	int32_t o = 0;
	pthread_t t;

	ASSERT_EQ(1, recv_one(1, 0, 0, &o, 4, NULL));
	ASSERT_EQ(0, pthread_create(&t, NULL, close_later, &c.fd[1]));
	EXPECT_EQ(1, collect(c.fd[1], &got, 1, 1, 10000 * MS));
	EXPECT_GT(0, got.result);
	pthread_join(t, NULL);
	c.fd[1] = -1;
	ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
}

/* With commands in flight, and completions that nobody has collected. */
TEST_F(post, closed_with_pending)
{
	static uint8_t big[1 << 20];
	struct coll_status s;
	struct coll_cmd cmd;
	int32_t v = 1, o[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, recv_one(1, 0, i, &o[i], 4, NULL));
	ASSERT_EQ(1, send_one(1, 0, 9, big, sizeof(big)));
	raw_allreduce(&cmd, big, big + sizeof(big) / 2, 1000, COLL_I32, COLL_OP_SUM);
	ASSERT_EQ(1, post(c.fd[1], &cmd, 1, 3));
	ASSERT_EQ(1, send_one(0, 1, 1, &v, 4));
	EXPECT_EQ(0, result(c.fd[0], 1));
	close(c.fd[1]);
	c.fd[1] = -1;
	ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
}

/* A child that dies while it waits: its file was its own. */
TEST_F(post, killed)
{
	int pipe_fd[2], status;
	struct raw_comm two;
	struct coll_status s;
	char byte;
	pid_t pid;

	raw_plan(&two, 2, 1);
	two.fd[0] = raw_open();
	ASSERT_LE(0, two.fd[0]);
	ASSERT_EQ(0, raw_join(two.fd[0], &two, 0));
	ASSERT_EQ(0, pipe(pipe_fd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct coll_completion got;
		struct coll_cmd cmd;
		int32_t o;

		two.fd[1] = raw_open();
		if (raw_join(two.fd[1], &two, 1))
			_exit(1);
		raw_recv(&cmd, &o, 4, COLL_BYTE, 0, 0, NULL);
		if (post(two.fd[1], &cmd, 1, 0) != 1 || write(pipe_fd[1], "x", 1) != 1)
			_exit(2);
		collect(two.fd[1], &got, 1, 1, COLL_COLLECT_FOREVER);
		_exit(3);
	}
	ASSERT_EQ(1, read(pipe_fd[0], &byte, 1));
	test_sleep_us(50000);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(0, raw_status_failed(two.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_EXIT, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
	EXPECT_EQ(SIGKILL, s.cause.signal);
	close(two.fd[0]);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* A process that has not opened the file may neither post nor collect. */
TEST_F(post, not_the_owner)
{
	struct coll_completion got;
	struct coll_cmd cmd;
	int status;
	pid_t pid;

	raw_barrier(&cmd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(post(c.fd[0], &cmd, 1, 0) != -EPERM ||
		      collect(c.fd[0], &got, 1, 0, 0) != -EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, test_good(&c));
}

TEST_HARNESS_MAIN
