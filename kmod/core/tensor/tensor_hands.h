/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of ranks that do the work of named collectives themselves, or are about to. While there
 * are any, large ops get no workers, because these would take CPUs from the ranks.
 */
#ifndef COLL_CORE_TENSOR_HANDS_H
#define COLL_CORE_TENSOR_HANDS_H

#include <linux/types.h>

struct coll_group;
struct coll_member;
struct work_struct;

/* Wake threads that wait for results of the member, and end waits of io_uring that are over. */
void coll_tensors_wake(struct coll_member *m);

/* The caller waits, or posts: from here on it is counted. Under group->lock. */
void coll_tensors_hand_locked(struct coll_group *g);

/* The caller is not counted any more. Under group->lock. */
void coll_tensors_unhand_locked(struct coll_group *g);

/* Before and after a call that posts: the caller counts meanwhile. No locks. */
void coll_tensors_post_begin(struct coll_group *g);
void coll_tensors_post_end(struct coll_group *g);

/* As &coll_group_watch.hands. */
u32 coll_tensors_hands(struct coll_group *g, bool large);

/* Queue workers if no rank helps, or ranks have helped for long: function of coll_tensors.staff. */
void coll_tensors_staff(struct work_struct *work);

#endif /* COLL_CORE_TENSOR_HANDS_H */
