/* SPDX-License-Identifier: GPL-2.0 */
/* Results of tensors, until their ranks collect them. */
#ifndef COLL_CORE_TENSOR_RESULTS_H
#define COLL_CORE_TENSOR_RESULTS_H

#include "tensors.h"

/**
 * coll_tensors_collect() - the results that have come first
 * @m: member
 * @to: list of tensors that they are added to: the caller's now
 * @most: largest number of results to collect
 *
 * Return: how many; there may be more.
 */
u32 coll_tensors_collect(struct coll_member *m, struct list_head *to, u32 most);

/* Results that could not be stored: they are the next ones to be collected. */
void coll_tensors_uncollect(struct coll_member *m, struct list_head *from);

/* The caller is going to wait until there is what it wants: from here on it is woken then. */
void coll_tensors_wait_begin(struct coll_member *m, struct coll_tensors_waiter *w);

/* Are there results enough, or is nothing posted that has not ended? */
bool coll_tensors_wait_over(struct coll_member *m, struct coll_tensors_waiter *w);

void coll_tensors_wait_end(struct coll_member *m, struct coll_tensors_waiter *w);

/* The same, as far as can be seen without the lock, for a caller that polls. */
bool coll_tensors_seem_collectable(const struct coll_member *m, u32 min);

/* Has the member posted tensors whose buffers are still in use? */
bool coll_tensors_open(struct coll_member *m);

/* Has the member results to collect, or will it have some? */
bool coll_tensors_more(struct coll_member *m);

/* Wait until there is none, and free all results. The file goes. Sleeps. */
void coll_tensors_release(struct coll_member *m);

#endif /* COLL_CORE_TENSOR_RESULTS_H */
