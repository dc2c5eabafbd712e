// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "procs.h"
#include "raw.h"
#include "util.h"
#include "waiters.h"

struct waiters *waiters;

void waiters_make(uint64_t count)
{
	waiters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	waiters->count = count;
}

static void on_signal(int sig)
{
	__sync_fetch_and_add(&waiters->handled, 1);
}

void waiters_ops(struct procs *p, uint32_t rank)
{
	/* Without SA_RESTART: the call goes on nevertheless. */
	struct sigaction sa = { .sa_handler = on_signal };
	int32_t *buf = calloc(waiters->count ?: 1, sizeof(*buf));
	struct coll_status s = { };
	struct coll_cmd cmd;
	uint64_t i;
	int ret;

	sigaction(SIGUSR1, &sa, NULL);
	for (i = 0; i < waiters->count; i++)
		buf[i] = test_value(rank, i);
	if (waiters->count)
		raw_allreduce(&cmd, NULL, buf, waiters->count, COLL_I32, COLL_OP_SUM);
	else
		raw_barrier(&cmd);
	while (rank == 1 && !waiters->post)
		test_sleep_us(200);
	p->sh->rank[rank].asked = test_now_ns();
	ret = raw_submit(p->c.fd[rank], &cmd);
	for (i = 0; !ret && i < waiters->count; i++)
		p->sh->rank[rank].wrong += buf[i] != test_value_sum(2, i);
	raw_status(p->c.fd[rank], &s);
	waiters->posted[rank] = s.posted;
	procs_result(p, rank, ret);
}
