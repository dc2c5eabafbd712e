/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The turn of a thread to begin a collective. Ranks match their collectives by number, so the
 * collectives of one rank follow each other: a thread that begins one waits until the collective of
 * another thread is over, or the kernel has numbered it.
 */
#ifndef LIBCOLL_SHM_TURN_H
#define LIBCOLL_SHM_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

struct shm;

/*
 * @look is called now and then by threads that wait for a turn. They hold no lock. It may be called
 * by several threads at a time.
 */
void shm_turn_look_around(void (*look)(void));

/**
 * shm_turn_begin() - wait until the calling thread may begin a collective, and take the turn
 * @s: shared memory
 * @timeout_ns: how long; 0: for ever
 *
 * Return: 0; -ETIME; -EDEADLK: the caller is a signal handler, or the application's idle function,
 * and its own thread is in a collective.
 */
int shm_turn_begin(struct shm *s, uint64_t timeout_ns);

/* The collective of the calling thread is over. */
void shm_turn_end(struct shm *s);

/* The collective of the calling thread is for the kernel, which has not numbered it yet. */
void shm_turn_give(struct shm *s);

/* Is the calling thread giving its op to the kernel? */
bool shm_turn_is_given(const struct shm *s);

/* The kernel has that collective, or has refused it. May be called if none was given. */
void shm_turn_given(struct shm *s);

/**
 * shm_turn_wait() - wait until a command may be given to the kernel
 * @comm: communicator
 * @cmd: any command; messages need not wait
 *
 * For calls that do not use shm_submit(). Return: 0; -ETIME at the deadline of @cmd; -EDEADLK, as
 * above.
 */
int shm_turn_wait(coll_comm_t *comm, const struct coll_cmd *cmd);

#endif
