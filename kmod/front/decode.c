// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/cred.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/mem/area.h"
#include "../core/mem/buf.h"
#include "../core/mem/slot.h"
#include "../core/mem/store.h"
#include "../core/op/op.h"
#include "../core/plan/extent.h"
#include "../core/plan/support.h"
#include "../core/trace.h"
#include "decode.h"
#include "fixed.h"
#include "message.h"
#include "node.h"
#include "small.h"
#include "take.h"

#define COLL_CMD_FLAGS	(COLL_CMD_INPLACE | COLL_CMD_REG_SEND | COLL_CMD_REG_RECV | COLL_CMD_WAITS | \
			 COLL_CMD_NARROW | COLL_CMD_WIRE | COLL_CMD_NODE)

static int coll_copy_cmd(struct coll_cmd *cmd, u64 arg, u32 len)
{
	const void __user *from = u64_to_user_ptr(arg);

	BUILD_BUG_ON(sizeof(*cmd) < COLL_CMD_SIZE_V0);
	/* The usual one. With a constant size the kernel need not look up whose memory @cmd is in. */
	if (len == sizeof(*cmd))
		return copy_from_user(cmd, from, sizeof(*cmd)) ? -EFAULT : 0;
	if (len < COLL_CMD_SIZE_V0 || len > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(cmd, sizeof(*cmd), from, len);
}

/* Fields that this collective does not use must be zero. */
static int coll_check_fields(const struct coll_cmd *c, u32 rank)
{
	if (c->flags & ~COLL_CMD_FLAGS || c->send_tag || c->recv_tag || c->source ||
	    c->recv_dtype || c->recv_count || c->message_addr || c->matched)
		return -EINVAL;
	/* ->scalar has one element in its low bytes, and zeroes above it. */
	if (c->scalar && (c->op != COLL_OP_PREMULSUM ||
			  (coll_elem_size(c->dtype) < sizeof(c->scalar) &&
			   c->scalar >> coll_elem_size(c->dtype) * 8)))
		return -EINVAL;
	if ((c->send_buf && !(c->flags & COLL_CMD_REG_SEND)) ||
	    (c->recv_buf && !(c->flags & COLL_CMD_REG_RECV)))
		return -EINVAL;
	if (c->collective == COLL_BARRIER &&
	    (c->dtype || c->flags & ~(COLL_CMD_WAITS | COLL_CMD_NODE) || c->count))
		return -EINVAL;
	if (c->flags & COLL_CMD_NARROW && !coll_reduces(c->collective))
		return -EINVAL;
	if (c->flags & COLL_CMD_WIRE && !coll_wire_ok(c))
		return -EINVAL;
	return coll_check_use(c, rank);
}

/* Return: 0; -EINVAL for an unknown number; -EOPNOTSUPP if the combination is not supported. */
static int coll_check_kind(const struct coll_cmd *c, const struct coll_group *g)
{
	if (!c->collective || c->collective >= COLL_NR_COLLECTIVES ||
	    c->op >= COLL_NR_OPS || c->dtype >= COLL_NR_DTYPES ||
	    c->root >= g->size)
		return -EINVAL;
	if (!coll_has_algorithm(c->collective, c->op, c->dtype, c->algorithm))
		return c->algorithm == COLL_ALG_AUTO || !coll_supports(c->collective) ?
			-EOPNOTSUPP : -EINVAL;
	if (c->collective == COLL_BARRIER)
		return 0;
	if (c->dtype == COLL_DTYPE_NONE)
		return -EINVAL;
	if (!coll_elem_size(c->dtype))
		return -EOPNOTSUPP;
	if (!coll_reduces(c->collective))
		return 0;
	if (c->op == COLL_OP_NONE)
		return -EINVAL;
	return coll_can_reduce(c->op, c->dtype) ? 0 : -EOPNOTSUPP;
}

/* The bytes of both vectors of a command. */
struct coll_areas {
	struct coll_area in;
	struct coll_area out;
};

/*
 * Is the input in the memory of the output, if they have the same addresses? A registered buffer
 * keeps its pages when other memory is mapped at its addresses.
 */
static bool coll_is_same_memory(const struct coll_cmd *c)
{
	u32 reg = c->flags & (COLL_CMD_REG_SEND | COLL_CMD_REG_RECV);

	return !reg || (hweight32(reg) == 2 && c->send_buf == c->recv_buf);
}

/*
 * Input and output are either the same bytes, or have no byte in common. Blocks of one vector may
 * lie in gaps of the other.
 */
static int coll_check_overlap(struct coll_cmd *c, const struct coll_areas *a)
{
	if (c->flags & COLL_CMD_INPLACE || !coll_areas_meet(&a->in, &a->out))
		return 0;
	if (c->send_addr == c->recv_addr && coll_areas_equal(&a->in, &a->out) &&
	    coll_is_same_memory(c) && !coll_out_lies_in(c->collective)) {
		/* Users of NCCL ask for "in place" like this. */
		c->flags |= COLL_CMD_INPLACE;
		c->flags &= ~COLL_CMD_REG_SEND;
		return 0;
	}
	return -EINVAL;
}

/* In place: @v is a part of @whole, or all of it. */
static void coll_take_inside(const struct coll_vec *whole, u64 at, struct coll_vec *v)
{
	coll_buf_get(whole->buf);
	v->buf = whole->buf;
	v->start = whole->start + at;
}

/*
 * In place, where results overwrite inputs that are still needed: copy the input now, into
 * memory that is charged to the caller.
 */
static int coll_save_input(struct coll_member *m, struct coll_req *req,
			   const struct coll_area *in)
{
	u64 addr = req->cmd.recv_addr;
	struct coll_buf *saved;

	if (!req->in.buf || !in->nr || !coll_saves_input(&req->cmd))
		return 0;
	if (req->slot) {
		memcpy(coll_slot_at(req->slot, 0), coll_slot_at(req->slot, req->slot->half),
		       req->in_bytes);
		req->in.start = req->slot->start;
		return 0;
	}
	saved = coll_pins_save(&m->ml, &req->in, addr, in);
	if (saved == ERR_PTR(-EDQUOT))
		return -ENOMEM;
	if (IS_ERR(saved))
		return PTR_ERR(saved);
	coll_buf_put(req->in.buf);
	req->in = (struct coll_vec){ .buf = saved, .start = addr - saved->addr };
	return 0;
}

/* One of the two vectors: in the slot, if there is one, or where the caller has it. */
static int coll_take_one(struct coll_member *m, const struct coll_fixed *fixed,
			 struct coll_req *req, bool out, const struct coll_area *area)
{
	const struct coll_cmd *c = &req->cmd;
	bool inplace = c->flags & COLL_CMD_INPLACE, one = coll_one_buffer(c->collective);
	/* A collective with one buffer reads it at the root, and does not write it there. */
	bool is_source = one && c->root == m->rank;
	struct coll_vec *v = out ? &req->out : &req->in;
	struct coll_range r = {
		.fixed = fixed,
		.reg = c->flags & (out ? COLL_CMD_REG_RECV : COLL_CMD_REG_SEND),
		.id = out ? c->recv_buf : c->send_buf,
		.addr = out ? c->recv_addr : c->send_addr,
		.area = area,
		.read = !out || inplace || one,
		.write = (out && !is_source) || inplace,
	};

	if (!req->slot)
		return coll_take_vec(m, &r, v);
	coll_buf_get(req->slot->buf);
	v->buf = req->slot->buf;
	v->start = req->slot->start + (out ? req->slot->half : 0);
	return 0;
}

/*
 * Memory that is pinned now is taken in whole pages. A buffer that is registered with the member or
 * with io_uring begins and ends anywhere: there the vector has the bytes that the command names.
 */
static int coll_take_area(struct coll_member *m, const struct coll_fixed *fixed,
			  struct coll_req *req, bool out, struct coll_area *area)
{
	u32 reg = out ? COLL_CMD_REG_RECV : COLL_CMD_REG_SEND;

	if (!fixed && !(req->cmd.flags & reg))
		coll_area_join(area);
	return coll_take_one(m, fixed, req, out, area);
}

/*
 * In place, the input of an alltoallv has blocks of its own. Take its bytes, too: they have to be
 * there until they are saved.
 */
static int coll_take_output(struct coll_member *m, const struct coll_fixed *fixed,
			    struct coll_req *req, struct coll_areas *a)
{
	struct coll_area both;
	int ret;

	if (!req->has_displs || !coll_saves_input(&req->cmd) || !a->in.nr)
		return coll_take_area(m, fixed, req, true, &a->out);
	ret = coll_area_unite(&both, &a->in, &a->out);
	if (!ret)
		ret = coll_take_area(m, fixed, req, true, &both);
	coll_area_free(&both);
	return ret;
}

static int coll_take_buffers(struct coll_member *m, const struct coll_fixed *fixed,
			     struct coll_req *req, const struct coll_extent *e,
			     struct coll_areas *a)
{
	struct coll_cmd *c = &req->cmd;
	bool inplace = c->flags & COLL_CMD_INPLACE;
	u32 elem = coll_elem_size(c->dtype);
	bool out_inside = inplace && coll_out_lies_in(c->collective);
	bool in_inside = (inplace && !out_inside) || coll_one_buffer(c->collective);
	int ret;

	if (e->out && !out_inside) {
		ret = coll_take_output(m, fixed, req, a);
		if (ret)
			return ret;
	}
	if (e->in && !in_inside) {
		ret = coll_take_area(m, fixed, req, false, &a->in);
		if (ret)
			return ret;
	}
	if (out_inside && req->in.buf)
		coll_take_inside(&req->in, e->own_out_in * elem, &req->out);
	else if (inplace && req->out.buf)
		coll_take_inside(&req->out, coll_saves_input(c) ? 0 :
				 e->own_in_out * elem, &req->in);
	return coll_save_input(m, req, &a->in);
}

/* Find the bytes of the two vectors, of @in and @out bytes, in the caller's memory. */
static int coll_decode_areas(const struct coll_req *req, u64 in, u64 out, struct coll_areas *a)
{
	const struct coll_cmd *c = &req->cmd;
	const struct coll_group *g = coll_member_group(req->member);
	/* An input that has to be saved is at the address of the output. */
	bool there = coll_saves_input(c);
	int ret;

	ret = coll_extent_area(req, req->member->rank, g->size, false,
			       there ? c->recv_addr : c->send_addr, in, &a->in);
	return ret ?: coll_extent_area(req, req->member->rank, g->size, true, c->recv_addr, out,
				       &a->out);
}

/* Check the memory of a command, and take references to its buffers. */
static int coll_decode_memory(struct coll_member *m, const struct coll_fixed *fixed,
			      struct coll_req *req, const struct coll_extent *e,
			      struct coll_areas *a)
{
	struct coll_cmd *c = &req->cmd;
	u64 in, out;
	int ret;

	if (check_mul_overflow(e->in, (u64)coll_elem_size(c->dtype), &in) ||
	    check_mul_overflow(e->out, (u64)coll_elem_size(c->dtype), &out))
		return -EINVAL;
	ret = coll_decode_areas(req, in, out, a);
	if (ret)
		return ret;
	ret = a->in.nr ? coll_area_check(&a->in) : 0;
	if (!ret && a->out.nr)
		ret = coll_area_check(&a->out);
	if (ret)
		return ret;
	req->in_bytes = coll_area_bytes(&a->in);
	req->bytes = max(req->in_bytes, coll_area_bytes(&a->out));
	ret = coll_one_buffer(c->collective) ? 0 : coll_check_overlap(c, a);
	if (ret)
		return ret;
	/* No slot with @fixed: the address space that would fill it may have changed. */
	if (!fixed)
		coll_small_begin(req, in, out);
	ret = req->slot ? coll_small_load(req, e) : 0;
	if (ret)
		return ret;
	return coll_take_buffers(m, fixed, req, e, a);
}

/* Counts and displacements of a v-form: coll_nr_counts() each, in one allocation. */
static int coll_copy_counts(struct coll_req *req, u32 rank, u32 size)
{
	const struct coll_cmd *c = &req->cmd;
	u32 nr = coll_nr_counts(c, rank, size);
	size_t bytes = nr * sizeof(u64);

	if (!nr)
		return 0;
	req->counts = kvcalloc(2 * nr, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (!req->counts)
		return -ENOMEM;
	if (copy_from_user(req->counts, u64_to_user_ptr(c->counts_addr), bytes))
		return -EFAULT;
	req->starts = req->counts + nr;
	req->has_displs = c->displs_addr;
	/* Without displacements coll_extent_of() fills them in. */
	if (!c->displs_addr)
		return 0;
	return copy_from_user(req->starts, u64_to_user_ptr(c->displs_addr), bytes) ?
		-EFAULT : 0;
}

/* Round a segment, so that it has whole elements of any type, and frames can be cut there. */
static u64 coll_round_segment(u64 segment)
{
	if (!segment)
		return 0;
	return clamp_t(u64, round_down(segment, 64), 64, SZ_1M);
}

int coll_refused(struct coll_member *m, int err)
{
	if (!fatal_signal_pending(current) || !coll_member_is_mine(m))
		return err;
	coll_member_gone(m, COLL_CAUSE_EXIT);
	return -ECANCELED;
}

static int coll_decode_alive(struct coll_member *m, u64 arg, u32 len,
			     const struct coll_fixed *fixed, struct coll_req *req)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_cmd *c = &req->cmd;
	struct coll_areas a = { };
	struct coll_extent e;
	int ret;

	ret = coll_copy_cmd(c, arg, len);
	if (ret)
		return ret;
	req->member = m;
	if ((c->flags & COLL_CMD_WAITS) == COLL_CMD_WAITS)
		return -EINVAL;
	c->collective = array_index_nospec(c->collective, COLL_NR_COLLECTIVES);
	/* In a communicator with named collectives only the coordinator starts ops. */
	if (req->named ? coll_is_message(c->collective) :
	    g->tensors && !coll_is_message(c->collective))
		return -EOPNOTSUPP;
	if (coll_is_message(c->collective))
		return coll_decode_message(m, fixed, req);
	ret = coll_check_kind(c, g);
	if (ret)
		return ret;
	ret = coll_check_fields(c, m->rank);
	ret = ret ?: coll_node_check(req);
	if (ret)
		return ret;
	/* Keep them in range under speculation, too: they index tables from here on. */
	c->op = array_index_nospec(c->op, COLL_NR_OPS);
	c->dtype = array_index_nospec(c->dtype, COLL_NR_DTYPES);
	c->root = array_index_nospec(c->root, g->size);
	c->segment = coll_round_segment(c->segment);
	ret = coll_copy_counts(req, m->rank, g->size);
	if (ret)
		return ret;
	ret = coll_extent_of(req, m->rank, g->size, &e);
	if (ret)
		return ret;
	ret = coll_decode_memory(m, fixed, req, &e, &a);
	coll_area_free(&a.in);
	coll_area_free(&a.out);
	return ret;
}

int coll_decode(struct coll_member *m, u64 arg, u32 len, const struct coll_fixed *fixed,
		struct coll_req *req)
{
	int ret;

	if (!coll_member_is_owner(m))
		return -EPERM;
	if (!coll_member_group(m))
		return -ENOTCONN;
	if (fatal_signal_pending(current))
		return coll_refused(m, -ECANCELED);
	ret = coll_decode_alive(m, arg, len, fixed, req);
	if (ret) {
		coll_decode_undo(req);
		return coll_refused(m, ret);
	}
	trace_coll_submit(coll_member_group(m)->id, m->rank, &req->cmd);
	return 0;
}

void coll_decode_undo(struct coll_req *req)
{
	coll_buf_put(req->in.buf);
	coll_buf_put(req->out.buf);
	coll_slot_put(&req->member->slots, req->slot);
	kvfree(req->counts);
	req->slot = NULL;
	req->in.buf = NULL;
	req->out.buf = NULL;
	req->counts = NULL;
	req->starts = NULL;
	req->has_displs = false;
}

int coll_deliver(struct coll_req *req, int result)
{
	int ret;

	if (req->slot)
		return coll_small_store(req, result);
	if (!req->cmd.message_addr || !req->has_got)
		return result;
	ret = coll_store(&req->member->ml, req->cmd.message_addr, &req->got, sizeof(req->got));
	return result ?: ret;
}
