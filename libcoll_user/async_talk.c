// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Messages where io_uring is forbidden: a thread for each that is in flight, since any
 * of them may be the one that another rank waits for. They must come to the kernel in
 * the order of the calls, so a thread is started when the command of the one before it
 * has been posted: the kernel counts them.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "async.h"

#define STACK	(64 * 1024)
/* Each message under way has a thread. */
#define TALKERS	255

struct talker;

/**
 * struct talk - the messages of one communicator; fields under async->lock
 * @work: there is a request, or room for one, or @stop
 * @first: requests, oldest first
 * @live: threads
 * @starting: the last one, until its command is posted or over
 */
struct talk {
	struct async *a;
	pthread_t thread;
	pthread_cond_t work;
	coll_request_t *first, **end;
	uint32_t live;
	struct talker *starting;
	bool stop;
};

/* One message, for its thread. */
struct talker {
	struct talk *t;
	coll_request_t *req;
};

static void *talker_main(void *arg)
{
	struct talker *k = arg;
	struct talk *t = k->t;
	struct async *a = t->a;
	int res = ioctl_submit(a->comm, &k->req->cmd);

	pthread_mutex_lock(&a->lock);
	async_complete(a, k->req, res);
	t->live--;
	if (t->starting == k)
		t->starting = NULL;
	pthread_cond_broadcast(&a->changed);
	pthread_cond_broadcast(&t->work);
	pthread_mutex_unlock(&a->lock);
	free(k);
	return NULL;
}

static int start_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg, bool detached)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int ret;

	pthread_attr_init(&attr);
	if (detached) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, STACK < PTHREAD_STACK_MIN ?
					  (size_t)PTHREAD_STACK_MIN : STACK);
	}
	/* The application's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -ret;
}

static uint64_t posted(coll_comm_t *comm)
{
	struct coll_status s;

	return ioctl(comm->fd, COLL_IOC_STATUS, &s) ? 0 : s.messages;
}

/* Give one message to the kernel; returns when it has it, or has refused it. Locked. */
static void talk_one(struct talk *t, coll_request_t *req)
{
	struct async *a = t->a;
	struct talker *k = malloc(sizeof(*k));
	uint64_t before = posted(a->comm);
	pthread_t thread;
	int ret = -ENOMEM;

	if (k) {
		*k = (struct talker){ t, req };
		t->live++;
		t->starting = k;
		ret = start_thread(&thread, talker_main, k, true);
	}
	if (ret) {
		t->live -= !!k;
		t->starting = NULL;
		free(k);
		async_complete(a, req, ret);
		pthread_cond_broadcast(&a->changed);
		return;
	}
	while (t->starting && posted(a->comm) == before) {
		pthread_mutex_unlock(&a->lock);
		sched_yield();
		pthread_mutex_lock(&a->lock);
	}
	t->starting = NULL;
}

static void *talk_main(void *arg)
{
	struct talk *t = arg;
	struct async *a = t->a;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		coll_request_t *req = t->first;

		if (!req || t->live >= TALKERS) {
			if (t->stop)
				break;
			pthread_cond_wait(&t->work, &a->lock);
			continue;
		}
		t->first = req->next;
		if (!t->first)
			t->end = &t->first;
		talk_one(t, req);
	}
	while (t->live)
		pthread_cond_wait(&t->work, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static int talk_start(struct async *a, struct talk **out)
{
	struct talk *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	t->a = a;
	t->end = &t->first;
	pthread_cond_init(&t->work, NULL);
	ret = start_thread(&t->thread, talk_main, t, false);
	if (ret) {
		pthread_cond_destroy(&t->work);
		free(t);
		return ret;
	}
	*out = t;
	return 0;
}

int talk_push(struct async *a, struct talk **t, coll_request_t *req)
{
	int ret = *t ? 0 : talk_start(a, t);

	if (ret)
		return ret;
	req->next = NULL;
	*(*t)->end = req;
	(*t)->end = &req->next;
	pthread_cond_broadcast(&(*t)->work);
	return 0;
}

void talk_destroy(struct talk *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->a->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->work);
	pthread_mutex_unlock(&t->a->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->work);
	free(t);
}
