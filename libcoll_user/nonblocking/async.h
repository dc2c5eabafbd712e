/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Nonblocking commands: a private ring for each communicator, or, where
 * io_uring is not available, COLL_IOC_POST.
 *
 * The module takes a limited number of commands of one rank at a time; those
 * beyond wait here, and move on whenever the application calls for a result.
 */
#ifndef LIBCOLL_ASYNC_H
#define LIBCOLL_ASYNC_H

#include <pthread.h>
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
 * @until: once the kernel has refused it: its own deadline
 * @next: in async->queue
 * @live_prev: in async->live, with @live_next
 */
struct coll_request {
	struct async *async;
	struct coll_cmd cmd;
	bool done;
	bool persistent;
	bool active;
	int res;
	struct deadline until;
	struct coll_request *next;
	struct coll_request *live_prev, *live_next;
};

/**
 * struct async_backend - how commands get into the kernel
 * @init: 0, or -errno if this way is not available
 * @destroy: nothing is under way any more
 * @push: submit @req now; lock held. Completion comes from @reap. -EAGAIN: it is to be
 *	tried again.
 * @reap: take what completions there are, or wait @ns nanoseconds for one; lock held
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
 * struct async - nonblocking commands of one communicator
 * @lock: protects all below
 * @changed: something has completed, or nobody reaps any more
 * @reaping: a thread is in backend->reap(); there is at most one
 * @broken: negative errno: nothing can be submitted any more
 * @refused: the first of @queue is to be tried again
 * @queue: not yet submitted, oldest first
 * @live: all requests, done or not, that coll_wait() has not freed
 * @inflight: submitted and not over, at most @limit
 * @completed: number of commands that have ever completed
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
	coll_request_t *live;
	uint32_t inflight, limit;
	uint64_t completed;
	void *private;
};

/* For backends, lock held. */
void async_complete(struct async *a, coll_request_t *req, int res);

/* For blocking calls: is there anything they have to mind? */
bool async_in_use(coll_comm_t *comm);
/* Does anything wait that the kernel has not got yet? */
bool async_is_queued(coll_comm_t *comm);
/* Wait until everything is submitted. */
void async_flush(coll_comm_t *comm);
/* Wait for one completion; false: nothing is under way. */
bool async_reap_one(coll_comm_t *comm);

/* Wait for everything and free it. */
void async_destroy(coll_comm_t *comm);

#endif
