/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Named tensors: what the parts of coll/tensor.h share. */
#ifndef LIBCOLL_TENSORS_H
#define LIBCOLL_TENSORS_H

#include <pthread.h>
#include <stdbool.h>

#include <coll/tensor.h>

#include "comm/comm.h"

/* Results that are taken at once. */
#define TENSORS_BATCH	64
/* If the kernel had no memory for a post, it is tried again after this time. */
#define TENSORS_AGAIN_US	1000

/* Nanoseconds of a wait without a limit. */
#define TENSORS_FOREVER	UINT64_MAX

/**
 * enum tensor_state - one named tensor
 * @TENSOR_IDLE: not posted; only of coll_tensor_create()
 * @TENSOR_POSTED: the kernel has it, or is about to get it
 * @TENSOR_CALLING: its result is there and its callback runs
 * @TENSOR_DONE: its result is there and nobody has taken it
 */
enum tensor_state { TENSOR_IDLE, TENSOR_POSTED, TENSOR_CALLING, TENSOR_DONE };

/**
 * struct coll_tensor_handle - a named tensor
 * @spec: its name points to @name
 * @buffers_as_of: when the registered buffers of its command were right: see comm/buffers.h
 * @made: by coll_tensor_create(): stays until coll_tensor_free()
 * @unwaited: freed after its callback
 * @joins: this is no collective, but a join of the rank
 * @last: of a join: where the number of the last rank to join goes; or NULL
 * @how: how it has ended; with @state protected by the lock of @ts
 * @prev: in the list of all tensors of @ts, with @next
 */
struct coll_tensor_handle {
	coll_tensors_t *ts;
	struct coll_tensor_spec spec;
	uint64_t buffers_as_of;
	bool made;
	bool unwaited;
	bool joins;
	uint32_t *last;
	enum tensor_state state;
	struct coll_tensor_result how;
	coll_tensor_t *prev, *next;
	char name[COLL_TENSOR_NAME_MAX + 1];
};

/**
 * struct coll_tensors - a communicator for named tensors
 * @comm: owned
 * @base: of coll_tensors_init(), owned; else NULL
 * @lock: protects all below
 * @changed: a result has come, or nobody takes results any more, or there is more to do for
 *	@thread
 * @all: all tensors
 * @open: number of tensors that are posted and have not ended; a tensor of coll_tensor_run() counts
 *	from the call on. Negative for a moment if a result comes before the post has returned.
 * @reaping: a thread takes results; there is at most one
 * @calling: the tensor whose callback that thread, @caller, runs; or NULL
 * @posting: threads that have armed tensors, and whose system call has not returned yet
 * @broken: negative errno: no result can come any more
 * @threaded: only @thread takes results
 * @stop: @thread is to end
 * @tuner: looks for the best fusion; or NULL
 */
struct coll_tensors {
	coll_comm_t *comm, *base;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	coll_tensor_t *all;
	int64_t open;
	uint32_t posting;
	bool reaping;
	coll_tensor_t *calling;
	pthread_t caller;
	int broken;
	bool threaded, stop;
	pthread_t thread;
	struct tuner *tuner;
};

#endif
