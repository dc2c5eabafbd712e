/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Progress threads do for nonblocking collectives what a waiting caller does for its own.
 *
 * Each is a thread of the process that submits, and runs code of this module only. Its CPU time is
 * charged to that process and its control groups. It has the niceness of the process, its CPUs as
 * they were when the thread was made, and counts towards its limit of threads. It is made for the
 * first collective that needs one, by the task that submits it; io_uring's own threads cannot.
 * Workers do the work that no thread is there for, as on kernels that have no such threads.
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
 * @cf: by this file; in the task that submits
 * @req: decoded; gets @req->sleeper
 *
 * Return: the progress thread that looks after it, for coll_progress_end(); or NULL.
 */
struct coll_progress *coll_progress_begin(struct coll_file *cf, struct coll_req *req);

/* The collective has ended, or was not posted. Process context; once for each begin. */
void coll_progress_end(struct coll_progress *p);

/*
 * May another process make coll_progress_release() wait for long? Not if the thread has ended, or
 * its process is stopped.
 */
bool coll_progress_may_linger(const struct coll_file *cf);

/* The file goes, with nothing in flight: so does its thread. Sleeps. */
void coll_progress_release(struct coll_file *cf);
#else
static inline struct coll_progress *coll_progress_begin(struct coll_file *cf,
							struct coll_req *req)
{
	return NULL;
}

static inline void coll_progress_end(struct coll_progress *p)
{
}

static inline bool coll_progress_may_linger(const struct coll_file *cf)
{
	return false;
}

static inline void coll_progress_release(struct coll_file *cf)
{
}
#endif

#endif /* COLL_FRONT_PROGRESS_H */
