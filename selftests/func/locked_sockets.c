// SPDX-License-Identifier: GPL-2.0
/*
 * A user keeps the sockets of its links locked, by sending a page that is never filled.
 * Workers wait for these sockets. Deadlines, links and deaths of other jobs must not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "other.h"
#include "pages.h"
#include "procs.h"
#include "util.h"

#define CONNS		64
#define NODES		(CONNS / COLL_MAX_LINKS + 2)
#define PAGE		4096
#define DEADLINE	500000000ULL

static char *absent;

static void *send_absent(void *fd)
{
	send((int)(long)fd, absent, PAGE, MSG_NOSIGNAL);
	return NULL;
}

/* In the other's process: one communicator with many links, each of them locked. */
static int begin_locks(void *arg)
{
	struct coll_join j = { .size = NODES, .nr_nodes = NODES };
	struct rlimit files = { 2 * CONNS + 100, 2 * CONNS + 100 };
	uint32_t node_of[NODES], i;
	int page, fd, ret, sv[2];
	pthread_t t;

	(void)arg;
	absent = pages_map_absent(0, &page);
	if (!absent)
		return -EOPNOTSUPP;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return -errno;
	for (i = 0; i < NODES; i++)
		node_of[i] = i;
	j.node_of = (uintptr_t)node_of;
	j.key[0] = 0x77;
	ret = test_become_nobody(65536);
	fd = ret ? ret : raw_open();
	if (fd < 0)
		return fd;
	if (ioctl(fd, COLL_IOC_JOIN, &j))
		return -errno;
	for (i = 0; i < CONNS; i++) {
		ret = raw_tcp_pair(sv);
		if (!ret)
			ret = raw_link(fd, 1 + i / COLL_MAX_LINKS, sv[0],
				       2 * (i % COLL_MAX_LINKS));
		if (ret)
			return ret;
		if (pthread_create(&t, NULL, send_absent, (void *)(long)sv[0]))
			return -EAGAIN;
	}
	/* Each thread has locked its socket, and waits for the page. */
	ret = pages_wait_for_faults(page, CONNS);
	/* Every link has to say ABORT. */
	return ret ?: raw_abort(fd, 1);
}

static void wait_for_ops(struct procs *p, uint32_t rank)
{
	struct coll_cmd cmd;
	int ret;

	raw_barrier(&cmd);
	ret = raw_submit(p->c.fd[rank], &cmd);
	if (!ret && rank == 1) {
		p->sh->rank[1].phase = PROCS_ENDED;
		pause();
	}
	raw_barrier(&cmd);
	cmd.timeout_ns = 20 * DEADLINE;
	procs_result(p, rank, ret ?: raw_submit(p->c.fd[rank], &cmd));
}

FIXTURE(locked)
{
	struct other o;
	int ret;
};

FIXTURE_SETUP(locked)
{
	self->ret = other_start(&self->o, begin_locks, NULL);
	if (self->ret == -EOPNOTSUPP) {
		other_stop(&self->o);
		SKIP(return, "there is no userfaultfd");
	}
	ASSERT_EQ(0, self->ret);
}

FIXTURE_TEARDOWN(locked)
{
	if (!self->ret)
		other_stop(&self->o);
}

TEST_F(locked, deadline)
{
	uint64_t late = other_time_deadline(DEADLINE);

	TH_LOG("a deadline of 500 ms came after %llu ms", (unsigned long long)late / 1000000);
	EXPECT_GE(late, DEADLINE);
	EXPECT_LE(late, DEADLINE + test_bound_ms() * 1000000ULL);
}

TEST_F(locked, new_job)
{
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, 2));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

/* Rank 1 of two nodes is killed: when does rank 0 hear of it? */
TEST_F(locked, death)
{
	struct procs p = { .ops = wait_for_ops };
	uint64_t killed;
	int i;

	ASSERT_EQ(0, procs_start(&p, 2, 2));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 10000));
	p.sh->go = 1;
	for (i = 0; i < 10000 && p.sh->rank[1].phase != PROCS_ENDED; i++)
		test_sleep_us(1000);
	ASSERT_EQ(PROCS_ENDED, p.sh->rank[1].phase);
	killed = test_now_ns();
	kill(p.pid[1], SIGKILL);
	for (i = 0; i < 15000 && p.sh->rank[0].phase != PROCS_ENDED; i++)
		test_sleep_us(1000);
	TH_LOG("told %lld us after the kill", (long long)(p.sh->rank[0].when - killed) / 1000);
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[0].result);
	EXPECT_FALSE(test_late(killed, p.sh->rank[0].when));
	procs_stop(&p);
}

TEST_HARNESS_MAIN
