// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* A run of a session. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicate.h"
#include "objects.h"
#include "progress.h"
#include "session.h"
#include "vote.h"

static _Atomic uint64_t runs;

static uint64_t fnv(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

static uint64_t fnv_name(uint64_t hash, const char *name)
{
	return fnv(hash, name ? name : "", name ? strlen(name) + 1 : 1);
}

/* A digest of the parts of a session that must be the same on all ranks. */
static uint64_t digest(const struct coll_iter *it)
{
	uint64_t hash = 0xcbf29ce484222325ULL, n[4];
	size_t i;

	n[0] = it->max_iter;
	n[1] = (it->criterion ? 1 : 0) + (it->close_fn ? 2 : 0);
	n[2] = it->nr_steps;
	n[3] = it->common.nr;
	hash = fnv(hash, n, sizeof(n));
	for (i = 0; i < it->common.nr; i++) {
		hash = fnv_name(hash, it->common.at[i].name);
		n[0] = it->common.at[i].bytes;
		hash = fnv(hash, n, sizeof(n[0]));
	}
	for (i = 0; i < it->nr_steps; i++) {
		const struct iter_step *step = &it->steps[i];

		n[0] = step->kind;
		n[1] = (uint64_t)step->type.dtype << 32 | (uint32_t)step->op;
		n[2] = step->type.size;
		n[3] = step->root;
		hash = fnv(hash, n, sizeof(n));
		hash = fnv_name(hash, step->name);
		hash = fnv_name(hash, step->length);
		hash = fnv_name(hash, step->second);
		hash = fnv_name(hash, step->third);
	}
	return hash;
}

/* Call @fn, unless this rank has failed before. */
static void call(struct coll_iter_ctx *ctx, coll_iter_fn *fn, void *arg)
{
	int ret;

	if (ctx->error)
		return;
	ret = fn(ctx, arg);
	if (ret)
		coll_iter_fail(ctx, ret, "%s", ret < 0 ? coll_strerror(ret) :
							  "it returned a positive number");
	if (ctx->error)
		iter_place(ctx, true);
}

static void at(struct coll_iter_ctx *ctx, const char *where, size_t nr)
{
	ctx->where = where;
	ctx->where_nr = nr;
}

/* Call the criterion on task 0. The vote sends its value and its answer to all tasks. */
static void compare(struct coll_iter *it, struct iter_vote *v)
{
	struct coll_iter_ctx *ctx = &it->ctx;
	double value = 0;
	int ret;

	at(ctx, "criterion", 0);
	if (!it->criterion || ctx->task || ctx->error)
		return;
	ret = it->criterion(ctx, it->criterion_arg, &value);
	if (ret < 0)
		coll_iter_fail(ctx, ret, "%s", coll_strerror(ret));
	else if (isnan(value))
		coll_iter_fail(ctx, -EDOM, "it is not a number");
	v->flag = ret > 0;
	memcpy(&v->mine, &value, sizeof(value));
}

/* One pass through the queue; @v: what the criterion said. */
static int iterate(struct coll_iter *it, struct iter_vote *v)
{
	struct coll_iter_ctx *ctx = &it->ctx;
	size_t i;
	int ret;

	for (i = 0; i < it->nr_steps; i++) {
		const struct iter_step *step = &it->steps[i];

		at(ctx, step->name, i + 1);
		if (step->kind == ITER_COMPUTE) {
			call(ctx, step->fn, step->arg);
			continue;
		}
		ret = iter_communicate(ctx, step);
		if (ret)
			return ret;
	}
	memset(v, 0, sizeof(*v));
	compare(it, v);
	return iter_settle(ctx, v);
}

static int loop(struct coll_iter *it)
{
	struct coll_iter_ctx *ctx = &it->ctx;
	bool progress = iter_progress_wanted(it);
	struct iter_vote v = { 0 };
	uint64_t from, comm_from;
	int ret;

	for (ctx->step_no = 1;; ctx->step_no++) {
		from = iter_now();
		comm_from = ctx->comm_ns;
		ret = iterate(it, &v);
		if (ret)
			return ret;
		it->stats.iterations = ctx->step_no;
		memcpy(&it->stats.criterion, &v.max, sizeof(double));
		if (progress)
			iter_progress_line(ctx, it->criterion, it->stats.criterion,
					   iter_now() - from, ctx->comm_ns - comm_from);
		it->stats.by_criterion = v.flag;
		if (v.flag || ctx->step_no == it->max_iter)
			return 0;
	}
}

static void put_init(struct coll_iter *it)
{
	struct coll_iter_ctx *ctx = &it->ctx;
	size_t i;
	void *copy;

	for (i = 0; i < it->local.nr; i++)
		coll_iter_put(ctx, it->local.at[i].name, it->local.at[i].data,
			      it->local.at[i].bytes, NULL);
	for (i = 0; i < it->common.nr; i++) {
		copy = coll_iter_new(ctx, it->common.at[i].name, it->common.at[i].bytes);
		if (copy && it->common.at[i].bytes)
			memcpy(copy, it->common.at[i].data, it->common.at[i].bytes);
	}
}

/* Agree on the queue, and bring out the data. */
static int begin(struct coll_iter *it)
{
	struct coll_iter_ctx *ctx = &it->ctx;
	struct iter_vote v = { .mine = digest(it) };
	uint64_t from;
	size_t i;
	int ret;

	at(ctx, "start", 0);
	if (!ctx->task)
		v.flag = atomic_fetch_add(&runs, 1) + 1;
	if (it->broken)
		coll_iter_fail(ctx, it->broken, "%s", it->text);
	else if (!it->nr_steps)
		coll_iter_fail(ctx, -EINVAL, "the queue is empty");
	else if (!it->criterion && it->max_iter == UINT64_MAX)
		coll_iter_fail(ctx, -EINVAL, "neither max_iter nor a criterion");
	ret = iter_settle(ctx, &v);
	if (ret)
		return ret;
	if (v.min != v.max)
		return coll_iter_fail(ctx, -EBADE, "the queues of the ranks differ");
	ctx->session = v.flag;
	put_init(it);
	ret = iter_settle(ctx, &v);
	for (i = 0; !ret && i < it->common.nr; i++) {
		struct iter_object *obj = iter_find(&ctx->objects, it->common.at[i].name);

		if (!obj->bytes)
			continue;
		from = iter_now();
		ret = coll_broadcast(ctx->comm, obj->data, obj->bytes, COLL_BYTE, 0);
		ctx->comm_ns += iter_now() - from;
		if (ret)
			return iter_broken(ctx->comm, ret, "broadcast of data", ctx->text);
	}
	return ret;
}

static int run(struct coll_iter *it)
{
	struct coll_iter_ctx *ctx = &it->ctx;
	struct iter_vote v = { 0 };
	int ret;

	ret = begin(it);
	if (!ret)
		ret = loop(it);
	if (!ret && it->close_fn) {
		at(ctx, "close_with", 0);
		call(ctx, it->close_fn, it->close_arg);
		ret = iter_settle(ctx, &v);
	}
	if (ret && !ctx->placed)
		iter_place(ctx, false);
	return ret;
}

int coll_iter_exec(coll_iter_t *it)
{
	struct coll_iter_ctx *ctx;
	uint64_t from;
	int ret;

	if (!it)
		return -EINVAL;
	if (atomic_exchange(&it->running, true))
		return -EBUSY;
	ctx = &it->ctx;
	from = iter_now();
	ctx->step_no = 0;
	ctx->session = 0;
	ctx->error = 0;
	ctx->placed = false;
	ctx->comm_ns = 0;
	memset(ctx->text, 0, sizeof(ctx->text));
	memset(&it->stats, 0, sizeof(it->stats));
	ret = run(it);
	memcpy(it->text, ret ? ctx->text : "", ret ? sizeof(it->text) : 1);
	iter_objects_free(&ctx->objects);
	it->stats.ns = iter_now() - from;
	it->stats.comm_ns = ctx->comm_ns;
	atomic_store(&it->running, false);
	return ret;
}
