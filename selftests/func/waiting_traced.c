// SPDX-License-Identifier: GPL-2.0
/* A rank that waits in COLL_IOC_SUBMIT is traced. The tracer decides which signals it gets. */
#include <signal.h>
#include <sys/ptrace.h>

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
	/* And now not. */
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	EXPECT_LE(0, stops_wait(pid));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, pid, 0, 0));
	waiting_end(_metadata, &p);
	EXPECT_EQ(handled + 1, waiters->handled);
}

TEST_HARNESS_MAIN
