// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Nonblocking commands where io_uring is forbidden: COLL_IOC_POST and COLL_IOC_COLLECT. */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "async.h"

/* Completions that are taken at once. */
#define BATCH	64

static int post_init(struct async *a)
{
	return a->comm->version.features & COLL_FEAT_POST ? 0 : -EOPNOTSUPP;
}

static void post_destroy(struct async *a)
{
	(void)a;
}

static int post_push(struct async *a, coll_request_t *req)
{
	struct coll_post_entry e = {
		.arg = (uintptr_t)&req->cmd,
		.len = sizeof(req->cmd),
		.tag = (uintptr_t)req,
	};
	struct coll_post p = { .entries = (uintptr_t)&e, .nr = 1 };

	return ioctl(a->comm->fd, COLL_IOC_POST, &p) < 0 ? -errno : 0;
}

/* Take up to BATCH completions, or wait @ns for one. Return: how many, or -errno. */
static int collect(struct async *a, struct coll_completion *got, uint64_t ns)
{
	struct coll_collect c = {
		.completions = (uintptr_t)got,
		.nr = BATCH,
		.min = ns ? 1 : 0,
		.timeout_ns = ns == ASYNC_FOREVER ? COLL_COLLECT_FOREVER : ns,
	};
	int ret = ioctl(a->comm->fd, COLL_IOC_COLLECT, &c);

	return ret < 0 ? -errno : ret;
}

/* Lock held. */
static void complete(struct async *a, const struct coll_completion *got, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		async_complete(a, (coll_request_t *)(uintptr_t)got[i].tag, got[i].result);
}

/* Wait until a command completes; only a moment, if a refused command has to be submitted again. */
static int await(struct async *a, struct coll_completion *got, uint64_t ns)
{
	bool refused = a->refused;
	int ret;

	pthread_mutex_unlock(&a->lock);
	if (refused)
		usleep(ASYNC_REFUSED_US);
	ret = collect(a, got, refused ? 0 : ns);
	pthread_mutex_lock(&a->lock);
	return ret == -EINTR || ret == -ENOMEM ? 0 : ret;
}

static int post_reap(struct async *a, uint64_t ns)
{
	struct coll_completion got[BATCH];
	bool any = false;
	int ret;

	do {
		ret = a->inflight ? collect(a, got, 0) : 0;
		complete(a, got, ret);
		any |= ret > 0;
	} while (ret == BATCH);
	if (ret >= 0 && ns && !any && (a->inflight || a->refused)) {
		ret = await(a, got, ns);
		complete(a, got, ret);
	}
	return ret < 0 ? ret : 0;
}

const struct async_backend async_post = {
	.init = post_init,
	.destroy = post_destroy,
	.push = post_push,
	.reap = post_reap,
};
