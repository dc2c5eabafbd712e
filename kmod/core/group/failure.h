/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The failure of a communicator: the first cause is stored, every op ends with the error of this
 * cause, and the other nodes are told (ABORT). A failure may also be pending until the ops before
 * it have ended.
 */
#ifndef COLL_CORE_FAILURE_H
#define COLL_CORE_FAILURE_H

#include <linux/types.h>

struct coll_cause;
struct coll_group;
struct work_struct;
struct workqueue_struct;

/*
 * Runs deadlines of all users. Its work items are short, and take no lock that a user can hold for
 * long: no socket lock, no mmap lock, no conn->lock. Work that may take such a lock is queued on
 * group->user->wq. Work that may be long is queued on group->user->end_wq: it ends all that is in
 * flight.
 */
extern struct workqueue_struct *coll_alarm_wq;

/* Before any group is made. Return: 0, -ENOMEM. */
int coll_failure_init(void);
void coll_failure_exit(void);

/**
 * coll_group_fail() - end the communicator
 * @g: group
 * @cause: why; ->error positive
 *
 * The first call wins, later ones do nothing. Every posted op ends with
 * -cause->error, as soon as its pages are free. Process context.
 */
void coll_group_fail(struct coll_group *g, const struct coll_cause *cause);

/* The same, for work items of coll_alarm_wq: another work item ends the ops. */
void coll_group_fail_soon(struct coll_group *g, const struct coll_cause *cause);

/**
 * coll_group_fail_locked() - store the first failure
 * @g: group
 * @cause: as of coll_group_fail()
 *
 * For callers that decide under group->lock whether the group has to fail.
 *
 * Return: true if it is the first. Then the caller has a reference to the group, and has to call
 * coll_group_failed() or coll_group_failed_soon() after it has released the lock.
 */
bool coll_group_fail_locked(struct coll_group *g, const struct coll_cause *cause);

/* The second half of coll_group_fail(): tells the other nodes, ends all, puts the reference. */
void coll_group_failed(struct coll_group *g);

/*
 * As coll_group_failed(), for callers that must not wait until ops end. When it returns the links
 * have been asked to send ABORT. A work item of group->user->end_wq does the rest.
 */
void coll_group_failed_soon(struct coll_group *g);

/* The work item of coll_group_failed_soon(): group->failing. */
void coll_group_failing(struct work_struct *work);

/**
 * coll_group_fail_later() - end the communicator at an op that cannot complete
 * @g: group
 * @cause: why; ->seq is that op, ->error positive
 *
 * A rank has left after its last op. Ops before @cause->seq do not need this rank
 * and may end well; when the last of them has ended the group fails. Process context.
 */
void coll_group_fail_later(struct coll_group *g, const struct coll_cause *cause);

/*
 * As coll_group_fail_later(), under group->lock. The caller has to call
 * coll_group_check_pending() after it has released the lock.
 */
void coll_group_fail_later_locked(struct coll_group *g, const struct coll_cause *cause);

/* An op has ended: if a pending failure waited for it, fail the group now. Process context. */
void coll_group_check_pending(struct coll_group *g);

/* Is there a pending failure at op @seq or before it? Under group->lock. */
bool coll_group_fails_at(const struct coll_group *g, u64 seq);

/**
 * coll_group_cause() - fill in a cause that arises on this node
 * @g: group
 * @c: result, all of it
 * @kind: enum coll_cause_kind
 * @error: positive errno
 * @rank: rank or COLL_RANK_NONE; its node is filled in
 * @seq: op or 0
 */
void coll_group_cause(const struct coll_group *g, struct coll_cause *c,
		      u32 kind, int error, u32 rank, u64 seq);

#endif /* COLL_CORE_FAILURE_H */
