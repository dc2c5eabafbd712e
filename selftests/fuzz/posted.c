// SPDX-License-Identifier: GPL-2.0
/* Faults in COLL_IOC_POST and COLL_IOC_COLLECT. */
#include <errno.h>

#include "inject.h"
#include "procs.h"
#include "util.h"

#define TAG		0x7467ULL
#define COLLECT_NS	20000000000ULL
#define ROUNDS		12
#define AT_ONCE		4
#define COUNT		3000

/* The completion of the one command that has been posted; the fault is in here if @n. */
static int take(int fd, unsigned int n, bool *hit)
{
	struct coll_completion done[2] = { };
	int ret;

	if (n)
		inject_nth(n);
	ret = raw_collect_cmds(fd, done, 1, 1, COLLECT_NS);
	if (n)
		*hit = inject_hit();
	/* A completion that could not be stored, or waited for, is there the next time. */
	if (n && *hit && (inject_refused(ret) || ret == -EINTR))
		ret = raw_collect_cmds(fd, done, 1, 1, COLLECT_NS);
	if (ret != 1) {
		tally.hangs += !ret;
		return ret ? ret : -ETIME;
	}
	/* It comes once. */
	if (done[0].tag != TAG || raw_collect_cmds(fd, &done[1], 1, 0, 0))
		return -EXDEV;
	return done[0].result;
}

int posted_give(enum how how, int fd, struct coll_cmd *cmd, unsigned int n, bool *hit)
{
	int ret;

	if (how == BY_POST)
		inject_nth(n);
	ret = raw_post_cmd(fd, cmd, TAG);
	if (how == BY_POST)
		*hit = inject_hit();
	if (ret != 1)
		return ret;
	return take(fd, how == BY_COLLECT ? n : 0, hit);
}

/* ---- in jobs ---- */

struct mine {
	struct coll_cmd cmd[AT_ONCE];
	int32_t in[COUNT], out[AT_ONCE][COUNT];
};

/* Earlier sums are the same: an op that writes nothing must not leave them. */
static void spoil(struct mine *m, uint32_t k, uint32_t size)
{
	uint64_t i;

	for (i = 0; i < COUNT; i++)
		m->out[k][i] = test_value_sum(size, i) ^ 1;
}

static int post_all(struct procs *p, struct mine *m, uint32_t rank, uint64_t timeout_ns,
		    uint32_t *posted)
{
	uint32_t k;
	int ret;

	for (k = 0; k < AT_ONCE; k++) {
		spoil(m, k, p->c.size);
		raw_allreduce(&m->cmd[k], m->in, m->out[k], k % 2 ? COUNT : 1 + k, COLL_I32,
			      COLL_OP_SUM);
		m->cmd[k].timeout_ns = timeout_ns;
		ret = raw_post_cmd(p->c.fd[rank], &m->cmd[k], k);
		if (ret != 1)
			return ret;
		++*posted;
	}
	return 0;
}

static uint64_t wrong(const struct mine *m, uint32_t k, uint32_t size)
{
	uint64_t i, n = 0;

	for (i = 0; i < m->cmd[k].count; i++)
		n += m->out[k][i] != test_value_sum(size, i);
	return n;
}

/* All that has been posted completes, whatever has happened. Return: 0 or the first error. */
static int collect_all(struct procs *p, struct mine *m, uint32_t rank, uint32_t nr)
{
	struct procs_rank *me = &p->sh->rank[rank];
	struct coll_completion done;
	int got, error = 0;

	while (nr--) {
		do
			got = raw_collect_cmds(p->c.fd[rank], &done, 1, 1, COLLECT_NS);
		while (got == -ENOMEM);
		if (got != 1) {
			me->wrong++;	/* it is lost */
			return got ? got : -ETIME;
		}
		if (!done.result)
			me->wrong += wrong(m, done.tag, p->c.size);
		else if (!error)
			error = done.result;
	}
	return error;
}

void posted_ops(struct procs *p, uint32_t rank, uint64_t timeout_ns)
{
	static struct mine m;
	uint32_t i, posted;
	int ret = 0, error;

	for (i = 0; i < COUNT; i++)
		m.in[i] = test_value(rank, i);
	for (i = 0; i < ROUNDS && !ret; i++) {
		posted = 0;
		ret = post_all(p, &m, rank, timeout_ns, &posted);
		error = collect_all(p, &m, rank, posted);
		ret = ret ? ret : error;
	}
	procs_result(p, rank, ret);
}
