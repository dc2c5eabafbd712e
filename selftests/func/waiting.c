// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that wait in COLL_IOC_SUBMIT, and are meanwhile stopped, frozen, traced or given a
 * signal that they handle: they react at once, nobody else notices, and the call goes on.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "harness.h"
#include "procs.h"
#include "stops.h"
#include "util.h"

#define WAIT_MS		20000
#define SETUP_MS	20000
#define COUNT		(4 << 20)	/* elements of a large op */

/* Seen by the ranks and the test. */
struct scene {
	volatile uint32_t post;		/* rank 1 may post */
	volatile uint32_t handled;	/* signals */
	volatile uint64_t posted[2];	/* commands, as the kernel counts */
	uint64_t count;			/* 0: barriers */
};

static struct scene *scene;

static void make_scene(uint64_t count)
{
	scene = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	scene->count = count;
}

static void on_signal(int sig)
{
	__sync_fetch_and_add(&scene->handled, 1);
}

/* Without SA_RESTART: the call goes on nevertheless. */
static void handle(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler };

	sigaction(sig, &sa, NULL);
}

static void ops(struct procs *p, uint32_t rank)
{
	int32_t *buf = calloc(scene->count ?: 1, sizeof(*buf));
	struct coll_status s = { };
	struct coll_cmd cmd;
	uint64_t i;
	int ret;

	handle(SIGUSR1, on_signal);
	for (i = 0; i < scene->count; i++)
		buf[i] = test_value(rank, i);
	if (scene->count)
		raw_allreduce(&cmd, NULL, buf, scene->count, COLL_I32, COLL_OP_SUM);
	else
		raw_barrier(&cmd);
	while (rank == 1 && !scene->post)
		test_sleep_us(200);
	p->sh->rank[rank].asked = test_now_ns();
	ret = raw_submit(p->c.fd[rank], &cmd);
	for (i = 0; !ret && i < scene->count; i++)
		p->sh->rank[rank].wrong += buf[i] != test_value_sum(2, i);
	raw_status(p->c.fd[rank], &s);
	scene->posted[rank] = s.posted;
	procs_result(p, rank, ret);
}

/* Rank 0 waits in its call. */
static void begin(struct __test_metadata *_metadata, struct procs *p, uint32_t nodes,
		  uint64_t count)
{
	make_scene(count);
	p->ops = ops;
	ASSERT_EQ(0, procs_start(p, 2, nodes));
	ASSERT_TRUE(procs_wait(p, PROCS_JOINED, SETUP_MS));
	p->sh->go = 1;
	while (!p->sh->rank[0].asked)
		test_sleep_us(200);
	test_sleep_us(50000);
}

/* One op each, whatever happened meanwhile. */
static void end_well(struct __test_metadata *_metadata, struct procs *p)
{
	uint32_t r;

	scene->post = 1;
	EXPECT_TRUE(procs_wait(p, PROCS_ENDED, WAIT_MS)) TH_LOG("HANG");
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, p->sh->rank[r].result) TH_LOG("rank %u", r);
		EXPECT_EQ(0, p->sh->rank[r].wrong) TH_LOG("rank %u", r);
		EXPECT_EQ(1, scene->posted[r]) TH_LOG("rank %u", r);
	}
	procs_stop(p);
}

static void halt(struct __test_metadata *_metadata, pid_t pid)
{
	int ms;

	ASSERT_EQ(0, kill(pid, SIGSTOP));
	ms = stops_wait(pid);
	ASSERT_LE(0, ms) TH_LOG("it does not stop");
	EXPECT_GE(test_bound_ms(), ms) TH_LOG("it stops late");
}

static void stop_and_go(struct __test_metadata *_metadata, uint32_t nodes, uint64_t count)
{
	struct procs p = { };
	int i;

	begin(_metadata, &p, nodes, count);
	for (i = 0; i < 3; i++) {
		halt(_metadata, p.pid[0]);
		kill(p.pid[0], SIGCONT);
		test_sleep_us(5000);
	}
	end_well(_metadata, &p);
}

TEST(stopped_in_a_barrier)	{ stop_and_go(_metadata, 1, 0); }
TEST(stopped_in_a_large_op)	{ stop_and_go(_metadata, 2, COUNT); }

/* An op that a stopped rank has posted goes on without it. */
static void posted_goes_on(struct __test_metadata *_metadata, uint32_t nodes)
{
	struct procs p = { };
	unsigned int ms;

	begin(_metadata, &p, nodes, COUNT);
	halt(_metadata, p.pid[0]);
	scene->post = 1;
	for (ms = 0; ms < WAIT_MS && p.sh->rank[1].phase != PROCS_ENDED; ms++)
		test_sleep_us(1000);
	EXPECT_EQ(PROCS_ENDED, p.sh->rank[1].phase) {
		TH_LOG("HANG: rank 1 waits for one that is stopped");
	}
	EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
	kill(p.pid[0], SIGCONT);
	end_well(_metadata, &p);
}

TEST(posted_goes_on_one_node)	{ posted_goes_on(_metadata, 1); }
TEST(posted_goes_on_two_nodes)	{ posted_goes_on(_metadata, 2); }

/* Stops at any moment of large ops; a bystander of another communicator goes on. */
static void anywhere(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint64_t lots = test_seed();
	struct procs_stream st = { .seed = lots, .max_bytes = 16 << 20, .count = 20 + test_scale(60) };
	struct procs p = { .ops = procs_ops_stream, .arg = &st };
	struct raw_comm by;
	uint32_t r, i;

	ASSERT_EQ(0, procs_start(&p, 4, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
	ASSERT_EQ(0, raw_start(&by, 2, 1));
	p.sh->go = 1;
	for (i = 0; i < test_scale(30); i++) {
		uint32_t who = test_below(&lots, 4);

		test_sleep_us(test_below(&lots, 20000));
		if (p.sh->rank[who].phase == PROCS_ENDED)
			break;
		halt(_metadata, p.pid[who]);
		EXPECT_EQ(0, test_good(&by));
		kill(p.pid[who], SIGCONT);
	}
	EXPECT_LE(1, i) TH_LOG("the stream was over too soon");
	ASSERT_TRUE(procs_wait(&p, PROCS_ENDED, 2 * WAIT_MS));
	for (r = 0; r < 4; r++) {
		EXPECT_EQ(0, p.sh->rank[r].result);
		EXPECT_EQ(st.count, p.sh->rank[r].done);
		EXPECT_EQ(0, p.sh->rank[r].wrong);
	}
	procs_stop(&p);
	raw_stop(&by);
}

TEST(stopped_anywhere_one_node)		{ anywhere(_metadata, 1); }
TEST(stopped_anywhere_two_nodes)	{ anywhere(_metadata, 2); }

TEST(traced)
{
	struct procs p = { };
	uint32_t handled;
	pid_t pid;

	begin(_metadata, &p, 1, 0);
	pid = p.pid[0];
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, 0, 0));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	EXPECT_LE(0, stops_wait(pid)) TH_LOG("it cannot be interrupted");
	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, 0, 0));
	test_sleep_us(20000);
	/* The tracer is asked, and lets the signal be delivered. */
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	EXPECT_LE(0, stops_wait(pid)) TH_LOG("the tracer does not hear of a signal");
	handled = scene->handled;
	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, 0, SIGUSR1));
	test_sleep_us(test_bound_ms() * 1000);
	EXPECT_EQ(handled + 1, scene->handled);
	/* And now not. */
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	EXPECT_LE(0, stops_wait(pid));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, 0, 0));
	end_well(_metadata, &p);
	EXPECT_EQ(handled + 1, scene->handled);
}

static void freeze_in(struct __test_metadata *_metadata, uint32_t nodes, uint64_t count)
{
	struct procs p = { };

	begin(_metadata, &p, nodes, count);
	if (!stops_group(p.pid[0])) {
		procs_stop(&p);
		SKIP(return, "no cgroup of version 2");
	}
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "1"));
	EXPECT_TRUE(stops_frozen()) TH_LOG("a rank that waits cannot be frozen");
	scene->post = 1;
	test_sleep_us(50000);
	EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "0"));
	end_well(_metadata, &p);
	rmdir(STOPS_GROUP);
}

TEST(frozen_in_a_barrier)	{ freeze_in(_metadata, 1, 0); }
TEST(frozen_in_a_large_op)	{ freeze_in(_metadata, 2, COUNT); }

/* As suspend does it: all processes but the caller. */
#define SNAPSHOT_FREEZE		_IO('3', 1)
#define SNAPSHOT_UNFREEZE	_IO('3', 2)

TEST(system_freezes)
{
	struct procs p = { };
	int fd;

	fd = open("/dev/snapshot", O_RDONLY);
	if (fd < 0)
		SKIP(return, "this kernel has no /dev/snapshot");
	begin(_metadata, &p, 1, 0);
	EXPECT_EQ(0, ioctl(fd, SNAPSHOT_FREEZE)) TH_LOG("processes cannot be frozen");
	EXPECT_EQ(0, ioctl(fd, SNAPSHOT_UNFREEZE));
	close(fd);
	end_well(_metadata, &p);
}

TEST(killed_while_stopped)
{
	struct procs p = { };
	const struct coll_cause *c;
	uint64_t when;

	begin(_metadata, &p, 2, 0);
	halt(_metadata, p.pid[0]);
	when = test_now_ns();
	ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
	EXPECT_EQ(SIGKILL, procs_reap(&p, 0, WAIT_MS));
	scene->post = 1;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, WAIT_MS));
	c = &p.sh->rank[1].status.cause;
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
	EXPECT_FALSE(test_late(when, p.sh->rank[1].when));
	EXPECT_EQ(COLL_CAUSE_EXIT, c->kind);
	EXPECT_EQ(SIGKILL, c->signal);
	EXPECT_EQ(0, c->rank);
	procs_stop(&p);
}

/* Threads of one process as ranks. */
static struct raw_comm comm;
static volatile int result, nested;
static sigjmp_buf env;

static void *wait_in_barrier(void *arg)
{
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	sigsetjmp(env, 1);
	result = raw_submit(comm.fd[0], &cmd);
	return NULL;
}

static void handlers(struct __test_metadata *_metadata, void (*handler)(int), int signals,
		     int64_t posted)
{
	struct coll_cmd cmd;
	pthread_t t;
	int i;

	make_scene(0);
	handle(SIGUSR1, handler);
	result = 1;
	ASSERT_EQ(0, raw_start(&comm, 2, 1));
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_in_barrier, NULL));
	while (test_posted(&comm, 0) != 1)
		test_sleep_us(200);
	for (i = 1; i <= signals; i++) {
		test_sleep_us(20000);
		pthread_kill(t, SIGUSR1);
		test_sleep_us(test_bound_ms() * 1000);
		EXPECT_EQ(i, scene->handled) TH_LOG("the handler does not run");
	}
	EXPECT_EQ(posted, test_posted(&comm, 0));
	raw_barrier(&cmd);
	for (i = 0; i < posted; i++)
		EXPECT_EQ(0, raw_submit(comm.fd[1], &cmd));
	pthread_join(t, NULL);
	EXPECT_EQ(0, result);
	EXPECT_EQ(posted, test_posted(&comm, 0));
	EXPECT_EQ(0, test_good(&comm));
	raw_stop(&comm);
}

TEST(handler_runs)	{ handlers(_metadata, on_signal, 3, 1); }

/* The same command again, on the same file, by the same thread: but another call. */
static void on_signal_nested(int sig)
{
	struct coll_cmd cmd;

	on_signal(sig);
	raw_barrier(&cmd);
	nested = raw_submit(comm.fd[0], &cmd);
}

TEST(handler_calls)
{
	nested = 1;
	handlers(_metadata, on_signal_nested, 1, 2);
	EXPECT_EQ(0, nested);
}

/* The command stays in flight, and the next call goes on with it. */
static void on_signal_jump(int sig)
{
	on_signal(sig);
	siglongjmp(env, 1);
}

TEST(handler_jumps)	{ handlers(_metadata, on_signal_jump, 2, 1); }

TEST_HARNESS_MAIN
