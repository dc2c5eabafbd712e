// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named tensors: one of them, from its description to its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command/wire_type.h"
#include "comm/buffers.h"
#include "handle.h"
#include "tensors.h"
#include "text.h"

/* First published size. */
#define SPEC_SIZE_V0	offsetof(struct coll_tensor_spec, prescale)

static bool known_size(const struct coll_tensor_spec *spec)
{
	return spec->struct_size >= SPEC_SIZE_V0 && spec->struct_size <= sizeof(*spec);
}

const struct coll_tensor_spec *tensor_spec_at(const struct coll_tensor_spec *specs, size_t k)
{
	return (const void *)((const char *)specs + k * specs->struct_size);
}

int tensor_check_sizes(const struct coll_tensor_spec *specs, size_t n)
{
	size_t k;

	if (n && !known_size(specs))
		return -EINVAL;
	for (k = 1; k < n; k++)
		if (tensor_spec_at(specs, k)->struct_size != specs->struct_size)
			return -EINVAL;
	return 0;
}

static int check_dims(const struct coll_tensor_spec *spec)
{
	uint64_t n = 1;
	uint32_t k;

	if (spec->ndim > COLL_TENSOR_DIMS)
		return -EINVAL;
	for (k = 0; k < spec->ndim; k++)
		if (spec->dims[k] && __builtin_mul_overflow(n, spec->dims[k], &n))
			return -EOVERFLOW;
	return 0;
}

/* An older program has a shorter spec: the fields that it lacks become 0. */
static int take_spec(struct coll_tensor_spec *to, const struct coll_tensor_spec *spec)
{
	if (!known_size(spec))
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	memcpy(to, spec, spec->struct_size);
	return 0;
}

static int check_spec(const struct coll_tensor_spec *spec)
{
	size_t len;

	if (!spec->name || spec->flags & ~(uint64_t)COLL_TENSOR_AVG_PRESENT)
		return -EINVAL;
	len = strnlen(spec->name, COLL_TENSOR_NAME_MAX + 1);
	if (!len || len > COLL_TENSOR_NAME_MAX || spec->priority > COLL_TENSOR_PRIORITY_MAX)
		return -EINVAL;
	return check_dims(spec);
}

/* The type between nodes becomes a flag of the command. */
static int take_wire(struct coll_tensor_spec *spec)
{
	struct coll_cmd *cmd = &spec->cmd;
	const char *why;

	if (!spec->wire)
		return 0;
	why = wire_type_refusal(cmd);
	if (!why && spec->wire != COLL_F16 && spec->wire != COLL_BF16)
		why = "the type between nodes is f16 or bf16";
	if (why) {
		tensor_because(why);
		return -EINVAL;
	}
	cmd->flags &= ~(uint32_t)COLL_CMD_WIRE;
	cmd->flags |= wire_type_flag((uint32_t)spec->wire);
	return 0;
}

coll_tensor_t *tensor_alloc(coll_tensors_t *ts)
{
	coll_tensor_t *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->ts = ts;
	t->next = ts->all;
	if (t->next)
		t->next->prev = t;
	ts->all = t;
	return t;
}

int tensor_new(coll_tensors_t *ts, const struct coll_tensor_spec *from, coll_tensor_t **out)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t;
	int ret = take_spec(&spec, from);

	*out = NULL;
	ret = ret ? ret : check_spec(&spec);
	ret = ret ? ret : take_wire(&spec);
	if (ret)
		return ret;
	t = tensor_alloc(ts);
	if (!t)
		return -ENOMEM;
	t->spec = spec;
	t->buffers_as_of = buffers_as_of(ts->comm, &spec.cmd);
	strcpy(t->name, spec.name);
	t->spec.name = t->name;
	if (!t->spec.cmd.timeout_ns)
		t->spec.cmd.timeout_ns = ts->comm->timeout_ns;
	memset(t->spec.dims + spec.ndim, 0,
	       (COLL_TENSOR_DIMS - spec.ndim) * sizeof(t->spec.dims[0]));
	*out = t;
	return 0;
}

void tensor_free(coll_tensor_t *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->ts->all = t->next;
	if (t->next)
		t->next->prev = t->prev;
	free(t);
}

int coll_tensor_create(coll_tensors_t *ts, const struct coll_tensor_spec *spec,
		       coll_tensor_t **t)
{
	int ret;

	if (!ts || !spec || !t)
		return tensor_refused("", -EINVAL);
	ret = tensors_refuse_child(ts, spec->name);
	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	ret = tensor_new(ts, spec, t);
	if (!ret)
		(*t)->made = true;
	pthread_mutex_unlock(&ts->lock);
	return ret ? tensor_refused(spec->name, ret) : 0;
}

int coll_tensor_free(coll_tensor_t *t)
{
	coll_tensors_t *ts;
	int ret = 0;

	if (!t)
		return 0;
	ts = t->ts;
	/* coll_tensors_finalize() frees the copies of a child. */
	if (comm_is_forked(ts->comm))
		return 0;
	pthread_mutex_lock(&ts->lock);
	if (!t->made)
		ret = -EINVAL;
	else if (t->state == TENSOR_POSTED || t->state == TENSOR_CALLING)
		ret = -EBUSY;
	else
		tensor_free(t);
	pthread_mutex_unlock(&ts->lock);
	return ret ? tensor_refused("", ret) : 0;
}

const char *coll_tensor_name(const coll_tensor_t *t)
{
	return t->name;
}
