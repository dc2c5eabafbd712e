// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named tensors: posting, one or many in a call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective/ways.h"
#include "comm/buffers.h"
#include "handle.h"
#include "kernel.h"
#include "post.h"
#include "reap.h"
#include "tensors.h"
#include "text.h"
#include "tuner.h"

/* Tensors of one system call. The kernel takes more, but each needs memory here. */
#define POST_MAX	1024

static void fill(struct coll_tensor *to, coll_tensor_t *t, const struct tensor_group *group)
{
	if (t->joins) {
		*to = (struct coll_tensor){ .flags = COLL_TENSOR_JOIN, .tag = (uintptr_t)t };
		return;
	}
	buffers_renew(t->ts->comm, &t->spec.cmd, &t->buffers_as_of);
	*to = (struct coll_tensor){
		.name = (uintptr_t)t->name,
		.name_len = (uint32_t)strlen(t->name),
		.cmd = (uintptr_t)&t->spec.cmd,
		.cmd_len = sizeof(t->spec.cmd),
		.tag = (uintptr_t)t,
		.priority = t->spec.priority,
		.ndim = t->spec.ndim,
		.flags = (uint32_t)t->spec.flags,
		.members = group ? group->members : 0,
		.group = group ? group->digest : 0,
	};
	memcpy(&to->prescale, &t->spec.prescale, sizeof(to->prescale));
	memcpy(&to->postscale, &t->spec.postscale, sizeof(to->postscale));
	memcpy(to->dims, t->spec.dims, sizeof(to->dims));
}

/* May it be posted now? In its own callback it may. Lock held. */
static int arm(coll_tensors_t *ts, coll_tensor_t *t)
{
	if (t->ts != ts)
		return -EINVAL;
	if (t->state == TENSOR_POSTED || t->state == TENSOR_DONE ||
	    (t->state == TENSOR_CALLING && (!t->made || !tensors_in_callback(ts))))
		return -EBUSY;
	if (ts->broken)
		return ts->broken;
	t->state = TENSOR_POSTED;
	return 0;
}

/*
 * Arm the tensors, up to the first one that cannot be armed. With @waits they count as open from
 * now on: the call that posts them returns late. Return: 0, or the error of the tensor at @armed.
 */
static int arm_all(coll_tensors_t *ts, coll_tensor_t *const *t, uint32_t nr, bool waits,
		   uint32_t *armed)
{
	int ret = 0;

	pthread_mutex_lock(&ts->lock);
	for (*armed = 0; *armed < nr; (*armed)++) {
		ret = arm(ts, t[*armed]);
		if (ret)
			break;
		if (ts->tuner)
			tuner_see(ts, t[*armed]);
	}
	ts->posting++;
	if (waits)
		ts->open += *armed;
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

/*
 * The first @posted of @armed tensors have been posted: they may have ended, and may be freed
 * already. A tensor that could not be posted in its own callback is as before: the callback still
 * runs. @waits: as of arm_all()
 */
static void posted_all(coll_tensors_t *ts, coll_tensor_t *const *t, uint32_t armed, bool waits,
		       uint32_t posted)
{
	uint32_t k;

	pthread_mutex_lock(&ts->lock);
	for (k = posted; k < armed; k++)
		t[k]->state = t[k] == ts->calling ? TENSOR_CALLING : TENSOR_IDLE;
	ts->open += posted;
	if (waits)
		ts->open -= armed;
	ts->posting--;
	/* @ts->thread now has something to wait for, or give_up() waits for this post. */
	if (ts->threaded || ts->broken)
		pthread_cond_broadcast(&ts->changed);
	pthread_mutex_unlock(&ts->lock);
}

/* Post invalid commands: the kernel refuses them, so the group ends on the other ranks, too. */
static void refuse_group(coll_tensors_t *ts, struct coll_tensor *room, uint32_t nr)
{
	uint32_t k, posted;

	for (k = 0; k < nr; k++) {
		room[k].cmd = 0;
		room[k].cmd_len = 0;
	}
	tensors_post(ts->comm, room, nr, &posted);
}

/* The same where the tensors could not even be made. */
static void refuse_specs(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
			 const struct tensor_group *group)
{
	struct coll_tensor *room = calloc(n, sizeof(*room));
	size_t k;

	if (!room)
		return;
	for (k = 0; k < n; k++) {
		const char *name = tensor_spec_at(specs, k)->name;

		room[k].name = (uintptr_t)name;
		room[k].name_len = (uint32_t)strnlen(name, COLL_TENSOR_NAME_MAX + 1);
		room[k].members = group->members;
		room[k].group = group->digest;
	}
	refuse_group(ts, room, (uint32_t)n);
	free(room);
}

/**
 * struct first_results - the results that the system call of a post returns
 * @nr: number of results, or the error of the wait
 * @got: the results
 */
struct first_results {
	int nr;
	struct coll_tensor_result got[TENSORS_BATCH];
};

/* Post the tensors in @room by one system call; if @results is set, it also waits for results. */
static int post_armed(coll_tensors_t *ts, const struct coll_tensor *room, uint32_t nr,
		      uint32_t *posted, struct first_results *results)
{
	int ret;

	if (!results)
		return tensors_post(ts->comm, room, nr, posted);
	ret = tensors_post_collect(ts->comm, room, posted, results->got, TENSORS_BATCH);
	if (!*posted)
		return ret;
	results->nr = ret;
	return 0;
}

/* Post @nr tensors by one system call. @results: NULL, or for one tensor that is in no group. */
static int post_some(coll_tensors_t *ts, coll_tensor_t *const *t, uint32_t nr,
		     const struct tensor_group *group, struct coll_tensor *room,
		     uint32_t *posted, struct first_results *results)
{
	uint32_t armed, k;
	int refused, ret;

	*posted = 0;
	ret = tensors_refuse_child(ts, t[0]->name);
	if (ret)
		return ret;
	refused = arm_all(ts, t, nr, results, &armed);
	if (group && refused) {
		for (k = 0; k < nr; k++)
			fill(&room[k], t[k], group);
		/* A member is under way, or its result has not been taken: do not tell other ranks. */
		if (refused != -EBUSY)
			refuse_group(ts, room, nr);
		posted_all(ts, t, armed, results, 0);
		return tensor_refused(t[armed]->name, refused);
	}
	for (k = 0; k < armed; k++)
		fill(&room[k], t[k], group);
	if (armed)
		ret = post_armed(ts, room, armed, posted, results);
	posted_all(ts, t, armed, results, *posted);
	if (ret == -EBUSY) {
		tensor_explain("tensor '%s': this rank has joined, and not all ranks have",
			       t[*posted]->name);
		return ret;
	}
	/* A signal may have ended the call before the refused tensor: the caller posts the rest. */
	if (!ret && *posted == armed)
		ret = refused;
	if (ret == -EEXIST && group) {
		tensor_explain("tensor '%s': a member of its group is posted, and has not started",
			       t[*posted]->name);
		return ret;
	}
	return ret ? tensor_refused(t[*posted]->name, ret) : 0;
}

int tensor_post_many(coll_tensors_t *ts, coll_tensor_t *const *t, size_t n,
		     const struct tensor_group *group, size_t *posted)
{
	uint32_t some = group || n < POST_MAX ? (uint32_t)n : POST_MAX, got = 0;
	struct coll_tensor *room = calloc(some ? some : 1, sizeof(*room));
	int ret = room ? 0 : -ENOMEM;

	*posted = 0;
	while (!ret && *posted < n) {
		if (n - *posted < some)
			some = (uint32_t)(n - *posted);
		ret = post_some(ts, t + *posted, some, group, room, &got, NULL);
		*posted += got;
	}
	free(room);
	return ret;
}

static int post_one(coll_tensor_t *t)
{
	struct coll_tensor room;
	uint32_t posted;

	return post_some(t->ts, &t, 1, NULL, &room, &posted, NULL);
}

/* May the post of a blocking call take results as well? Return: 1, 0, or -EDEADLK. */
static int begin_reap(coll_tensors_t *ts)
{
	int ret;

	pthread_mutex_lock(&ts->lock);
	if (tensors_in_callback(ts))
		ret = tensors_deadlock();
	else
		ret = tensors_can_post_collect(ts->comm) && tensors_begin_reap(ts);
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

/* Post a tensor. If no other thread takes results, also wait for a result of any tensor. */
static int post_and_reap(coll_tensor_t *t)
{
	struct first_results results;
	coll_tensors_t *ts = t->ts;
	struct coll_tensor room;
	uint32_t posted;
	int ret;

	ret = tensors_refuse_child(ts, t->name);
	if (ret)
		return ret;
	ret = begin_reap(ts);
	if (ret <= 0)
		return ret ? ret : post_one(t);
	results.nr = 0;
	ret = post_some(ts, &t, 1, NULL, &room, &posted, &results);
	pthread_mutex_lock(&ts->lock);
	tensors_end_reap(ts, results.got, results.nr);
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

int coll_tensor_post(coll_tensor_t *t)
{
	return t && t->made ? post_one(t) : tensor_refused(t ? t->name : "", -EINVAL);
}

int coll_tensor_run(coll_tensor_t *t)
{
	int ret;

	if (!t || !t->made)
		return tensor_refused(t ? t->name : "", -EINVAL);
	ret = post_and_reap(t);
	return ret ? ret : coll_tensor_wait(t);
}

int coll_tensor_postall(coll_tensor_t *const *tensors, size_t n, size_t *posted)
{
	size_t done, k;
	int ret = 0;

	if (posted)
		*posted = 0;
	if (n && !tensors)
		return tensor_refused("", -EINVAL);
	for (k = 0; k < n; k++)
		if (!tensors[k] || !tensors[k]->made)
			return tensor_refused(tensors[k] ? tensors[k]->name : "", -EINVAL);
	if (n)
		ret = tensor_post_many(tensors[0]->ts, tensors, n, NULL,
				       posted ? posted : &done);
	return ret;
}

/* Make all of them, or none. */
static int make_all(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
		    bool unwaited, coll_tensor_t **t)
{
	int ret = n ? tensors_refuse_child(ts, specs[0].name) : 0;
	size_t k;

	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	for (k = 0; k < n && !ret; k++) {
		const struct coll_tensor_spec *spec = tensor_spec_at(specs, k);

		ret = unwaited && !spec->fn ? -EINVAL : tensor_new(ts, spec, &t[k]);
		if (!ret)
			t[k]->unwaited = unwaited;
	}
	if (ret) {
		tensor_refused(tensor_spec_at(specs, --k)->name, ret);
		while (k-- > 0) {
			tensor_free(t[k]);
			t[k] = NULL;
		}
	}
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

static void free_rest(coll_tensors_t *ts, coll_tensor_t **t, size_t from, size_t n)
{
	size_t k;

	pthread_mutex_lock(&ts->lock);
	for (k = from; k < n; k++) {
		tensor_free(t[k]);
		t[k] = NULL;
	}
	pthread_mutex_unlock(&ts->lock);
}

int tensor_submit_many(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
		       const struct tensor_group *group, coll_tensor_t **tensors,
		       size_t *posted)
{
	coll_tensor_t **t;
	size_t done = 0;
	int ret;

	if (posted)
		*posted = 0;
	if (!ts || (n && !specs) || tensor_check_sizes(specs, n))
		return tensor_refused("", -EINVAL);
	t = tensors ? tensors : calloc(n ? n : 1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	memset(t, 0, n * sizeof(*t));
	ret = make_all(ts, specs, n, !tensors, t);
	if (ret && group)
		refuse_specs(ts, specs, n, group);
	if (!ret && n) {
		ret = tensor_post_many(ts, t, n, group, &done);
		free_rest(ts, t, done, n);
	}
	if (!tensors)
		free(t);
	if (posted)
		*posted = done;
	return ret;
}

int coll_tensor_submitall(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
			  coll_tensor_t **tensors, size_t *posted)
{
	return tensor_submit_many(ts, specs, n, NULL, tensors, posted);
}

/* Make a tensor and post it by @post. */
static int submit_by(int (*post)(coll_tensor_t *t), coll_tensors_t *ts,
		     const struct coll_tensor_spec *spec, coll_tensor_t **out)
{
	coll_tensor_t *t = NULL;
	int ret;

	if (out)
		*out = NULL;
	if (!ts || !spec || tensor_check_sizes(spec, 1))
		return tensor_refused("", -EINVAL);
	ret = make_all(ts, spec, 1, !out, &t);
	if (ret)
		return ret;
	/* Set the caller's handle before the callback may use it. */
	if (out)
		*out = t;
	ret = post(t);
	if (ret) {
		free_rest(ts, &t, 0, 1);
		if (out)
			*out = NULL;
	}
	return ret;
}

int coll_tensor_submit(coll_tensors_t *ts, const struct coll_tensor_spec *spec,
		       coll_tensor_t **t)
{
	return submit_by(post_one, ts, spec, t);
}

static int submit_named(coll_tensors_t *ts, const struct coll_tensor_spec *spec,
			coll_tensor_t **out)
{
	coll_tensor_t *t;
	int ret;

	if (ways_lack_factor(&spec->cmd)) {
		if (out)
			*out = NULL;
		return tensor_refused(spec->name, -EINVAL);
	}
	if (out)
		return coll_tensor_submit(ts, spec, out);
	ret = submit_by(post_and_reap, ts, spec, &t);
	return ret ? ret : coll_tensor_wait(t);
}

/* @params: declared, @args: passed on */
#define NAMED(form, params, args)						\
int coll_tensor_##form(coll_tensors_t *ts, const char *name, UNPACK params,	\
		       coll_tensor_t **t)					\
{										\
	struct coll_tensor_spec spec;						\
										\
	coll_tensor_spec_init(&spec, name);					\
	coll_cmd_##form(coll_tensors_comm(ts), &spec.cmd, UNPACK args);		\
	return submit_named(ts, &spec, t);					\
}

NAMED(allreduce, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
		  enum coll_op_code op), (send, recv, count, dtype, op))
NAMED(broadcast, (void *buf, uint64_t count, enum coll_dtype dtype, uint32_t root),
      (buf, count, dtype, root))
NAMED(allgather, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype),
      (send, recv, count, dtype))
NAMED(allgatherv, (const void *send, void *recv, const uint64_t *counts,
		   const uint64_t *displs, enum coll_dtype dtype),
      (send, recv, counts, displs, dtype))
NAMED(alltoall, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype),
      (send, recv, count, dtype))
NAMED(reduce_scatter, (const void *send, void *recv, const uint64_t *counts,
		       enum coll_dtype dtype, enum coll_op_code op),
      (send, recv, counts, dtype, op))
NAMED(reduce_scatter_block, (const void *send, void *recv, uint64_t count,
			     enum coll_dtype dtype, enum coll_op_code op),
      (send, recv, count, dtype, op))

int coll_tensor_barrier(coll_tensors_t *ts, const char *name, coll_tensor_t **t)
{
	struct coll_tensor_spec spec;

	coll_tensor_spec_init(&spec, name);
	coll_cmd_barrier(coll_tensors_comm(ts), &spec.cmd);
	return submit_named(ts, &spec, t);
}
