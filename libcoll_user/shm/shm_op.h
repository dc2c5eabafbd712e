/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A collective in shared memory: its steps, which blocking and nonblocking calls have in common. */
#ifndef LIBCOLL_SHM_OP_H
#define LIBCOLL_SHM_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

#include "shm_copy.h"

struct shm;
struct shm_move;

/**
 * struct shm_op - an op under way
 * @pos: its position
 * @posted: number of ops that this rank had given to the kernel before it
 * @kind: second word of the slot
 * @count: third word of the slot
 * @own_count: each rank has a count of its own in its slot
 * @next: ranks below this number have written their slots, and agree
 * @copied: how much of the result is there, if it is a copy
 * @follows: with several nodes: the first rank of the node posts it
 */
struct shm_op {
	uint64_t pos;
	uint64_t posted;
	uint64_t kind;
	uint64_t count;
	bool own_count;
	uint32_t next;
	struct shm_copied copied;
	bool follows;
};

enum shm_outcome {
	SHM_LATE,	/* a rank has not written its slot yet */
	SHM_COMPLETE,	/* all ranks have written their slots; @follows: the op has ended */
	SHM_ASTRAY,	/* for the kernel: a rank has given its op to the kernel, or has left */
	SHM_DIFFERENT,	/* for the kernel: ranks disagree */
	SHM_FAILED,	/* the communicator has failed */
};

/**
 * shm_op_begin() - may the next op be done here?
 * @comm: communicator; it is the caller's turn
 * @o: result: its position
 * @before: ops that this rank has begun here and that have not ended, fewer than COLL_SHM_DEPTH
 */
bool shm_op_begin(coll_comm_t *comm, struct shm_op *o, uint32_t before);

/* Are the registered buffers of @cmd right? If not, the kernel has to report the error. */
bool shm_op_buffers(coll_comm_t *comm, const struct coll_cmd *cmd);

/* Write the own slot. A full barrier follows, see shm_wait_asleep(). */
void shm_op_write(const struct shm *s, const struct shm_move *m, struct shm_op *o);

/* Withdraw the own slot. No other rank has found the op complete, or will. */
void shm_op_retract(const struct shm *s, const struct shm_op *o);

/* Have all ranks of the node written their slots? Also with @o->follows. */
enum shm_outcome shm_op_look_at_slots(const struct shm *s, struct shm_op *o);

/*
 * While the op is SHM_LATE, if @m->copy.early: copy what the other ranks have written so far. If the
 * op is for the kernel after all, the kernel writes the result again.
 */
void shm_op_copy(const struct shm *s, const struct shm_move *m, struct shm_op *o);

/* Is the op complete? */
enum shm_outcome shm_op_look(const struct shm *s, struct shm_op *o);

/*
 * All ranks have written their slots: wake sleeping ranks, make the result and count the op.
 * Return: SHM_COMPLETE; SHM_DIFFERENT: counts of blocks disagree, and there is no result.
 */
enum shm_outcome shm_op_finish(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o);

/* Errno of a communicator that has failed, negative. */
int shm_op_error(const struct shm *s);

/*
 * The op at @pos did not end quickly in shared memory, or a rank gave it to the kernel: the next
 * ops go to the kernel at once. Pauses end at positions that are multiples of their length, so the
 * pauses of all ranks end together.
 */
void shm_op_pause(struct shm *s, uint64_t pos);

/* An op ended quickly in shared memory: the next pause is shorter. */
void shm_op_no_pause(struct shm *s);

#endif
