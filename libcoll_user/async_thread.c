// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Nonblocking commands where io_uring is forbidden: one thread makes the
 * blocking calls, in order. Every rank starts its commands in the same order,
 * so that none of them waits for a later one. Messages have no such order, and have
 * threads of their own, see async_talk.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "async.h"

/**
 * struct submitter - the thread; fields under async->lock
 * @work: there is a request, or @stop
 * @first: requests, oldest first
 * @talk: for messages
 */
struct submitter {
	pthread_t thread;
	pthread_cond_t work;
	coll_request_t *first, **end;
	bool stop;
	struct talk *talk;
};

static void *submitter_main(void *arg)
{
	struct async *a = arg;
	struct submitter *s = a->private;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		coll_request_t *req = s->first;
		int res;

		if (!req) {
			if (s->stop)
				break;
			pthread_cond_wait(&s->work, &a->lock);
			continue;
		}
		s->first = req->next;
		if (!s->first)
			s->end = &s->first;
		pthread_mutex_unlock(&a->lock);
		res = ioctl_submit(a->comm, &req->cmd);
		pthread_mutex_lock(&a->lock);
		async_complete(a, req, res);
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static int thread_init(struct async *a)
{
	struct submitter *s = calloc(1, sizeof(*s));
	sigset_t all, old;
	int ret;

	if (!s)
		return -ENOMEM;
	s->end = &s->first;
	pthread_cond_init(&s->work, NULL);
	a->private = s;
	a->limit = UINT32_MAX;	/* they wait here, not in the kernel */
	/* The application's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&s->thread, NULL, submitter_main, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret) {
		pthread_cond_destroy(&s->work);
		free(s);
	}
	return -ret;
}

static void thread_destroy(struct async *a)
{
	struct submitter *s = a->private;

	pthread_mutex_lock(&a->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&a->lock);
	pthread_join(s->thread, NULL);
	talk_destroy(s->talk);
	pthread_cond_destroy(&s->work);
	free(s);
}

static int thread_push(struct async *a, coll_request_t *req)
{
	struct submitter *s = a->private;

	if (is_message(&req->cmd))
		return talk_push(a, &s->talk, req);
	req->next = NULL;
	*s->end = req;
	s->end = &req->next;
	pthread_cond_signal(&s->work);
	return 0;
}

const struct async_backend async_thread = {
	.init = thread_init,
	.destroy = thread_destroy,
	.push = thread_push,
	.wants_all = true,
};
