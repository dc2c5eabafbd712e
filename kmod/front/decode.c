// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/cred.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../core/buf.h"
#include "../core/group.h"
#include "../core/limits.h"
#include "../core/member.h"
#include "../core/op.h"
#include "../core/support.h"
#include "../core/trace.h"
#include "decode.h"

#define COLL_CMD_FLAGS	(COLL_CMD_INPLACE | COLL_CMD_REG_SEND | COLL_CMD_REG_RECV)

/* First published size: shorter ones have never been valid. */
#define COLL_CMD_SIZE_V0	120

static int coll_copy_cmd(struct coll_cmd *cmd, u64 arg, u32 len)
{
	BUILD_BUG_ON(sizeof(*cmd) != COLL_CMD_SIZE_V0);

	if (len < COLL_CMD_SIZE_V0 || len > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(cmd, sizeof(*cmd),
				     (const void __user *)(unsigned long)arg, len);
}

/* Fields that this collective does not use must be zero. */
static int coll_check_fields(const struct coll_cmd *c)
{
	if (c->flags & ~COLL_CMD_FLAGS ||
	    memchr_inv(c->reserved, 0, sizeof(c->reserved)))
		return -EINVAL;
	if (c->counts_addr || c->displs_addr || c->scalar)
		return -EINVAL;
	if ((c->send_buf && !(c->flags & COLL_CMD_REG_SEND)) ||
	    (c->recv_buf && !(c->flags & COLL_CMD_REG_RECV)))
		return -EINVAL;
	if (c->flags & COLL_CMD_INPLACE &&
	    (c->send_addr || c->flags & COLL_CMD_REG_SEND))
		return -EINVAL;
	switch (c->collective) {
	case COLL_BARRIER:
		if (c->op || c->dtype || c->flags || c->root || c->count ||
		    c->send_addr || c->recv_addr)
			return -EINVAL;
		break;
	case COLL_BROADCAST:
		if (c->op || c->send_addr || c->flags & ~COLL_CMD_REG_RECV)
			return -EINVAL;
		break;
	case COLL_ALLREDUCE:
		if (c->root)
			return -EINVAL;
		break;
	}
	return 0;
}

/* Return: 0, -EINVAL for what nobody knows, -EOPNOTSUPP for what cannot be. */
static int coll_check_kind(const struct coll_cmd *c, const struct coll_group *g)
{
	if (!c->collective || c->collective >= COLL_NR_COLLECTIVES ||
	    c->op >= COLL_NR_OPS || c->dtype >= COLL_NR_DTYPES ||
	    c->root >= g->size)
		return -EINVAL;
	if (!coll_supports(c->collective))
		return -EOPNOTSUPP;
	if (!coll_has_algorithm(c->collective, c->algorithm))
		return -EINVAL;
	if (c->collective == COLL_BARRIER)
		return 0;
	if (c->dtype == COLL_DTYPE_NONE)
		return -EINVAL;
	if (!coll_elem_size(c->dtype))
		return -EOPNOTSUPP;
	if (c->collective == COLL_BROADCAST)
		return 0;
	if (c->op == COLL_OP_NONE)
		return -EINVAL;
	return coll_can_reduce(c->op, c->dtype) ? 0 : -EOPNOTSUPP;
}

/* Input and output are either the same bytes or share none. */
static int coll_check_overlap(struct coll_cmd *c, u64 bytes)
{
	u64 lo = min(c->send_addr, c->recv_addr);
	u64 hi = max(c->send_addr, c->recv_addr);

	if (c->flags & COLL_CMD_INPLACE)
		return 0;
	if (hi == lo) {
		/* What NCCL's users write for in place. */
		c->flags |= COLL_CMD_INPLACE;
		c->flags &= ~COLL_CMD_REG_SEND;
		return 0;
	}
	return hi - lo < bytes ? -EINVAL : 0;
}

/* A vector of the caller's memory: registered, pinned now, or through windows. */
static int coll_take_vec(struct coll_member *m, bool reg, u32 id, u64 addr,
			 u64 len, bool write, struct coll_vec *v)
{
	struct coll_buf *buf;
	bool over;

	if (reg)
		return coll_member_vec(m, id, addr, len, write, v);
	buf = coll_buf_pin(&m->ml, addr, len, write);
	if (buf == ERR_PTR(-EDQUOT) || buf == ERR_PTR(-ENOMEM)) {
		over = buf == ERR_PTR(-EDQUOT);
		buf = coll_buf_window(&m->ml, addr, len, write);
		if (over && !IS_ERR(buf))
			coll_group_note_memlock(coll_member_group(m),
				coll_buf_memlock_wanted(&m->ml, addr, len));
	}
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	v->buf = buf;
	v->start = 0;
	return 0;
}

static int coll_take_buffers(struct coll_member *m, struct coll_req *req)
{
	struct coll_cmd *c = &req->cmd;
	int ret;

	ret = coll_take_vec(m, c->flags & COLL_CMD_REG_RECV, c->recv_buf,
			    c->recv_addr, req->bytes, true, &req->out);
	if (ret || c->collective == COLL_BROADCAST)
		return ret;
	if (c->flags & COLL_CMD_INPLACE) {
		coll_buf_get(req->out.buf);
		req->in = req->out;
		return 0;
	}
	ret = coll_take_vec(m, c->flags & COLL_CMD_REG_SEND, c->send_buf,
			    c->send_addr, req->bytes, false, &req->in);
	if (ret)
		coll_decode_undo(req);
	return ret;
}

/* A pipelining unit that frames can be cut at: whole elements of any type. */
static u64 coll_round_segment(u64 segment)
{
	if (!segment)
		return 0;
	return clamp_t(u64, round_down(segment, 64), 64, SZ_1M);
}

int coll_refused(struct coll_member *m, int err)
{
	if (!fatal_signal_pending(current))
		return err;
	coll_member_gone(m, COLL_CAUSE_EXIT);
	return -ECANCELED;
}

static int coll_decode_alive(struct coll_member *m, u64 arg, u32 len,
			     struct coll_req *req)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_cmd *c = &req->cmd;
	int ret;

	ret = coll_copy_cmd(c, arg, len);
	if (ret)
		return ret;
	ret = coll_check_kind(c, g);
	if (ret)
		return ret;
	ret = coll_check_fields(c);
	if (ret)
		return ret;
	/* In range, also where the CPU guesses: they index tables from here on. */
	c->op = array_index_nospec(c->op, COLL_NR_OPS);
	c->dtype = array_index_nospec(c->dtype, COLL_NR_DTYPES);
	c->root = array_index_nospec(c->root, g->size);
	c->segment = coll_round_segment(c->segment);
	req->member = m;
	if (check_mul_overflow(c->count, (u64)coll_elem_size(c->dtype), &req->bytes))
		return -EINVAL;
	if (!req->bytes)
		return 0;
	if (c->collective != COLL_BROADCAST) {
		ret = coll_check_overlap(c, req->bytes);
		if (ret)
			return ret;
	}
	return coll_take_buffers(m, req);
}

int coll_decode(struct coll_member *m, u64 arg, u32 len, struct coll_req *req)
{
	int ret;

	if (!coll_member_is_owner(m))
		return -EPERM;
	if (!coll_member_group(m))
		return -ENOTCONN;
	if (fatal_signal_pending(current))
		return coll_refused(m, -ECANCELED);
	ret = coll_decode_alive(m, arg, len, req);
	if (ret)
		return coll_refused(m, ret);
	trace_coll_submit(coll_member_group(m)->id, m->rank, &req->cmd);
	return 0;
}

void coll_decode_undo(struct coll_req *req)
{
	coll_buf_put(req->in.buf);
	coll_buf_put(req->out.buf);
	req->in.buf = NULL;
	req->out.buf = NULL;
}
