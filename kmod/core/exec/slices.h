/* SPDX-License-Identifier: GPL-2.0 */
/* Each helper takes the slices of an open sweep that are near: in memory or in a cache. */
#ifndef COLL_CORE_SLICES_H
#define COLL_CORE_SLICES_H

#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/types.h>

struct coll_exec;
struct coll_exec_step;

/**
 * struct coll_slices - how far one helper has looked
 * @nid: for which memory node; NUMA_NO_NODE: not yet
 * @near: slices below are taken, or far from it
 * @any: where to go on looking for others
 * @begun: it has taken one
 * @part: where all memory is on one node, the part it takes from
 */
struct coll_slices {
	int nid;
	u64 near;
	u64 any;
	bool begun;
	u32 part;
};

/* Whole elements, about as many bytes as a worker does in one go. */
u64 coll_slice(const struct coll_exec *x, const struct coll_exec_step *st);

/* Bytes that local steps read and write. */
u64 coll_slices_touched(const struct coll_exec *x);

/**
 * coll_slices_open() - cut the steps into slices, before they are opened to helpers
 * @x: a schedule that is open to them, with bytes to do
 *
 * Where all memory is on one node, or none is left for a map of the slices, each CPU begins
 * with a part of its own. Return: how many slices.
 */
u64 coll_slices_open(struct coll_exec *x);

/**
 * coll_slices_take() - the slice that a helper is to do
 * @x: of a running op, with a ref; ->team is set
 * @s: the helper's
 *
 * The caller has moved the cursor, which was not at the end, so a slice is left. The memory of
 * the slice is mostly on the node of this CPU, as long as there are such slices. On a machine
 * with one node the slice is of the part that this CPU had last time.
 * Return: a slice that nobody else gets; less than ->team, if the cursor counts right.
 */
u64 coll_slices_take(struct coll_exec *x, struct coll_slices *s);

/**
 * coll_slice_run() - do a slice
 * @x: of a running op, with a ref
 * @sw: from coll_exec_sweep()
 * @i: from coll_slices_take()
 *
 * Return: 0 or as coll_sweep().
 */
int coll_slice_run(struct coll_exec *x, struct coll_sweep *sw, u64 i);

/**
 * coll_slices_nodes() - the nodes whose CPUs the slices are near to
 * @x: its schedule; ->taken is there, ->team is set
 * @nodes: result
 */
void coll_slices_nodes(const struct coll_exec *x, nodemask_t *nodes);

/*
 * Scratch for sweeps of an op, charged to the communicator whatever task asks for it. Return: NULL
 * if there is no memory.
 */
struct coll_sweep *coll_exec_sweep(const struct coll_exec *x);

/**
 * coll_sweep_slice() - do some bytes of a local step
 * @x: of a running op, with a ref
 * @st: step
 * @sw: from coll_exec_sweep()
 * @off: first byte
 * @len: bytes: whole elements if the step reduces
 *
 * Return: 0 or as coll_sweep().
 */
int coll_sweep_slice(struct coll_exec *x, struct coll_exec_step *st, struct coll_sweep *sw,
		     u64 off, u64 len);

#endif /* COLL_CORE_SLICES_H */
