/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Takes results from the kernel. */
#ifndef LIBCOLL_TENSOR_REAP_H
#define LIBCOLL_TENSOR_REAP_H

#include "tensors.h"

/*
 * Take results once, or wait for the thread that does. @ns: how long to wait if there is no result;
 * 0: not at all; TENSORS_FOREVER. Lock held. Return: how many results this thread has taken,
 * TENSORS_BATCH at most.
 */
int tensors_progress(coll_tensors_t *ts, uint64_t ns);
/* Is this a callback? Lock held. */
bool tensors_in_callback(const coll_tensors_t *ts);
/* Refuse to wait in a callback. Return: -EDEADLK. */
int tensors_deadlock(void);

/*
 * Let this thread take results, until tensors_end_reap(). Return: false: another thread does. Lock
 * held.
 */
bool tensors_begin_reap(coll_tensors_t *ts);
/* The kernel has answered with @nr results, or an error of a wait. Lock held. */
void tensors_end_reap(coll_tensors_t *ts, const struct coll_tensor_result *got, int nr);
/* Body of the thread. */
void *tensors_thread(void *ts);

#endif
