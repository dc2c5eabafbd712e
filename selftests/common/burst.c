// SPDX-License-Identifier: GPL-2.0
/* A real rank with several ops in flight; the test plays the peer. */
#include <stdlib.h>
#include <string.h>

#include "burst.h"
#include "raw.h"
#include "util.h"

bool burst_start(struct burst *b)
{
	memset(b, 0, sizeof(*b));
	b->buf = malloc(2 * BURST_BYTES);
	return b->buf && !peer_start(&b->p, true);
}

bool burst_post(struct burst *b, enum peer_kind kind, uint64_t count)
{
	struct peer_op *o = &b->op[b->nr];
	uint64_t end = test_now_ns() + 10 * BURST_SECOND;
	struct coll_status s;

	if (!peer_op_init(o, &b->p, kind, count, 20 * BURST_SECOND) || !peer_op_start(o, &b->p))
		return false;
	b->nr++;
	do {
		if (raw_status(b->p.c.fd[0], &s) || test_now_ns() > end)
			return false;
	} while (s.posted < b->nr);
	return true;
}

bool burst_answer(struct burst *b, uint64_t seq)
{
	size_t n = peer_put_op(&b->p, &b->op[seq - 1].cmd, seq, 65536, b->buf);

	return peer_write(&b->p, 1, b->buf, n);
}

uint64_t burst_read(struct burst *b, int ms)
{
	struct coll_frame f;

	do {
		if (!peer_read(&b->p, 1, &f, ms))
			return 0;
	} while (f.type != COLL_FRAME_DATA);
	return f.seq;
}

size_t burst_stop(struct burst *b)
{
	size_t hurt = 0;
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		hurt += peer_op_exit(&b->op[i]);
	peer_stop(&b->p);
	free(b->buf);
	return hurt;
}
