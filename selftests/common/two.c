// SPDX-License-Identifier: GPL-2.0
/* The peer node of two communicators that share their streams. */
#include <errno.h>

#include "two.h"
#include "util.h"

bool two_is(const struct coll_frame *f, const struct peer *p, uint8_t type)
{
	return f->type == type && f->comm == coll_wire_comm(p->name);
}

int two_start(struct two *t)
{
	int ret = peer_start(&t->a, true);

	if (!ret)
		ret = peer_second(&t->b, &t->a);
	return ret;
}

int two_attach(struct two *t)
{
	return raw_share(t->b.c.fd[0], 1, t->a.c.fd[0], 1);
}

bool two_hello(struct two *t, struct peer *p)
{
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	return peer_write(&t->a, 0, buf, peer_put_hello(p, 0, buf));
}

bool two_proof(struct two *t, struct peer *p)
{
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	return peer_write(&t->a, 0, buf, peer_put_proof(p, 0, buf));
}

int two_establish(struct two *t)
{
	int ret = two_start(t);

	if (!ret)
		ret = two_attach(t);
	if (!ret && !peer_second_establish(&t->b, &t->a))
		ret = -EPROTO;
	return ret;
}

void two_stop(struct two *t)
{
	peer_leave(&t->b);
	peer_stop(&t->a);
}

uint32_t two_error(const struct peer *p)
{
	struct coll_status s;

	return raw_status(p->c.fd[0], &s) ? ~0U : s.cause.error;
}

int two_works(struct peer *p, enum peer_kind kind)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op o;
	int ret;

	if (!peer_op_init(&o, p, kind, 1250, 20 * TWO_SECOND) || !peer_op_start(&o, p))
		return -ENOMEM;
	peer_write(p, 1, buf, peer_put_op(p, &o.cmd, p->seq, 1000, buf));
	ret = peer_op_wait(&o);
	if (!ret)
		ret = peer_op_wrong(&o) != 0;
	return peer_op_exit(&o) ? 1 : ret;
}

bool two_fails(const struct peer *p, uint32_t error)
{
	uint64_t until = test_now_ns() + 10 * TWO_SECOND;

	while (two_error(p) != error && test_now_ns() < until)
		test_sleep_us(1000);
	return two_error(p) == error;
}
