/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A collective in shared memory: its steps, which blocking and nonblocking calls have in common. */
#ifndef LIBCOLL_SHM_OP_H
#define LIBCOLL_SHM_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

struct shm;
struct shm_move;

/**
 * struct shm_op - an op under way
 * @pos: its position
 * @posted: own number of ops that were given to the kernel before it
 * @kind: what it is: the second word of the slot
 * @count: and the third
 * @own_count: each rank says a count of its own
 * @next: ranks before this one are there, and agree
 */
struct shm_op {
	uint64_t pos;
	uint64_t posted;
	uint64_t kind;
	uint64_t count;
	bool own_count;
	uint32_t next;
};

enum shm_outcome {
	SHM_LATE,	/* somebody is missing */
	SHM_COMPLETE,	/* all are there */
	SHM_ASTRAY,	/* it is for the kernel: somebody has gone that way, or has left */
	SHM_DIFFERENT,	/* likewise: ranks disagree */
	SHM_FAILED,	/* the communicator has */
};

/**
 * shm_op_begin() - may the next op be done here?
 * @comm: communicator; it is the caller's turn
 * @o: result: its position
 * @before: ops that this rank has begun here and that have not ended, fewer than COLL_SHM_DEPTH
 */
bool shm_op_begin(coll_comm_t *comm, struct shm_op *o, uint32_t before);

/* What is wrong with a registered buffer of @cmd is the kernel's to say. Is all well? */
bool shm_op_buffers(coll_comm_t *comm, const struct coll_cmd *cmd);

/* Write the own slot; with a full barrier behind it, see shm_op_sleep(). */
void shm_op_write(const struct shm *s, const struct shm_move *m, struct shm_op *o);

/* The slot does not count any more. No other rank has found its op complete, or will. */
void shm_op_retract(const struct shm *s, const struct shm_op *o);

/* Is it complete? */
enum shm_outcome shm_op_look(const struct shm *s, struct shm_op *o);

/* Look @spins times more. */
enum shm_outcome shm_op_spin(const struct shm *s, struct shm_op *o, uint64_t spins);

/* How often it is worth looking before a sleep. */
uint64_t shm_op_spins(const struct shm *s, const struct coll_cmd *cmd);

/**
 * shm_op_sleep() - one sleep, until the op can go on
 * @comm: communicator
 * @o: op
 * @ns: how long at most; 0: no limit
 * @flags: COLL_SHM_WAIT_LOOK: else the communicator fails after @ns
 *
 * Return: 0, also if it was in vain; -errno of COLL_IOC_SHM_WAIT.
 */
int shm_op_sleep(coll_comm_t *comm, const struct shm_op *o, uint64_t ns, uint64_t flags);

/*
 * All are there: wake those that sleep, make the result and count the op. Return: SHM_COMPLETE;
 * SHM_DIFFERENT: counts of blocks disagree, and there is no result.
 */
enum shm_outcome shm_op_finish(coll_comm_t *comm, const struct shm_move *m, const struct shm_op *o);

/* Errno of a communicator that has failed, negative. */
int shm_op_error(const struct shm *s);

/*
 * What was tried here was in vain, or another rank went another way: the next ops go to the kernel
 * at once. Pauses end at positions that are multiples of their length, so those of all ranks
 * end together.
 */
void shm_op_pause(struct shm *s, uint64_t pos);

/* It was not in vain. */
void shm_op_no_pause(struct shm *s);

#endif
