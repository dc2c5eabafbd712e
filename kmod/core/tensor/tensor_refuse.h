/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups of which a member has been refused: the posted members are withdrawn, and members that
 * have not been posted count as posted and withdrawn. So all ranks get the error at once, and the
 * next post of each name is about the same round on all ranks.
 */
#ifndef COLL_CORE_TENSOR_REFUSE_H
#define COLL_CORE_TENSOR_REFUSE_H

#include "tensors.h"

/**
 * coll_tensors_withdraw() - a member of a group has been refused
 * @m: of this rank
 * @digest: of the group, not 0
 *
 * The tensors of the group that the rank has posted, and that have not started, end.
 * coll_tensors_flush() is to follow.
 */
void coll_tensors_withdraw(struct coll_member *m, u64 digest);

/**
 * coll_tensor_refuse() - a member of the group that this rank has not posted
 * @m: of this rank
 * @name: name
 * @len: its bytes, 1 to COLL_TENSOR_NAME_MAX
 * @digest: of the group, not 0
 *
 * The tensor ends on all ranks, and this rank gets no result. If there is no memory, the other
 * ranks wait for it. coll_tensors_flush() is to follow, then coll_tensors_refused(). Sleeps.
 */
void coll_tensor_refuse(struct coll_member *m, const void *name, u32 len, u64 digest);

/**
 * coll_tensors_refused() - wait until what has been refused has ended
 * @m: of this rank
 *
 * Then the names can be posted again. This function waits for an answer of the coordinator, for
 * COLL_TENSOR_ANSWER_NS at most. Sleeps.
 */
void coll_tensors_refused(struct coll_member *m);

/* A round of @e ends: local rank @k may have refused it. Under group->lock. */
void coll_tensor_refusal_over(struct coll_tensors *ts, struct coll_coord_entry *e, u32 k);

/* The group has failed: nobody waits for answers. Any context. */
void coll_tensors_wake_refused(struct coll_group *g);

#endif /* COLL_CORE_TENSOR_REFUSE_H */
