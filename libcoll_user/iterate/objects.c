// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named objects, and what a step sees of its run. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "session.h"

void *iter_alloc(uint64_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	return calloc(1, bytes ? bytes : 1);
}

struct iter_object *iter_find(struct iter_objects *objs, const char *name)
{
	size_t i;

	for (i = 0; i < objs->nr; i++)
		if (!strcmp(objs->at[i].name, name))
			return &objs->at[i];
	return NULL;
}

static void end_data(struct iter_object *obj)
{
	if (obj->free_fn)
		obj->free_fn(obj->data);
}

static struct iter_object *add_object(struct iter_objects *objs, const char *name)
{
	struct iter_object *at;
	size_t room;

	if (objs->nr == objs->room) {
		room = objs->room ? 2 * objs->room : 8;
		at = realloc(objs->at, room * sizeof(*at));
		if (!at)
			return NULL;
		objs->at = at;
		objs->room = room;
	}
	at = &objs->at[objs->nr];
	at->name = strdup(name);
	if (!at->name)
		return NULL;
	objs->nr++;
	return at;
}

int iter_put(struct iter_objects *objs, const char *name, void *data, size_t bytes,
	     coll_iter_free_fn *free_fn)
{
	struct iter_object *obj;

	if (!name || !*name || strlen(name) >= ITER_NAME || (!data && bytes))
		return -EINVAL;
	obj = iter_find(objs, name);
	if (!obj)
		obj = add_object(objs, name);
	else if (obj->data != data)
		end_data(obj);
	if (!obj)
		return -ENOMEM;
	obj->data = data;
	obj->bytes = bytes;
	obj->free_fn = free_fn;
	return 0;
}

void iter_objects_free(struct iter_objects *objs)
{
	size_t i;

	for (i = 0; i < objs->nr; i++) {
		end_data(&objs->at[i]);
		free(objs->at[i].name);
	}
	free(objs->at);
	memset(objs, 0, sizeof(*objs));
}

/* --- for steps --- */

uint32_t coll_iter_task_id(const coll_iter_ctx_t *ctx)
{
	return ctx->task;
}

uint32_t coll_iter_nr_tasks(const coll_iter_ctx_t *ctx)
{
	return ctx->tasks;
}

uint64_t coll_iter_step_no(const coll_iter_ctx_t *ctx)
{
	return ctx->step_no;
}

uint64_t coll_iter_session_id(const coll_iter_ctx_t *ctx)
{
	return ctx->session;
}

coll_comm_t *coll_iter_comm(const coll_iter_ctx_t *ctx)
{
	return ctx->comm;
}

/* The first error of a step is its cause; later ones mostly follow from it. */
int coll_iter_fail(coll_iter_ctx_t *ctx, int err, const char *fmt, ...)
{
	va_list ap;

	if (err >= 0)
		err = -EINVAL;
	if (!ctx->error) {
		ctx->error = err;
		va_start(ap, fmt);
		vsnprintf(ctx->text, sizeof(ctx->text), fmt, ap);
		va_end(ap);
	}
	return err;
}

int coll_iter_put(coll_iter_ctx_t *ctx, const char *name, void *data, size_t bytes,
		  coll_iter_free_fn *free_fn)
{
	int ret = iter_put(&ctx->objects, name, data, bytes, free_fn);

	if (ret)
		return coll_iter_fail(ctx, ret, "put of object '%s': %s", name ? name : "",
				      coll_strerror(ret));
	return 0;
}

void *coll_iter_new(coll_iter_ctx_t *ctx, const char *name, size_t bytes)
{
	void *data = iter_alloc(bytes);

	if (!data) {
		coll_iter_fail(ctx, -ENOMEM, "no memory for object '%s' of %zu bytes",
			       name ? name : "", bytes);
		return NULL;
	}
	if (!coll_iter_put(ctx, name, data, bytes, free))
		return data;
	free(data);
	return NULL;
}

/* The address of an object of 0 bytes, fit for any type. */
static max_align_t nothing;

void *coll_iter_find(coll_iter_ctx_t *ctx, const char *name, size_t *bytes)
{
	struct iter_object *obj = name ? iter_find(&ctx->objects, name) : NULL;

	if (bytes)
		*bytes = obj ? obj->bytes : 0;
	/* ->data of 0 bytes may be NULL. To the caller that would mean that there is no object. */
	return !obj ? NULL : obj->data ? obj->data : &nothing;
}

void *coll_iter_get(coll_iter_ctx_t *ctx, const char *name, size_t *bytes)
{
	if (!name || !iter_find(&ctx->objects, name))
		coll_iter_fail(ctx, -ENOENT, "no object '%s'", name ? name : "");
	return coll_iter_find(ctx, name, bytes);
}

int coll_iter_remove(coll_iter_ctx_t *ctx, const char *name)
{
	struct iter_object *obj = name ? iter_find(&ctx->objects, name) : NULL;

	if (!obj)
		return coll_iter_fail(ctx, -ENOENT, "no object '%s'", name ? name : "");
	end_data(obj);
	free(obj->name);
	*obj = ctx->objects.at[--ctx->objects.nr];
	return 0;
}
