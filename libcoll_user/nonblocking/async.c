// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "async.h"
#include "base/debug.h"
#include "base/relax.h"
#include "collective.h"
#include "comm/buffers.h"
#include "comm/shm.h"
#include "comm/shm_turn.h"

/* A thread that waits for several things looks at each of them at this interval. */
#define SLICE_NS	500000ULL
/* Between two looks at the deadlines of the queue, which may be long. */
#define MIND_NS		5000000ULL
/* For receives that cannot be cancelled, when the application finalizes. */
#define LAST_NS		1000000000ULL

/* All struct async of the process, and how many commands they hold together. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct async *all;
static _Atomic uint32_t all_held;

static pthread_once_t forks_once = PTHREAD_ONCE_INIT;
static int forks_error = -ENOMEM;

/* A forked child has no commands. A thread that exists only in the parent may hold the lock. */
static void forget_all(void)
{
	pthread_mutex_init(&all_lock, NULL);
	all = NULL;
	all_held = 0;
}

static void watch_forks(void)
{
	if (!pthread_atfork(NULL, NULL, forget_all))
		forks_error = 0;
}

/* Waits use the monotonic clock: a change of the time of day has no effect on them. */
static void init_changed(pthread_cond_t *changed)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &attr);
	pthread_condattr_destroy(&attr);
}

static struct async *async_new(coll_comm_t *comm, const struct async_backend *backend)
{
	struct async *a = calloc(1, sizeof(*a));
	uint32_t max = comm->version.max_inflight;

	if (!a)
		return NULL;
	a->comm = comm;
	a->backend = backend;
	a->queue_end = &a->queue;
	/* One place stays free for a blocking call. */
	a->limit = max > 1 ? max - 1 : 1;
	pthread_mutex_init(&a->lock, NULL);
	init_changed(&a->changed);
	return a;
}

/* NULL: there is none. A command may come before the shortcut is allowed. */
static const struct async_shortcut *shortcut_of(const struct async *a)
{
	return a->comm->shm ? a->comm->shm->shortcut : NULL;
}

static void enlist(struct async *a)
{
	pthread_mutex_lock(&all_lock);
	a->next = all;
	all = a;
	pthread_mutex_unlock(&all_lock);
}

static void unlist(struct async *a)
{
	struct async **at = &all;

	pthread_mutex_lock(&all_lock);
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	pthread_mutex_unlock(&all_lock);
}

static void async_free(struct async *a)
{
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->changed);
	free(a);
}

static int async_try(coll_comm_t *comm, const struct async_backend *backend)
{
	struct async *a;
	int ret;

	pthread_once(&forks_once, watch_forks);
	a = forks_error ? NULL : async_new(comm, backend);
	if (!a)
		return -ENOMEM;
	ret = backend->init(a);
	if (ret) {
		async_free(a);
		return ret;
	}
	enlist(a);
	comm->async = a;
	return 0;
}

static int async_get(coll_comm_t *comm, struct async **a)
{
	int ret = 0;

	if (comm_is_forked(comm))
		return -EPERM;
	*a = comm->async;
	if (*a)
		return 0;
	pthread_mutex_lock(&comm->async_once_lock);
	if (!comm->async) {
		ret = comm->flags & COLL_CONFIG_NO_URING ? -EPERM :
		      async_try(comm, &async_ring);
		if (ret) {
			coll_debug("no io_uring (%s): submitting by ioctl",
				   coll_strerror(ret));
			ret = async_try(comm, &async_post);
		}
	}
	pthread_mutex_unlock(&comm->async_once_lock);
	*a = comm->async;
	return ret;
}

static void end(struct async *a, coll_request_t *req, int res)
{
	req->res = res;
	req->done = true;
	a->completed++;
}

void async_complete(struct async *a, coll_request_t *req, int res)
{
	a->inflight--;
	end(a, req, res);
}

void async_fly(struct async *a)
{
	a->flying++;
	all_held++;
}

static void land(struct async *a)
{
	a->flying--;
	all_held--;
}

void async_flown(struct async *a, coll_request_t *req, int res)
{
	land(a);
	end(a, req, res);
}

/* Give a command to the kernel; lock held. Return: as async_backend.push */
static int push(struct async *a, coll_request_t *req)
{
	uint64_t timeout_ns = req->cmd.timeout_ns, left;
	int ret;

	/* The time that is left. Its next start has all of it. */
	if (req->until.at_ms) {
		left = deadline_left(req->until) * 1000000ULL;
		req->cmd.timeout_ns = left && left < timeout_ns ? left : left ? timeout_ns : 1;
	}
	buffers_renew(a->comm, &req->cmd, &req->buffers_as_of);
	ret = a->backend->push(a, req);
	req->cmd.timeout_ns = timeout_ns;
	return ret;
}

int async_give(struct async *a, coll_request_t *req)
{
	int ret = a->broken;

	if (!ret && a->inflight >= a->limit)
		return -EAGAIN;
	if (!ret) {
		a->inflight++;
		ret = push(a, req);
		if (ret)
			a->inflight--;
	}
	if (ret == -EAGAIN) {
		a->refused = true;
		return ret;
	}
	if (ret)
		async_flown(a, req, ret);
	else
		land(a);
	return 0;
}

static uint32_t any_held(void)
{
	return atomic_load_explicit(&all_held, memory_order_relaxed);
}

/* Commands that only threads of this process move on: on the shortcut, or in the queue. */
static uint32_t async_held(const struct async *a)
{
	return a->flying + a->queued;
}

bool async_any_held_beside(const coll_comm_t *comm)
{
	uint32_t held = any_held();

	return held && (!comm->async || held != comm->async->queued);
}

/* @n: 1: @req comes into the queue; -1: it leaves it. Lock held. */
static void count_queued(struct async *a, const coll_request_t *req, int n)
{
	a->queued += (uint32_t)n;
	all_held += (uint32_t)n;
	if (coll_is_message(req->cmd.collective))
		a->messages += (uint32_t)n;
}

/* Put a command into the queue; lock held. */
static void enqueue(struct async *a, coll_request_t **at, coll_request_t *req)
{
	req->next = *at;
	if (!*at)
		a->queue_end = &req->next;
	*at = req;
	count_queued(a, req, 1);
}

/* Take the command at this place of the queue; lock held. */
static coll_request_t *dequeue(struct async *a, coll_request_t **at)
{
	coll_request_t *req = *at;

	*at = req->next;
	if (!*at)
		a->queue_end = at;
	count_queued(a, req, -1);
	return req;
}

/*
 * Has the deadline of this command passed? The kernel has not taken the command, and does not count
 * its time yet. The time begins with the first call of this function, so the clock is not read for
 * commands that the kernel takes at once.
 */
static bool is_late(coll_request_t *req)
{
	uint64_t ms = req->cmd.timeout_ns / 1000000 + 1;

	if (!req->cmd.timeout_ns)
		return false;
	if (!req->until.at_ms)
		req->until = deadline_in(ms < 1U << 30 ? (uint32_t)ms : 1U << 30);
	return !deadline_left(req->until);
}

int async_expire(struct async *a)
{
	coll_abort(a->comm, ETIMEDOUT);
	a->broken = -ETIMEDOUT;
	return a->broken;
}

/*
 * Put a refused command back into the queue. No event tells when the kernel would take it: the
 * thread that waits tries again. Return: 0; -ETIMEDOUT if its deadline has passed.
 */
static int put_back(struct async *a, coll_request_t *req)
{
	if (is_late(req))
		return async_expire(a);
	a->inflight--;
	a->refused = true;
	enqueue(a, &a->queue, req);
	return 0;
}

/*
 * The place in the queue of the next command for the kernel. A command on the shortcut may be for
 * the kernel in the end, and the kernel numbers collectives as they come. So collectives in the
 * queue wait for the shortcut. Messages have no numbers, and must not wait: another rank may wait
 * for a message before it takes part in a collective on the shortcut.
 */
static coll_request_t **next_to_push(struct async *a)
{
	coll_request_t **at = &a->queue;

	if (a->flying && !a->messages)
		return a->queue_end;
	while (*at && a->flying && !coll_is_message((*at)->cmd.collective))
		at = &(*at)->next;
	return at;
}

/* Submit commands of the queue, as far as there is room; lock held. */
static void push_queue(struct async *a)
{
	coll_request_t **at, *req;
	int ret;

	if (a->flying && !*next_to_push(a))
		return;
	a->refused = false;
	while (*(at = next_to_push(a)) && a->inflight < a->limit && !a->refused) {
		req = dequeue(a, at);
		ret = a->broken;
		a->inflight++;
		if (!ret)
			ret = push(a, req);
		if (ret == -EAGAIN)
			ret = put_back(a, req);
		if (ret)
			async_complete(a, req, ret);
	}
}

/* End the command at this place of the queue; lock held. */
static void drop(struct async *a, coll_request_t **at, int err)
{
	coll_request_t *req = dequeue(a, at);

	a->inflight++;
	async_complete(a, req, err);
}

/* Nothing more will complete: tell all waiters. Lock held. */
static void give_up(struct async *a, int err)
{
	coll_request_t *req;

	a->broken = err;
	/*
	 * The kernel may still write to the buffers of its commands. Abort, so that the commands
	 * end soon.
	 */
	coll_abort(a->comm, 0);
	if (a->flying)
		shortcut_of(a)->drop(a, err);
	while (a->queue)
		drop(a, &a->queue, err);
	for (req = a->live; req; req = req->live_next)
		if (!req->done)
			async_complete(a, req, err);
}

/*
 * Submit refused commands again. Another thread sleeps until a command completes, which may need
 * a command that was refused.
 */
static void try_again(struct async *a, uint64_t ns)
{
	uint64_t before = a->completed;

	if (ns) {
		pthread_mutex_unlock(&a->lock);
		usleep(ASYNC_REFUSED_US);
		pthread_mutex_lock(&a->lock);
	}
	push_queue(a);
	if (a->completed != before)
		pthread_cond_broadcast(&a->changed);
}

/* Wait up to @ns nanoseconds for a change by another thread; lock held. */
static void await_change(struct async *a, uint64_t ns)
{
	struct timespec until;
	uint64_t at;

	if (ns == ASYNC_FOREVER) {
		pthread_cond_wait(&a->changed, &a->lock);
		return;
	}
	at = relax_now_ns();
	at = ns < INT64_MAX - at ? at + ns : INT64_MAX;
	until.tv_sec = (time_t)(at / 1000000000);
	until.tv_nsec = (long)(at % 1000000000);
	pthread_cond_timedwait(&a->changed, &a->lock, &until);
}

/* Move commands on, without waiting. Return: has any command ended? Lock held. */
static bool look(struct async *a)
{
	uint64_t before = a->completed;

	if (a->flying)
		shortcut_of(a)->look(a);
	push_queue(a);
	if (a->completed == before)
		return false;
	pthread_cond_broadcast(&a->changed);
	return true;
}

static void reap(struct async *a, uint64_t ns)
{
	int ret;

	a->reaping = true;
	ret = a->backend->reap(a, ns);
	a->reaping = false;
	if (ret)
		give_up(a, ret);
	push_queue(a);
	/* Also when nothing completed: another waiter must reap from now on. */
	pthread_cond_broadcast(&a->changed);
}

/*
 * Look at the other communicators. Threads may hold their locks, and two threads may look at each
 * other's communicator: so this thread does not wait for a lock. Commands may wait for room in the
 * kernel: completions make some.
 */
static void look_at_others(const struct async *a)
{
	struct async *b;

	if (pthread_mutex_trylock(&all_lock))
		return;
	for (b = all; b; b = b->next) {
		if (b == a || !async_held(b) || pthread_mutex_trylock(&b->lock))
			continue;
		if (b->inflight && !b->reaping)
			reap(b, 0);
		look(b);
		pthread_mutex_unlock(&b->lock);
	}
	pthread_mutex_unlock(&all_lock);
}

void async_look_around(void)
{
	if (any_held())
		look_at_others(NULL);
}

/*
 * Commands in the queue have deadlines, too, unknown to the kernel. Lock held. Return: has any
 * command ended?
 */
static bool mind_queue(struct async *a)
{
	uint64_t before = a->completed, now;
	coll_request_t **at = &a->queue;

	if (!a->queue || a->broken)
		return false;
	now = relax_now_ns();
	if (now - a->minded < MIND_NS)
		return false;
	a->minded = now;
	/* The application may not have called for long: there may be room by now. */
	if (!a->reaping)
		reap(a, 0);
	while (!a->broken && *at && !is_late(*at))
		at = &(*at)->next;
	if (!a->broken && *at) {
		drop(a, at, async_expire(a));
		pthread_cond_broadcast(&a->changed);
	}
	return a->completed != before;
}

/*
 * Another thread waits for the first command on the shortcut, and may sleep without limit. That
 * command may need another one, which the kernel has now: so this thread takes completions of the
 * kernel. Lock held.
 */
static void watch_kernel(struct async *a, uint64_t ns)
{
	if (a->inflight && !a->reaping)
		reap(a, ns);
	else
		await_change(a, ns);
}

/* Wait for the first command on the shortcut, and look at all other commands now and then. */
static void watch(struct async *a, uint64_t ns)
{
	bool more = a->inflight || a->queue || a->refused;

	if (more && ns > SLICE_NS)
		ns = SLICE_NS;
	if (a->watching && ns) {
		watch_kernel(a, ns < SLICE_NS ? ns : SLICE_NS);
		return;
	}
	if (!a->watching) {
		a->watching = true;
		shortcut_of(a)->await(a, ns);
		a->watching = false;
	}
	if (a->inflight && !a->reaping)
		reap(a, 0);
	look(a);
	/* Another waiter must watch from now on. */
	if (ns)
		pthread_cond_broadcast(&a->changed);
}

/* Make progress within @ns: look, reap, or wait for the thread that does. Lock held. */
static void progress(struct async *a, uint64_t ns)
{
	if ((a->flying && look(a)) || mind_queue(a))
		return;
	if (any_held() != async_held(a)) {
		look_at_others(a);
		ns = ns < SLICE_NS ? ns : SLICE_NS;
	}
	if (a->flying) {
		watch(a, ns);
		return;
	}
	/* coll_cancel() of another thread may end a command in the queue. And see mind_queue(). */
	if (a->queue && ns > SLICE_NS)
		ns = SLICE_NS;
	if (!a->reaping)
		reap(a, ns);
	else if (a->refused)
		try_again(a, ns);
	else if (ns)
		await_change(a, ns);
}

static int request_new(coll_comm_t *comm, const struct coll_cmd *cmd,
		       coll_request_t **out)
{
	coll_request_t *req;
	struct async *a;
	int ret;

	if (!out)
		return -EINVAL;
	*out = NULL;
	if (!comm || !cmd)
		return -EINVAL;
	ret = async_get(comm, &a);
	if (ret)
		return ret;
	req = calloc(1, sizeof(*req));
	if (!req)
		return -ENOMEM;
	req->async = a;
	req->cmd = *cmd;
	/* coll_cancel() names the command by this handle. */
	if (comm->version.features & COLL_FEAT_CANCEL)
		req->cmd.handle = (uintptr_t)req;
	if (!req->cmd.timeout_ns)
		req->cmd.timeout_ns = comm->timeout_ns;
	req->buffers_as_of = buffers_as_of(comm, cmd);
	req->counts_addr = cmd->counts_addr;
	req->displs_addr = cmd->displs_addr;
	*out = req;
	return 0;
}

static void request_delete(coll_request_t *req)
{
	free(req->numbers);
	free(req);
}

/* Number of counts, and of displacements, that the command has on this rank; 0: none are read. */
static size_t nr_counts(const coll_comm_t *comm, const coll_request_t *req)
{
	uint32_t kind = coll_kind_of(req->cmd.collective)->flags;

	if (!req->counts_addr || !(kind & COLL_KIND_COUNTS) ||
	    (kind & COLL_KIND_ROOTED && req->cmd.root != comm->rank))
		return 0;
	if (coll_plain_collective(req->cmd.collective) == COLL_ALLTOALL)
		return 2 * (size_t)comm->size;
	return comm->size;
}

/* Before each start: make room for copies. For now the counts are those of the application. */
static int prepare_counts(coll_comm_t *comm, coll_request_t *req)
{
	size_t n = nr_counts(comm, req);

	req->cmd.counts_addr = req->counts_addr;
	req->cmd.displs_addr = req->displs_addr;
	if (n && !req->numbers)
		req->numbers = malloc(2 * n * sizeof(*req->numbers));
	return n && !req->numbers ? -ENOMEM : 0;
}

/*
 * Copy the counts for a shortcut, or because the command stays in the queue: the application may
 * change them when the call has returned. A command that the kernel takes at once needs no copy:
 * the kernel reads them, and only the kernel can check their addresses.
 */
static void copy_counts(coll_comm_t *comm, coll_request_t *req)
{
	size_t n = nr_counts(comm, req), bytes = n * sizeof(*req->numbers);

	if (!n)
		return;
	memcpy(req->numbers, (const void *)(uintptr_t)req->counts_addr, bytes);
	req->cmd.counts_addr = (uintptr_t)req->numbers;
	if (!req->displs_addr)
		return;
	memcpy(req->numbers + n, (const void *)(uintptr_t)req->displs_addr, bytes);
	req->cmd.displs_addr = (uintptr_t)(req->numbers + n);
}

/* Lock held. */
static void request_begin(struct async *a, coll_request_t *req)
{
	req->active = true;
	req->done = false;
	req->until = (struct deadline){ 0 };
	req->next = NULL;
	req->live_prev = NULL;
	req->live_next = a->live;
	if (a->live)
		a->live->live_prev = req;
	a->live = req;
}

/* Give a command to the kernel, after those in the queue. Lock held. */
static void request_queue(struct async *a, coll_request_t *req)
{
	enqueue(a, a->queue_end, req);
	push_queue(a);
	/* Is it still there? */
	if (a->queue_end == &req->next)
		copy_counts(a->comm, req);
	/* A thread that already waits does not know that a command has to be tried again. */
	if (a->refused)
		pthread_cond_broadcast(&a->changed);
}

/*
 * Must the command wait for its turn among the commands in shared memory? A command of another
 * thread may have a position there already, and this command must not take that position.
 */
static bool takes_turn(const struct async *a, const coll_request_t *req)
{
	const struct shm *s = a->comm->shm;

	return s && shm_most(s) && *s->alive && !coll_is_message(req->cmd.collective) &&
	       __atomic_load_n(&s->h->active, __ATOMIC_ACQUIRE) && !shm_turn_is_given(s);
}

/* The deadline of a command has passed while a thread has the turn. Return: why it ends. */
static int late_for_turn(struct async *a)
{
	int ret;

	pthread_mutex_lock(&a->lock);
	ret = a->broken ? a->broken : async_expire(a);
	pthread_mutex_unlock(&a->lock);
	return ret;
}

static int start_in_kernel(struct async *a, coll_request_t *req)
{
	int ret = shm_turn_wait(a->comm, &req->cmd);

	if (ret)
		return ret == -ETIME ? late_for_turn(a) : ret;
	pthread_mutex_lock(&a->lock);
	ret = req->active ? -EBUSY : prepare_counts(a->comm, req);
	if (!ret) {
		request_begin(a, req);
		request_queue(a, req);
	}
	pthread_mutex_unlock(&a->lock);
	return ret;
}

static int request_start(struct async *a, coll_request_t *req)
{
	struct shm *s = a->comm->shm;
	bool taken = false;
	int ret;

	if (!takes_turn(a, req))
		return start_in_kernel(a, req);
	ret = shm_turn_begin(s, req->cmd.timeout_ns);
	if (ret)
		return ret == -ETIME ? late_for_turn(a) : ret;
	pthread_mutex_lock(&a->lock);
	ret = req->active ? -EBUSY : prepare_counts(a->comm, req);
	if (!ret) {
		if (shortcut_of(a))
			copy_counts(a->comm, req);
		request_begin(a, req);
		taken = shortcut_of(a) && !a->queue && shortcut_of(a)->post(a, req);
	}
	if (ret || taken) {
		shm_turn_end(s);
	} else {
		shm_turn_give(s);
		request_queue(a, req);
		shm_turn_given(s);
	}
	pthread_mutex_unlock(&a->lock);
	return ret;
}

int coll_isubmit(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **out)
{
	int ret = request_new(comm, cmd, out);

	if (ret)
		return ret;
	ret = request_start((*out)->async, *out);
	if (ret) {
		request_delete(*out);
		*out = NULL;
	}
	return ret;
}

int coll_persist(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **out)
{
	int ret = request_new(comm, cmd, out);

	if (!ret)
		(*out)->persistent = true;
	return ret;
}

int coll_start(coll_request_t *req)
{
	if (!req)
		return -EINVAL;
	if (comm_is_forked(req->async->comm))
		return -EPERM;
	return req->persistent ? request_start(req->async, req) : -EINVAL;
}

int coll_startall(coll_request_t **reqs, size_t n)
{
	int ret = n && !reqs ? -EINVAL : 0;
	size_t i;

	for (i = 0; i < n && !ret; i++)
		ret = coll_start(reqs[i]);
	return ret;
}

int coll_request_free(coll_request_t *req)
{
	struct async *a;
	bool busy;

	if (!req)
		return 0;
	if (!req->persistent)
		return -EINVAL;
	a = req->async;
	if (comm_is_forked(a->comm)) {
		busy = req->active;
	} else {
		pthread_mutex_lock(&a->lock);
		busy = req->active;
		pthread_mutex_unlock(&a->lock);
	}
	if (busy)
		return -EBUSY;
	request_delete(req);
	return 0;
}

/* A request is over: return its result, and free it unless it is persistent. */
static int retire(struct async *a, coll_request_t *req)
{
	int res = req->res;

	/* A persistent request that has not been started: there is no result. */
	if (!req->active)
		return 0;
	if (req->live_prev)
		req->live_prev->live_next = req->live_next;
	else
		a->live = req->live_next;
	if (req->live_next)
		req->live_next->live_prev = req->live_prev;
	req->active = false;
	if (!req->persistent)
		request_delete(req);
	return res;
}

int coll_wait(coll_request_t *req)
{
	struct async *a;
	int ret;

	if (!req)
		return 0;
	a = req->async;
	if (comm_is_forked(a->comm))
		return -EPERM;
	pthread_mutex_lock(&a->lock);
	while (req->active && !req->done)
		progress(a, ASYNC_FOREVER);
	ret = retire(a, req);
	pthread_mutex_unlock(&a->lock);
	return ret;
}

int coll_wait_for(coll_request_t *req, uint64_t ns, int *done)
{
	uint64_t start = ns ? relax_now_ns() : 0, left = ns;
	struct async *a;
	int ret = 0;

	if (!done)
		return -EINVAL;
	*done = 1;
	if (!req)
		return 0;
	a = req->async;
	if (comm_is_forked(a->comm))
		return -EPERM;
	pthread_mutex_lock(&a->lock);
	while (req->active && !req->done) {
		progress(a, left);
		if (!left)
			break;
		left = relax_left_ns(start, ns);
	}
	*done = !req->active || req->done;
	if (*done)
		ret = retire(a, req);
	pthread_mutex_unlock(&a->lock);
	return ret;
}

int coll_test(coll_request_t *req, int *done)
{
	return coll_wait_for(req, 0, done);
}

/* Cancel a request in the queue, which the kernel has not got yet. Lock held. */
static bool unqueue(struct async *a, coll_request_t *req)
{
	coll_request_t **at = &a->queue;

	while (*at && *at != req)
		at = &(*at)->next;
	if (!*at)
		return false;
	dequeue(a, at);
	a->inflight++;
	async_complete(a, req, -ECANCELED);
	pthread_cond_broadcast(&a->changed);
	return true;
}

static int ioctl_cancel(coll_comm_t *comm, uint64_t handle, uint32_t flags)
{
	struct coll_cancel c = { .handle = handle, .flags = flags };

	return ioctl(comm->fd, COLL_IOC_CANCEL, &c) ? -errno : 0;
}

int coll_cancel(coll_request_t *req)
{
	struct async *a;
	int ret = 0;

	if (!req)
		return 0;
	if (req->cmd.collective != COLL_SEND && req->cmd.collective != COLL_RECV)
		return -EINVAL;
	if (!req->cmd.handle)
		return -EOPNOTSUPP;
	a = req->async;
	if (comm_is_forked(a->comm))
		return -EPERM;
	pthread_mutex_lock(&a->lock);
	if (req->active && !req->done && !unqueue(a, req))
		ret = ioctl_cancel(a->comm, req->cmd.handle, 0);
	pthread_mutex_unlock(&a->lock);
	/* It is about to end without that. */
	return ret == -ENOENT || ret == -EALREADY ? 0 : ret;
}

/* The application finalizes, so no message will come for its receives. Lock held. */
static int cancel_receives(struct async *a)
{
	coll_request_t *req, *next;

	if (!(a->comm->version.features & COLL_FEAT_CANCEL))
		return 0;
	for (req = a->queue; req; req = next) {
		next = req->next;
		if (req->cmd.collective == COLL_RECV)
			unqueue(a, req);
	}
	return ioctl_cancel(a->comm, 0, COLL_CANCEL_RECEIVES);
}

/* Lock held. */
static bool only_receives(const struct async *a)
{
	const coll_request_t *req;

	for (req = a->live; req; req = req->live_next)
		if (!req->done && (!coll_is_message(req->cmd.collective) ||
				   req->cmd.collective == COLL_SEND))
			return false;
	return true;
}

int coll_waitall(coll_request_t **reqs, size_t n)
{
	int first = 0;
	size_t i;

	if (n && !reqs)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		int ret = coll_wait(reqs[i]);

		reqs[i] = NULL;
		if (!first)
			first = ret;
	}
	return first;
}

int coll_iallreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		    enum coll_dtype dtype, enum coll_op_code op, coll_request_t **req)
{
	struct coll_cmd cmd;

	if (!req)
		return -EINVAL;
	*req = NULL;
	if (op == COLL_OP_PREMULSUM)
		return -EINVAL;
	coll_cmd_allreduce(comm, &cmd, send, recv, count, dtype, op);
	return coll_isubmit(comm, &cmd, req);
}

int coll_ibroadcast(coll_comm_t *comm, void *buf, uint64_t count,
		    enum coll_dtype dtype, uint32_t root, coll_request_t **req)
{
	struct coll_cmd cmd;

	coll_cmd_broadcast(comm, &cmd, buf, count, dtype, root);
	return coll_isubmit(comm, &cmd, req);
}

int coll_ibarrier(coll_comm_t *comm, coll_request_t **req)
{
	struct coll_cmd cmd;

	coll_cmd_barrier(comm, &cmd);
	return coll_isubmit(comm, &cmd, req);
}

bool async_in_use(coll_comm_t *comm)
{
	return comm->async && !comm_is_forked(comm);
}

bool async_is_queued(coll_comm_t *comm)
{
	struct async *a = comm->async;
	bool queued;

	if (!a || comm_is_forked(comm))
		return false;
	pthread_mutex_lock(&a->lock);
	queued = a->queue || a->flying;
	pthread_mutex_unlock(&a->lock);
	return queued;
}

void async_flush(coll_comm_t *comm)
{
	struct async *a = comm->async;

	pthread_mutex_lock(&a->lock);
	while (a->queue || a->flying)
		progress(a, ASYNC_FOREVER);
	pthread_mutex_unlock(&a->lock);
}

void async_flush_messages(coll_comm_t *comm)
{
	struct async *a = comm->async;

	pthread_mutex_lock(&a->lock);
	while (a->messages)
		progress(a, ASYNC_FOREVER);
	pthread_mutex_unlock(&a->lock);
}

bool async_has_inflight(coll_comm_t *comm)
{
	struct async *a = comm->async;
	bool any;

	pthread_mutex_lock(&a->lock);
	any = a->inflight;
	pthread_mutex_unlock(&a->lock);
	return any;
}

void async_reap_one(coll_comm_t *comm)
{
	struct async *a = comm->async;
	uint64_t before;

	pthread_mutex_lock(&a->lock);
	before = a->completed;
	while (a->inflight && a->completed == before)
		progress(a, ASYNC_FOREVER);
	pthread_mutex_unlock(&a->lock);
}

/*
 * A child frees its copies, and does nothing that the parent would notice. A thread of the parent
 * may hold @lock, or wait for @changed: so the child does not destroy these.
 */
static void abandon(struct async *a)
{
	coll_request_t *req, *next;

	for (req = a->live; req; req = next) {
		next = req->live_next;
		if (!req->persistent)
			request_delete(req);
	}
	a->backend->destroy(a);
	free(a);
}

void async_destroy(coll_comm_t *comm)
{
	struct async *a = comm->async;
	uint64_t before = ~0ULL, since = 0, left;

	if (!a)
		return;
	if (comm_is_forked(comm)) {
		abandon(a);
		comm->async = NULL;
		return;
	}
	pthread_mutex_lock(&a->lock);
	while (a->inflight || a->queue || a->flying) {
		left = ASYNC_FOREVER;
		/* EPERM: after seteuid(). The kernel ends them when their file is closed. */
		if (cancel_receives(a) == -EPERM && only_receives(a)) {
			if (a->completed != before)
				since = relax_now_ns();
			before = a->completed;
			left = relax_left_ns(since, LAST_NS);
		}
		if (!left)
			break;
		progress(a, left);
	}
	while (a->live)
		retire(a, a->live);
	pthread_mutex_unlock(&a->lock);
	unlist(a);
	a->backend->destroy(a);
	async_free(a);
	comm->async = NULL;
}
