// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Named tensors: results. One thread at a time takes results from the kernel, for all threads.
 * The others wait until it has taken theirs, or until it stops.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/relax.h"
#include "handle.h"
#include "kernel.h"
#include "reap.h"
#include "tensors.h"
#include "text.h"

bool tensors_in_callback(const coll_tensors_t *ts)
{
	return ts->calling && pthread_equal(ts->caller, pthread_self());
}

/* Lock held at both ends, and dropped meanwhile. */
static void call_back(coll_tensors_t *ts, coll_tensor_t *t)
{
	t->state = TENSOR_CALLING;
	ts->calling = t;
	ts->caller = pthread_self();
	pthread_mutex_unlock(&ts->lock);
	if (t->how.result)
		tensor_explain_end(t);
	t->spec.fn(t, t->how.result, t->spec.arg);
	pthread_mutex_lock(&ts->lock);
	ts->calling = NULL;
	/* It may have been posted again. */
	if (t->state == TENSOR_CALLING)
		t->state = TENSOR_DONE;
}

/* Lock held; dropped during a callback. */
static void end(coll_tensors_t *ts, coll_tensor_t *t, const struct coll_tensor_result *how)
{
	t->how = *how;
	ts->open--;
	if (t->last && !how->result)
		*t->last = how->rank[0];
	if (t->spec.fn)
		call_back(ts, t);
	else
		t->state = TENSOR_DONE;
	if (t->unwaited)
		tensor_free(t);
}

/*
 * No result will come any more. The kernel may still write to the buffers of its tensors.
 * Abort, so that it ends soon.
 */
static void give_up(coll_tensors_t *ts, int err)
{
	struct coll_tensor_result how = { .result = err };
	coll_tensor_t *t;

	ts->broken = err;
	coll_abort(ts->comm, (uint32_t)-err);
	/* Posting threads use their tensors until the kernel has answered. No new posts begin. */
	while (ts->posting)
		pthread_cond_wait(&ts->changed, &ts->lock);
	do {
		for (t = ts->all; t && t->state != TENSOR_POSTED; t = t->next)
			;
		if (t)
			end(ts, t, &how);
	} while (t);
	ts->open = 0;
}

bool tensors_begin_reap(coll_tensors_t *ts)
{
	if (ts->reaping || ts->threaded)
		return false;
	ts->reaping = true;
	return true;
}

void tensors_end_reap(coll_tensors_t *ts, const struct coll_tensor_result *got, int nr)
{
	int k;

	for (k = 0; k < nr; k++)
		end(ts, (coll_tensor_t *)(uintptr_t)got[k].tag, &got[k]);
	if (nr < 0 && nr != -EINTR && nr != -ENOMEM && nr != -ETIMEDOUT)
		give_up(ts, nr);
	ts->reaping = false;
	/* Also if no result has come: another thread has to take results from now on. */
	pthread_cond_broadcast(&ts->changed);
}

/*
 * Take results: no other thread may do so now. Lock held at both ends, dropped meanwhile. Return:
 * how many there were, TENSORS_BATCH at most.
 */
static int reap(coll_tensors_t *ts, uint64_t ns)
{
	struct coll_tensor_result got[TENSORS_BATCH];
	int nr;

	ts->reaping = true;
	pthread_mutex_unlock(&ts->lock);
	nr = tensors_collect(ts->comm, got, TENSORS_BATCH, ns);
	if (nr == -ENOMEM && ns)
		usleep(TENSORS_AGAIN_US);
	pthread_mutex_lock(&ts->lock);
	tensors_end_reap(ts, got, nr);
	return nr > 0 ? nr : 0;
}

/* Wait for the thread that takes results. Lock held at both ends. */
static void wait_for_change(coll_tensors_t *ts, uint64_t ns)
{
	uint64_t until = relax_now_ns();
	struct timespec at;

	/* The end would overflow: wait without a limit. */
	if (ns >= TENSORS_FOREVER - until) {
		pthread_cond_wait(&ts->changed, &ts->lock);
		return;
	}
	until += ns;
	at.tv_sec = (time_t)(until / 1000000000);
	at.tv_nsec = (long)(until % 1000000000);
	pthread_cond_timedwait(&ts->changed, &ts->lock, &at);
}

int tensors_progress(coll_tensors_t *ts, uint64_t ns)
{
	uint64_t again = TENSORS_AGAIN_US * 1000;
	int nr;

	if (ts->reaping || ts->threaded) {
		if (ns)
			wait_for_change(ts, ns);
		return 0;
	}
	nr = reap(ts, ns);
	/* The kernel does not wait if nothing is open: another thread is still posting. */
	if (!nr && ns && ts->posting)
		wait_for_change(ts, ns < again ? ns : again);
	return nr;
}

void *tensors_thread(void *arg)
{
	coll_tensors_t *ts = arg;

	pthread_mutex_lock(&ts->lock);
	while (!ts->stop)
		if (ts->open > 0)
			reap(ts, TENSORS_FOREVER);
		else
			pthread_cond_wait(&ts->changed, &ts->lock);
	pthread_mutex_unlock(&ts->lock);
	return NULL;
}

static bool is_over(const coll_tensor_t *t)
{
	return t->state == TENSOR_IDLE || t->state == TENSOR_DONE;
}

/* Take the result of a tensor. Free it unless it may be posted again. Under the lock. */
static int take(coll_tensor_t *t, bool explain)
{
	int result = t->state == TENSOR_DONE ? t->how.result : 0;

	if (result && explain)
		tensor_explain_end(t);
	t->state = TENSOR_IDLE;
	if (!t->made)
		tensor_free(t);
	return result;
}

int tensors_deadlock(void)
{
	tensor_explain("a callback must not wait");
	return -EDEADLK;
}

static int wait_for(coll_tensor_t *t, bool explain)
{
	coll_tensors_t *ts = t->ts;
	int ret = tensors_refuse_child(ts, t->name);

	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	if (tensors_in_callback(ts)) {
		ret = tensors_deadlock();
	} else {
		while (!is_over(t))
			tensors_progress(ts, TENSORS_FOREVER);
		ret = take(t, explain);
	}
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

int coll_tensor_wait(coll_tensor_t *t)
{
	return t ? wait_for(t, true) : 0;
}

int coll_tensor_wait_for(coll_tensor_t *t, uint64_t ns, int *done)
{
	uint64_t start = ns ? relax_now_ns() : 0, left = ns;
	coll_tensors_t *ts;
	int ret = 0;

	if (!done)
		return tensor_refused(t ? t->name : "", -EINVAL);
	*done = 1;
	if (!t)
		return 0;
	ts = t->ts;
	ret = tensors_refuse_child(ts, t->name);
	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	*done = 0;
	if (tensors_in_callback(ts)) {
		ret = tensors_deadlock();
	} else {
		while (!is_over(t)) {
			tensors_progress(ts, left);
			if (!left)
				break;
			left = relax_left_ns(start, ns);
		}
		*done = is_over(t);
		if (*done)
			ret = take(t, true);
	}
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

int coll_tensor_test(coll_tensor_t *t, int *done)
{
	return coll_tensor_wait_for(t, 0, done);
}

/* The first one that has ended; else @pending says whether any is posted. Lock held. */
static size_t find_done(coll_tensor_t *const *t, size_t n, bool *pending)
{
	size_t k;

	*pending = false;
	for (k = 0; k < n; k++) {
		if (!t[k] || t[k]->state == TENSOR_IDLE)
			continue;
		if (t[k]->state == TENSOR_DONE)
			return k;
		*pending = true;
	}
	return COLL_TENSOR_NONE;
}

/* The communicator of all tensors; NULL: there is no tensor, or (@ret) they have different ones. */
static coll_tensors_t *common(coll_tensor_t *const *t, size_t n, int *ret)
{
	coll_tensors_t *ts = NULL;
	size_t k;

	*ret = 0;
	for (k = 0; k < n; k++) {
		if (!t[k])
			continue;
		if (ts && t[k]->ts != ts) {
			*ret = tensor_refused(t[k]->name, -EINVAL);
			return NULL;
		}
		ts = t[k]->ts;
	}
	return ts;
}

int coll_tensor_waitany(coll_tensor_t **tensors, size_t n, size_t *index)
{
	coll_tensors_t *ts;
	bool pending, made;
	int ret;

	if (!index || (n && !tensors))
		return tensor_refused("", -EINVAL);
	*index = COLL_TENSOR_NONE;
	ts = common(tensors, n, &ret);
	if (!ts)
		return ret;
	ret = tensors_refuse_child(ts, "");
	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	if (tensors_in_callback(ts)) {
		ret = tensors_deadlock();
	} else {
		while ((*index = find_done(tensors, n, &pending)) == COLL_TENSOR_NONE && pending)
			tensors_progress(ts, TENSORS_FOREVER);
	}
	if (*index != COLL_TENSOR_NONE) {
		made = tensors[*index]->made;
		ret = take(tensors[*index], true);
		if (!made)
			tensors[*index] = NULL;
	}
	pthread_mutex_unlock(&ts->lock);
	return ret;
}

int coll_tensor_waitall(coll_tensor_t **tensors, size_t n)
{
	int first = 0, ret;
	size_t k;

	if (n && !tensors)
		return tensor_refused("", -EINVAL);
	for (k = 0; k < n; k++) {
		bool made = tensors[k] && tensors[k]->made;

		/* The text is that of the error that is returned. */
		ret = tensors[k] ? wait_for(tensors[k], !first) : 0;
		if (ret == -EDEADLK)
			return ret;
		if (!made)
			tensors[k] = NULL;
		if (!first)
			first = ret;
	}
	return first;
}

/* Take all results that are there. Callbacks may post again: those are for the next call. */
static void take_all(coll_tensors_t *ts, uint64_t ns)
{
	int64_t open = ts->open;
	int nr;

	do {
		nr = tensors_progress(ts, ns);
		open -= nr;
		ns = 0;
	} while (nr == TENSORS_BATCH && open > 0);
}

int coll_tensors_poll(coll_tensors_t *ts, int wait)
{
	int64_t open;
	int ret;

	if (!ts)
		return tensor_refused("", -EINVAL);
	ret = tensors_refuse_child(ts, "");
	if (ret)
		return ret;
	pthread_mutex_lock(&ts->lock);
	if (tensors_in_callback(ts)) {
		ret = tensors_deadlock();
	} else {
		take_all(ts, wait && ts->open > 0 ? TENSORS_FOREVER : 0);
		open = ts->open > 0 ? ts->open : 0;
		ret = open < INT32_MAX ? (int)open : INT32_MAX;
		if (ts->broken)
			ret = ts->broken;
	}
	pthread_mutex_unlock(&ts->lock);
	return ret;
}
