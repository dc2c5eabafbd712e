// SPDX-License-Identifier: GPL-2.0
#include <linux/overflow.h>

#include "../../pure/collective.h"
#include "../../pure/wire.h"
#include "../group/req.h"
#include "../mem/area.h"
#include "extent.h"
#include "support.h"

static bool coll_is_root(const struct coll_cmd *c, u32 rank)
{
	return coll_kind_of(c->collective)->flags & COLL_KIND_ROOTED &&
	       c->root == rank;
}

static u8 coll_has_in(const struct coll_cmd *c, u32 rank)
{
	const struct coll_kind *k = coll_kind_of(c->collective);

	return coll_is_root(c, rank) ? k->root_in : k->in;
}

static u8 coll_has_out(const struct coll_cmd *c, u32 rank)
{
	const struct coll_kind *k = coll_kind_of(c->collective);

	return coll_is_root(c, rank) ? k->root_out : k->out;
}

u32 coll_nr_counts(const struct coll_cmd *c, u32 rank, u32 size)
{
	u32 flags = coll_kind_of(c->collective)->flags;

	if (!(flags & COLL_KIND_COUNTS) ||
	    (flags & COLL_KIND_ROOTED && c->root != rank))
		return 0;
	return c->collective == COLL_ALLTOALLV ? 2 * size : size;
}

bool coll_counts_agreed(const struct coll_cmd *c)
{
	u32 flags = coll_kind_of(c->collective)->flags;

	return flags & COLL_KIND_COUNTS && !(flags & COLL_KIND_PRIVATE);
}

bool coll_takes_displs(const struct coll_cmd *c)
{
	return !(coll_kind_of(c->collective)->flags & COLL_KIND_PACKED);
}

bool coll_saves_input(const struct coll_cmd *c)
{
	u32 plain = coll_plain_collective(c->collective);

	return c->flags & COLL_CMD_INPLACE &&
	       (plain == COLL_ALLTOALL || plain == COLL_REDUCE_SCATTER);
}

int coll_check_use(const struct coll_cmd *c, u32 rank)
{
	const struct coll_kind *k = coll_kind_of(c->collective);
	bool inplace = c->flags & COLL_CMD_INPLACE;
	bool in = coll_has_in(c, rank) && !(k->flags & COLL_KIND_ONE_BUFFER);
	bool out = coll_has_out(c, rank);
	bool counts = coll_nr_counts(c, rank, 1);

	if (!(k->flags & COLL_KIND_ROOTED) && c->root)
		return -EINVAL;
	if (!(k->flags & COLL_KIND_REDUCES) && c->op)
		return -EINVAL;
	/* In place is for a rank with input and output; then one of the addresses must be 0. */
	if (inplace && (!in || !out))
		return -EINVAL;
	if (inplace && coll_plain_collective(c->collective) == COLL_SCATTER)
		out = false;
	else if (inplace)
		in = false;
	if (!in && (c->send_addr || c->flags & COLL_CMD_REG_SEND))
		return -EINVAL;
	if (!out && (c->recv_addr || c->flags & COLL_CMD_REG_RECV))
		return -EINVAL;
	if (!counts != !c->counts_addr ||
	    (c->displs_addr && (!counts || !coll_takes_displs(c))))
		return -EINVAL;
	/* With counts the field @count must be 0. */
	return counts && c->count ? -EINVAL : 0;
}

/*
 * Number of elements of a buffer with all blocks, and the place of block @own in it. Without
 * displacements the blocks lie one behind the other.
 */
static int coll_sum_blocks(const struct coll_req *req, u32 size, u32 first, u32 own,
			   u64 *sum, u64 *own_at)
{
	u64 at = 0, end, most = 0;
	u32 i;

	for (i = 0; i < size; i++) {
		u64 n = req->counts ? req->counts[first + i] : req->cmd.count;

		if (req->has_displs)
			at = req->starts[first + i];
		else if (req->counts)
			req->starts[first + i] = at;
		if (i == own)
			*own_at = at;
		if (check_add_overflow(at, n, &end))
			return -EINVAL;
		most = max(most, n ? end : 0);
		at = end;
	}
	*sum = most;
	return 0;
}

/* Number of elements of one buffer of a rank. */
static int coll_extent_one(const struct coll_req *req, u8 has, u32 rank, u32 size,
			   u32 first, u64 *sum, u64 *own_at)
{
	u32 flags = coll_kind_of(req->cmd.collective)->flags;

	*own_at = 0;
	*sum = 0;
	if (has == COLL_HAS_NONE)
		return 0;
	if (flags & COLL_KIND_BLOCKS && has == COLL_HAS_ALL)
		return coll_sum_blocks(req, size, first, rank, sum, own_at);
	*sum = req->cmd.count;
	if (has == COLL_HAS_OWN && req->counts)
		*sum = req->counts[rank];
	return 0;
}

/* The value on which all ranks must agree: the count, or a digest of the counts. */
static u64 coll_agreed(const struct coll_req *req, u32 size)
{
	u32 flags = coll_kind_of(req->cmd.collective)->flags;
	u64 digest = 0;
	u32 i;

	if (flags & COLL_KIND_PRIVATE)
		return 0;
	if (!req->counts)
		return req->cmd.count;
	for (i = 0; i < size; i++)
		digest = coll_digest(digest, req->counts[i]);
	return digest;
}

int coll_extent_of(struct coll_req *req, u32 rank, u32 size, struct coll_extent *e)
{
	const struct coll_cmd *c = &req->cmd;
	bool both = c->collective == COLL_ALLTOALLV;
	int ret;

	req->agreed = coll_agreed(req, size);
	ret = coll_extent_one(req, coll_has_in(c, rank), rank, size, 0,
			      &e->in, &e->own_out_in);
	if (ret)
		return ret;
	ret = coll_extent_one(req, coll_has_out(c, rank), rank, size,
			      both ? size : 0, &e->out, &e->own_in_out);
	if (ret)
		return ret;
	e->written = e->out;
	/* In place, the input of these collectives is at the address of the output. */
	if (coll_saves_input(c))
		e->out = max(e->in, e->out);
	return both && req->counts[rank] != req->counts[size + rank] ? -EINVAL : 0;
}

int coll_extent_area(const struct coll_req *req, u32 rank, u32 size, bool out, u64 addr,
		     u64 bytes, struct coll_area *area)
{
	const struct coll_cmd *c = &req->cmd;
	u8 has = out ? coll_has_out(c, rank) : coll_has_in(c, rank);
	u32 first = out && c->collective == COLL_ALLTOALLV ? size : 0;

	*area = coll_area_range(addr, bytes);
	if (!bytes || !req->has_displs || has != COLL_HAS_ALL)
		return 0;
	return coll_area_blocks(area, addr, req->counts + first, req->starts + first, size,
				coll_elem_size(c->dtype), out);
}
