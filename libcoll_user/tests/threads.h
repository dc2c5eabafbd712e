/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Collectives between threads of one process, in the place of those of the kernel, for
 * tests of what is built upon them. Included by one file of a program.
 */
#ifndef LIBCOLL_TEST_THREADS_H
#define LIBCOLL_TEST_THREADS_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "tap.h"

#define WORLD_MAX	64

enum call { CALL_ALLREDUCE, CALL_BROADCAST, CALL_ALLGATHER, CALL_USER };

/* A call of a rank. */
struct posted {
	enum call call;
	const void *send;
	void *recv;
	uint64_t count, scalar;
	const uint64_t *counts;
	size_t size;
	enum coll_dtype dtype;
	enum coll_op_code op;
	uint32_t root;
};

/**
 * struct world - a communicator
 * @fail_at: this collective, from 1, fails with EHOSTDOWN on all ranks; 0: none does
 * @mixed_up: the ranks made different calls
 */
struct world {
	uint32_t size;
	pthread_barrier_t barrier;
	struct posted posted[WORLD_MAX];
	struct rank { struct coll_comm comm; struct world *world; } ranks[WORLD_MAX];
	_Atomic uint64_t calls, fail_at, aborted;
	_Atomic bool mixed_up;
};

static inline void world_init(struct world *w, uint32_t size)
{
	uint32_t r;

	memset(w, 0, sizeof(*w));
	w->size = size;
	pthread_barrier_init(&w->barrier, NULL, size);
	for (r = 0; r < size; r++) {
		w->ranks[r].comm.rank = r;
		w->ranks[r].comm.size = size;
		w->ranks[r].world = w;
	}
}

struct world_thread {
	struct rank *rank;
	void (*fn)(coll_comm_t *comm, void *arg);
	void *arg;
};

static void *world_thread(void *arg)
{
	struct world_thread *t = arg;

	t->fn(&t->rank->comm, t->arg);
	return NULL;
}

/* Run @fn on every rank, each a thread. */
static inline void world_run(struct world *w, void (*fn)(coll_comm_t *comm, void *arg), void *arg)
{
	struct world_thread t[WORLD_MAX];
	pthread_t thread[WORLD_MAX];
	uint32_t r;

	for (r = 0; r < w->size; r++) {
		t[r] = (struct world_thread){ &w->ranks[r], fn, arg };
		if (pthread_create(&thread[r], NULL, world_thread, &t[r]))
			abort();
	}
	for (r = 0; r < w->size; r++)
		pthread_join(thread[r], NULL);
	pthread_barrier_destroy(&w->barrier);
}

uint32_t coll_comm_rank(const coll_comm_t *comm)
{
	return comm->rank;
}

uint32_t coll_comm_size(const coll_comm_t *comm)
{
	return comm->size;
}

static const void *input(const struct posted *p)
{
	return p->send == COLL_IN_PLACE ? p->recv : p->send;
}

static void user_fold(const struct posted *p, const void *in, void *inout)
{
	/* The tests' operator: 64-bit exclusive or. */
	const uint64_t *a = in;
	uint64_t *b = inout, i;

	for (i = 0; i < p->count; i++)
		b[i] ^= a[i];
}

static int fold(struct world *w, const struct posted *p, void *out)
{
	uint64_t i;
	uint32_t r;
	int ret = 0;

	memcpy(out, input(&w->posted[0]), p->count * p->size);
	if (p->op == COLL_OP_PREMULSUM) {	/* doubles only */
		memset(out, 0, p->count * p->size);
		for (r = 0; r < w->size; r++) {
			double f;

			memcpy(&f, &w->posted[r].scalar, sizeof(f));
			for (i = 0; i < p->count; i++)
				((double *)out)[i] += f * ((double *)input(&w->posted[r]))[i];
		}
		return 0;
	}
	for (r = 1; r < w->size && !ret; r++) {
		if (p->call == CALL_USER)
			user_fold(p, input(&w->posted[r]), out);
		else
			ret = coll_reduce_local(input(&w->posted[r]), out, p->count, p->dtype,
						p->op);
	}
	return ret;
}

/* Bytes of the result; into @out if there is one. */
static uint64_t result(struct world *w, const struct posted *p, char *out, int *ret)
{
	uint64_t len = 0, n;
	uint32_t r;

	if (p->call == CALL_BROADCAST) {
		if (out)
			memcpy(out, w->posted[p->root].recv, p->count * p->size);
		return p->count * p->size;
	}
	if (p->call != CALL_ALLGATHER) {
		if (out)
			*ret = fold(w, p, out);
		return p->count * p->size;
	}
	for (r = 0; r < w->size; r++) {
		n = (p->counts ? p->counts[r] : p->count) * p->size;
		if (out)
			memcpy(out + len, input(&w->posted[r]), n);
		len += n;
	}
	return len;
}

static int world_call(coll_comm_t *comm, const struct posted *p)
{
	struct world *w = ((struct rank *)comm)->world;
	const struct posted *first = &w->posted[0];
	uint64_t len, nr;
	char *out;
	int ret = 0;

	w->posted[comm->rank] = *p;
	if (!comm->rank)
		w->calls++;
	pthread_barrier_wait(&w->barrier);
	nr = w->calls;
	if (first->call != p->call || first->count != p->count || first->dtype != p->dtype ||
	    first->op != p->op || first->root != p->root)
		w->mixed_up = true;
	pthread_barrier_wait(&w->barrier);
	if (w->mixed_up || nr == w->fail_at)
		return w->mixed_up ? -EBADE : -EHOSTDOWN;
	len = result(w, p, NULL, &ret);
	out = malloc(len ? len : 1);
	result(w, p, out, &ret);
	pthread_barrier_wait(&w->barrier);
	if (len)
		memcpy(p->recv, out, len);
	free(out);
	pthread_barrier_wait(&w->barrier);
	return ret;
}

int coll_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   enum coll_dtype dtype, enum coll_op_code op)
{
	const struct posted p = { .call = CALL_ALLREDUCE, .send = send, .recv = recv,
		.count = count, .dtype = dtype, .op = op, .size = coll_dtype_bytes(dtype) };

	return world_call(comm, &p);
}

int coll_broadcast(coll_comm_t *comm, void *buf, uint64_t count, enum coll_dtype dtype,
		   uint32_t root)
{
	const struct posted p = { .call = CALL_BROADCAST, .send = COLL_IN_PLACE, .recv = buf,
		.count = count, .dtype = dtype, .root = root, .size = coll_dtype_bytes(dtype) };

	return world_call(comm, &p);
}

int coll_allgather(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   enum coll_dtype dtype)
{
	const struct posted p = { .call = CALL_ALLGATHER, .send = send, .recv = recv,
		.count = count, .dtype = dtype, .size = coll_dtype_bytes(dtype) };

	return world_call(comm, &p);
}

int coll_allgatherv(coll_comm_t *comm, const void *send, void *recv, const uint64_t *counts,
		    const uint64_t *displs, enum coll_dtype dtype)
{
	const struct posted p = { .call = CALL_ALLGATHER, .send = send, .recv = recv,
		.counts = counts, .dtype = dtype, .size = coll_dtype_bytes(dtype) };

	return displs ? -EINVAL : world_call(comm, &p);
}

void coll_cmd_allreduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send, void *recv,
			uint64_t count, enum coll_dtype dtype, enum coll_op_code op)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->recv_addr = (uint64_t)(uintptr_t)recv;
	cmd->count = count;
	cmd->dtype = (uint16_t)dtype;
	cmd->op = (uint16_t)op;
}

int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	const struct posted p = { .call = CALL_ALLREDUCE, .send = COLL_IN_PLACE,
		.recv = (void *)(uintptr_t)cmd->recv_addr, .count = cmd->count,
		.dtype = cmd->dtype, .op = cmd->op, .scalar = cmd->scalar,
		.size = coll_dtype_bytes(cmd->dtype) };

	return world_call(comm, &p);
}

int coll_user_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
			struct coll_user_type type, coll_op_t op)
{
	const struct posted p = { .call = CALL_USER, .send = send, .recv = recv,
		.count = count, .dtype = type.dtype, .size = type.size };

	return op ? world_call(comm, &p) : -EINVAL;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	((struct rank *)comm)->world->aborted = code;
	return 0;
}

int coll_comm_status(coll_comm_t *comm, struct coll_status *st)
{
	return -ENODEV;
}

int coll_cause_str(const struct coll_cause *cause, char *buf, size_t len)
{
	return 0;
}

#endif
