/* SPDX-License-Identifier: GPL-2.0 */
/* The communicators on which messages are tested. */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdint.h>

/* Ranks and nodes. Rank 0 and the last one talk: on one node, or not. */
static const struct { uint32_t size, nodes; } shapes[] = {
	{ 2, 1 }, { 4, 1 }, { 2, 2 }, { 4, 2 }, { 4, 4 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Run a block for the first @nr shapes: @last is the last rank of the one that @sh counts. */
#define FOR_FIRST_SHAPES(nr, last)					\
	for (unsigned int sh = 0; sh < (nr); sh++)			\
		for (uint32_t last = shapes[sh].size - 1, once = 1; once--; )

#define FOR_SHAPES(last)	FOR_FIRST_SHAPES(NR_SHAPES, last)
/* Leaves out the one with four nodes, to save time. */
#define FOR_FEW_SHAPES(last)	FOR_FIRST_SHAPES(NR_SHAPES - 1, last)

#endif /* SHAPES_H */
