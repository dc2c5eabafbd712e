// SPDX-License-Identifier: GPL-2.0
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../pure/collective.h"
#include "../../pure/optable.h"
#include "../../pure/reduction/wide.h"
#include "../../pure/wire.h"
#include "../group/group.h"
#include "../group/op_state.h"
#include "../group/req.h"
#include "select.h"
#include "support.h"

/* Does every size have a row, and does every row name an algorithm of this collective? */
static bool coll_table_ok(u32 collective, const struct coll_table *t)
{
	u32 i;

	for (i = 0; i < t->nr; i++) {
		const struct coll_select_row *row = &t->rows[i];

		if (row->reserved || (i && row->bytes <= t->rows[i - 1].bytes))
			return false;
		/* The limits of a command's segment, but without rounding: tables are compared. */
		if (row->segment % 64 || row->segment > SZ_1M)
			return false;
		if (!coll_has_algorithm(collective, COLL_OP_NONE, COLL_DTYPE_NONE,
					row->algorithm))
			return false;
	}
	return !t->nr || t->rows[t->nr - 1].bytes == U64_MAX;
}

static u64 coll_table_digest(const struct coll_table *t)
{
	u64 digest = t->nr;
	u32 i;

	for (i = 0; i < t->nr; i++) {
		digest = coll_digest(digest, t->rows[i].bytes);
		digest = coll_digest(digest, (u64)t->rows[i].algorithm << 32 |
					     t->rows[i].segment);
	}
	return digest ?: 1;
}

static bool coll_table_same(const struct coll_table *a, const struct coll_table *b)
{
	if (!a || !a->nr || !b->nr)
		return (!a || !a->nr) && !b->nr;
	return a->nr == b->nr &&
	       !memcmp(a->rows, b->rows, array_size(a->nr, sizeof(*a->rows)));
}

/* Posted ops have used the present table, and have signed its digest. */
static int coll_table_swap(struct coll_group *g, u32 collective, struct coll_table **t)
{
	struct coll_table **at = &g->tables[collective];

	if (g->error)
		return -ESHUTDOWN;
	if (coll_table_same(*at, *t)) {
		if (*at)
			(*at)->source = (*t)->source;
		return 0;
	}
	if (!list_empty(&g->ops))
		return -EBUSY;
	swap(*at, *t);
	return 0;
}

int coll_group_select(struct coll_group *g, u32 collective, struct coll_table *t)
{
	int ret = -EINVAL;

	if (collective < COLL_NR_COLLECTIVES) {
		collective = array_index_nospec(collective, COLL_NR_COLLECTIVES);
		if (coll_supports(collective) && coll_table_ok(collective, t)) {
			t->digest = coll_table_digest(t);
			spin_lock(&g->lock);
			ret = coll_table_swap(g, collective, &t);
			spin_unlock(&g->lock);
		}
	}
	kfree(t);
	return ret;
}

/*
 * Estimate of the bytes that are sent for an element: half of the elements that an algorithm sends
 * are partial results, the other half results. (Not for sum_exact: its partial results are many
 * times as long, but its time is arithmetic rather than bytes.)
 */
static u64 coll_travelling_size(const struct coll_cmd *c)
{
	u64 size = coll_dtype_size(c->dtype);

	if (coll_wire_type(c))
		return coll_dtype_size(coll_wire_type(c));
	return coll_is_wide(c) ? (size + coll_wide_size(c->op, c->dtype)) / 2 : size;
}

/* Estimate of the bytes that are sent for a vector of @count elements. */
static u64 coll_travelling_bytes(const struct coll_cmd *c, u64 count)
{
	u64 bytes;

	return check_mul_overflow(count, coll_travelling_size(c), &bytes) ? U64_MAX : bytes;
}

u64 coll_cmd_bytes(const struct coll_cmd *c)
{
	return coll_travelling_bytes(c, c->count);
}

u64 coll_agreed_bytes(const struct coll_op *op, const struct coll_req *req)
{
	u32 kind = coll_kind_of(op->cmd.collective)->flags;
	u64 count = op->cmd.count;
	u32 i;

	if (kind & COLL_KIND_PRIVATE)
		return 0;
	if (kind & COLL_KIND_COUNTS) {
		for (i = 0, count = 0; req->counts && i < op->group->size; i++)
			if (check_add_overflow(count, req->counts[i], &count))
				return U64_MAX;
		count = div_u64(count, op->group->size);
	}
	return coll_travelling_bytes(&op->cmd, count);
}

/* The row for a vector of @bytes; NULL: the table has none. */
static const struct coll_select_row *coll_table_row(const struct coll_table *t,
						    const struct coll_cmd *c, u64 bytes)
{
	u32 i = 0;

	if (!t || !t->nr || c->algorithm != COLL_ALG_AUTO)
		return NULL;
	while (bytes > t->rows[i].bytes)
		i++;
	return &t->rows[i];
}

const struct coll_select_row *coll_select_row_of(const struct coll_group *g,
						 const struct coll_cmd *c)
{
	u32 collective = array_index_nospec(c->collective, COLL_NR_COLLECTIVES);

	lockdep_assert_held(&g->lock);
	return coll_table_row(g->tables[collective], c, coll_cmd_bytes(c));
}

void coll_select_op(struct coll_op *op, const struct coll_req *req)
{
	const struct coll_table *t = op->group->tables[op->cmd.collective];
	const struct coll_select_row *row;

	lockdep_assert_held(&op->group->lock);
	row = coll_table_row(t, &op->cmd, coll_agreed_bytes(op, req));
	if (!row)
		return;
	op->chosen = row->algorithm;
	if (!op->cmd.segment)
		op->cmd.segment = row->segment;
	op->table = t->digest;
}

bool coll_select_row_at(struct coll_group *g, u32 collective, u32 i,
			struct coll_select_row *row, u32 *source)
{
	const struct coll_table *t;
	bool there;

	spin_lock(&g->lock);
	t = g->tables[collective];
	there = t && i < t->nr;
	if (there) {
		*row = t->rows[i];
		*source = t->source;
	}
	spin_unlock(&g->lock);
	return there;
}

static void coll_select_free(struct coll_group *g)
{
	u32 i;

	for (i = 0; i < COLL_NR_COLLECTIVES; i++)
		kfree(g->tables[i]);
}

const struct coll_group_part coll_select_part = {
	.free = coll_select_free,
};
