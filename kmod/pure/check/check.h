/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The checker: proves for one algorithm, n and root that its schedules work.
 *
 * It proves, for all participants at once and for every timing:
 *
 * - each step is well formed and uses what the algorithm's flags allow; each receive has
 *   its send, of a range of the same length, in the same round;
 * - no deadlock: a transfer depends on transfers of earlier rounds only. Take the
 *   transfer that is not done and is first by (round, sender, receiver): all it depends
 *   on is done, and so is all that stands before it on any stream, shared or not. So
 *   it can run, even if links buffer nothing;
 * - every read of W and TMP sees the write that stands last before it in the array, and
 *   no write touches what still has to be read: whatever the timing, the result is that
 *   of the array order;
 * - each output chunk becomes final once, after all else that is done to it, where there
 *   is an output and nowhere else. Its value is the right block; or a fold of the inputs
 *   it should have, each of them once, in the order of participants if the
 *   algorithm says so; of an allreduce the same expression for all (the same bits), made by
 *   one participant and copied to the others if the algorithm says so;
 * - where inputs lie in W (in place), they are not overwritten before their use. W of
 *   alltoall, scatter and reduce_scatter is never where an input is;
 * - in a barrier or a broadcast, nobody is through before every participant has started; in
 *   a broadcast, no payload moves before that;
 * - payload sent and longest chain of transfers are what the formulas say.
 *
 * Timing enters as a partial order: a dependency, the order on a link, a fence,
 * and a receive after its send. A race is excluded by a path in that order, over
 * unbounded links. The proof is about chunks. It holds for the bytes inside of them as well:
 * dependencies and messages keep the length of the range and go byte by byte, and the other
 * edges wait for whole steps. So a path of dependencies and messages counts only if both ends
 * have the chunk at the same place of their ranges.
 *
 * Values are digests of 64 bits: a fold that is wrong passes with a chance of 2^-64. The
 * order of participants is exact, by intervals.
 *
 * Nothing is allocated here: the caller brings the memory.
 */
#ifndef COLL_PURE_CHECK_H
#define COLL_PURE_CHECK_H

#include "../schedule.h"

/**
 * struct coll_check - what to check, and what came out
 * @alg: algorithm; its functions may be wrappers of the caller's
 * @n: participants
 * @root: root, or 0
 * @radix: see struct coll_emit; the formulas are compared with 0 only
 * @wide: see struct coll_emit
 * @in_place: W holds the inputs at the start
 * @error: result: what is wrong, NULL if nothing is
 * @participant: result: where, if @error
 * @step: result: at which of its steps, if @error; COLL_DEP_NONE: none of them
 * @nr_steps: result: steps of all participants
 * @latency: result: longest chain of transfers
 */
struct coll_check {
	const struct coll_algorithm *alg;
	u32 n;
	u32 root;
	u32 radix;
	bool wide;
	bool in_place;
	const char *error;
	u32 participant;
	u32 step;
	u64 nr_steps;
	u32 latency;
};

/**
 * coll_check_memory() - what coll_check() will need
 * @c: alg, n, root and radix set
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

/**
 * coll_check_shape_memory() - what coll_check_shape() will need
 * @c: as above
 */
size_t coll_check_shape_memory(const struct coll_check *c);

/**
 * coll_check_shape() - check one participant after the other
 * @c: what; results are filled in, but for @c->latency
 * @mem: memory
 * @size: its size
 *
 * For schedules of so many steps that they cannot be held at once. Proves that steps are
 * well formed, that receives have their sends (by a digest), that there is no deadlock,
 * and the payload sent; nothing about values, races or the longest chain.
 *
 * Return: as coll_check().
 */
int coll_check_shape(struct coll_check *c, void *mem, size_t size);

#endif /* COLL_PURE_CHECK_H */
