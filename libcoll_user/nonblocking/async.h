/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Nonblocking commands: a private ring for each communicator, or, where
 * io_uring is not available, COLL_IOC_POST.
 *
 * The module takes a limited number of commands of one rank at a time; further
 * commands wait here, and move on whenever the application waits for anything.
 *
 * Small collectives may take a shortcut, without the kernel: see shm/shm_flight.c. A command on the
 * shortcut progresses within calls only. Later collectives that cannot take the shortcut wait here
 * until it is over. So a thread that waits for anything looks at the shortcuts and queues of all
 * communicators of the process: the rank that it waits for may be waiting for a command of these.
 */
#ifndef LIBCOLL_ASYNC_H
#define LIBCOLL_ASYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/deadline.h"
#include "comm/comm.h"

/* If the kernel had no memory for a command, it is tried again after this time. */
#define ASYNC_REFUSED_US	1000

/* As a time to wait: until something happens. */
#define ASYNC_FOREVER		UINT64_MAX

struct async;

/**
 * struct coll_request - one nonblocking command
 * @cmd: the kernel reads it when it is submitted
 * @done: the result is in @res; protected by async->lock, as the rest
 * @persistent: coll_wait() leaves it to coll_request_free()
 * @active: in async->queue or in async->live
 * @numbers: room for a copy of the counts and displacements of @cmd, which points there once it is
 *	copied; NULL: it has none. Owned
 * @buffers_as_of: when the registered buffers of @cmd were right: see comm/buffers.h
 * @counts_addr: where the application has the counts; @displs_addr: its displacements
 * @until: deadline, kept here once the command has to wait for the kernel
 * @next: in async->queue
 * @live_prev: in async->live, with @live_next
 */
struct coll_request {
	struct async *async;
	struct coll_cmd cmd;
	bool done;
	bool persistent;
	bool active;
	uint64_t *numbers;
	uint64_t buffers_as_of;
	uint64_t counts_addr, displs_addr;
	int res;
	struct deadline until;
	struct coll_request *next;
	struct coll_request *live_prev, *live_next;
};

/**
 * struct async_backend - how commands get into the kernel
 * @init: 0, or -errno if this backend is not available
 * @destroy: called when nothing is under way any more, or only what the kernel ends when the file is
 *	closed; in a forked child, at any time
 * @push: submit @req now; lock held. Completion comes from @reap. -EAGAIN: try again
 *	later.
 * @reap: take all completions, or wait @ns nanoseconds for one; lock held
 *	at entry and exit, dropped while waiting. Negative errno: no more completions
 *	can be had.
 */
struct async_backend {
	int (*init)(struct async *a);
	void (*destroy)(struct async *a);
	int (*push)(struct async *a, coll_request_t *req);
	int (*reap)(struct async *a, uint64_t ns);
};

extern const struct async_backend async_ring, async_post;

/**
 * struct async_shortcut - commands that are done without the kernel
 * @post: begin @req, which follows all commands posted so far. The caller has the turn
 *	(comm/shm_turn.h). False: @req is for the kernel.
 * @look: in the order of posts, end complete commands by async_flown(), and give commands that are
 *	for the kernel to it by async_give().
 * @await: wait @ns nanoseconds until the first command can go on; the lock is dropped meanwhile. 0:
 *	see whether its deadline has passed.
 * @drop: no command will complete any more: end all with @err
 *
 * All with async->lock held.
 */
struct async_shortcut {
	bool (*post)(struct async *a, coll_request_t *req);
	void (*look)(struct async *a);
	void (*await)(struct async *a, uint64_t ns);
	void (*drop)(struct async *a, int err);
};

/**
 * struct async - nonblocking commands of one communicator
 * @lock: protects all below
 * @changed: a command has completed, or no thread reaps any more
 * @reaping: a thread is in backend->reap(); there is at most one
 * @broken: negative errno: nothing can be submitted any more
 * @refused: the first of @queue is to be tried again
 * @queue: not yet submitted, oldest first; @queued is their number, @messages of them are messages
 * @live: all requests, done or not, that coll_wait() has not freed
 * @inflight: submitted and not over, at most @limit
 * @flying: commands on the shortcut that are not over. Changes with @lock held; grows in a turn
 *	only (comm/shm_turn.h)
 * @watching: a thread is in shortcut->await(); there is at most one
 * @next: in the list of the process
 * @completed: number of commands that have ever completed
 * @minded: nanoseconds when a thread last looked at the deadlines of @queue
 * @private: the backend's
 */
struct async {
	coll_comm_t *comm;
	const struct async_backend *backend;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool reaping;
	int broken;
	bool refused;
	coll_request_t *queue, **queue_end;
	_Atomic uint32_t queued;
	uint32_t messages;
	coll_request_t *live;
	uint32_t inflight, limit;
	uint64_t completed, minded;
	_Atomic uint32_t flying;
	bool watching;
	struct async *next;
	void *private;
};

/* For backends, lock held. */
void async_complete(struct async *a, coll_request_t *req, int res);

/* For shortcuts, lock held: one more command has taken the shortcut. */
void async_fly(struct async *a);
/* A command on the shortcut is over. */
void async_flown(struct async *a, coll_request_t *req, int res);
/*
 * A command on the shortcut is for the kernel. Return: 0: the kernel has it, or has refused it;
 * -EAGAIN: not now, try again.
 */
int async_give(struct async *a, coll_request_t *req);
/*
 * The deadline of a command has passed before the kernel has taken the command. The communicator
 * fails, as it does at the kernel's deadline. All commands that this rank gives to the kernel from
 * now on end with -ETIMEDOUT. Return: -ETIMEDOUT, with which the caller ends this command
 */
int async_expire(struct async *a);

/*
 * Move the commands on shortcuts and in queues of all communicators on: other ranks may wait for
 * them while the calling thread waits for its turn. The caller holds no lock.
 */
void async_look_around(void);

/*
 * Is any command on a shortcut, or in the queue of a communicator of this process other than @comm?
 * A blocking call submits the commands in the queue of its own communicator.
 */
bool async_any_held_beside(const coll_comm_t *comm);

/* For blocking calls: has the communicator had nonblocking commands? */
bool async_in_use(coll_comm_t *comm);
/* Is there a command that the kernel has not got yet, or that is on a shortcut? */
bool async_is_queued(coll_comm_t *comm);
/* Wait until everything is submitted. */
void async_flush(coll_comm_t *comm);
/* Wait until all messages are submitted. They wait for no collective on the shortcut. */
void async_flush_messages(coll_comm_t *comm);
/* Is a command in flight in the kernel? */
bool async_has_inflight(coll_comm_t *comm);
/* Wait for one completion, if a command is in flight. */
void async_reap_one(coll_comm_t *comm);

/* Wait for everything and free it. */
void async_destroy(coll_comm_t *comm);

#endif
