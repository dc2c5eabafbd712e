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
 * @away: it may not come for long: slices are not to wait for it. Written by its owner,
 *	read by anyone; see coll_group_can_help().
 * @awake: it does not sleep, and looks at coll_req_can_help() before it does. Written by its
 * owner, read by anyone.
 * @idle: it sleeps, or is about to, or looks now and then, and has no links to attend to.
 *	Written by its owner, read by anyone.
 * @job: local steps that it has been given, with a ref of their op; taken by exchange
 *
 * Owner: front, until no request has it any more.
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
 * coll_sleeper_rest() - let other ranks hand jobs to this one from here on
 * @s: the caller's; it looks at coll_sleeper_has_job() before it falls asleep
 */
static inline void coll_sleeper_rest(struct coll_sleeper *s)
{
	WRITE_ONCE(s->idle, true);
}

static inline bool coll_sleeper_has_job(const struct coll_sleeper *s)
{
	return READ_ONCE(s->job);
}

/* And now they are not. Return: the one that was given meanwhile, to be done; or NULL. */
struct coll_helper *coll_sleeper_take(struct coll_sleeper *s);

/**
 * coll_sleeper_give() - have local steps done
 * @s: of a request of the op; NULL: nobody is there
 * @h: with a ref of the op, which is handed over
 *
 * Return: false if they are still the caller's.
 */
bool coll_sleeper_give(struct coll_sleeper *s, struct coll_helper *h);

#endif /* COLL_CORE_SLEEPER_H */
