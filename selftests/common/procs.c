// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "procs.h"
#include "reap.h"
#include "util.h"

static uint32_t first_of(const struct raw_comm *c, uint32_t node)
{
	uint32_t r = 0;

	while (c->node_of[r] != node)
		r++;
	return r;
}

static int make_socks(struct procs *p)
{
	uint32_t a, b, s;
	int sv[2], ret;

	memset(p->socks, 0xff, sizeof(p->socks));
	for (a = 0; a < p->c.nodes; a++) {
		for (b = a + 1; b < p->c.nodes; b++) {
			for (s = 0; s < 2 * (p->links ?: 1); s++) {
				ret = raw_tcp_pair(sv);
				if (ret)
					return ret;
				p->socks[a][b][s] = sv[0];
				p->socks[b][a][s] = sv[1];
			}
		}
	}
	return 0;
}

static void close_socks(struct procs *p)
{
	uint32_t a, b, s;

	for (a = 0; a < p->c.nodes; a++)
		for (b = 0; b < p->c.nodes; b++)
			for (s = 0; s < COLL_MAX_STRIPES; s++)
				if (p->socks[a][b][s] >= 0)
					close(p->socks[a][b][s]);
}

/* Close the sockets of other nodes: else the death of a node would not be seen. */
static void keep_own_socks(struct procs *p, uint32_t rank)
{
	uint32_t node = p->c.node_of[rank], a, b, s;

	for (a = 0; a < p->c.nodes; a++) {
		for (b = 0; b < p->c.nodes; b++) {
			for (s = 0; s < COLL_MAX_STRIPES; s++) {
				int *fd = &p->socks[a][b][s];

				if ((a == node && rank == first_of(&p->c, node)) ||
				    *fd < 0)
					continue;
				close(*fd);
				*fd = -1;
			}
		}
	}
}

static int join_and_link(struct procs *p, uint32_t rank)
{
	uint32_t node = p->c.node_of[rank], b, s;
	int fd = raw_open(), ret;

	if (fd < 0)
		return fd;
	p->c.fd[rank] = fd;
	keep_own_socks(p, rank);
	ret = raw_join(fd, &p->c, rank);
	for (b = 0; !ret && b < p->c.nodes; b++) {
		for (s = 0; !ret && s < COLL_MAX_STRIPES; s++) {
			if (p->socks[node][b][s] >= 0)
				ret = raw_link(fd, b, p->socks[node][b][s], s);
		}
	}
	close_socks(p);
	if (!ret && p->links)
		ret = raw_stripe(fd, p->links, p->least);
	return ret;
}

static void child(struct procs *p, uint32_t rank)
{
	struct procs_rank *me = &p->sh->rank[rank];
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ret = join_and_link(p, rank);
	if (ret) {
		procs_result(p, rank, ret);
	} else {
		me->phase = PROCS_JOINED;
		while (!p->early && !p->sh->go && !p->sh->quit)
			test_sleep_us(200);
		me->phase = PROCS_RUNNING;
		p->ops(p, rank);
	}
	me->phase = PROCS_ENDED;
	while (!p->sh->quit)
		test_sleep_us(2000);
	_exit(0);
}

int procs_start(struct procs *p, uint32_t size, uint32_t nodes)
{
	uint32_t r;
	int ret;

	raw_plan(&p->c, size, nodes);
	p->c.flags = p->flags;
	memset(p->pid, 0, sizeof(p->pid));
	p->sh = mmap(NULL, sizeof(*p->sh), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->sh == MAP_FAILED)
		return -errno;
	ret = make_socks(p);
	for (r = 0; !ret && r < size; r++) {
		p->pid[r] = fork();
		if (!p->pid[r])
			child(p, r);
		if (p->pid[r] < 0) {
			ret = -errno;
			p->pid[r] = 0;
		}
	}
	close_socks(p);
	return ret;
}

bool procs_wait(struct procs *p, uint32_t phase, unsigned int ms)
{
	uint64_t end = test_now_ns() + ms * 1000000ULL;
	uint32_t r;

	for (;;) {
		for (r = 0; r < p->c.size; r++)
			if (p->pid[r] && p->sh->rank[r].phase < phase)
				break;
		if (r == p->c.size)
			return true;
		if (test_now_ns() > end)
			return false;
		test_sleep_us(500);
	}
}

int procs_reap(struct procs *p, uint32_t rank, unsigned int ms)
{
	return reap_one(&p->pid[rank], ms);
}

void procs_stop(struct procs *p)
{
	p->sh->quit = 1;
	reap_all(p->pid, p->c.size, 500);
	munmap(p->sh, sizeof(*p->sh));
}

uint64_t procs_asked_after(const struct procs_rank *k, uint64_t since)
{
	return k->asked > since ? k->asked : since;
}

void procs_result(struct procs *p, uint32_t rank, int result)
{
	struct procs_rank *me = &p->sh->rank[rank];

	me->when = test_now_ns();
	me->result = result;
	if (result)
		raw_status(p->c.fd[rank], &me->status);
}
