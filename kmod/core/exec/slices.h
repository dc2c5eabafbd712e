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
 * @nid: memory node of its CPU; NUMA_NO_NODE: not known yet
 * @near: slices below this one are taken, or far from @nid
 * @any: where to go on looking for any slice
 * @begun: @part is set
 * @part: if all memory is on one node: the part it takes slices from
 */
struct coll_slices {
	int nid;
	u64 near;
	u64 any;
	bool begun;
	u32 part;
};

/* Bytes that a worker does in one go: whole elements, at least one. */
u64 coll_slice(const struct coll_exec *x, const struct coll_exec_step *st);

/* Bytes that local steps read and write. */
u64 coll_slices_touched(const struct coll_exec *x);

/**
 * coll_slices_open() - cut the steps into slices, before they are opened to helpers
 * @x: a schedule with ->open set and with bytes to do
 *
 * If all memory is on one node, or there is no memory for a map of the slices, each CPU begins
 * with a part of its own. Return: number of slices.
 */
u64 coll_slices_open(struct coll_exec *x);

/**
 * coll_slices_take() - take a slice for a helper
 * @x: of a running op, with a ref; ->team is set
 * @s: of the helper
 *
 * The caller has advanced the cursor, which was not at the end, so a slice is left. The memory of
 * the slice is mostly on the node of this CPU, as long as there are such slices. On a machine
 * with one node the slice is of the part that this CPU had last time.
 * Return: a slice that no other helper gets; less than ->team, if the cursor is right.
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
 * coll_slices_nodes() - the memory nodes that slices are near to
 * @x: schedule; ->taken and ->team are set
 * @nodes: result
 */
void coll_slices_nodes(const struct coll_exec *x, nodemask_t *nodes);

/*
 * Scratch for sweeps of an op, charged to the communicator, whatever task calls. Return: NULL
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
