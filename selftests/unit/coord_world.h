/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A world of nodes, ranks and channels for the coordinator: which steps are possible, what
 * they do, and what must never happen.
 */
#ifndef COLL_UNIT_COORD_WORLD_H
#define COLL_UNIT_COORD_WORLD_H

#include "pure/coord/coord_types.h"

#define WORLD_NODES	64
#define WORLD_RANKS	128
#define WORLD_NAMES	6
#define WORLD_SCRIPT	512

/**
 * struct scene - what is played
 * @name: for messages
 * @parents: of nodes 1, 2, ...: "0 0" is a star, "0 1" a chain
 * @ranks: of each node: "2 1 1"
 * @scripts: of each rank. Tokens:
 *	a	submit allreduce a; names are a to d. Waits until this rank's last one has ended
 *	g	the same of an allgather; names are g and h
 *	a'	with another shape
 *	a!	with a deadline, which may pass at any time
 *	a=	although it is pending
 *	(ab)	a group of two; the letters may have a ', too
 *	(ab)!	with deadlines
 *	(ab~)	the rank cannot submit b, and withdraws the group
 *	(ab_)	a group of two, of which it does not submit b
 *	+	join, and wait for the others
 *	-	leave
 *	.	wait until all has ended
 * @clean: nothing may fail
 * @starts: every rank has started each name of its script so often in the end; 0: not known
 * @window: ops that are started and not over at the root, at most; 0: any number
 * @looks: tensors that a node looks at in one step, when a rank has joined, and orders of the
 *	root in one step; 0: one
 * @orders: that there have been before, without a join
 */
struct scene {
	const char *name;
	const char *parents;
	const char *ranks;
	const char *scripts[8];
	bool clean;
	u32 window;
	u32 looks;
	u32 starts;
	u64 orders;
};

/* A fault that has been found, or NULL. */
extern const char *world_fault;

/* Make the world of @s. */
void world_start(const struct scene *s);

/* Random scripts of the same calls for @nodes nodes in a tree, in another order per rank. */
void world_start_random(uint32_t nodes, uint32_t per_node, uint32_t fanout, uint64_t *seed);

/* Perform step @n. Return: 1 done, 0 not possible now, -1 there is no such step. */
int world_step(uint32_t n);

/* No step is possible: has everything ended? Sets world_fault. */
void world_check_end(void);

/* A hash of a name: names that collide are no matter here. */
u64 name_hash(const struct coll_coord *c, const void *name, u32 len);

/* Two hashes of the state. */
void world_hash(uint64_t *h);

size_t world_bytes(void);
void world_save(void *to);
void world_load(const void *from);

/* Print what every rank waits for. */
void world_print(void);

#endif /* COLL_UNIT_COORD_WORLD_H */
