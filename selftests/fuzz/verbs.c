// SPDX-License-Identifier: GPL-2.0
/*
 * The n-th allocation or copy of a call fails, for n = 1, 2, ... until none is left to fail.
 * The call ends, with or without an error, and everything can be closed. A command that was
 * refused does not count: given once more it has its result.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"
#include "ring.h"
#include "util.h"

#define NTH_MAX		400
#define COUNT		2000	/* elements of a vector: too large for a slot */
#define DEADLINE	3000000000ULL
#define HANG_SECONDS	20

/* ---- setup ---- */

/* The objects of a verb: made anew for each fault. */
struct place {
	struct raw_comm c;
	int fd, sv[2];
	struct coll_register reg;
};

static char page[65536] __attribute__((aligned(4096)));

static int ioc(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

static int do_open(struct place *p)
{
	int fd = raw_open();

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int do_version(struct place *p)
{
	struct coll_version v;

	return ioc(p->fd, COLL_IOC_VERSION, &v);
}

static int do_join(struct place *p)
{
	int fd = raw_open(), ret;

	ret = raw_join(fd, &p->c, 1);
	close(fd);
	return ret;
}

static int do_join_new(struct place *p)
{
	struct raw_comm c;
	int fd = raw_open(), ret;

	raw_plan(&c, 4, 4);
	ret = raw_join(fd, &c, 0);
	close(fd);
	return ret;
}

static int do_join_named(struct place *p)
{
	struct raw_comm c;
	int fd = raw_open(), ret;

	raw_plan(&c, 4, 4);
	c.flags = COLL_JOIN_NAMED;
	ret = raw_join(fd, &c, 0);
	close(fd);
	return ret;
}

static int do_cancel(struct place *p)
{
	int ret = raw_cancel(p->fd, 1);

	/* There is none. */
	return ret == -ENOENT ? 0 : ret;
}

static int do_link(struct place *p)
{
	return raw_link(p->fd, 1, p->sv[0], 0);
}

static int do_link_both(struct place *p)
{
	int ret = raw_link(p->fd, 1, p->sv[0], 0);

	return ret ? ret : raw_link(p->fd, 1, p->sv[1], 1);
}

static int do_register(struct place *p)
{
	struct coll_register r = { .addr = (uintptr_t)page, .len = sizeof(page), .flags = 1 };

	return ioc(p->fd, COLL_IOC_REGISTER, &r);
}

static int do_unregister(struct place *p)
{
	struct coll_unregister u = { .id = p->reg.id };

	return ioc(p->fd, COLL_IOC_UNREGISTER, &u);
}

static int do_select(struct place *p)
{
	struct coll_select_row row = { .bytes = ~0ULL, .algorithm = COLL_ALG_TREE };
	struct coll_select s = { .collective = COLL_ALLREDUCE, .nr = 1, .rows = (uintptr_t)&row };

	return ioc(p->fd, COLL_IOC_SELECT, &s);
}

static int do_stripe(struct place *p)
{
	return raw_stripe(p->fd, 2, 0);
}

static int do_status(struct place *p)
{
	struct coll_status s;

	return raw_status(p->fd, &s);
}

static int do_abort(struct place *p)
{
	return raw_abort(p->fd, 1);
}

static int do_share(struct place *p)
{
	struct raw_comm d, both;
	int ret;

	/* The parent has a link; a second communicator of the same nodes goes on it. */
	ret = raw_start(&both, 2, 2);
	raw_plan(&d, 2, 2);
	d.fd[0] = raw_open();
	if (!ret)
		ret = raw_join(d.fd[0], &d, 0);
	if (!ret)
		ret = raw_share(d.fd[0], 1, both.fd[0], 1);
	raw_stop(&d);
	raw_stop(&both);
	return ret;
}

static const struct {
	const char *name;
	int (*call)(struct place *p);
} setups[] = {
	{ "open", do_open }, { "version", do_version }, { "join", do_join },
	{ "join, another", do_join_new }, { "join, named", do_join_named }, { "link", do_link }, { "both links", do_link_both },
	{ "share", do_share }, { "register", do_register }, { "unregister", do_unregister },
	{ "select", do_select }, { "stripe", do_stripe }, { "status", do_status },
	{ "abort", do_abort }, { "cancel", do_cancel },
};

static bool place_make(struct place *p)
{
	memset(p, 0, sizeof(*p));
	raw_plan(&p->c, 2, 2);
	p->c.node_of[1] = 1;
	p->fd = raw_open();
	p->reg.addr = (uintptr_t)page;
	p->reg.len = sizeof(page);
	return p->fd >= 0 && !raw_join(p->fd, &p->c, 0) && !raw_tcp_pair(p->sv) &&
		!ioc(p->fd, COLL_IOC_REGISTER, &p->reg);
}

static void place_end(struct place *p)
{
	close(p->fd);
	close(p->sv[0]);
	close(p->sv[1]);
}

/* A port that cannot be noted for lack of memory is in use, so bind() says. */
static bool error_fits(int ret)
{
	return !ret || ret == -ENOMEM || ret == -EFAULT || ret == -EAGAIN || ret == -EBADF ||
		ret == -ENOBUFS || ret == -EMFILE || ret == -ENFILE || ret == -EADDRINUSE;
}

static void setup_run(unsigned int which)
{
	unsigned int n, bad = 0;
	struct place p;
	int ret = 0;
	bool hit = true;

	for (n = 1; hit && n < NTH_MAX; n++) {
		if (!place_make(&p)) {
			bad++;
			break;
		}
		tally.calls++;
		inject_nth(n);
		ret = setups[which].call(&p);
		hit = inject_hit();
		if (!error_fits(ret) || (!hit && ret)) {
			printf("# %s, fault %u: %d\n", setups[which].name, n, ret);
			bad++;
		}
		/* After any result the verb has been done, or can be done now. */
		place_end(&p);
	}
	scenario(!bad && !hit, "%s: %u faults", setups[which].name, n - 2);
}

/* ---- collectives ---- */

static int32_t in[2][4 * COUNT], out[2][4 * COUNT];
static uint64_t counts[2][4];

static void make(struct coll_cmd *cmd, uint32_t r, unsigned int kind, uint64_t count)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = kind;
	cmd->timeout_ns = DEADLINE;
	if (kind == COLL_BARRIER)
		return;
	cmd->dtype = COLL_I32;
	cmd->count = count;
	cmd->recv_addr = (uintptr_t)out[r];
	if (kind != COLL_BROADCAST)
		cmd->send_addr = (uintptr_t)in[r];
	switch (kind) {
	case COLL_REDUCE:
	case COLL_ALLREDUCE:
	case COLL_REDUCE_SCATTER_BLOCK:
	case COLL_SCAN:
	case COLL_EXSCAN:
		cmd->op = COLL_OP_SUM;
		break;
	case COLL_REDUCE_SCATTER:
		cmd->op = COLL_OP_SUM;
		/* fallthrough */
	case COLL_ALLGATHERV:
	case COLL_ALLTOALLV:
		cmd->count = 0;
		cmd->counts_addr = (uintptr_t)counts[r];
		break;
	case COLL_GATHERV:
	case COLL_SCATTERV:
		if (!r) {
			cmd->count = 0;
			cmd->counts_addr = (uintptr_t)counts[r];
		}
		break;
	}
	counts[r][0] = counts[r][1] = counts[r][2] = counts[r][3] = count;
	if (r && (kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_GATHERV))
		cmd->recv_addr = 0;
	if (r && (kind == COLL_SCATTER || kind == COLL_SCATTERV))
		cmd->send_addr = 0;
	if (kind == COLL_SEND || kind == COLL_RECV) {
		/* Rank 0 does what is asked for, rank 1 the other. */
		if ((kind == COLL_SEND) == !r)
			raw_send(cmd, in[r], count, COLL_I32, !r, 5);
		else
			raw_recv(cmd, out[r], count, COLL_I32, !r, 5, NULL);
	} else if (kind == COLL_SENDRECV) {
		raw_send(cmd, in[r], count, COLL_I32, !r, 5);
		raw_and_recv(cmd, out[r], count, !r, 5, NULL);
	} else if (kind == COLL_MRECV) {
		raw_mrecv(cmd, out[r], count, COLL_I32, COLL_MESSAGE_NULL, NULL);
	} else if (kind == COLL_PROBE || kind == COLL_MPROBE) {
		/* A probe for no rank: there is no third rank that would send. */
		raw_probe(cmd, kind, COLL_RANK_NULL, 5, (void *)out[r]);
	}
	cmd->timeout_ns = DEADLINE;
}

struct call {
	int fd, result;
	struct coll_cmd *cmd;
};

static const char *const hows[NR_HOWS] = {
	"", ", io_uring", ", posted", ", collected",
};

/* By a ring of its own, made before the fault. Return: of the CQE. */
static int submit_uring(int fd, struct coll_cmd *cmd, unsigned int nth, bool *hit)
{
	struct __kernel_timespec ts = { .tv_sec = HANG_SECONDS };
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int ret = io_uring_queue_init(4, &ring, 0);

	if (ret)
		return ret;
	ring_prep(io_uring_get_sqe(&ring), fd, cmd, 1);
	inject_nth(nth);
	ret = io_uring_submit(&ring);
	*hit = nth && inject_hit();
	if (ret != 1) {
		/* Not taken: io_uring itself had no memory. */
		ret = io_uring_submit(&ring);
		if (ret != 1)
			goto out;
	}
	ret = io_uring_wait_cqe_timeout(&ring, &cqe, &ts);
	if (ret) {
		tally.hangs++;
		goto out;
	}
	ret = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	if (!io_uring_peek_cqe(&ring, &cqe))
		ret = -EOVERFLOW;	/* two CQEs of one SQE */
out:
	io_uring_queue_exit(&ring);
	return ret;
}

static void *other(void *arg)
{
	struct call *c = arg;

	c->result = raw_submit(c->fd, c->cmd);
	return NULL;
}

/* Wait for the other rank's thread. False: it hangs. */
static bool join(pthread_t thread)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += HANG_SECONDS;
	if (!pthread_timedjoin_np(thread, NULL, &ts))
		return true;
	tally.hangs++;
	return false;
}

bool inject_refused(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT || ret == -EAGAIN || ret == -ENOBUFS;
}

/* Rank 0's command, with a fault. Return: its result. */
static int give(enum how how, int fd, struct coll_cmd *cmd, unsigned int n, bool *hit)
{
	int ret;

	switch (how) {
	case BY_URING:
		return submit_uring(fd, cmd, n, hit);
	case BY_POST:
	case BY_COLLECT:
		return posted_give(how, fd, cmd, n, hit);
	default:
		inject_nth(n);
		ret = raw_submit(fd, cmd);
		*hit = inject_hit();
		return ret;
	}
}

/* One fault in rank 0's command. Return: as it should be. */
static bool one_fault(struct raw_comm *c, unsigned int kind, uint64_t count, enum how how,
		      unsigned int n, bool *hit)
{
	struct coll_cmd cmds[2];
	struct call o = { .fd = c->fd[1], .cmd = &cmds[1] };
	struct coll_status before = { }, after = { };
	pthread_t thread;
	int ret;

	make(&cmds[0], 0, kind, count);
	make(&cmds[1], 1, kind, count);
	raw_status(c->fd[0], &before);
	tally.calls++;
	if (pthread_create(&thread, NULL, other, &o))
		return false;
	ret = give(how, c->fd[0], &cmds[0], n, hit);
	raw_status(c->fd[0], &after);
	/* Refused before it was posted: it does not count, and goes once more. */
	if (inject_refused(ret) && after.state != COLL_STATE_FAILED &&
	    (kind >= COLL_SEND || after.posted == before.posted))
		ret = raw_submit(c->fd[0], &cmds[0]);
	if (!join(thread))
		return false;
	raw_status(c->fd[0], &after);
	/* A small output is copied when all is done. If it cannot be, that is this rank's. */
	if (after.state != COLL_STATE_FAILED && *hit && ret == -EFAULT && !o.result)
		return true;
	/* The other rank may have ended its op before, as one that sends to a root does. */
	if (after.state == COLL_STATE_FAILED && *hit && ret &&
	    (o.result || !raw_status_failed(c->fd[1], &before)))
		return true;
	if (ret || o.result)
		printf("# collective %u, fault %u%s: %d and %d, state %u, cause %u\n", kind, n,
		       *hit ? "" : " not met", ret, o.result, after.state, after.cause.kind);
	return !ret && !o.result;
}

static void collective_run(unsigned int kind, uint32_t nodes, uint64_t count,
			   enum how how)
{
	unsigned int n, bad = 0, failed = 0;
	struct coll_status s;
	struct raw_comm c;
	bool hit = true;
	int ret;

	if (raw_start(&c, 2, nodes)) {
		scenario(false, "no communicator");
		return;
	}
	for (n = 1; hit && n < NTH_MAX && !tally.hangs; n++) {
		bad += !one_fault(&c, kind, count, how, n, &hit);
		if (raw_status(c.fd[0], &s) || s.state == COLL_STATE_FAILED) {
			failed++;
			raw_stop(&c);
			ret = raw_start(&c, 2, nodes);
			if (ret)
				printf("# no new communicator: %d\n", ret);
			bad += ret != 0;
		}
	}
	ret = test_good(&c);
	if (ret)
		printf("# collective %u: afterwards %d\n", kind, ret);
	bad += ret != 0;
	raw_stop(&c);
	scenario(!bad && !hit, "collective %u, %u nodes, %llu elements%s: %u faults, %u failed it",
		 kind, nodes, (unsigned long long)count, hows[how], n - 2,
		 failed);
}

void verbs_run(bool all)
{
	struct coll_version v = { };
	unsigned int i, nodes;
	int fd = raw_open();

	ioctl(fd, COLL_IOC_VERSION, &v);
	close(fd);
	for (i = 0; i < sizeof(setups) / sizeof(setups[0]); i++)
		setup_run(i);
	for (i = 1; i < COLL_NR_COLLECTIVES; i++) {
		if (!(v.collectives & 1ULL << i) || (!all && i % 5 != 4))
			continue;
		for (nodes = 1; nodes <= 2 && !tally.hangs; nodes++) {
			collective_run(i, nodes, COUNT, BY_IOCTL);
			if (!all)
				continue;
			collective_run(i, nodes, 16, BY_IOCTL);
			collective_run(i, nodes, COUNT, BY_URING);
			collective_run(i, nodes, COUNT, BY_POST);
			collective_run(i, nodes, 16, BY_COLLECT);
		}
	}
}
