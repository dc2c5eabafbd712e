// SPDX-License-Identifier: GPL-2.0
/*
 * Nonblocking collectives are worked on in a thread of the process that posts them: its
 * control group pays. And nobody depends on that thread: not if the process is stopped,
 * not if it is killed.
 *
 * Two ranks, on one node or on two. Rank 0 posts by io_uring.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "ring.h"
#include "util.h"

#define COUNT		(1 << 20)
#define WARM		20	/* ops until the thread has surely begun */
#define SETUP_MS	20000
#define WAIT_MS		20000

/**
 * struct scene - what the processes tell each other
 * @warm: ops that both do first
 * @posted: rank 0 has, beyond those; in a stream, how many
 * @ticks: of its thread, until then
 * @paid: microseconds that its control group has paid until then
 * @post: rank 1 may; in a stream: rank 0 need not any more
 * @ended: rank 0 has posted all; or its file has been closed
 * @wrong: elements
 */
struct scene {
	volatile uint32_t warm;
	volatile uint32_t posted;
	volatile uint64_t ticks;
	volatile uint64_t paid;
	volatile uint32_t post;
	volatile uint32_t ended;
	volatile uint64_t wrong;
};

static struct scene *scene;

static bool has_threads(void)
{
	return raw_features() & COLL_FEAT_PROGRESS;
}

/* The first line of a file that begins with @name, the rest of it as a number. */
static uint64_t number_in(const char *path, const char *name)
{
	char line[256];
	uint64_t n = 0;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, strlen(name))) {
			n = strtoull(line + strlen(name), NULL, 10);
			break;
		}
	}
	if (f)
		fclose(f);
	return n;
}

/* Ticks of CPU time of thread @tid if it is a progress thread, else 0. */
static uint64_t ticks_of(const char *tid)
{
	unsigned long user, system;
	char path[64], line[512] = "";
	const char *rest;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	rest = strstr(line, "(coll-progress)");
	/* 14th and 15th field; this is the second */
	if (!rest || sscanf(rest, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu",
			    &user, &system) != 2)
		return 0;
	return 1 + user + system;
}

/* 0: there is none; else one more than the ticks it has used. */
static uint64_t progress_ticks(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	uint64_t ticks = 0;

	while (d && (e = readdir(d)))
		ticks += ticks_of(e->d_name);
	if (d)
		closedir(d);
	return ticks;
}

static int post(struct procs *p, struct io_uring *ring, int32_t *buf)
{
	static struct coll_cmd cmd;

	raw_allreduce(&cmd, NULL, buf, COUNT, COLL_I32, COLL_OP_SUM);
	ring_prep(io_uring_get_sqe(ring), p->c.fd[0], &cmd, 0);
	return io_uring_submit(ring) == 1 ? 0 : -EIO;
}

static int collect(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_sec = WAIT_MS / 1000 };
	struct io_uring_cqe *cqe;
	int ret;

	/* SIGCONT ends the wait */
	do {
		ret = io_uring_wait_cqe_timeout(ring, &cqe, &ts);
	} while (ret == -EINTR);
	if (ret)
		return ret;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static void check(const int32_t *buf)
{
	uint64_t i;

	for (i = 0; i < COUNT; i++)
		scene->wrong += buf[i] != test_value_sum(2, i);
}

static void fill(int32_t *buf, uint32_t rank)
{
	uint64_t i;

	for (i = 0; i < COUNT; i++)
		buf[i] = test_value(rank, i);
}

/* Both ranks, until rank 0 has seen its thread do something. */
static int post_and_wait(struct procs *p, uint32_t rank, struct io_uring *ring, int32_t *buf)
{
	struct coll_cmd cmd;
	int ret;

	if (rank == 0) {
		ret = post(p, ring, buf);
		return ret ?: collect(ring);
	}
	raw_allreduce(&cmd, NULL, buf, COUNT, COLL_I32, COLL_OP_SUM);
	return raw_submit(p->c.fd[rank], &cmd);
}

static void ops(struct procs *p, uint32_t rank)
{
	int32_t *buf = malloc(COUNT * sizeof(*buf));
	struct io_uring ring = { };
	int ret = buf ? 0 : -ENOMEM;
	uint32_t i;

	if (!ret && rank == 0)
		ret = io_uring_queue_init(8, &ring, 0);
	for (i = 0; !ret && i < scene->warm; i++)
		ret = post_and_wait(p, rank, &ring, buf);
	if (ret) {
		procs_result(p, rank, ret);
		return;
	}
	fill(buf, rank);
	if (rank == 0) {
		scene->ticks = progress_ticks();
		scene->paid = number_in(p->arg ?: "/dev/null", "usage_usec");
		ret = post(p, &ring, buf);
		scene->posted = 1;
		ret = ret ?: collect(&ring);
	} else {
		while (!scene->post && !p->sh->quit)
			test_sleep_us(200);
		ret = post_and_wait(p, rank, NULL, buf);
	}
	if (!ret)
		check(buf);
	procs_result(p, rank, ret);
}

static void make_scene(void)
{
	if (!scene)
		scene = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(scene, 0, sizeof(*scene));
}

static void begin(struct __test_metadata *_metadata, struct procs *p, uint32_t nodes,
		  uint32_t warm)
{
	unsigned int ms;

	make_scene();
	scene->warm = warm;
	p->ops = ops;
	ASSERT_EQ(0, procs_start(p, 2, nodes));
	ASSERT_TRUE(procs_wait(p, PROCS_JOINED, SETUP_MS));
	p->sh->go = 1;
	for (ms = 0; !scene->posted && ms < 10 * WAIT_MS && p->sh->rank[0].phase != PROCS_ENDED;
	     ms++)
		test_sleep_us(1000);
	ASSERT_EQ(1, scene->posted) TH_LOG("result %d", p->sh->rank[0].result);
}

static void end_well(struct __test_metadata *_metadata, struct procs *p)
{
	EXPECT_TRUE(procs_wait(p, PROCS_ENDED, WAIT_MS));
	EXPECT_EQ(0, p->sh->rank[0].result);
	EXPECT_EQ(0, p->sh->rank[1].result);
	EXPECT_EQ(0, scene->wrong);
	procs_stop(p);
}

/* Moves into a control group of its own what is forked from here on. */
static bool enter_group(char *stat, size_t len)
{
	char dir[64], procs[96];
	FILE *f;

	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/coll-%d", getpid());
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	snprintf(stat, len, "%s/cpu.stat", dir);
	if (mkdir(dir, 0755))
		return false;
	f = fopen(procs, "w");
	if (!f)
		return false;
	fputs("0\n", f);
	return !fclose(f);
}

static void leave_group(void)
{
	char dir[64];
	FILE *f = fopen("/sys/fs/cgroup/cgroup.procs", "w");

	if (f) {
		fputs("0\n", f);
		fclose(f);
	}
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/coll-%d", getpid());
	rmdir(dir);
}

/* Over TCP: sending, receiving and reducing are all done in the thread. */
TEST(its_group_pays)
{
	uint64_t tick_us = 1000000 / sysconf(_SC_CLK_TCK);
	struct procs p = { };
	char stat[96];

	if (!has_threads())
		SKIP(return, "this kernel gives us no threads of the process");
	ASSERT_TRUE(enter_group(stat, sizeof(stat)));
	p.arg = stat;
	begin(_metadata, &p, 2, 50 * WARM);
	/* It has been busy for a while, and that was counted in its group. */
	EXPECT_GE(scene->ticks, 5);
	EXPECT_GE(scene->paid, (scene->ticks - 1) * tick_us / 2) {
		TH_LOG("%llu ticks, the group has paid %llu us",
		       (unsigned long long)scene->ticks, (unsigned long long)scene->paid);
	}
	scene->post = 1;
	end_well(_metadata, &p);
	leave_group();
}

static void while_stopped(struct __test_metadata *_metadata, uint32_t nodes)
{
	struct procs p = { };
	unsigned int ms;
	int status = 0;

	begin(_metadata, &p, nodes, WARM);
	if (has_threads())
		EXPECT_GE(scene->ticks, 1) TH_LOG("no progress thread");
	test_sleep_us(20000);
	ASSERT_EQ(0, kill(p.pid[0], SIGSTOP));
	/* All of its threads stop, else nobody would be told. */
	ASSERT_EQ(p.pid[0], waitpid(p.pid[0], &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	scene->post = 1;
	for (ms = 0; ms < WAIT_MS && p.sh->rank[1].phase != PROCS_ENDED; ms++)
		test_sleep_us(1000);
	EXPECT_EQ(PROCS_ENDED, p.sh->rank[1].phase) {
		TH_LOG("HANG: rank 1 waits for a thread that is stopped");
	}
	EXPECT_EQ(0, p.sh->rank[1].result);
	EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
	ASSERT_EQ(0, kill(p.pid[0], SIGCONT));
	end_well(_metadata, &p);
}

/*
 * Rank 0 has some in flight all the time; rank 1 posts what rank 0 has posted. The thread is
 * stopped wherever it happens to be, and all that has been posted ends nevertheless.
 */
#define STREAM_COUNT	(256 << 10)
#define STREAM_DEPTH	4

static int post_stream(struct procs *p, struct io_uring *ring, int32_t *buf)
{
	static struct coll_cmd cmd[STREAM_DEPTH];
	uint32_t left = STREAM_DEPTH, i;
	int ret = 0;

	for (i = 0; !ret && i < STREAM_DEPTH; i++) {
		raw_allreduce(&cmd[i], NULL, buf + i * STREAM_COUNT, STREAM_COUNT, COLL_I32,
			      COLL_OP_SUM);
		ring_prep(io_uring_get_sqe(ring), p->c.fd[0], &cmd[i], i);
		ret = io_uring_submit(ring) == 1 ? 0 : -EIO;
		scene->posted += !ret;
	}
	while (!ret && left--)
		ret = collect(ring);
	return ret;
}

static void ops_stream(struct procs *p, uint32_t rank)
{
	int32_t *buf = calloc(STREAM_DEPTH * STREAM_COUNT, sizeof(*buf));
	struct io_uring ring = { };
	struct coll_cmd cmd;
	int ret = buf ? 0 : -ENOMEM;

	if (!ret && rank == 0)
		ret = io_uring_queue_init(8, &ring, 0);
	while (!ret && rank == 0 && !scene->post)
		ret = post_stream(p, &ring, buf);
	if (rank == 0)
		scene->ended = 1;
	while (!ret && rank == 1) {
		if (p->sh->rank[1].done == scene->posted) {
			if (scene->ended)
				break;
			test_sleep_us(50);
			continue;
		}
		raw_allreduce(&cmd, NULL, buf, STREAM_COUNT, COLL_I32, COLL_OP_SUM);
		ret = raw_submit(p->c.fd[rank], &cmd);
		p->sh->rank[1].done += !ret;
	}
	procs_result(p, rank, ret);
}

static void stopped_in_a_stream(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint64_t lots = test_seed(), target;
	struct procs p = { .ops = ops_stream };
	unsigned int n, ms;
	int status;

	make_scene();
	ASSERT_EQ(0, procs_start(&p, 2, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
	p.sh->go = 1;
	while (scene->posted < WARM && p.sh->rank[0].phase != PROCS_ENDED)
		test_sleep_us(1000);
	for (n = 0; n < test_scale(60); n++) {
		test_sleep_us(test_below(&lots, 30000));
		ASSERT_EQ(0, kill(p.pid[0], SIGSTOP));
		ASSERT_EQ(p.pid[0], waitpid(p.pid[0], &status, WUNTRACED));
		target = scene->posted;
		for (ms = 0; ms < WAIT_MS && p.sh->rank[1].done < target &&
		     p.sh->rank[1].phase != PROCS_ENDED; ms++)
			test_sleep_us(1000);
		ASSERT_LE(target, p.sh->rank[1].done) {
			TH_LOG("HANG: stop %u, rank 1 waits for a thread that is stopped", n);
		}
		ASSERT_EQ(0, kill(p.pid[0], SIGCONT));
	}
	scene->post = 1;
	end_well(_metadata, &p);
}

TEST(stopped_in_a_stream_one_node)	{ stopped_in_a_stream(_metadata, 1); }
TEST(stopped_in_a_stream_two_nodes)	{ stopped_in_a_stream(_metadata, 2); }

/* Another process has the last descriptor: it does not wait for the one that is stopped. */
static void ops_leak(struct procs *p, uint32_t rank)
{
	int32_t *buf = calloc(COUNT, sizeof(*buf));
	struct io_uring ring = { };
	int ret = buf ? 0 : -ENOMEM;
	uint32_t i;

	if (!ret && rank == 0)
		ret = io_uring_queue_init(8, &ring, 0);
	for (i = 0; !ret && i < WARM; i++)
		ret = post_and_wait(p, rank, &ring, buf);
	if (!ret && rank == 0) {
		io_uring_queue_exit(&ring);
		if (!fork()) {
			while (!scene->post && !p->sh->quit)
				test_sleep_us(200);
			close(p->c.fd[0]);
			scene->ended = 1;
			_exit(0);
		}
		close(p->c.fd[0]);
		scene->posted = 1;
		while (!scene->ended && !p->sh->quit)
			test_sleep_us(200);
	} else if (!ret) {
		while (!scene->ended && !p->sh->quit)
			test_sleep_us(200);
		/* It has left, though its thread is stopped. */
		ret = post_and_wait(p, rank, NULL, buf);
	}
	procs_result(p, rank, ret);
}

TEST(closed_by_another_while_stopped)
{
	struct procs p = { .ops = ops_leak };
	unsigned int ms;
	int status;

	make_scene();
	ASSERT_EQ(0, procs_start(&p, 2, 2));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
	p.sh->go = 1;
	for (ms = 0; ms < WAIT_MS && !scene->posted; ms++)
		test_sleep_us(1000);
	ASSERT_EQ(1, scene->posted);
	test_sleep_us(20000);
	ASSERT_EQ(0, kill(p.pid[0], SIGSTOP));
	ASSERT_EQ(p.pid[0], waitpid(p.pid[0], &status, WUNTRACED));
	scene->post = 1;
	for (ms = 0; ms < WAIT_MS && p.sh->rank[1].phase != PROCS_ENDED; ms++)
		test_sleep_us(1000);
	EXPECT_EQ(1, scene->ended) TH_LOG("HANG: close() waits for another process");
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
	ASSERT_EQ(0, kill(p.pid[0], SIGCONT));
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, WAIT_MS));
	procs_stop(&p);
}

TEST(stopped_one_node)	{ while_stopped(_metadata, 1); }
TEST(stopped_two_nodes)	{ while_stopped(_metadata, 2); }

static void while_killed(struct __test_metadata *_metadata, uint32_t nodes)
{
	const struct coll_cause *cause;
	struct procs p = { };

	begin(_metadata, &p, nodes, WARM);
	test_sleep_us(20000);
	ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
	EXPECT_EQ(SIGKILL, procs_reap(&p, 0, WAIT_MS));
	scene->post = 1;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, WAIT_MS));
	cause = &p.sh->rank[1].status.cause;
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
	EXPECT_EQ(COLL_CAUSE_EXIT, cause->kind);
	EXPECT_EQ(0, cause->rank);
	/* The thread ends with 0, its process does not. */
	EXPECT_EQ(SIGKILL, cause->signal);
	procs_stop(&p);
}

TEST(killed_one_node)	{ while_killed(_metadata, 1); }
TEST(killed_two_nodes)	{ while_killed(_metadata, 2); }

TEST_HARNESS_MAIN
