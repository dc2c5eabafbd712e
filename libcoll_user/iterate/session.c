// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Sessions: making them, and filling their queue. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "session.h"

int coll_iter_create(coll_comm_t *comm, coll_iter_t **it)
{
	if (!it)
		return -EINVAL;
	*it = NULL;
	if (!comm)
		return -EINVAL;
	*it = calloc(1, sizeof(**it));
	if (!*it)
		return -ENOMEM;
	(*it)->comm = comm;
	(*it)->max_iter = UINT64_MAX;
	(*it)->ctx.comm = comm;
	(*it)->ctx.task = coll_comm_rank(comm);
	(*it)->ctx.tasks = coll_comm_size(comm);
	return 0;
}

static void free_step(struct iter_step *step)
{
	free(step->name);
	free(step->length);
	free(step->second);
	free(step->third);
}

void coll_iter_free(coll_iter_t *it)
{
	size_t i;

	if (!it)
		return;
	for (i = 0; i < it->nr_steps; i++)
		free_step(&it->steps[i]);
	free(it->steps);
	iter_objects_free(&it->local);
	iter_objects_free(&it->common);
	iter_objects_free(&it->ctx.objects);
	free(it);
}

/* The first error of filling a session stays, with its text. */
__attribute__((format(printf, 3, 4)))
static int refuse(coll_iter_t *it, int err, const char *fmt, ...)
{
	va_list ap;

	if (!err || it->broken)
		return err;
	it->broken = err;
	va_start(ap, fmt);
	vsnprintf(it->text, sizeof(it->text), fmt, ap);
	va_end(ap);
	return err;
}

/* May the session be filled? During a run it may not, and its text must not change. */
static int may_fill(coll_iter_t *it)
{
	if (!it)
		return -EINVAL;
	return atomic_load(&it->running) ? -EBUSY : 0;
}

static bool bad_name(const char *name)
{
	return !name || !*name || strlen(name) >= ITER_NAME;
}

static int put_init(coll_iter_t *it, struct iter_objects *objs, const char *name, void *data,
		    size_t bytes, coll_iter_free_fn *free_fn)
{
	int ret = 0;

	if (bad_name(name))
		ret = refuse(it, -EINVAL, "an object without a name, or with too long a name");
	else if (iter_find(&it->local, name) || iter_find(&it->common, name))
		ret = refuse(it, -EEXIST, "object '%s' is there already", name);
	else if (!data && bytes)
		ret = refuse(it, -EINVAL, "object '%s' has no data", name);
	else if (iter_put(objs, name, data, bytes, free_fn))
		ret = refuse(it, -ENOMEM, "no memory for object '%s'", name);
	if (ret && free_fn && data)
		free_fn(data);
	return ret;
}

static int put_copy(coll_iter_t *it, struct iter_objects *objs, const char *name,
		    const void *data, uint64_t bytes)
{
	void *copy = iter_alloc(bytes);

	if (!copy)
		return refuse(it, -ENOMEM, "no memory for object '%.127s' of %llu bytes",
			      name ? name : "", (unsigned long long)bytes);
	if (bytes)
		memcpy(copy, data, bytes);
	return put_init(it, objs, name, copy, bytes, free);
}

int coll_iter_init_with_partitioned_data(coll_iter_t *it, const char *name, const void *rows,
					 uint64_t nr_rows, size_t row_bytes)
{
	int ret = may_fill(it);
	uint64_t first, mine, bytes;

	if (ret)
		return ret;
	if (!nr_rows)
		return refuse(it, -ENODATA, "object '%.127s' has no rows", name ? name : "");
	if (!rows || !row_bytes || __builtin_mul_overflow(nr_rows, row_bytes, &bytes))
		return refuse(it, -EINVAL, "object '%.127s' is no table", name ? name : "");
	first = coll_iter_start_pos(it->ctx.task, it->ctx.tasks, nr_rows);
	mine = coll_iter_local_row_count(it->ctx.task, it->ctx.tasks, nr_rows);
	return put_copy(it, &it->local, name, (const char *)rows + first * row_bytes,
			mine * row_bytes);
}

int coll_iter_init_with_local_data(coll_iter_t *it, const char *name, void *data,
				   size_t bytes, coll_iter_free_fn *free_fn)
{
	int ret = may_fill(it);

	if (!ret)
		return put_init(it, &it->local, name, data, bytes, free_fn);
	if (free_fn && data)
		free_fn(data);
	return ret;
}

int coll_iter_init_with_broadcast_data(coll_iter_t *it, const char *name, const void *data,
				       size_t bytes)
{
	int ret = may_fill(it);

	if (ret)
		return ret;
	if (!data && bytes && !it->ctx.task)
		return refuse(it, -EINVAL, "object '%.127s' has no data", name ? name : "");
	/* Other tasks need the length only: theirs is overwritten. */
	if (!data && bytes) {
		void *room = iter_alloc(bytes);

		if (!room)
			return refuse(it, -ENOMEM, "no memory for object '%.127s'",
				      name ? name : "");
		return put_init(it, &it->common, name, room, bytes, free);
	}
	return put_copy(it, &it->common, name, data, bytes);
}

/* Append a copy of @from and of its names to the queue. */
static int add_step(coll_iter_t *it, const struct iter_step *from)
{
	const char *names[] = { from->name, from->length, from->second, from->third };
	struct iter_step *step;
	size_t i, room;

	for (i = 0; i < 4; i++)
		if (names[i] ? bad_name(names[i]) : !i)
			return refuse(it, -EINVAL, "entry %zu of the queue: a bad name",
				      it->nr_steps + 1);
	if (it->nr_steps == it->room) {
		room = it->room ? 2 * it->room : 8;
		step = realloc(it->steps, room * sizeof(*step));
		if (!step)
			return refuse(it, -ENOMEM, "no memory for the queue");
		it->steps = step;
		it->room = room;
	}
	step = &it->steps[it->nr_steps];
	*step = *from;
	step->name = strdup(from->name);
	step->length = from->length ? strdup(from->length) : NULL;
	step->second = from->second ? strdup(from->second) : NULL;
	step->third = from->third ? strdup(from->third) : NULL;
	if (!step->name || !step->length != !from->length || !step->second != !from->second ||
	    !step->third != !from->third) {
		free_step(step);
		return refuse(it, -ENOMEM, "no memory for the queue");
	}
	it->nr_steps++;
	return 0;
}

int coll_iter_add(coll_iter_t *it, const char *name, coll_iter_fn *fn, void *arg)
{
	struct iter_step step = {
		.kind = ITER_COMPUTE, .name = (char *)name, .fn = fn, .arg = arg,
	};
	int ret = may_fill(it);

	if (ret)
		return ret;
	if (!fn)
		return refuse(it, -EINVAL, "entry %zu of the queue has no function",
			      it->nr_steps + 1);
	return add_step(it, &step);
}

static int check_type(coll_iter_t *it, const char *name, enum coll_dtype dtype)
{
	if (!coll_dtype_bytes(dtype))
		return refuse(it, -EINVAL, "object '%.127s': %d is no type", name ? name : "",
			      (int)dtype);
	return 0;
}

int coll_iter_add_allreduce(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, enum coll_op_code op)
{
	struct iter_step step = {
		.kind = ITER_ALLREDUCE, .name = (char *)name, .length = (char *)length_name,
		.type = coll_type_of(dtype), .op = op,
	};
	int ret = may_fill(it);

	if (!ret)
		ret = check_type(it, name, dtype);
	if (ret)
		return ret;
	if (op == COLL_OP_PREMULSUM)
		return refuse(it, -EINVAL, "allreduce of '%.127s': use coll_iter_add_premulsum()",
			      name ? name : "");
	if (!coll_op_supported(op, dtype))
		return refuse(it, -EOPNOTSUPP, "allreduce of '%.127s': operator %d is not defined on type %d",
			      name ? name : "", (int)op, (int)dtype);
	return add_step(it, &step);
}

int coll_iter_add_premulsum(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, const char *factor_name)
{
	struct iter_step step = {
		.kind = ITER_PREMULSUM, .name = (char *)name, .length = (char *)length_name,
		.second = (char *)factor_name, .type = coll_type_of(dtype),
	};
	int ret = may_fill(it);

	if (!ret)
		ret = check_type(it, name, dtype);
	if (ret)
		return ret;
	if (!factor_name)
		return refuse(it, -EINVAL, "allreduce of '%.127s': no factor", name ? name : "");
	if (!coll_op_supported(COLL_OP_PREMULSUM, dtype) || coll_dtype_bytes(dtype) > 8)
		return refuse(it, -EOPNOTSUPP, "allreduce of '%.127s': no premulsum of type %d",
			      name ? name : "", (int)dtype);
	return add_step(it, &step);
}

int coll_iter_add_user_allreduce(coll_iter_t *it, const char *name, const char *length_name,
				 struct coll_user_type type, coll_op_t op)
{
	struct iter_step step = {
		.kind = ITER_USER_ALLREDUCE, .name = (char *)name,
		.length = (char *)length_name, .type = type, .user_op = op,
	};
	int ret = may_fill(it);

	if (ret)
		return ret;
	if (!op || (!type.size && !coll_dtype_bytes(type.dtype)))
		return refuse(it, -EINVAL, "allreduce of '%.127s': no operator, or no type",
			      name ? name : "");
	return add_step(it, &step);
}

int coll_iter_add_broadcast(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, uint32_t root)
{
	struct iter_step step = {
		.kind = ITER_BROADCAST, .name = (char *)name, .length = (char *)length_name,
		.type = coll_type_of(dtype), .root = root,
	};
	int ret = may_fill(it);

	if (!ret)
		ret = check_type(it, name, dtype);
	if (ret)
		return ret;
	if (root >= it->ctx.tasks)
		return refuse(it, -EINVAL, "broadcast of '%.127s': no task %u", name ? name : "",
			      root);
	return add_step(it, &step);
}

int coll_iter_add_allgather(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, const char *into, const char *counts)
{
	struct iter_step step = {
		.kind = ITER_ALLGATHER, .name = (char *)name, .length = (char *)length_name,
		.second = (char *)into, .third = (char *)counts, .type = coll_type_of(dtype),
	};
	int ret = may_fill(it);

	if (!ret)
		ret = check_type(it, name, dtype);
	if (ret)
		return ret;
	if (!name || !into || !strcmp(name, into) ||
	    (counts && (!strcmp(counts, name) || !strcmp(counts, into))))
		return refuse(it, -EINVAL, "allgather of '%.127s': the result needs a name of its own",
			      name ? name : "");
	return add_step(it, &step);
}

int coll_iter_set_compare_criterion_of_node0(coll_iter_t *it, coll_iter_criterion_fn *fn,
					     void *arg)
{
	int ret = may_fill(it);

	if (ret)
		return ret;
	it->criterion = fn;
	it->criterion_arg = arg;
	return 0;
}

int coll_iter_set_max_iter(coll_iter_t *it, uint64_t n)
{
	int ret = may_fill(it);

	if (ret)
		return ret;
	if (!n)
		return refuse(it, -EINVAL, "max_iter is 0");
	it->max_iter = n;
	return 0;
}

int coll_iter_close_with(coll_iter_t *it, coll_iter_fn *fn, void *arg)
{
	int ret = may_fill(it);

	if (ret)
		return ret;
	it->close_fn = fn;
	it->close_arg = arg;
	return 0;
}

int coll_iter_set_progress(coll_iter_t *it, enum coll_iter_progress how)
{
	int ret = may_fill(it);

	if (ret)
		return ret;
	if (how < COLL_ITER_PROGRESS_AUTO || how > COLL_ITER_PROGRESS_OFF)
		return refuse(it, -EINVAL, "%d is no way to show progress", (int)how);
	it->progress = how;
	return 0;
}

const char *coll_iter_error(const coll_iter_t *it)
{
	return it ? it->text : "";
}

void coll_iter_stats(const coll_iter_t *it, struct coll_iter_stats *st)
{
	if (it && st)
		*st = it->stats;
}
