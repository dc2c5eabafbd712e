// SPDX-License-Identifier: GPL-2.0
/*
 * A process is stopped by SIGSTOP, and its progress thread with it. The other rank does not wait
 * for that thread: its op ends, and so does a close() of the file by another process.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress.h"

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
	/* waitpid() returns when all threads of the process have stopped. */
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

TEST(stopped_one_node)	{ while_stopped(_metadata, 1); }
TEST(stopped_two_nodes)	{ while_stopped(_metadata, 2); }

/* Another process closes the last descriptor. Its close() does not wait for the stopped process. */
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
		/* Rank 0 has left, although its thread is stopped. */
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

TEST_HARNESS_MAIN
