// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The entries of a queue that are collectives. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicate.h"
#include "session.h"
#include "vote.h"

void iter_place(struct coll_iter_ctx *ctx, bool own)
{
	char text[ITER_TEXT], iteration[40] = "", step[32] = "", rank[24] = "";

	memcpy(text, ctx->text, sizeof(text));
	if (ctx->step_no)
		snprintf(iteration, sizeof(iteration), "iteration %llu, ",
			 (unsigned long long)ctx->step_no);
	if (ctx->where_nr)
		snprintf(step, sizeof(step), "step %zu (", ctx->where_nr);
	if (own)
		snprintf(rank, sizeof(rank), ", rank %u", ctx->task);
	snprintf(ctx->text, sizeof(ctx->text), "%s%s%.40s%s%s: %.200s", iteration, step,
		 ctx->where, ctx->where_nr ? ")" : "", rank, text);
	ctx->placed = true;
}

int iter_settle(struct coll_iter_ctx *ctx, struct iter_vote *v)
{
	uint64_t from = iter_now();
	int ret;

	v->error = ctx->error;
	if (ctx->error && !ctx->placed)
		iter_place(ctx, true);
	ret = iter_vote(ctx->comm, v, ctx->text);
	ctx->comm_ns += iter_now() - from;
	ctx->error = 0;
	/* A rank that failed has said where. If the vote itself failed, no rank has. */
	ctx->placed = v->error != 0;
	return ret;
}

/* A collective has ended: count its time. After an error abort, so that no rank waits. */
static int ended(struct coll_iter_ctx *ctx, uint64_t from, int ret, const char *what)
{
	ctx->comm_ns += iter_now() - from;
	return ret ? iter_broken(ctx->comm, ret, what, ctx->text) : 0;
}

static size_t size_of(const struct iter_step *step)
{
	return step->type.size ? step->type.size : coll_dtype_bytes(step->type.dtype);
}

/* Elements of the step's object on this task; an error is noted in @ctx. */
static uint64_t elements(struct coll_iter_ctx *ctx, const struct iter_step *step, void **data)
{
	size_t bytes = 0, length_bytes, size = size_of(step);
	const uint64_t *length;
	uint64_t n;

	*data = coll_iter_get(ctx, step->name, &bytes);
	if (ctx->error)
		return 0;
	n = bytes / size;
	if (step->length) {
		length = coll_iter_get(ctx, step->length, &length_bytes);
		if (!length)
			return 0;
		if (length_bytes < sizeof(n)) {
			coll_iter_fail(ctx, -EMSGSIZE, "object '%s' has %zu bytes, and should hold a length",
				       step->length, length_bytes);
			return 0;
		}
		memcpy(&n, length, sizeof(n));
		if (n > bytes / size)
			coll_iter_fail(ctx, -EMSGSIZE, "object '%s' has %zu bytes, less than %llu elements of %zu",
				       step->name, bytes, (unsigned long long)n, size);
	} else if (bytes % size) {
		coll_iter_fail(ctx, -EMSGSIZE, "object '%s' has %zu bytes, no whole number of elements of %zu",
			       step->name, bytes, size);
	}
	return n;
}

static int premulsum(struct coll_iter_ctx *ctx, const struct iter_step *step, void *data,
		     uint64_t n, const void *factor)
{
	struct coll_cmd cmd;

	coll_cmd_allreduce(ctx->comm, &cmd, COLL_IN_PLACE, data, n, step->type.dtype,
			   COLL_OP_PREMULSUM);
	memcpy(&cmd.scalar, factor, size_of(step));
	return coll_submit(ctx->comm, &cmd);
}

static int allreduce(struct coll_iter_ctx *ctx, const struct iter_step *step)
{
	struct iter_vote v = { 0 };
	const void *factor = NULL;
	size_t bytes = 0;
	uint64_t from;
	void *data;
	int ret;

	v.mine = elements(ctx, step, &data);
	if (step->kind == ITER_PREMULSUM && !ctx->error) {
		factor = coll_iter_get(ctx, step->second, &bytes);
		if (factor && bytes != size_of(step))
			coll_iter_fail(ctx, -EMSGSIZE, "factor '%s' has %zu bytes, not %zu",
				       step->second, bytes, size_of(step));
	}
	ret = iter_settle(ctx, &v);
	if (ret)
		return ret;
	if (v.min != v.max) {
		/* All ranks see it, so no one has to be told. */
		return coll_iter_fail(ctx, -EBADE, "ranks have %llu to %llu elements of '%s'",
				      (unsigned long long)v.min, (unsigned long long)v.max,
				      step->name);
	}
	if (!v.max)
		return 0;
	from = iter_now();
	if (step->kind == ITER_USER_ALLREDUCE)
		ret = coll_user_allreduce(ctx->comm, COLL_IN_PLACE, data, v.max, step->type,
					  step->user_op);
	else if (step->kind == ITER_PREMULSUM)
		ret = premulsum(ctx, step, data, v.max, factor);
	else
		ret = coll_allreduce(ctx->comm, COLL_IN_PLACE, data, v.max, step->type.dtype,
				     step->op);
	return ended(ctx, from, ret, "allreduce");
}

static int broadcast(struct coll_iter_ctx *ctx, const struct iter_step *step)
{
	struct iter_vote v = { 0 };
	bool root = ctx->task == step->root;
	uint64_t from, bytes = 0;
	void *data = NULL;
	int ret;

	if (root)
		v.flag = elements(ctx, step, &data);
	ret = iter_settle(ctx, &v);
	if (ret)
		return ret;
	if (!root && __builtin_mul_overflow(v.flag, size_of(step), &bytes))
		coll_iter_fail(ctx, -ENOMEM, "object '%s' is too large", step->name);
	else if (!root)
		data = coll_iter_new(ctx, step->name, bytes);
	ret = iter_settle(ctx, &v);
	if (ret || !v.flag)
		return ret;
	from = iter_now();
	ret = coll_broadcast(ctx->comm, data, v.flag, step->type.dtype, step->root);
	return ended(ctx, from, ret, "broadcast");
}

/* Set *@into to room for the elements of all tasks. An error is noted in @ctx. */
static void gather_room(struct coll_iter_ctx *ctx, const struct iter_step *step,
			const uint64_t *counts, void **into)
{
	uint64_t sum = 0, bytes = 0;
	uint64_t *copy;
	uint32_t i;
	bool large = false;

	for (i = 0; i < ctx->tasks; i++)
		large |= __builtin_add_overflow(sum, counts[i], &sum);
	if (large || __builtin_mul_overflow(sum, size_of(step), &bytes)) {
		coll_iter_fail(ctx, -ENOMEM, "object '%s' is too large", step->second);
		return;
	}
	*into = coll_iter_new(ctx, step->second, bytes);
	if (!*into || !step->third)
		return;
	copy = coll_iter_new(ctx, step->third, ctx->tasks * sizeof(*copy));
	if (copy)
		memcpy(copy, counts, ctx->tasks * sizeof(*copy));
}

static int gather(struct coll_iter_ctx *ctx, const struct iter_step *step, uint64_t *counts)
{
	struct iter_vote v = { 0 };
	void *data = NULL, *into = NULL;
	uint64_t from;
	int ret;

	if (!counts)
		coll_iter_fail(ctx, -ENOMEM, "no memory");
	v.mine = elements(ctx, step, &data);
	ret = iter_settle(ctx, &v);
	if (ret)
		return ret;
	from = iter_now();
	ret = ended(ctx, from, coll_allgather(ctx->comm, &v.mine, counts, 1, COLL_U64),
		    "allgather of counts");
	if (ret)
		return ret;
	gather_room(ctx, step, counts, &into);
	ret = iter_settle(ctx, &v);
	if (ret || !v.max)
		return ret;
	/* The result may have had the memory of an object that was asked for before. */
	data = coll_iter_find(ctx, step->name, NULL);
	from = iter_now();
	ret = coll_allgatherv(ctx->comm, data ? data : counts, into, counts, NULL,
			      step->type.dtype);
	return ended(ctx, from, ret, "allgather");
}

static int allgather(struct coll_iter_ctx *ctx, const struct iter_step *step)
{
	uint64_t *counts = calloc(ctx->tasks, sizeof(*counts));
	int ret = gather(ctx, step, counts);

	free(counts);
	return ret;
}

int iter_communicate(struct coll_iter_ctx *ctx, const struct iter_step *step)
{
	switch (step->kind) {
	case ITER_BROADCAST:
		return broadcast(ctx, step);
	case ITER_ALLGATHER:
		return allgather(ctx, step);
	default:
		return allreduce(ctx, step);
	}
}
