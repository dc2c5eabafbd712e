/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The algorithm that COLL_ALG_AUTO selects: each collective may have a table from sizes to
 * algorithms and segments. User space measures, and sets the table (COLL_IOC_SELECT).
 */
#ifndef COLL_CORE_SELECT_H
#define COLL_CORE_SELECT_H

#include <linux/types.h>

#include <linux/coll.h>

struct coll_group;
struct coll_group_part;
struct coll_op;
struct coll_req;

/**
 * struct coll_table - table of one collective
 * @digest: digest of all rows, not 0
 * @nr: number of @rows
 * @source: enum coll_select_source, for netlink; under group->lock
 * @rows: ascending, the last one up to ~0
 */
struct coll_table {
	u64 digest;
	u32 nr;
	u32 source;
	struct coll_select_row rows[];
};

extern const struct coll_group_part coll_select_part;

/**
 * coll_group_select() - set the table of a collective
 * @g: group
 * @collective: from the user
 * @t: @nr, @source and @rows filled in, from the user; owned by this function in any case.
 *	Without rows: remove the table.
 *
 * Return: 0, also if the same table is set already; -EINVAL; -EBUSY while an op is
 * posted; -ESHUTDOWN.
 */
int coll_group_select(struct coll_group *g, u32 collective, struct coll_table *t);

/**
 * coll_select_op() - choose algorithm and segment of a new op by its table
 * @op: its command and group are set; if the command does not set them, @op->chosen and
 *	@op->cmd.segment are set, and @op->table is set to the digest of the table
 * @req: the first request of @op
 *
 * Under group->lock.
 */
void coll_select_op(struct coll_op *op, const struct coll_req *req);

/**
 * coll_agreed_bytes() - the size of an op, computed from values that are equal on all ranks
 * @op: its command and group are set
 * @req: the first request of @op
 *
 * For collectives with blocks: of one block. For blocks with counts of their own: the average;
 * 0 if only some ranks know the counts. If partial results are longer than elements, an element
 * counts as the mean of both.
 */
u64 coll_agreed_bytes(const struct coll_op *op, const struct coll_req *req);

/* The same for a command without blocks whose count all ranks know. */
u64 coll_cmd_bytes(const struct coll_cmd *c);

/* The row of the table for such a command; NULL: there is none. Under group->lock. */
const struct coll_select_row *coll_select_row_of(const struct coll_group *g,
						 const struct coll_cmd *c);

/* Row @i of a table, and the source of the table. Return: false if there is no such row. */
bool coll_select_row_at(struct coll_group *g, u32 collective, u32 i,
			struct coll_select_row *row, u32 *source);

#endif /* COLL_CORE_SELECT_H */
