/* SPDX-License-Identifier: GPL-2.0 */
/* Results of tensors, until their ranks collect them. */
#ifndef COLL_CORE_TENSOR_RESULTS_H
#define COLL_CORE_TENSOR_RESULTS_H

#include "tensors.h"

/**
 * coll_tensors_collect() - collect the oldest results
 * @m: member
 * @to: list to which their tensors are added; these belong to the caller now
 * @most: largest number of results to collect
 *
 * Return: how many; there may be more.
 */
u32 coll_tensors_collect(struct coll_member *m, struct list_head *to, u32 most);

/* Give back results that could not be stored: they are the next ones to be collected. */
void coll_tensors_uncollect(struct coll_member *m, struct list_head *from);

/* The caller is going to wait for @w->min results: from here on it is woken when they are there. */
void coll_tensors_wait_begin(struct coll_member *m, struct coll_tensors_waiter *w);

/* Are there enough results, or have all posted tensors ended? */
bool coll_tensors_wait_over(struct coll_member *m, struct coll_tensors_waiter *w);

void coll_tensors_wait_end(struct coll_member *m, struct coll_tensors_waiter *w);

/* As coll_tensors_wait_over(), but without the lock: a hint for a caller that polls. */
bool coll_tensors_seem_collectable(const struct coll_member *m, u32 min);

/* Has the member posted tensors whose buffers are still in use? */
bool coll_tensors_open(struct coll_member *m);

/* Does the member have results to collect, or will it have some? */
bool coll_tensors_more(struct coll_member *m);

/* The file goes: wait until coll_tensors_open() is false, and free all results. Sleeps. */
void coll_tensors_release(struct coll_member *m);

#endif /* COLL_CORE_TENSOR_RESULTS_H */
