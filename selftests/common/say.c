// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include "say.h"

void say_begin(struct say *t)
{
	memset(t->buf, 0, sizeof(t->buf));
	t->len = COLL_WIRE_HDR;
}

/* Orders are numbered in the order in which they are sent, if they have no number. */
void say_add(struct say *t, const struct coll_coord_rec *r)
{
	struct coll_coord_rec numbered = *r;
	static uint32_t serial;

	if (r->kind < COLL_READY && !r->serial)
		numbered.serial = ++serial;
	t->len += coll_coord_put(t->buf + t->len, &numbered);
}

bool say_send(struct say *t, struct peer *p, int stripe)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_TENSOR, t->len - COLL_WIRE_HDR);
	coll_wire_put_header(t->buf, &f);
	return peer_write(p, stripe, t->buf, t->len);
}

bool say_one(struct peer *p, const struct coll_coord_rec *r)
{
	struct say t;

	say_begin(&t);
	say_add(&t, r);
	return say_send(&t, p, 0);
}

struct coll_coord_rec say_record(uint8_t kind, uint32_t id, uint32_t round)
{
	struct coll_coord_rec r = {
		.kind = kind,
		.last = kind == COLL_ORDER_START,
		.id = id,
		.round = round,
		.rank = 1,
		.contributors = kind == COLL_READY ? 1 : 2,
		.has_params = true,
	};

	r.params.field[COLL_FIELD_COLLECTIVE] = COLL_BARRIER;
	say_rename(&r, SAY_NAME);
	return r;
}

void say_rename(struct coll_coord_rec *r, const char *name)
{
	r->name = (const u8 *)name;
	r->name_len = strlen(name);
}

void say_sum(struct coll_coord_rec *r, uint64_t count)
{
	struct coll_coord_params *p = &r->params;

	p->field[COLL_FIELD_COLLECTIVE] = COLL_ALLREDUCE;
	p->field[COLL_FIELD_OP] = COLL_OP_SUM;
	p->field[COLL_FIELD_DTYPE] = COLL_F32;
	p->field[COLL_FIELD_NDIM] = 1;
	p->field[COLL_FIELD_DIM0] = count;
}

int say_post(struct peer *p, const char *name, uint64_t timeout_ns)
{
	struct coll_tensor t;
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	cmd.timeout_ns = timeout_ns;
	raw_tensor(&t, name, &cmd, SAY_TAG);
	return raw_post(p->c.fd[0], &t, 1, NULL);
}

int say_result(struct peer *p, struct coll_tensor_result *res)
{
	int n = raw_collect(p->c.fd[0], res, 1, 1, 20000000000ULL);

	return n < 0 ? n : n == 1 ? res->result : -ENODATA;
}

bool say_hear(struct peer *p, struct coll_coord_rec *r)
{
	struct coll_frame f;

	return peer_read_ctrl(p, 0, &f, 10000) && f.type == COLL_FRAME_TENSOR &&
	       coll_coord_get(p->payload, f.length, r) == f.length;
}
