/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which algorithm COLL_ALG_AUTO means: a table per collective, from sizes to algorithms
 * and segments. User space fills it (COLL_IOC_SELECT), for it has measured.
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
 * struct coll_table - of one collective
 * @digest: of all the rows, not 0
 * @nr: rows
 * @source: enum coll_select_source, for those who look; under group->lock
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
 * @t: @nr, @source and @rows filled in, from the user; taken over, in any case. Without
 *	rows: there shall be no table.
 *
 * Return: 0, also if that table is there already; -EINVAL; -EBUSY while an op is
 * posted; -ESHUTDOWN.
 */
int coll_group_select(struct coll_group *g, u32 collective, struct coll_table *t);

/**
 * coll_select_op() - what a new op takes from its table
 * @op: its command and group are set; where the command leaves them to us,
 *	@op->chosen and @op->cmd.segment are set, and @op->table to the digest
 * @req: the first one of it
 *
 * Under group->lock.
 */
void coll_select_op(struct coll_op *op, const struct coll_req *req);

/**
 * coll_agreed_bytes() - the size of an op that every rank knows to be the same
 * @op: its command and group are set
 * @req: the first one of it
 *
 * For collectives with blocks: of one block. For blocks with counts of their own: the average;
 * 0 if only some ranks know the counts. Partial results that are longer than elements count as
 * half of what travels.
 */
u64 coll_agreed_bytes(const struct coll_op *op, const struct coll_req *req);

/* The same of a command whose count all ranks know, and that has no blocks. */
u64 coll_cmd_bytes(const struct coll_cmd *c);

/* The row of its table for such a command; NULL: there is none. Under group->lock. */
const struct coll_select_row *coll_select_row_of(const struct coll_group *g,
						 const struct coll_cmd *c);

/* Row @i of a table, and where that comes from. Return: false if there is none. */
bool coll_select_row_at(struct coll_group *g, u32 collective, u32 i,
			struct coll_select_row *row, u32 *source);

#endif /* COLL_CORE_SELECT_H */
