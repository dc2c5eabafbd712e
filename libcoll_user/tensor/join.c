// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named tensors: a rank that has no more of them joins. */
#include <errno.h>
#include <string.h>

#include "handle.h"
#include "post.h"
#include "reap.h"
#include "tensors.h"
#include "text.h"

static int make_join(coll_tensors_t *ts, uint32_t *last, coll_tensor_fn *fn, void *arg,
		     coll_tensor_t **out)
{
	coll_tensor_t *t;
	int ret = tensors_refuse_child(ts, "(join)");

	*out = NULL;
	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	t = tensor_alloc(ts);
	if (t) {
		strcpy(t->name, "(join)");
		t->spec.name = t->name;
		t->spec.fn = fn;
		t->spec.arg = arg;
		t->joins = true;
		t->last = last;
	}
	pthread_mutex_unlock(&ts->lock);
	*out = t;
	return t ? 0 : tensor_refused("(join)", -ENOMEM);
}

int coll_tensors_ijoin(coll_tensors_t *ts, uint32_t *last, coll_tensor_fn *fn, void *arg,
		       coll_tensor_t **t)
{
	size_t posted;
	int ret;

	if (!ts || !t)
		return tensor_refused("", -EINVAL);
	*t = NULL;
	ret = make_join(ts, last, fn, arg, t);
	if (ret)
		return ret;
	ret = tensor_post_many(ts, t, 1, NULL, &posted);
	if (ret) {
		pthread_mutex_lock(&ts->lock);
		tensor_free(*t);
		pthread_mutex_unlock(&ts->lock);
		*t = NULL;
	}
	return ret;
}

int coll_tensors_join(coll_tensors_t *ts, uint32_t *last)
{
	coll_tensor_t *t;
	bool inside;
	int ret;

	if (!ts)
		return tensor_refused("", -EINVAL);
	ret = tensors_refuse_child(ts, "(join)");
	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	inside = tensors_in_callback(ts);
	pthread_mutex_unlock(&ts->lock);
	if (inside) {
		tensor_explain("a callback must not wait");
		return -EDEADLK;
	}
	ret = coll_tensors_ijoin(ts, last, NULL, NULL, &t);
	return ret ? ret : coll_tensor_wait(t);
}
