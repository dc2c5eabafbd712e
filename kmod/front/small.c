// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/mem/slot.h"
#include "../core/mem/store.h"
#include "../core/op/op.h"
#include "../core/plan/extent.h"
#include "../core/plan/support.h"
#include "small.h"

void coll_small_begin(struct coll_req *req, u64 in, u64 out)
{
	const struct coll_cmd *c = &req->cmd;

	if ((in || out) && in <= COLL_SMALL && out <= COLL_SMALL &&
	    !(c->flags & (COLL_CMD_REG_SEND | COLL_CMD_REG_RECV)) &&
	    coll_fills_output(c->collective))
		req->slot = coll_slot_get(&req->member->slots, max(in, out));
}

/*
 * Is the output writable? Check it now, before the command counts, not when the other ranks have
 * their results. The write is safe: no one may write to the output while the command runs.
 */
static int coll_small_probe(u64 addr, u64 len)
{
	u8 __user *first = u64_to_user_ptr(addr), *last = first + len - 1;
	u8 byte;

	if (get_user(byte, first) || put_user(byte, first) ||
	    get_user(byte, last) || put_user(byte, last))
		return -EFAULT;
	return 0;
}

static int coll_small_copy(const struct coll_slot *slot, u32 at, u64 addr, u64 len)
{
	return copy_from_user(coll_slot_at(slot, at), u64_to_user_ptr(addr), len) ?
		-EFAULT : 0;
}

int coll_small_load(struct coll_req *req, const struct coll_extent *e)
{
	const struct coll_cmd *c = &req->cmd;
	struct coll_slot *slot = req->slot;
	bool inplace = c->flags & COLL_CMD_INPLACE, one = coll_one_buffer(c->collective);
	bool out_inside = inplace && coll_out_lies_in(c->collective);
	bool is_source = one && c->root == req->member->rank;
	u32 elem = coll_elem_size(c->dtype);
	int ret = 0;

	if (e->in && !one && (!inplace || out_inside))
		ret = coll_small_copy(slot, 0, c->send_addr, e->in * elem);
	if (!ret && e->out && !out_inside && (inplace || is_source))
		ret = coll_small_copy(slot, slot->half, c->recv_addr, e->out * elem);
	if (ret || !e->out || is_source)
		return ret;
	slot->back_addr = c->recv_addr;
	slot->back_at = slot->half;
	slot->back_len = e->written * elem;
	if (out_inside) {
		slot->back_addr = c->send_addr + e->own_out_in * elem;
		slot->back_at = e->own_out_in * elem;
	}
	return coll_small_probe(slot->back_addr, slot->back_len);
}

int coll_small_store(struct coll_req *req, int result)
{
	struct coll_slot *slot = req->slot;

	if (!result)
		result = coll_store(&req->member->ml, slot->back_addr,
				    coll_slot_at(slot, slot->back_at), slot->back_len);
	coll_slot_put(&req->member->slots, slot);
	req->slot = NULL;
	return result;
}
