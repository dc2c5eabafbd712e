/* SPDX-License-Identifier: GPL-2.0 */
/* The buffers of a command: their lengths, and the places of a rank's own blocks. */
#ifndef COLL_CORE_EXTENT_H
#define COLL_CORE_EXTENT_H

#include <linux/types.h>

struct coll_area;
struct coll_cmd;
struct coll_req;

/**
 * struct coll_extent - buffers of one rank, in elements
 * @in: length of the input, gaps between its blocks included; 0: none
 * @out: length of the output, gaps between its blocks included; 0: none
 * @written: elements from the beginning of the output that the op writes
 * @own_in_out: in place: position of the rank's own block in the output
 * @own_out_in: in place, scatter: position of the rank's own block in the input
 */
struct coll_extent {
	u64 in;
	u64 out;
	u64 written;
	u64 own_in_out;
	u64 own_out_in;
};

/* Number of counts that a command has; also of displacements, if it has any. 0: none. */
u32 coll_nr_counts(const struct coll_cmd *c, u32 rank, u32 size);

/* Does every rank pass the same list of counts? */
bool coll_counts_agreed(const struct coll_cmd *c);

/* May the command have displacements? */
bool coll_takes_displs(const struct coll_cmd *c);

/**
 * coll_extent_of() - lengths of a rank's buffers
 * @req: ->cmd, ->counts, ->starts and ->has_displs are set; without displacements this
 *	function fills in ->starts
 * @rank: rank
 * @size: ranks in all
 * @e: result
 *
 * Sets req->agreed too.
 * Return: 0; -EINVAL: a sum is too large, or the length of the block that a rank sends to itself
 * is not the length that it receives from itself.
 */
int coll_extent_of(struct coll_req *req, u32 rank, u32 size, struct coll_extent *e);

/**
 * coll_extent_area() - which bytes of the caller's memory a vector consists of
 * @req: as for coll_extent_of()
 * @rank: rank
 * @size: ranks in all
 * @out: the output, else the input
 * @addr: user address of the vector
 * @bytes: its length, as coll_extent_of() says; 0: there is none
 * @area: result; to be freed, also on errors
 *
 * Return: 0 or as coll_area_blocks(): blocks of an output may not overlap.
 */
int coll_extent_area(const struct coll_req *req, u32 rank, u32 size, bool out, u64 addr,
		     u64 bytes, struct coll_area *area);

/**
 * coll_check_use() - check that only those fields are set that this collective uses
 * @c: in range
 * @rank: rank
 *
 * Return: 0 or -EINVAL.
 */
int coll_check_use(const struct coll_cmd *c, u32 rank);

/* In place, does the result overwrite input that is still needed? Then the input is saved. */
bool coll_saves_input(const struct coll_cmd *c);

#endif /* COLL_CORE_EXTENT_H */
