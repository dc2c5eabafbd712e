/* SPDX-License-Identifier: GPL-2.0 */
/* Which collectives, operators and types the module supports; for front, which has no schedules. */
#ifndef COLL_CORE_SUPPORT_H
#define COLL_CORE_SUPPORT_H

#include <linux/types.h>
#include <linux/coll.h>

struct coll_algorithm;
struct coll_op;

/* Does the collective have any algorithm? @collective may be any number. */
bool coll_supports(u32 collective);
/* Does this algorithm (for COLL_ALG_AUTO: any) exist, and does it fit operator and type? */
bool coll_has_algorithm(u32 collective, u32 op, u32 dtype, u32 algorithm);

/**
 * coll_choose_algorithm() - the algorithm an op is going to use
 * @op: op
 * @n: participants
 *
 * Depends only on values that all ranks agree on. Return: NULL if there is none.
 */
const struct coll_algorithm *coll_choose_algorithm(const struct coll_op *op, u32 n);

/* The radix of the chosen algorithm; 0: its default. */
u32 coll_chosen_radix(const struct coll_op *op, const struct coll_algorithm *a);

/* Does the collective reduce? */
bool coll_reduces(u32 collective);
/* Does the collective have one buffer, which is input and output? */
bool coll_one_buffer(u32 collective);
/* In place, does the output lie in the input, as a scatter's does? */
bool coll_out_lies_in(u32 collective);
/*
 * Is every byte of an output written? Not by v-forms, whose blocks may have gaps between them,
 * and not by an exscan, whose first rank has no result.
 */
bool coll_fills_output(u32 collective);
/*
 * Are partial results of this command larger than elements (pure/reduction/wide.h)? Depends only on
 * values that all ranks agree on.
 */
bool coll_is_wide(const struct coll_cmd *c);
/* Type of elements on links: COLL_F16, COLL_BF16; COLL_DTYPE_NONE: the type in memory. */
u32 coll_wire_type(const struct coll_cmd *c);
/* The flag of struct coll_cmd for this type, a value of COLL_FIELD_WIRE; 0: there is none. */
u32 coll_wire_flag(u64 type);
/* Is a command with COLL_CMD_WIRE valid? Its op, dtype and algorithm may be any numbers. */
bool coll_wire_ok(const struct coll_cmd *c);
/* Bytes of an element, 0 if the type has no size of its own. */
u32 coll_elem_size(u32 dtype);
bool coll_can_reduce(u32 op, u32 dtype);

/**
 * coll_describe() - fill in what COLL_IOC_VERSION says of core
 * @v: zeroed; masks, limits and the instruction set are set
 */
void coll_describe(struct coll_version *v);

#endif /* COLL_CORE_SUPPORT_H */
