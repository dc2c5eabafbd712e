/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of ranks that work on an op instead of sleeping: callers in ioctl, and progress
 * threads. Their work is charged to their process, so they come before workers.
 */
#ifndef COLL_CORE_SLEEPER_H
#define COLL_CORE_SLEEPER_H

#include <linux/types.h>
#include <linux/wait.h>

struct coll_helper;
struct task_struct;

/**
 * struct coll_sleeper - such a thread
 * @wq: where it sleeps
 * @task: the thread; set before other threads see it
 * @away: the thread may be absent for long: do not count on its help. Written by its owner,
 *	read by anyone; see coll_group_can_help().
 * @awake: the thread is awake, and checks coll_req_can_help() before it sleeps. Written by its
 *	owner, read by anyone.
 * @idle: the thread takes jobs: it sleeps, is about to sleep or polls, and attends to no link.
 *	Written by its owner, read by anyone.
 * @job: local steps that the thread has been given, with a ref of their op; taken by exchange
 *
 * Owner: front, which keeps it until no request points to it.
 */
struct coll_sleeper {
	wait_queue_head_t wq;
	struct task_struct *task;
	bool away;
	bool awake;
	bool idle;
	struct coll_helper *job;
};

/**
 * coll_sleeper_rest() - let other threads give jobs to this one from here on
 * @s: of the caller, which looks at coll_sleeper_has_job() before it falls asleep
 */
static inline void coll_sleeper_rest(struct coll_sleeper *s)
{
	WRITE_ONCE(s->idle, true);
}

static inline bool coll_sleeper_has_job(const struct coll_sleeper *s)
{
	return READ_ONCE(s->job);
}

/* Take no more jobs. Return: the job that was given before, which the caller has to do; or NULL. */
struct coll_helper *coll_sleeper_take(struct coll_sleeper *s);

/**
 * coll_sleeper_give() - have local steps done
 * @s: of a request of the op; NULL: no thread
 * @h: with a ref of the op, which is handed over
 *
 * Return: false if the steps and the ref are still the caller's.
 */
bool coll_sleeper_give(struct coll_sleeper *s, struct coll_helper *h);

#endif /* COLL_CORE_SLEEPER_H */
