// SPDX-License-Identifier: GPL-2.0
/*
 * A rank that waits in COLL_IOC_SUBMIT is traced. The tracer decides which signals it gets. And a
 * progress thread is stopped by a tracer when its process closes the file.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring.h"
#include "stops.h"
#include "waiting.h"

TEST(traced)
{
	struct procs p = { };
	uint32_t handled;
	pid_t pid;

	waiting_begin(_metadata, &p, 1, 0);
	pid = p.pid[0];
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, 0, 0));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	EXPECT_LE(0, stops_wait(pid)) TH_LOG("it cannot be interrupted");
	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, 0, 0));
	test_sleep_us(20000);
	/* The tracer is asked, and lets the signal be delivered. */
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	EXPECT_LE(0, stops_wait(pid)) TH_LOG("the tracer does not hear of a signal");
	handled = waiters->handled;
	ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, 0, SIGUSR1));
	test_wait_count(&waiters->handled, handled + 1);
	EXPECT_EQ(handled + 1, waiters->handled);
	/* Now the tracer does not let the signal be delivered. */
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	EXPECT_LE(0, stops_wait(pid));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, 0, 0));
	waiting_end(_metadata, &p);
	EXPECT_EQ(handled + 1, waiters->handled);
}

#define LARGE	(1 << 20)

enum { COMPUTED = 1, CLOSED };

/* One large op, which makes the progress thread. Then the rank closes its file when it is told to. */
static void compute_and_close(struct procs *p, uint32_t rank)
{
	struct procs_rank *me = &p->sh->rank[rank];
	char *v = calloc(1, LARGE);
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct coll_cmd cmd;

	raw_allreduce(&cmd, NULL, v, LARGE, COLL_U8, COLL_OP_MAX);
	cmd.flags |= COLL_CMD_INPLACE;
	if (!v || io_uring_queue_init(2, &ring, 0))
		exit(1);
	ring_prep(io_uring_get_sqe(&ring), p->c.fd[rank], &cmd, 1);
	io_uring_submit(&ring);
	me->result = io_uring_wait_cqe(&ring, &cqe) ?: cqe->res;
	io_uring_queue_exit(&ring);
	me->asked = COMPUTED;
	while (p->sh->go != 2)
		test_sleep_us(1000);
	close(p->c.fd[rank]);
	me->asked = CLOSED;
}

static bool is_named(const char *path, const char *name)
{
	char text[64] = "";
	FILE *f = fopen(path, "r");

	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	return !strncmp(text, name, strlen(name));
}

/* The progress thread of a process; 0: there is none. */
static pid_t progress_thread(pid_t pid)
{
	char path[300];
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", pid, e->d_name);
		if (is_named(path, "coll-progress"))
			found = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

static bool comes(volatile uint64_t *asked, uint64_t what)
{
	uint64_t end = test_now_ns() + 10000000000ULL;

	while (*asked != what && test_now_ns() < end)
		test_sleep_us(1000);
	return *asked == what;
}

TEST(closed_while_the_thread_is_traced)
{
	struct procs p = { .ops = compute_and_close };
	pid_t tid;

	ASSERT_EQ(0, procs_start(&p, 2, 1));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	ASSERT_TRUE(comes(&p.sh->rank[0].asked, COMPUTED));
	EXPECT_EQ(0, p.sh->rank[0].result);
	tid = progress_thread(p.pid[0]);
	if (!tid) {
		p.sh->go = 2;
		procs_stop(&p);
		SKIP_REST(return, "this kernel has no progress threads");
	}
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, tid, 0, 0));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, tid, 0, 0));
	EXPECT_EQ(tid, waitpid(tid, NULL, __WALL));
	p.sh->go = 2;
	EXPECT_TRUE(comes(&p.sh->rank[0].asked, CLOSED)) TH_LOG("close() waits for the thread");
	EXPECT_EQ(0, ptrace(PTRACE_DETACH, tid, 0, 0));
	procs_stop(&p);
}

TEST_HARNESS_MAIN
