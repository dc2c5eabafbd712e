/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Progress threads do the work of nonblocking collectives, as a waiting caller does its own.
 *
 * Each is a thread of the process that submits, and runs code of this module only. Its CPU time is
 * charged to that process and its control groups. It has the niceness of the process, its CPUs as
 * they were when the thread was made, and counts towards its limit of threads. The task that
 * submits the first collective that needs one makes it; threads of io_uring cannot. If there is no
 * such thread, as on older kernels, workers do the work.
 */
#ifndef COLL_FRONT_PROGRESS_H
#define COLL_FRONT_PROGRESS_H

#include <linux/types.h>

#include "../compat.h"

struct coll_file;
struct coll_progress;
struct coll_req;

#if COLL_HAS_USER_THREADS
/**
 * coll_progress_begin() - a nonblocking collective is about to be posted
 * @cf: its file; the caller is the task that submits
 * @req: decoded; gets @req->sleeper
 *
 * Return: the progress thread that works for it, for coll_progress_end(); or NULL.
 */
struct coll_progress *coll_progress_begin(struct coll_file *cf, struct coll_req *req);

/*
 * The same for a wait for named collectives, which has no request. The caller is the task that
 * submits. Return: the thread, for coll_progress_end(); or NULL.
 */
struct coll_progress *coll_progress_hold(struct coll_file *cf);

/* The collective has ended, or was not posted. Process context; once for each begin and hold. */
void coll_progress_end(struct coll_progress *p);

/* There may be work for the thread; NULL: there is none. Any context. */
void coll_progress_wake(struct coll_progress *p);

/*
 * May coll_progress_release() have to wait for long? It waits for as long as the process of the
 * thread is stopped, unless the thread has ended.
 */
bool coll_progress_may_linger(const struct coll_file *cf);

/* Tell the thread to stop, and wait a moment. Return: it has stopped, or there is none. */
bool coll_progress_stop(struct coll_file *cf);

/* End the thread of a file that is being released, with nothing in flight. Sleeps. */
void coll_progress_release(struct coll_file *cf);
#else
static inline struct coll_progress *coll_progress_begin(struct coll_file *cf,
							struct coll_req *req)
{
	return NULL;
}

static inline struct coll_progress *coll_progress_hold(struct coll_file *cf)
{
	return NULL;
}

static inline void coll_progress_end(struct coll_progress *p)
{
}

static inline void coll_progress_wake(struct coll_progress *p)
{
}

static inline bool coll_progress_may_linger(const struct coll_file *cf)
{
	return false;
}

static inline bool coll_progress_stop(struct coll_file *cf)
{
	return true;
}

static inline void coll_progress_release(struct coll_file *cf)
{
}
#endif

#endif /* COLL_FRONT_PROGRESS_H */
