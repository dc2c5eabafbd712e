// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Communicators for named tensors. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "create.h"
#include "handle.h"
#include "reap.h"
#include "setup/split.h"
#include "tensors.h"
#include "text.h"
#include "tuner.h"

/* Block all signals: a thread of the library must not handle signals of the application. */
static int start_thread(coll_tensors_t *ts)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&ts->thread, NULL, tensors_thread, ts);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		tensor_explain("no thread for results: %s", coll_strerror(-ret));
	ts->threaded = !ret;
	return -ret;
}

static void tensors_free(coll_tensors_t *ts)
{
	pthread_mutex_destroy(&ts->lock);
	pthread_cond_destroy(&ts->changed);
	tuner_free(ts->tuner);
	free(ts);
}

int tensors_new(coll_comm_t *comm, uint32_t flags, coll_tensors_t **out)
{
	coll_tensors_t *ts = calloc(1, sizeof(*ts));
	pthread_condattr_t attr;
	int ret;

	if (!ts) {
		tensor_explain("%s", coll_strerror(-ENOMEM));
		return -ENOMEM;
	}
	ts->comm = comm;
	pthread_mutex_init(&ts->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ts->changed, &attr);
	pthread_condattr_destroy(&attr);
	ret = tuner_new(comm, &ts->tuner);
	if (!ret && flags & COLL_TENSORS_THREAD)
		ret = start_thread(ts);
	if (ret)
		tensors_free(ts);
	else
		*out = ts;
	return ret;
}

int coll_tensors_create(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts)
{
	int status = !ts || flags & ~COLL_TENSORS_THREAD ? -EINVAL : 0;
	coll_comm_t *child;
	int ret;

	if (ts)
		*ts = NULL;
	ret = split_named(comm, status, &child);
	if (ret) {
		tensor_explain("no communicator for named tensors: %s", coll_strerror(ret));
		return ret;
	}
	ret = tensors_new(child, flags, ts);
	/* The other ranks have the communicator: they notice that this rank leaves. */
	if (ret)
		coll_finalize(child);
	return ret;
}

int coll_tensors_init(const struct coll_config *cfg, uint32_t flags, coll_tensors_t **ts)
{
	coll_comm_t *base;
	int ret;

	if (!ts)
		return tensor_refused("", -EINVAL);
	*ts = NULL;
	ret = coll_init(cfg, &base);
	if (ret) {
		tensor_explain("%s", *coll_init_error() ? coll_init_error() :
			       coll_strerror(ret));
		return ret;
	}
	ret = coll_tensors_create(base, flags, ts);
	if (ret)
		coll_finalize(base);
	else
		(*ts)->base = base;
	return ret;
}

/* Return when all results have come. The last callback may post more. */
static void drain(coll_tensors_t *ts)
{
	pthread_mutex_lock(&ts->lock);
	while (ts->open > 0 || ts->calling)
		tensors_progress(ts, TENSORS_FOREVER);
	ts->stop = true;
	pthread_cond_broadcast(&ts->changed);
	pthread_mutex_unlock(&ts->lock);
	if (ts->threaded)
		pthread_join(ts->thread, NULL);
}

/*
 * A forked child frees its copies. It takes no lock and waits for no thread: only the parent may have
 * the thread that holds the lock.
 */
static void abandon(coll_tensors_t *ts)
{
	coll_tensor_t *t, *next;

	for (t = ts->all; t; t = next) {
		next = t->next;
		free(t);
	}
	coll_finalize(ts->comm);
	coll_finalize(ts->base);
	tuner_free(ts->tuner);
	free(ts);
}

int coll_tensors_finalize(coll_tensors_t *ts)
{
	bool inside;

	if (!ts)
		return 0;
	if (comm_is_forked(ts->comm)) {
		if (tensors_in_callback(ts))
			return -EDEADLK;
		abandon(ts);
		return 0;
	}
	pthread_mutex_lock(&ts->lock);
	inside = tensors_in_callback(ts);
	pthread_mutex_unlock(&ts->lock);
	if (inside)
		return -EDEADLK;
	drain(ts);
	while (ts->all)
		tensor_free(ts->all);
	coll_finalize(ts->comm);
	coll_finalize(ts->base);
	tensors_free(ts);
	return 0;
}

int coll_tensors_abort(coll_tensors_t *ts, uint32_t code)
{
	return coll_abort(coll_tensors_comm(ts), code);
}

coll_comm_t *coll_tensors_comm(coll_tensors_t *ts)
{
	return ts ? ts->comm : NULL;
}

coll_comm_t *coll_tensors_base(coll_tensors_t *ts)
{
	return ts ? ts->base : NULL;
}
