// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Operators of the user's own: the table of them, and their use in this process. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "userop.h"

/* If a program makes more operators than this, it has a leak. */
#define MAX_OPS		65536
#define FIRST_GENERATION	1

/**
 * struct entry - one operator, or a place for one
 * @op: its function is NULL if there is none
 * @generation: the upper half of the handle, another one for each operator that was here
 * @next_free: index of the next free place, plus 1
 */
struct entry {
	struct userop op;
	uint32_t generation;
	uint32_t next_free;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table;
static uint32_t nr_entries, first_free;

static pthread_once_t forks_once = PTHREAD_ONCE_INIT;
static int forks_error = -ENOMEM;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child has the operators of its parent: no other thread may change the table during the fork. */
static void watch_forks(void)
{
	if (!pthread_atfork(take_lock, drop_lock, drop_lock))
		forks_error = 0;
}

/* Lock held. Handles are never 0, nor the number of an operator of coll. */
static struct entry *find(coll_op_t op)
{
	uint32_t index = (uint32_t)op;
	struct entry *e;

	if (index >= nr_entries)
		return NULL;
	e = &table[index];
	return e->op.fn && e->generation == op >> 32 ? e : NULL;
}

static void put_free(uint32_t index)
{
	table[index].next_free = first_free;
	first_free = index + 1;
}

/* Lock held: twice as many places. */
static int grow(void)
{
	uint32_t i, more = nr_entries ? 2 * nr_entries : 16;
	struct entry *bigger;

	if (more > MAX_OPS)
		return -ENOSPC;
	bigger = realloc(table, more * sizeof(*table));
	if (!bigger)
		return -ENOMEM;
	table = bigger;
	for (i = more; i-- > nr_entries; ) {
		table[i] = (struct entry){ .generation = FIRST_GENERATION };
		put_free(i);
	}
	nr_entries = more;
	return 0;
}

int coll_op_create(coll_user_fn *fn, bool commute, void *arg, coll_op_t *op)
{
	struct entry *e;
	int ret;

	if (!fn || !op)
		return -EINVAL;
	pthread_once(&forks_once, watch_forks);
	take_lock();
	ret = forks_error;
	if (!ret && !first_free)
		ret = grow();
	if (!ret) {
		uint32_t index = first_free - 1;

		e = &table[index];
		first_free = e->next_free;
		e->op = (struct userop){ .fn = fn, .arg = arg, .commute = commute };
		*op = (uint64_t)e->generation << 32 | index;
	}
	drop_lock();
	return ret;
}

int coll_op_free(coll_op_t op)
{
	struct entry *e;

	take_lock();
	e = find(op);
	if (e) {
		e->op.fn = NULL;
		/* A place whose numbers are used up is not used again. */
		if (e->generation++ < UINT32_MAX)
			put_free((uint32_t)op);
	}
	drop_lock();
	return e ? 0 : -EINVAL;
}

int coll_op_set_piece(coll_op_t op, uint64_t bytes)
{
	struct entry *e;

	take_lock();
	e = find(op);
	if (e)
		e->op.piece = bytes;
	drop_lock();
	return e ? 0 : -EINVAL;
}

int userop_get(coll_op_t op, struct userop *u)
{
	struct entry *e;

	take_lock();
	e = find(op);
	if (e)
		*u = e->op;
	drop_lock();
	return e ? 0 : -EINVAL;
}

int userop_type(struct coll_user_type *type)
{
	size_t known = coll_dtype_bytes(type->dtype);

	if (type->dtype == COLL_OPAQUE)
		return type->size ? 0 : -EINVAL;
	if (!known || (type->size && type->size != known))
		return -EINVAL;
	type->size = known;
	return 0;
}

int userop_range(const void *p, uint64_t count, size_t size, uint64_t *bytes)
{
	if (__builtin_mul_overflow(count, size, bytes) || *bytes > UINTPTR_MAX - (uintptr_t)p)
		return -EINVAL;
	return 0;
}

bool userop_overlap(const void *a, uint64_t a_len, const void *b, uint64_t b_len)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	if (!a_len || !b_len)
		return false;
	return x < y ? y - x < a_len : x - y < b_len;
}

int coll_user_reduce_local(const void *in, void *inout, uint64_t count,
			   struct coll_user_type type, coll_op_t op)
{
	struct userop u;
	uint64_t bytes;

	if (userop_get(op, &u) || userop_type(&type))
		return -EINVAL;
	if (!count)
		return 0;
	if (!in || !inout)
		return -EFAULT;
	if (userop_range(in, count, type.size, &bytes) ||
	    userop_range(inout, count, type.size, &bytes) ||
	    userop_overlap(in, bytes, inout, bytes))
		return -EINVAL;
	u.fn(in, inout, count, &type, u.arg);
	return 0;
}
