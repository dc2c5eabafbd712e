/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranks as processes that are forked and use the library, with small collectives in shared memory.
 * They leave what they see in memory shared with the parent.
 */
#ifndef COLL_SELFTESTS_SHM_JOB_H
#define COLL_SELFTESTS_SHM_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <coll/coll.h>

#define JOB_MAX		4
/* Bytes of a buffer of the random ops, and of the bytes behind it, which nobody may write. */
#define JOB_ROOM	8192
#define JOB_GUARD	1024

enum job_phase {
	JOB_BORN,
	JOB_READY,	/* all ranks have joined */
	JOB_ENDED,
};

/**
 * struct job_rank - what one rank leaves for the parent
 * @phase: how far it has come
 * @result: of its last op, or of coll_init()
 * @next: of an op after that
 * @done: ops that ended well
 * @wrong: results that were wrong, or bytes that nobody may write
 * @when: time of the last result, ns
 * @sleeps: calls of COLL_IOC_SHM_WAIT of the last op
 * @first_op: ops in shared memory before the test
 * @shm_ops: ops in shared memory since then
 * @status: after the last op
 */
struct job_rank {
	_Atomic uint32_t phase;
	_Atomic int32_t result, next;
	_Atomic uint64_t done, wrong, when, sleeps, first_op, shm_ops;
	struct coll_status status;
};

/**
 * struct job_shared - seen by all
 * @quit: ranks that have ended wait for it, so that nobody leaves early
 * @nr_came: calls of the exchange of addresses
 * @nr_warm: ranks that have ended their first op
 * @died: time at which a rank ends itself, ns
 * @mine: what ranks give to that exchange
 */
struct job_shared {
	_Atomic uint32_t quit, nr_came, nr_warm;
	_Atomic uint64_t died;
	struct job_rank rank[JOB_MAX];
	uint8_t mine[JOB_MAX][4096];
};

/**
 * struct job - a communicator on one node
 * @size: ranks
 * @run: what a rank does, in its process; it returns at its end
 * @arg: for @run
 * @pid: of ranks; 0: waited for
 * @sh: shared memory
 * @comm: in a rank: its communicator
 */
struct job {
	uint32_t size;
	void (*run)(struct job *j, uint32_t rank);
	void *arg;
	pid_t pid[JOB_MAX];
	struct job_shared *sh;
	coll_comm_t *comm;
};

/* Fork the ranks. Return: 0 or -errno. */
int job_start(struct job *j);
/* Wait until all ranks that are alive have come to @phase. Return: false: not within @ms. */
bool job_wait(const struct job *j, uint32_t phase, unsigned int ms);
/* Wait for a rank that dies. Return: false: not within @ms. */
bool job_reap(struct job *j, uint32_t rank, unsigned int ms);
/* End all, kill those that hang, and free. */
void job_stop(struct job *j);

/* In a rank: note the result of an op. */
void job_note(struct job *j, uint32_t rank, int ret);

/**
 * job_random_op() - do a random collective that fits in shared memory
 * @j: in a rank
 * @rank: this one
 * @lot: state of the random numbers that all ranks draw
 * @flags: of the command
 * @posted: a nonblocking one, and a wait
 * @check: whether its result is looked at
 *
 * Counts in what is wrong, bytes behind the buffer in any case. Return: 0 or -errno.
 */
int job_random_op(struct job *j, uint32_t rank, uint64_t *lot, uint32_t flags, bool posted,
		  bool check);

/* What the program does; each prints, and returns an exit status. */
int shm_kill(unsigned int times, uint64_t seed);
int shm_scribble(unsigned int rounds, uint64_t seed);
int shm_differ(unsigned int times, uint64_t seed);

#endif /* COLL_SELFTESTS_SHM_JOB_H */
