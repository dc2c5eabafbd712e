// SPDX-License-Identifier: GPL-2.0
/* Check the commands of messages, and pin their buffers. */
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/uaccess.h>

#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/mem/area.h"
#include "../core/op/op.h"
#include "../core/plan/support.h"
#include "decode.h"
#include "message.h"
#include "take.h"

/* A partner: a rank of the group, or one of two special values. */
static int coll_check_rank(u32 *rank, u32 size, bool any)
{
	if (*rank == COLL_RANK_NULL || (any && *rank == COLL_RANK_ANY))
		return 0;
	if (*rank >= size)
		return -EINVAL;
	*rank = array_index_nospec(*rank, size);
	return 0;
}

static int coll_check_dtype(u32 dtype)
{
	if (!dtype || dtype >= COLL_NR_DTYPES)
		return -EINVAL;
	return coll_elem_size(dtype) ? 0 : -EOPNOTSUPP;
}

/* Return: 0 if the sending part is valid; or if there is none, and its fields are zero. */
static int coll_check_send(struct coll_cmd *c, u32 size)
{
	if (!coll_msg_sends(c->collective))
		return c->root || c->send_tag || c->send_addr || c->send_buf ||
		       c->flags & (COLL_CMD_REG_SEND | COLL_CMD_INPLACE) ? -EINVAL : 0;
	if (c->send_tag > COLL_TAG_MAX)
		return -EINVAL;
	return coll_check_rank(&c->root, size, false) ?: coll_check_dtype(c->dtype);
}

/* The command of a probe, which has no buffer. */
static int coll_check_probe(const struct coll_cmd *c)
{
	if (c->dtype || c->count || c->recv_addr || c->recv_buf || c->recv_count ||
	    c->recv_dtype || c->flags & COLL_CMD_REG_RECV)
		return -EINVAL;
	/* A message that a matched probe takes without a handle could never be received. */
	if (c->collective == COLL_MPROBE && !c->message_addr)
		return -EINVAL;
	return c->message_addr && clear_user(u64_to_user_ptr(c->message_addr),
					     sizeof(struct coll_message)) ? -EFAULT : 0;
}

/* An mrecv receives the message that it names, which may be COLL_MESSAGE_NULL. */
static int coll_name_matched(struct coll_cmd *c)
{
	if (!c->matched || c->source || c->recv_tag)
		return -EINVAL;
	c->source = c->matched == COLL_MESSAGE_NULL ? COLL_RANK_NULL : COLL_RANK_ANY;
	c->recv_tag = COLL_TAG_ANY;
	return 0;
}

static int coll_check_recv(struct coll_cmd *c, u32 size)
{
	if (c->collective == COLL_SEND)
		return c->source || c->recv_tag || c->recv_addr || c->recv_buf ||
		       c->recv_count || c->recv_dtype || c->message_addr ||
		       c->flags & (COLL_CMD_REG_RECV | COLL_CMD_INPLACE) ? -EINVAL : 0;
	if (c->recv_tag > COLL_TAG_MAX && c->recv_tag != COLL_TAG_ANY)
		return -EINVAL;
	if (coll_is_probe(c->collective))
		return coll_check_probe(c) ?: coll_check_rank(&c->source, size, true);
	if (c->collective == COLL_MRECV && coll_name_matched(c))
		return -EINVAL;
	if (c->collective != COLL_SENDRECV) {
		if (c->recv_count || c->recv_dtype)
			return -EINVAL;
		c->recv_count = c->count;
		c->count = 0;
	}
	c->recv_dtype = c->recv_dtype ?: c->dtype;
	return coll_check_rank(&c->source, size, true) ?: coll_check_dtype(c->recv_dtype);
}

static int coll_check_message(struct coll_cmd *c, u32 size)
{
	u32 flags = COLL_CMD_INPLACE | COLL_CMD_REG_SEND | COLL_CMD_REG_RECV | COLL_CMD_WAITS;
	int ret;

	if (coll_is_probe(c->collective))
		flags |= COLL_CMD_NOWAIT;
	if (c->op || c->algorithm || c->counts_addr || c->displs_addr || c->scalar ||
	    c->segment || c->flags & ~flags || (c->matched && c->collective != COLL_MRECV))
		return -EINVAL;
	if ((c->send_buf && !(c->flags & COLL_CMD_REG_SEND)) ||
	    (c->recv_buf && !(c->flags & COLL_CMD_REG_RECV)))
		return -EINVAL;
	if (c->flags & COLL_CMD_INPLACE && (c->send_addr || c->flags & COLL_CMD_REG_SEND))
		return -EINVAL;
	ret = coll_check_send(c, size);
	return ret ?: coll_check_recv(c, size);
}

/* Bytes of both buffers; 0 if the partner is COLL_RANK_NULL. */
static int coll_message_bytes(const struct coll_cmd *c, u64 *in, u64 *out)
{
	if (check_mul_overflow(c->count, (u64)coll_elem_size(c->dtype), in) ||
	    check_mul_overflow(c->recv_count, (u64)coll_elem_size(c->recv_dtype), out))
		return -EINVAL;
	if (!coll_msg_sends(c->collective) || c->root == COLL_RANK_NULL)
		*in = 0;
	if (c->collective == COLL_SEND || c->source == COLL_RANK_NULL)
		*out = 0;
	return 0;
}

static int coll_take_sent(struct coll_member *m, const struct coll_fixed *fixed,
			  struct coll_req *req, u64 len)
{
	const struct coll_cmd *c = &req->cmd;
	struct coll_range r = {
		.fixed = fixed,
		.reg = c->flags & COLL_CMD_REG_SEND,
		.id = c->send_buf,
		.addr = c->send_addr,
		.len = len,
		.read = true,
	};

	return coll_take_vec(m, &r, &req->in);
}

static int coll_take_received(struct coll_member *m, const struct coll_fixed *fixed,
			      struct coll_req *req, u64 len)
{
	const struct coll_cmd *c = &req->cmd;
	struct coll_range r = {
		.fixed = fixed,
		.reg = c->flags & COLL_CMD_REG_RECV,
		.id = c->recv_buf,
		.addr = c->recv_addr,
		.len = len,
		.read = c->flags & COLL_CMD_INPLACE,
		.write = true,
	};

	return coll_take_vec(m, &r, &req->out);
}

/* In place: send from a copy, which is charged to the caller. */
static int coll_take_both(struct coll_member *m, const struct coll_fixed *fixed,
			  struct coll_req *req, u64 in, u64 out)
{
	const struct coll_area sent = coll_area_range(0, in);
	struct coll_buf *saved;
	int ret;

	if (!in && !out)
		return 0;
	ret = coll_take_received(m, fixed, req, max(in, out));
	if (ret || !in)
		return ret;
	saved = coll_pins_save(&m->ml, &req->out, 0, &sent);
	if (IS_ERR(saved))
		return saved == ERR_PTR(-EDQUOT) ? -ENOMEM : PTR_ERR(saved);
	req->in = (struct coll_vec){ .buf = saved };
	return 0;
}

static bool coll_messages_overlap(const struct coll_cmd *c, u64 in, u64 out)
{
	if (!in || !out)
		return false;
	return c->send_addr < c->recv_addr ? c->recv_addr - c->send_addr < in :
					     c->send_addr - c->recv_addr < out;
}

int coll_decode_message(struct coll_member *m, const struct coll_fixed *fixed,
			struct coll_req *req)
{
	struct coll_cmd *c = &req->cmd;
	u64 in, out;
	int ret;

	ret = coll_check_message(c, coll_member_group(m)->size);
	if (ret)
		return ret;
	c->dtype = array_index_nospec(c->dtype, COLL_NR_DTYPES);
	c->recv_dtype = array_index_nospec(c->recv_dtype, COLL_NR_DTYPES);
	ret = coll_message_bytes(c, &in, &out);
	if (ret)
		return ret;
	if (in > COLL_MAX_BUFFER || out > COLL_MAX_BUFFER)
		return -EINVAL;
	req->in_bytes = in;
	req->bytes = max(in, out);
	if (c->flags & COLL_CMD_INPLACE)
		return coll_take_both(m, fixed, req, in, out);
	if (coll_messages_overlap(c, in, out))
		return -EINVAL;
	if (in)
		ret = coll_take_sent(m, fixed, req, in);
	if (!ret && out)
		ret = coll_take_received(m, fixed, req, out);
	return ret;
}
