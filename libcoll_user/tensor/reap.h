/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Takes results from the kernel. */
#ifndef LIBCOLL_TENSOR_REAP_H
#define LIBCOLL_TENSOR_REAP_H

#include "tensors.h"

/* Take results once, or wait for the thread that does; @wait: until there is one. Lock held. */
void tensors_progress(coll_tensors_t *ts, bool wait);
/* Is this a callback? Lock held. */
bool tensors_in_callback(const coll_tensors_t *ts);
/* Body of the thread. */
void *tensors_thread(void *ts);

#endif
