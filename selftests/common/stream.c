// SPDX-License-Identifier: GPL-2.0
/* Streams of random collectives, by ioctl or io_uring, verified. */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "procs.h"
#include "ring.h"
#include "util.h"

#define DEPTH_MAX	16

struct slot {
	struct coll_cmd cmd;
	int32_t *in;
	int32_t *out;
	bool busy;
};

struct stream {
	struct procs *p;
	struct procs_stream *s;
	uint32_t rank;
	uint64_t lots;
	uint64_t posted;
	struct slot slots[DEPTH_MAX];
};

/* The next command, the same on all ranks: they draw the same random numbers. */
static void draw_kind(struct stream *t, struct slot *sl)
{
	uint32_t kind = test_below(&t->lots, 8);
	uint32_t root = test_below(&t->lots, t->p->c.size);
	uint64_t max = t->s->max_bytes / 4, count, i;

	/* Small and large equally often: uniform in the number of bits. */
	count = 1 + test_rand(&t->lots) % max;
	count >>= test_below(&t->lots, 20);
	count += !count;
	if (kind == 0) {
		raw_barrier(&sl->cmd);
		return;
	}
	for (i = 0; i < count; i += i < 64 ? 1 : 97)
		sl->in[i] = test_value(t->rank, i);
	if (kind < 3) {
		for (i = 0; i < count; i += i < 64 ? 1 : 97)
			sl->out[i] = test_value(root, i) ^ (t->rank != root);
		raw_broadcast(&sl->cmd, sl->out, count, COLL_I32, root);
	} else {
		/* Earlier ops leave the same sums: spoil them, in case this op writes nothing. */
		for (i = 0; i < count; i += i < 64 ? 1 : 97)
			sl->out[i] = test_value_sum(t->p->c.size, i) ^ 1;
		raw_allreduce(&sl->cmd, sl->in, sl->out, count, COLL_I32,
			      COLL_OP_SUM);
	}
}

static void draw(struct stream *t, struct slot *sl)
{
	draw_kind(t, sl);
	sl->cmd.timeout_ns = t->s->timeout_ns;
}

static uint64_t wrong(const struct stream *t, const struct slot *sl)
{
	const struct coll_cmd *c = &sl->cmd;
	uint64_t i, n = 0;

	if (c->collective == COLL_BARRIER)
		return 0;
	for (i = 0; i < c->count; i += i < 64 ? 1 : 97)
		n += sl->out[i] != (c->collective == COLL_BROADCAST ?
				    test_value(c->root, i) :
				    test_value_sum(t->p->c.size, i));
	return n;
}

static void by_ioctl(struct stream *t)
{
	struct procs_rank *me = &t->p->sh->rank[t->rank];
	struct slot *sl = &t->slots[0];
	int ret = 0;

	while (!ret && (!t->s->count || me->done < t->s->count)) {
		draw(t, sl);
		me->asked = test_now_ns();
		ret = raw_submit(t->p->c.fd[t->rank], &sl->cmd);
		if (!ret) {
			me->wrong += wrong(t, sl);
			me->done++;
		}
	}
	procs_result(t->p, t->rank, ret);
}

static bool want_more(const struct stream *t)
{
	return !t->s->count || t->posted < t->s->count;
}

static void fill_ring(struct stream *t, struct io_uring *ring, uint32_t depth)
{
	struct slot *sl = &t->slots[t->posted % depth];

	while (want_more(t) && !sl->busy) {
		draw(t, sl);
		sl->busy = true;
		ring_prep(io_uring_get_sqe(ring), t->p->c.fd[t->rank], &sl->cmd,
			  t->posted++);
		sl = &t->slots[t->posted % depth];
	}
}

static void by_uring(struct stream *t)
{
	struct slot *sl;
	struct procs_rank *me = &t->p->sh->rank[t->rank];
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	uint32_t depth = t->s->uring < DEPTH_MAX ? t->s->uring : DEPTH_MAX;
	int ret = io_uring_queue_init(DEPTH_MAX, &ring, 0);

	while (!ret && (want_more(t) || t->posted > me->done)) {
		fill_ring(t, &ring, depth);
		me->asked = test_now_ns();
		ret = io_uring_submit_and_wait(&ring, 1);
		ret = ret < 0 && ret != -EINTR ? ret : 0;
		/* ops end in order, but Linux 6.1 turns CQEs around */
		while (!ret && !io_uring_peek_cqe(&ring, &cqe)) {
			sl = &t->slots[cqe->user_data % depth];
			ret = cqe->res;
			io_uring_cqe_seen(&ring, cqe);
			if (ret)
				break;
			me->wrong += wrong(t, sl);
			sl->busy = false;
			me->done++;
		}
	}
	procs_result(t->p, t->rank, ret);
	/* The ring goes with the process: it may still hold commands. */
}

void procs_ops_stream(struct procs *p, uint32_t rank)
{
	struct stream t = { .p = p, .s = p->arg, .rank = rank };
	uint32_t i, n = t.s->uring ? DEPTH_MAX : 1;

	t.lots = t.s->seed;
	for (i = 0; i < n; i++) {
		t.slots[i].in = malloc(t.s->max_bytes + 4);
		t.slots[i].out = malloc(t.s->max_bytes + 4);
		if (!t.slots[i].in || !t.slots[i].out) {
			procs_result(p, rank, -ENOMEM);
			return;
		}
	}
	if (t.s->uring)
		by_uring(&t);
	else
		by_ioctl(&t);
}
