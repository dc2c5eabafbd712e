// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named tensors: errors as text. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/debug.h"
#include "optable.h"
#include "tensors.h"
#include "text.h"

/* Make a text of the name of a tensor and a message. */
#define TEXT_LEN	(COLL_TENSOR_NAME_MAX + EXPLAIN_LEN)

static _Thread_local char text[TEXT_LEN];
static _Thread_local const char *because;

void tensor_explain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	coll_debug("%s", text);
}

const char *coll_tensor_error(void)
{
	return text;
}

void tensor_because(const char *why)
{
	because = why;
}

int tensor_refused(const char *name, int err)
{
	const char *why = because ? because : coll_strerror(err);

	because = NULL;
	/* These errors have other meanings elsewhere. */
	if (err == -EEXIST)
		why = "this rank has posted that name already, and it has not started";
	else if (err == -ENOSPC)
		why = "too many names";
	else if (err == -EBUSY)
		why = "it is posted, and its result has not been taken";
	else if (err == -EOVERFLOW)
		why = "its dimensions are too large";
	tensor_explain("tensor '%.*s': %s", COLL_TENSOR_NAME_MAX, name ? name : "", why);
	return err;
}

int tensors_refuse_child(const coll_tensors_t *ts, const char *name)
{
	if (!comm_is_forked(ts->comm))
		return 0;
	tensor_because("a forked child has no part in the communicators of its parent");
	return tensor_refused(name, -EPERM);
}

static const char *field_name(uint32_t field)
{
	static const char *const names[COLL_NR_FIELDS] = {
		[COLL_FIELD_DTYPE] = "the type",
		[COLL_FIELD_COLLECTIVE] = "the collective",
		[COLL_FIELD_NDIM] = "the number of dimensions",
		[COLL_FIELD_PRESCALE] = "the factor for inputs",
		[COLL_FIELD_POSTSCALE] = "the factor for results",
		[COLL_FIELD_OP] = "the operator",
		[COLL_FIELD_ROOT] = "the root",
		[COLL_FIELD_WIRE] = "the type between nodes",
		[COLL_FIELD_FLAGS] = "the flags",
		[COLL_FIELD_PRIORITY] = "the priority",
		[COLL_FIELD_GROUP] = "the group",
		[COLL_FIELD_MEMBERS] = "the size of the group",
		[COLL_FIELD_ALGORITHM] = "the algorithm",
		[COLL_FIELD_COUNTS] = "the counts",
		[COLL_FIELD_TOTAL] = "the sum of the counts",
	};

	return field < COLL_NR_FIELDS && names[field] ? names[field] : "something";
}

static const char *value_name(uint32_t field, uint64_t value, char *buf, size_t len)
{
	const char *name = NULL;
	double d;

	switch (field) {
	case COLL_FIELD_DTYPE:
	case COLL_FIELD_WIRE:
		name = coll_dtype_name((uint32_t)value);
		break;
	case COLL_FIELD_OP:
		name = coll_op_name((uint32_t)value);
		break;
	case COLL_FIELD_COLLECTIVE:
		name = coll_collective_name((uint32_t)value);
		break;
	case COLL_FIELD_PRESCALE:
	case COLL_FIELD_POSTSCALE:
		memcpy(&d, &value, sizeof(d));
		snprintf(buf, len, "%.17g", d);
		return buf;
	case COLL_FIELD_GROUP:
	case COLL_FIELD_COUNTS:
		snprintf(buf, len, "%016llx", (unsigned long long)value);
		return buf;
	}
	snprintf(buf, len, "%llu", (unsigned long long)value);
	return name ? name : buf;
}

static void explain_mismatch(const coll_tensor_t *t, const struct coll_tensor_result *r)
{
	uint32_t field = r->field;
	char a[32], b[32], dim[32];
	const char *what = field_name(field);

	if (field >= COLL_FIELD_DIM0 && field < COLL_FIELD_DIM0 + COLL_TENSOR_DIMS) {
		snprintf(dim, sizeof(dim), "dimension %u", field - COLL_FIELD_DIM0);
		what = dim;
	}
	tensor_explain("tensor '%s': the ranks disagree about %s: %s on rank %u, %s on rank %u",
		       t->name, what, value_name(field, r->value[0], a, sizeof(a)), r->rank[0],
		       value_name(field, r->value[1], b, sizeof(b)), r->rank[1]);
}

void tensor_explain_end(const coll_tensor_t *t)
{
	const struct coll_tensor_result *r = &t->how;

	switch (r->cause) {
	case COLL_BAD_MISMATCH:
		explain_mismatch(t, r);
		break;
	case COLL_BAD_TIMEOUT:
		tensor_explain("tensor '%s': the deadline of rank %u passed before all ranks had posted it",
			       t->name, r->rank[0]);
		break;
	case COLL_BAD_JOINED:
		tensor_explain("tensor '%s': a rank has joined, and this collective needs all ranks",
			       t->name);
		break;
	case COLL_BAD_LEFT:
		tensor_explain("tensor '%s': rank %u has left", t->name, r->rank[0]);
		break;
	case COLL_BAD_GROUP:
		tensor_explain("tensor '%s': rank %u could not post all of its group", t->name,
			       r->rank[0]);
		break;
	default:
		tensor_explain("tensor '%s': %s", t->name, coll_strerror(r->result));
	}
}
