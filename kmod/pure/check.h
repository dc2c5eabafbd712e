/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The checker: proves for one algorithm, n and root that its schedules work.
 *
 * What is proved, for all participants at once and for every timing:
 *
 * - each step is well formed, and each receive has its send, of the same range;
 * - no deadlock, with links that hold one message or none at all;
 * - every read of W sees the write that stands last before it in the array, and
 *   no write touches what a send still has to read: whatever the timing, the
 *   result is that of the array order;
 * - each chunk becomes final once on every participant, after all else that is
 *   done to it, as one and the same expression over the inputs (hence the same
 *   bits), in which each contribution occurs once; of a broadcast, the root's;
 * - where inputs lie in W (in place), they are not overwritten before their use;
 * - nobody is through before everybody has started; of a broadcast, no payload
 *   moves before that;
 * - payload sent and longest chain of transfers are what the formulas say.
 *
 * Timing enters as a partial order: a dependency, the order on a link, a fence,
 * and a receive after its send. A run blocks or not, whatever the order in which
 * enabled steps are taken (each step waits for all of a fixed set of events), so
 * one run shows it for all. A race is excluded by a path in that order, over
 * unbounded links. Chunks are the grain; for the bytes inside it holds as well,
 * because dependencies and messages keep the range and go byte by byte, and the
 * other edges wait for whole steps.
 *
 * Nothing is allocated here: the caller brings the memory.
 */
#ifndef COLL_PURE_CHECK_H
#define COLL_PURE_CHECK_H

#include "schedule.h"

/**
 * struct coll_check - what to check, and what came out
 * @alg: algorithm; its functions may be wrappers of the caller's
 * @n: participants
 * @root: root, or 0
 * @link_slots: messages a directed link holds: 1, or 0 for rendezvous
 * @in_place: W holds the inputs at the start
 * @error: result: what is wrong, NULL if nothing is
 * @participant: result: where, if @error
 * @step: result: at which of its steps, if @error
 * @nr_steps: result: steps of all participants
 * @latency: result: longest chain of transfers
 */
struct coll_check {
	const struct coll_algorithm *alg;
	u32 n;
	u32 root;
	u32 link_slots;
	bool in_place;
	const char *error;
	u32 participant;
	u32 step;
	u32 nr_steps;
	u32 latency;
};

/**
 * coll_check_memory() - what coll_check() will need
 * @c: alg, n and root set
 *
 * Return: bytes; 0 if the algorithm refuses the arguments or there are too many
 * steps to check.
 */
size_t coll_check_memory(const struct coll_check *c);

/**
 * coll_check() - check
 * @c: what; results are filled in
 * @mem: memory, aligned for any type, contents do not matter
 * @size: its size
 *
 * Return: 0, -ENOMEM (@size is too small) or -EINVAL (see @c->error).
 */
int coll_check(struct coll_check *c, void *mem, size_t size);

#endif /* COLL_PURE_CHECK_H */
